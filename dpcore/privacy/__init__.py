"""What is promised: budgets, the Gaussian mechanism's calibration and exact profile."""

from dpcore.privacy.budget import Guarantee, PrivacyBudget
from dpcore.privacy.gaussian import (
    CALIBRATIONS,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_sigma,
    l2_sensitivity_of_second_moment,
    published_sigma,
    second_moment_sigma,
)

__all__ = [
    "CALIBRATIONS",
    "Guarantee",
    "PrivacyBudget",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_sigma",
    "l2_sensitivity_of_second_moment",
    "published_sigma",
    "second_moment_sigma",
]
