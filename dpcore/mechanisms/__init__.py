"""Where randomness enters."""

from dpcore.mechanisms.bingham import BinghamDraw, sample_matrix_bingham, sample_vector_bingham
from dpcore.mechanisms.chains import (
    bulk_ess,
    effective_sample_size,
    rank_normalized_r_hat,
    split_r_hat,
    tail_ess,
)
from dpcore.mechanisms.k_norm import box_laplace_noise, l2_laplace_noise
from dpcore.mechanisms.randomised_response import (
    chance_of_truth,
    estimated_counts,
    randomised_response,
)
from dpcore.mechanisms.symmetric_noise import NOISE_SHAPES, symmetric_gaussian_noise
from dpcore.mechanisms.wishart_difference import wishart_difference

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
