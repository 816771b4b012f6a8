"""Limits of parameters: what controls offer, specs take and property tests cover."""

from __future__ import annotations

from numbers import Integral

from dpcore.errors import ParameterError

EPSILONS = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0,
)  # fmt: skip
# At most one in ten times the people of the data set that a visitor meets first.
USUAL_DELTA = 1e-5
DELTAS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
PEOPLE_PER_SITE = (
    10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 6000, 10000, 20000, 30000, 60000,
)  # fmt: skip
MOST_REPETITIONS = 50
LARGEST_SEED = 2**31 - 1
# Of a public bound on a column, in the column's own units.
LARGEST_BOUND = 1e12
# Of people, sites, repetitions: more than there are data for, and exact as a float.
LARGEST_COUNT = 10**9
SMALLEST_CONCENTRATION, LARGEST_CONCENTRATION = 1e-3, 1e6


def require_counts(spec: object, **least: int) -> None:
    """Refuse fields of a spec that are no whole numbers from `least` on, or are beyond any use.

    Raises `ParameterError` naming the first of them.
    """
    for name, smallest in least.items():
        value = getattr(spec, name)
        if not isinstance(value, Integral) or int(value) < smallest:
            raise ParameterError(name, f"a whole number of at least {smallest}", value)
        if int(value) > (most := 2**63 - 1 if name == "seed" else LARGEST_COUNT):
            raise ParameterError(name, f"at most {most:,}", value)
