"""A decision: three named options for one question, tried in runs that had no part in choosing.

A search finds the smallest epsilon at which every one of a few runs reaches the target. That and a
smaller and a larger epsilon are the options. Each is then run anew, with noise that the search has
not met, and only what reached the target in nearly all of these runs is recommended.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Unpack

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.classification import PrivateLogisticRegression
from dpcore.errors import ParameterError
from dpcore.experiments.engine import Row
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.spec import ALL_RECOMMENDED
from dpcore.experiments.sweep import Points, RunOptions
from dpcore.experiments.targets import Stopped, Trusted, collected, least_share
from dpcore.params import EPSILONS, largest_delta
from dpcore.privacy import Guarantee, gaussian_epsilon
from dpcore.spectra import align_signs

NAMES = ("cautious", "balanced", "detailed")
# The protocol that keeps most among those that need no more trust; all sites take part in each.
PROTOCOL_FOR = {
    Trusted.NOBODY: "dpdis",
    Trusted.OTHER_SITES: "securesum",
    Trusted.HOLDER: "pooled",
}
SEARCH_RUNS, FRESH_RUNS, ENOUGH_RUNS = 3, 10, 9
# Steps of the controls between two options: a factor of five or four.
_APART = 2
LOOKED_AT = tuple(epsilon for epsilon in EPSILONS if 0.01 <= epsilon <= 20)
# As many people as a page trains and tests a classifier on while one looks.
_MOST_LEARNERS = 4000


@dataclass(frozen=True)
class TriedOption:
    """Runs of the search at one epsilon."""

    epsilon: float
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Option:
    """One of the three, with its fresh runs.

    spec: What was run, at the option's epsilon.
    rows: Of the fresh runs.
    """

    name: str
    spec: RunSpec
    target: float
    rows: tuple[Row, ...]

    @property
    def energies(self) -> list[float]:
        return [row["energy_ratio"] for row in self.rows]

    @property
    def mean(self) -> float:
        return fmean(self.energies)

    @property
    def hits(self) -> int:
        """How many of the fresh runs reach the target."""
        return sum(energy >= self.target for energy in self.energies)

    @property
    def has_reached(self) -> bool:
        return self.hits >= ENOUGH_RUNS

    @property
    def least_share(self) -> float:
        """At least so large a share of all releases reaches the target, at 95 % confidence."""
        return least_share(self.hits, len(self.rows))

    @property
    def bytes_per_site(self) -> float:
        return fmean(row["bytes_per_site"] for row in self.rows)

    @property
    def runs(self) -> tuple[int, ...]:
        """Numbers of the fresh runs."""
        return tuple(row["repetition"] for row in self.rows)


def recommended(options: tuple[Option, ...]) -> Option | None:
    """The most private of those that reached the target; None if none did."""
    reached = [each for each in options if each.has_reached]
    return min(reached, key=lambda each: each.spec.epsilon, default=None)


def asked_spec(base: RunSpec, trusted: Trusted, n_people: int) -> RunSpec:
    """The base as the options run it: what is private from the first row and keeps most.

    Raises `ParameterError` as `largest_delta`.
    """
    return replace(
        base,
        protocols=(PROTOCOL_FOR[trusted],),
        delta=largest_delta(n_people),
        epsilon=1.0,
        **ALL_RECOMMENDED,
        intermediate_dim=None,
        repetitions=SEARCH_RUNS,
    )


def decide(
    spec: RunSpec,
    target: float,
    *,
    should_stop: Callable[[], bool] = lambda: False,
    **options: Unpack[RunOptions],
) -> Iterator[TriedOption | Option]:
    """Search, and then try the three options in fresh runs.

    spec: From `asked_spec`.
    target: In (0, 1), the share of the optimum that has to survive.
    Yields `TriedOption` as the search goes on, and then an `Option` for each of `NAMES`.
    Raises `ParameterError` if the target is out of range, or the spec cannot run.
    """
    if not 0 < target < 1:
        raise ParameterError("target", "between 0 and 1", target)

    def runs(epsilon: float, n_runs: int) -> tuple[Row, ...]:
        asked = Points((replace(spec, epsilon=epsilon, repetitions=n_runs),))
        result = collected(asked, should_stop, options)
        if result.skipped:
            raise ParameterError("epsilon", "possible to run", result.skipped[0]["skipped"])
        return result.rows

    low, high = -1, len(LOOKED_AT)
    try:
        while high - low > 1:
            middle = (low + high) // 2
            rows = runs(LOOKED_AT[middle], SEARCH_RUNS)
            yield TriedOption(LOOKED_AT[middle], rows)
            reached = all(row["energy_ratio"] >= target for row in rows)
            low, high = (low, middle) if reached else (middle, high)
        balanced = min(max(high, _APART), len(LOOKED_AT) - 1 - _APART)
        for name, step in zip(NAMES, (-_APART, 0, _APART), strict=True):
            epsilon = LOOKED_AT[balanced + step]
            rows = runs(epsilon, SEARCH_RUNS + FRESH_RUNS)
            fresh = tuple(row for row in rows if row["repetition"] >= SEARCH_RUNS)
            yield Option(name, replace(spec, epsilon=epsilon), target, fresh)
    except Stopped:
        return


def epsilon_of_breach(guarantee: Guarantee) -> float:
    """What is left if those one trusts do their worst: infinite where they hold raw rows.

    Of masked messages: everybody's masks are known, and of all noise only that of a person's own
    site is not, which is what `sigma` is.
    """
    if any(each.is_trusted for each in guarantee.against) or not guarantee.sigma:
        return math.inf
    if guarantee.l2_sensitivity is None:
        return math.inf
    alone = gaussian_epsilon(guarantee.delta, guarantee.sigma, guarantee.l2_sensitivity)
    return max(guarantee.epsilon, alone)


def share_recognised(
    X: FloatArray,
    labels: IntArray,
    components: FloatArray,
    centre: FloatArray,
    *,
    rng: np.random.Generator,
) -> float:
    """Share of people whose label a classifier finds that sees them through a release alone.

    A logistic regression without noise is trained on half of them, each as K numbers, and
    tested on the rest. It reads rows: utility for a simulation, and no release.

    X: shape (n, n_features)
    labels: shape (n,)
    components, centre: As released, in the units of X.
    rng: Says who trains and who tests.
    """
    people = rng.permutation(len(X))[:_MOST_LEARNERS]
    X, labels = X[people], labels[people]
    seen = (X - centre) @ components.T
    seen = seen / max(float(np.linalg.norm(seen, axis=1).max()), 1e-300)
    # What an unpaid classifier learns is nobody's to publish: no noise, and no seed to keep.
    model = PrivateLogisticRegression(epsilon=math.inf, regularization=1e-4, random_state=0)
    model.fit(seen[::2], labels[::2])
    return float(np.mean(model.predict(seen[1::2]) == labels[1::2]))


def signs_kept(components: FloatArray, exact: FloatArray) -> int:
    """Of how many columns the first component has the sign that it has without noise.

    components, exact: shape (n_components, n_features)
    """
    aligned = align_signs(components[:1], exact[:1])
    return int(np.count_nonzero(np.sign(aligned[0]) == np.sign(exact[0])))
