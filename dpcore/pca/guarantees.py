"""What each protocol promises, worked out from the noise that was really added."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from dpcore.pca.settings import ReleaseSettings
from dpcore.privacy import (
    Assumption,
    Guarantee,
    gaussian_epsilon,
    l2_sensitivity_of_second_moment,
    second_moment_sigma,
)

_EVERYWHERE = (
    Assumption.ONE_ROW_A_PERSON,
    Assumption.ROW_OF_ONE_PERSON,
    Assumption.PUBLIC_BOUND,
    Assumption.PUBLIC_COUNTS,
    Assumption.SECRET_SEED,
    Assumption.FLOAT_ARITHMETIC,
)
AT_ONE_SITE = (*_EVERYWHERE, Assumption.HONEST_SITES)
AT_SITES = (*AT_ONE_SITE, Assumption.DISJOINT_SITES)
UNDER_MASKS = (*AT_SITES, Assumption.ENOUGH_HONEST_SITES, Assumption.JOINT_MASKS)
AT_AGGREGATOR = (*_EVERYWHERE, Assumption.TRUSTED_HOLDER)


def promised_by_sites(settings: ReleaseSettings, n_samples: Sequence[int]) -> Guarantee:
    """Every site of so many people releases its own noisy second moment."""
    return gaussian_release_guarantee(
        settings,
        n_samples,
        noise_added_by="every site, to its own second moment, before anything is sent",
        assumptions=AT_SITES,
    )


def promised_by_first_site(settings: ReleaseSettings, n_samples: Sequence[int]) -> Guarantee:
    """The first site alone; nobody else's people are read."""
    return gaussian_release_guarantee(
        settings,
        n_samples[:1],
        noise_added_by="the first site, which uses nobody else's data",
        assumptions=AT_ONE_SITE,
    )


def promised_by_holder(settings: ReleaseSettings, n_samples: Sequence[int]) -> Guarantee:
    """Somebody who holds the rows of all sites adds noise once."""
    return gaussian_release_guarantee(
        settings,
        [int(sum(n_samples))],
        noise_added_by="the aggregator, once, after pooling everybody's raw rows",
        assumptions=AT_AGGREGATOR,
    )


def gaussian_release_guarantee(
    settings: ReleaseSettings,
    n_samples: Sequence[int],
    *,
    noise_added_by: str,
    assumptions: tuple[Assumption, ...],
) -> Guarantee:
    """Guarantee of a noisy second moment, for the person at the site that protects least.

    Sensitivity and noise both go with 1 / n_s, so all sites promise the same; sigma and
    sensitivity are those of the smallest. The private mean, where there is one, is included: the
    two Gaussian releases compose to what the undivided scale would have given
    (`dpcore.pca.site.noise_scales`).
    """
    sensitivity, sigma, epsilon = promised_by_site(int(min(n_samples)), settings)
    return Guarantee(
        asked=settings.budget,
        epsilon=epsilon,
        delta=settings.budget.delta,
        mechanism="none" if math.isinf(epsilon) else "gaussian",
        noise_added_by=noise_added_by,
        l2_sensitivity=sensitivity,
        sigma=sigma,
        assumptions=assumptions,
    )


@lru_cache(maxsize=1024)
def promised_by_site(n_samples: int, settings: ReleaseSettings) -> tuple[float, float, float]:
    """Sensitivity, sigma and exact epsilon of the second moment of one site's people."""
    budget = settings.budget
    sigma = second_moment_sigma(
        budget, n_samples, calibration=settings.calibration, row_norm_bound=settings.row_norm_bound
    )
    sensitivity = l2_sensitivity_of_second_moment(n_samples, settings.row_norm_bound)
    epsilon = gaussian_epsilon(budget.delta, sigma, sensitivity)
    if settings.calibration != "published":
        # The solver rounds towards privacy; the ratio to the asked value is its tolerance.
        epsilon = min(epsilon, budget.epsilon)
    return sensitivity, sigma, epsilon


def no_guarantee() -> Guarantee:
    """Exact PCA: nothing is promised."""
    return Guarantee(None, math.inf, 0.0, "none", "nobody")


def data_independent_guarantee() -> Guarantee:
    """A release that never looked at the data."""
    return Guarantee(None, 0.0, 0.0, "data-independent", "nobody: the data are not used")
