"""How much of a budget a private mean is worth: from public numbers, and from no row.

Rows are at most 1 long, N of them at S sites, each with D entries; mu is the budget as a Gaussian
mechanism. Averaged over the sites, the mean's noise is 2 x / sqrt(s) long for a share s of mu
squared, with x = sqrt(S D) / (N mu), and that of the second moment has the operator norm
2 x / sqrt(1 - s) (the edge of the semicircle of isometric noise of scale sqrt(2) / (n mu)).

A centre that is off by e bends the moment by second order, |e|^2 over the squared distance of the
rows; measured against the diameter 2 of the ball this is x^2 / s. Since 2 / sqrt(1 - s) is at most
1 + 1 / (1 - s), both together are at most

    x + x / (1 - s) + x^2 / s,

which is least at s = sqrt(x) / (1 + sqrt(x)), where it is 2 x + 2 x^(3/2) + x^2. Without a mean
rows are taken around the public middle, which is at most 1 off, that is 1/4 by the same measure,
and the moment's noise costs 2 x: from 2 x^(3/2) + x^2 = 1/4 on, at x = 0.22, a mean costs more
than any centre it could find is worth, and none is bought.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from dpcore.errors import ParameterError
from dpcore.pca.settings import ReleaseSettings
from dpcore.privacy import PrivacyBudget, gaussian_sigma, published_sigma
from dpcore.spectra import SiteMoments, SiteRows

# What no centre at all costs at most, in the measure above.
_WITHOUT = 0.25
# Where there is no noise the mean costs nothing, and any share will do.
_SMALLEST = 1e-6


def with_mean_share(
    settings: ReleaseSettings, n_samples: Sequence[float], n_features: int, *, n_noises: int = 1
) -> ReleaseSettings:
    """The settings with the share that the rule finds, where it was left to it.

    n_samples: People at each site that has a part in the mean.
    n_noises: How many noises, each calibrated for a site of its own, are averaged: S, or 1 where
        noise is added once.
    Raises `ParameterError` if the budget cannot be calibrated.
    """
    if settings.mean_share is not None:
        return settings
    return _settled(settings, sum(n_samples), n_noises * n_features)


# Every protocol of a draw asks several times.
@lru_cache(maxsize=256)
def _settled(settings: ReleaseSettings, n_people: float, n_entries: int) -> ReleaseSettings:
    unit = _noise_of_unit_change(settings.budget, settings.calibration)
    noise = math.sqrt(n_entries) / n_people * unit
    return replace(settings, mean_share=best_mean_share(noise))


def best_mean_share(noise: float) -> float:
    """s for noise x = sqrt(S D) / (N mu); 0 where no mean is worth its price."""
    root = math.sqrt(noise)
    if 2 * noise * root + noise**2 >= _WITHOUT:
        return 0.0
    return max(root / (1 + root), _SMALLEST)


def check_centring(moments: SiteMoments | SiteRows, settings: ReleaseSettings) -> None:
    """Refuse rows that wait for a centre where none is asked for, and the reverse.

    Moments that were taken already can be of rows at length 1 around a public point, and of no
    others: `on_sphere` then goes with a `mean_share` of 0.
    """
    has_rows = isinstance(moments, SiteRows)
    if has_rows != settings.on_sphere and (has_rows or settings.mean_share != 0):
        raise ParameterError(
            "on_sphere",
            "true for rows that wait for a centre, and for moments false or with mean_share=0",
            settings.on_sphere,
        )


@lru_cache(maxsize=256)
def _noise_of_unit_change(budget: PrivacyBudget, calibration: str) -> float:
    """1 / mu: the noise that a change of 1 gets."""
    if calibration == "published":
        return published_sigma(budget, 1.0, 1.0) / math.sqrt(2)
    return gaussian_sigma(budget, 1.0, calibration=calibration)
