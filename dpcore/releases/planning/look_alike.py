"""Synthetic rows from a dictionary alone."""

from __future__ import annotations

import numpy as np

from dpcore.arrays import AnyArray, FloatArray
from dpcore.errors import ParameterError
from dpcore.releases.dictionary import Column, Dictionary
from dpcore.releases.exact.integer_moments import MOST_ROWS
from dpcore.streams import Purpose, stream

_N_SITES = 3
# How far answers scatter around the middle, and how much of that is a column's own.
_SPREAD, _OWN = 0.35, 0.15
# Between whole limits so far apart answers are whole.
_WIDE = 4


def look_alike(
    dictionary: Dictionary, n_rows: int, *, n_factors: int = 3, seed: int = 0
) -> dict[str, AnyArray]:
    """A made-up table that fits a dictionary, all of its columns with person, site and label.

    A few common factors, each of half the variance of the one before, move all columns, each of
    which has some noise of its own. A person has from one to `at_most` rows, at one site.

    Parameters
    ----------
    dictionary : Dictionary
    n_rows : int
    n_factors : int
        How many directions there are to be found.
    seed : int
        Of the rows: public, like everything else here.

    Raises
    ------
    ParameterError
        If there are no rows, or too many, or no factors, or more than features.
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
    """Refuse numbers of rows that no release has."""
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
