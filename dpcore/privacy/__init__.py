"""What is promised: budgets, Gaussian calibration and exact profile, ledger, meaning, audit."""

from dpcore.privacy.budget import Guarantee, PrivacyBudget
from dpcore.privacy.cape import CapeScales, cape_mu, cape_scales
from dpcore.privacy.gaussian import (
    CALIBRATIONS,
    composed_mu,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    gaussian_sigma,
    gaussian_trade_off,
    l2_sensitivity_of_second_moment,
    published_sigma,
    second_moment_sigma,
)

__all__ = [
    "CALIBRATIONS",
    "CapeScales",
    "Guarantee",
    "PrivacyBudget",
    "cape_mu",
    "cape_scales",
    "composed_mu",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "gaussian_sigma",
    "gaussian_trade_off",
    "l2_sensitivity_of_second_moment",
    "published_sigma",
    "second_moment_sigma",
]
