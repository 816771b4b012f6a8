"""What is promised: budgets, Gaussian calibration and exact profile, ledger, meaning, audit."""

from dpcore.privacy.budget import Adversary, Against, Guarantee, PrivacyBudget
from dpcore.privacy.cape import CapeScales, cape_mu, cape_scales, default_honest_sites
from dpcore.privacy.card import EXPLANATIONS, Badge, CardRow, GuaranteeCard, describe
from dpcore.privacy.explanations import ASSUMED, STATED, Assumption, Explained, explained
from dpcore.privacy.filter import BeyondCap, Cap
from dpcore.privacy.gaussian import (
    CALIBRATIONS,
    composed_mu,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    gaussian_sigma,
    gaussian_trade_off,
    published_sigma,
    second_moment_sigma,
)
from dpcore.privacy.ledger import EVERYONE, Bound, Ledger, Release, Spent
from dpcore.privacy.meaning import (
    best_guess,
    exceedance_bound,
    gaussian_exceedance,
    gaussian_posterior,
    guarantee_mu,
    guarantee_power,
    guarantee_trade_off,
    icon_counts,
    odds_factor,
    posterior_after_test,
    posterior_bounds,
    pure_mu,
    trade_off,
)
from dpcore.privacy.odometer import odometer_epsilon
from dpcore.privacy.sensitivity import (
    l2_sensitivity_of_moment_and_mean,
    l2_sensitivity_of_second_moment,
    mean_weight,
)

__all__ = [
    "ASSUMED",
    "CALIBRATIONS",
    "EVERYONE",
    "EXPLANATIONS",
    "STATED",
    "Adversary",
    "Against",
    "Assumption",
    "Badge",
    "BeyondCap",
    "Bound",
    "Cap",
    "CapeScales",
    "CardRow",
    "Explained",
    "Guarantee",
    "GuaranteeCard",
    "Ledger",
    "PrivacyBudget",
    "Release",
    "Spent",
    "best_guess",
    "cape_mu",
    "cape_scales",
    "composed_mu",
    "default_honest_sites",
    "describe",
    "exceedance_bound",
    "explained",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_exceedance",
    "gaussian_mu",
    "gaussian_posterior",
    "gaussian_sigma",
    "gaussian_trade_off",
    "guarantee_mu",
    "guarantee_power",
    "guarantee_trade_off",
    "icon_counts",
    "l2_sensitivity_of_moment_and_mean",
    "l2_sensitivity_of_second_moment",
    "mean_weight",
    "odds_factor",
    "odometer_epsilon",
    "posterior_after_test",
    "posterior_bounds",
    "published_sigma",
    "pure_mu",
    "second_moment_sigma",
    "trade_off",
]
