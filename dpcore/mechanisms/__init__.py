"""Mechanisms: additive noise, randomised response, and the matrix Bingham sampler."""

from dpcore.mechanisms.bingham import (
    BinghamDraw,
    sample_matrix_bingham,
    sample_vector_bingham,
)
from dpcore.mechanisms.convergence import (
    bulk_ess,
    effective_sample_size,
    rank_normalized_r_hat,
    split_r_hat,
    tail_ess,
)
from dpcore.mechanisms.noise import (
    NOISE_SHAPES,
    box_laplace_noise,
    l2_laplace_noise,
    symmetric_gaussian_noise,
    wishart_difference,
)
from dpcore.mechanisms.randomised_response import (
    chance_of_truth,
    estimated_counts,
    randomised_response,
)

__all__ = [
    "NOISE_SHAPES",
    "BinghamDraw",
    "box_laplace_noise",
    "bulk_ess",
    "chance_of_truth",
    "effective_sample_size",
    "estimated_counts",
    "l2_laplace_noise",
    "randomised_response",
    "rank_normalized_r_hat",
    "sample_matrix_bingham",
    "sample_vector_bingham",
    "split_r_hat",
    "symmetric_gaussian_noise",
    "tail_ess",
    "wishart_difference",
]
