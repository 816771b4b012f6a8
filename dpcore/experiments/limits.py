"""The ranges that controls offer and property tests cover: one place for both."""

from __future__ import annotations

EPSILONS = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0,
)  # fmt: skip
DELTAS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
PEOPLE_PER_SITE = (
    10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 6000, 10000, 20000, 30000, 60000,
)  # fmt: skip
MOST_SITES = 60
MOST_REPETITIONS = 50
LARGEST_SEED = 2**31 - 1
# Of a public bound on a column, in the column's own units.
LARGEST_BOUND = 1e12
