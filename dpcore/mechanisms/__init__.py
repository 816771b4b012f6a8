"""Where randomness enters."""

from dpcore.mechanisms.symmetric_noise import NOISE_SHAPES, symmetric_gaussian_noise

__all__ = ["NOISE_SHAPES", "symmetric_gaussian_noise"]
