"""Plan a release on a made-up table, before private data are read.

A plan has the noise, the votes on the centre and the files' numbers of the release. The real table
may differ from the made-up one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.arrays import AnyArray, FloatArray
from dpcore.errors import ParameterError
from dpcore.release.dictionary import Column, Dictionary
from dpcore.release.encoding import Reading
from dpcore.release.integer_moments import MOST_ROWS
from dpcore.release.measurement import (
    bases_of,
    measure,
    moment_around,
    multiply_rounded,
    scales_of,
    sum_and_count,
)
from dpcore.release.scales import Scales
from dpcore.release.settings import PublicationSettings
from dpcore.release.tables import Table
from dpcore.spectra import cumulative_energy, leading_eigenpairs
from dpcore.streams import Purpose, stream

_N_SITES, _N_FACTORS = 3, 3
# Standard deviation of the cells around the middle: of the factors, and of the columns' noise.
_SPREAD, _OWN_SPREAD = 0.35, 0.15
# Cells are integers if the limits are integers at least this far apart.
_WIDE = 4
# Larger tables are made of weighted copies of this number of rows.
_ROWS_MADE = 4096


def look_alike(
    dictionary: Dictionary, n_rows: int, *, n_factors: int = _N_FACTORS, seed: int = 0
) -> dict[str, AnyArray]:
    """Return a made-up table that fits a dictionary, with its person, site and label columns.

    The cells are sums of common factors and of noise per column. Each factor has half the variance
    of the one before. A person has from one to `at_most` rows, at one site.

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
        noise = rng.normal(scale=_OWN_SPREAD, size=n_rows)
        table[column.name] = _cells(column, (factors @ load)[person] + noise)
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
    """Result of releases of made-up rows.

    Attributes
    ----------
    captured : ndarray of shape (n_draws, n_components)
        Share of the made-up rows' variance that the first 1, 2, ... released components capture
        in each draw of the noise.
    best : ndarray of shape (n_components,)
        Share that the best components capture.
    n_features : int
    centres : tuple of str
        Centre of each draw, an item of `dpcore.pca.centre_rule.CENTRES`.
    n_above_noise : tuple of int or None
        Number of components of each draw that are above the noise, as a certificate states it.
    """

    captured: FloatArray
    best: FloatArray
    n_features: int
    centres: tuple[str, ...]
    n_above_noise: tuple[int | None, ...]


def plan(
    dictionary: Dictionary,
    settings: PublicationSettings,
    *,
    n_rows: int,
    n_draws: int = 3,
) -> Plan:
    """Simulate a release on a made-up table. No private data are read, and nothing is charged.

    Parameters
    ----------
    dictionary : Dictionary
    settings : PublicationSettings
    n_rows : int
        Number of rows of the real table, if it is public, or an assumption.
    n_draws : int
        Number of draws of the noise.

    Raises
    ------
    ParameterError
        If a value is out of range, or `scales_of` refuses it.
    """
    check_rows(n_rows)
    n_features, n_components = dictionary.n_features, settings.n_components
    if not 1 <= n_components <= n_features:
        raise ParameterError("n_components", f"from 1 to the {n_features} features", n_components)
    scales = scales_of(dictionary, settings)
    n_made = min(n_rows, _ROWS_MADE)
    rows = look_alike(dictionary, n_made, n_factors=min(_N_FACTORS, n_features))
    table, copies = Table(rows, dictionary.keys, n_features), n_rows / n_made
    total = multiply_rounded(sum_and_count(table, dictionary, scales, Reading()), copies)
    # Made-up rows are no pictures, so they are denoised as columns.
    bases = bases_of(settings.denoise, n_features, n_components)
    drawn = [
        measure(
            table,
            dictionary,
            scales,
            total,
            n_components=n_components,
            on_sphere=settings.on_sphere,
            bases=bases,
            copies=copies,
        )
        for _ in range(n_draws)
    ]
    variance = _second_moment_of_made_up(table, dictionary, scales)
    best = np.cumsum(leading_eigenpairs(variance, n_components)[0])
    captured = np.array([cumulative_energy(simulated.components, variance) for simulated in drawn])
    whole = np.trace(variance)
    return Plan(
        captured / whole,
        best / whole,
        n_features,
        tuple(simulated.centre_choice for simulated in drawn),
        tuple(simulated.n_above_noise for simulated in drawn),
    )


def _second_moment_of_made_up(table: Table, dictionary: Dictionary, scales: Scales) -> FloatArray:
    """Return the second moment of made-up rows around their exact mean, up to a factor."""
    total = sum_and_count(table, dictionary, scales, Reading())
    centre = np.rint(total[:-1] * scales.count_weight / total[-1])
    exact = moment_around(table, dictionary, scales, centre, on_sphere=False)
    return exact.astype(np.float64)
