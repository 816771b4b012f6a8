"""Plan a release on a made-up table, before private data are read.

The noise of a plan is that of the release. How similar the real table is to the made-up one is
unknown before the release.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.arrays import AnyArray, FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.params import check_params
from dpcore.pca.assessment import bases_worth
from dpcore.release.dictionary import Column, Dictionary
from dpcore.release.encoding import Reading
from dpcore.release.integer_moments import MOST_ROWS, noisy_second_moment
from dpcore.release.measurement import bases_of, moment_around, noisy_centre, sum_and_count
from dpcore.release.scales import Scales, calibrated
from dpcore.release.settings import PublicationSettings
from dpcore.release.tables import Table
from dpcore.spectra import Spectrum, cumulative_energy, leading_eigenpairs
from dpcore.streams import Purpose, stream

_N_SITES = 3
# Spread of the cells around the middle, and the part of it that columns do not share.
_SPREAD, _OWN = 0.35, 0.15
# Cells are integers if the limits are integers at least this far apart.
_WIDE = 4
# Larger tables are made of weighted copies of this number of rows.
_ROWS_MADE = 4096


def look_alike(
    dictionary: Dictionary, n_rows: int, *, n_factors: int = 3, seed: int = 0
) -> dict[str, AnyArray]:
    """Return a made-up table that fits a dictionary, with its person, site and label columns.

    A few common factors, each with half the variance of the one before, and noise per column
    generate the cells. Each person has one to `at_most` rows, at one site.

    Parameters
    ----------
    dictionary : Dictionary
    n_rows : int
    n_factors : int
        Number of common factors.
    seed : int
        Seed of the rows, which are public.

    Raises
    ------
    ParameterError
        If n_rows or n_factors is out of range.
    """
    check_rows(n_rows)
    if not 1 <= n_factors <= dictionary.n_features:
        raise ParameterError(
            "n_factors", f"from 1 to the {dictionary.n_features} features", n_factors
        )
    rng = stream(seed, Purpose.DATA)
    last_rows = np.cumsum(rng.integers(1, dictionary.at_most + 1, size=n_rows))
    person = np.searchsorted(last_rows, np.arange(n_rows), side="right")
    factors = rng.standard_normal((person[-1] + 1, n_factors))
    weights = 0.5 ** (np.arange(n_factors) / 2)
    factors *= _SPREAD * weights * np.sqrt(n_factors) / np.linalg.norm(weights)
    table: dict[str, AnyArray] = {}
    if dictionary.person is not None:
        table[dictionary.person] = np.char.mod("P%04d", person)
    for column in dictionary.columns:
        load = rng.standard_normal(n_factors)
        load /= np.linalg.norm(load)
        own = rng.normal(scale=_OWN, size=n_rows)
        table[column.name] = _cells(column, (factors @ load)[person] + own)
    if dictionary.site is not None:
        table[dictionary.site] = np.char.mod("site %d", 1 + person % _N_SITES)
    if dictionary.label is not None:
        table[dictionary.label] = np.where(factors[person, 0] > 0, "yes", "no")
    return table


def check_rows(n_rows: int) -> None:
    """Raise `ParameterError` if a release cannot have this number of rows."""
    if not 1 <= n_rows <= MOST_ROWS:
        raise ParameterError("n_rows", f"from 1 to {MOST_ROWS:,}", n_rows)


def _cells(column: Column, score: FloatArray) -> AnyArray:
    if column.levels:
        place = np.clip((score + 1) / 2 * len(column.levels), 0, len(column.levels) - 1)
        levels: AnyArray = np.array(column.levels)[place.astype(int)]
        return levels
    answer: FloatArray = np.clip(column.middle + score * column.reach, column.lower, column.upper)
    has_whole_limits = column.lower.is_integer() and column.upper.is_integer()
    whole = has_whole_limits and column.upper - column.lower >= _WIDE
    return np.rint(answer) if whole else answer


@dataclass(frozen=True, eq=False)
class Plan:
    """Result of a release of made-up rows.

    Attributes
    ----------
    scales : Scales
        Noise of the release, which does not depend on rows.
    epsilon : float
        Exact epsilon at the requested delta.
    visible_share : float
        Smallest share of the variance at which a noisy eigenvector correlates with a direction:
        sigma sqrt(D) over the number of rows.
    captured, best : ndarray of shape (n_draws, n_components)
        Share of the made-up rows' variance that the first 1, 2, ... released components capture
        in each draw of the noise, and that the best ones capture.
    """

    scales: Scales
    epsilon: float
    visible_share: float
    captured: FloatArray
    best: FloatArray


def plan(
    dictionary: Dictionary,
    *,
    n_rows: int,
    epsilon: float,
    delta: float,
    n_components: int,
    n_factors: int = 3,
    n_draws: int = 3,
    seed: int = 0,
    **choices: Any,
) -> Plan:
    """Simulate a release on a made-up table. No private data are read, and nothing is charged.

    Parameters
    ----------
    dictionary : Dictionary
    n_rows : int
        Number of rows of the real table, if it is public, or an assumption.
    epsilon, delta, n_components
        As in `release`.
    n_factors, seed : int
        Arguments of `look_alike`.
    n_draws : int
        Number of draws of the noise.
    **choices
        Other fields of `dpcore.release.settings.PublicationSettings`.

    Raises
    ------
    ParameterError
        As `calibrated` and `look_alike`.
    """
    check_rows(n_rows)
    settings = PublicationSettings(epsilon, delta, n_components, **choices)
    check_params(settings)
    if not 1 <= n_components <= dictionary.n_features:
        raise ParameterError(
            "n_components", f"from 1 to the {dictionary.n_features} features", n_components
        )
    scales = calibrated(dictionary, epsilon=epsilon, delta=delta, mean_share=settings.mean_share)
    n_made = min(n_rows, _ROWS_MADE)
    rows = look_alike(dictionary, n_made, n_factors=n_factors, seed=seed)
    table, copies = Table(rows, dictionary.keys, dictionary.n_features), n_rows / n_made
    total = _times(sum_and_count(table, dictionary, scales, Reading()), copies)
    drawn, bases = [], bases_of(settings.denoise, dictionary.n_features, n_components)
    for _ in range(n_draws):
        centre, _ = noisy_centre(total, scales)
        exact = moment_around(table, dictionary, scales, centre, on_sphere=settings.on_sphere)
        noisy = noisy_second_moment(_times(exact, copies), scales.moment_sigma)
        likely: FloatArray = noisy.astype(np.float64)
        spectrum, sigma = Spectrum(likely), scales.diagonal_sigma
        chosen = bases_worth(spectrum, sigma=sigma, bases=bases)
        _, found = spectrum.denoised(sigma, bases=chosen, noise="isometric").leading(n_components)
        doubles = exact.astype(np.float64)
        best = np.cumsum(leading_eigenpairs(doubles, n_components)[0])
        drawn.append(np.array([cumulative_energy(found, doubles), best]) / np.trace(exact))
    captured, best = np.swapaxes(drawn, 0, 1)
    visible = scales.moment_sigma * scales.n_features**0.5 / scales.length**2 / n_rows
    return Plan(scales, scales.epsilon(delta, epsilon), visible, captured, best)


def _times(exact: IntArray, copies: float) -> IntArray:
    counted: IntArray = np.rint(exact * copies).astype(np.int64)
    return counted
