"""Where randomness enters."""

from dpcore.mechanisms.bingham import BinghamDraw, sample_matrix_bingham
from dpcore.mechanisms.bingham_vector import sample_vector_bingham
from dpcore.mechanisms.symmetric_noise import NOISE_SHAPES, symmetric_gaussian_noise

__all__ = [
    "NOISE_SHAPES",
    "BinghamDraw",
    "sample_matrix_bingham",
    "sample_vector_bingham",
    "symmetric_gaussian_noise",
]
