"""A decision: three named options for one question, tested in fresh runs.

A search finds the smallest epsilon at which every run of a few reaches the target. This epsilon, a
smaller and a larger one are the options. Each option is then run with noise that the search has not
used, and is recommended only if at least nine of ten fresh runs reach the target.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Unpack

import numpy as np

from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.classification import PrivateLogisticRegression
from dpcore.errors import ParameterError
from dpcore.experiments.decide.ranking import Trusted
from dpcore.experiments.decide.run_statistics import (
    FRESH_RUNS,
    SEARCH_RUNS,
    count_hits,
    least_share,
    reaches_target,
)
from dpcore.experiments.decide.targets import Stopped, collect_all
from dpcore.experiments.engine.fields import VERSIONS
from dpcore.experiments.engine.spec import Row
from dpcore.experiments.engine.sweep import Points, RunOptions
from dpcore.experiments.pca import RunSpec
from dpcore.params import EPSILONS, largest_delta
from dpcore.privacy import Guarantee, gaussian_epsilon
from dpcore.spectra import align_signs

NAMES = ("cautious", "balanced", "detailed")
# Protocol with the most captured energy for each kind of trust, if all sites take part.
PROTOCOL_FOR = {
    Trusted.NOBODY: "dpdis",
    Trusted.OTHER_SITES: "securesum",
    Trusted.HOLDER: "pooled",
}
# Steps of the controls between two options: a factor of five or four.
_STEPS_APART = 2
SEARCHED_EPSILONS = tuple(epsilon for epsilon in EPSILONS if 0.01 <= epsilon <= 20)
# Rows that a classifier is trained and tested on, limited so that a page can wait for it.
_MOST_LEARNERS = 4000
# Hard cases: the share of the test rows that are nearest to the mean of another class.
_HARD_SHARE = 0.25
# Strong factors: the columns that make up this share of the squared loadings.
_STRONG_SHARE = 0.95


@dataclass(frozen=True)
class TriedOption:
    """Runs of the search at one epsilon."""

    epsilon: float
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Option:
    """One of the three options, with its fresh runs.

    spec: Spec of the runs, at the option's epsilon.
    rows: Rows of the fresh runs.
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
        """Number of fresh runs that reach the target."""
        return count_hits(self.energies, self.target)

    @property
    def has_reached(self) -> bool:
        return reaches_target(self.energies, self.target)

    @property
    def least_share(self) -> float:
        """Lower 95 % confidence limit of the share of all releases that reach the target."""
        return least_share(self.hits, len(self.rows))

    @property
    def bytes_per_site(self) -> float:
        return fmean(row["bytes_per_site"] for row in self.rows)

    @property
    def runs(self) -> tuple[int, ...]:
        """Numbers of the fresh runs."""
        return tuple(row["repetition"] for row in self.rows)


def recommended(options: tuple[Option, ...]) -> Option | None:
    """Return the most private option that reaches the target; None if no option does."""
    reached = [each for each in options if each.has_reached]
    return min(reached, key=lambda each: each.spec.epsilon, default=None)


def asked_spec(base: RunSpec, trusted: Trusted, n_people: int) -> RunSpec:
    """Return the spec of the options: the base, fully private, with the most captured energy.

    Raises `ParameterError` as `largest_delta`.
    """
    return replace(
        base,
        protocols=(PROTOCOL_FOR[trusted],),
        delta=largest_delta(n_people),
        epsilon=1.0,
        **VERSIONS["improved"],
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
    """Search, and then test the three options in fresh runs.

    spec: Result of `asked_spec`.
    target: Share of the optimum that must be reached, in (0, 1).
    Yields `TriedOption` for each epsilon of the search, and then an `Option` for each of `NAMES`.
    Raises `ParameterError` if the target is out of range, or the spec cannot run.
    """
    if not 0 < target < 1:
        raise ParameterError("target", "between 0 and 1", target)

    def runs(epsilon: float, n_runs: int) -> tuple[Row, ...]:
        points = Points((replace(spec, epsilon=epsilon, repetitions=n_runs),))
        result = collect_all(points, should_stop, options)
        if result.skipped:
            raise ParameterError("epsilon", "possible to run", result.skipped[0]["skipped"])
        return result.rows

    low, high = -1, len(SEARCHED_EPSILONS)
    try:
        while high - low > 1:
            middle = (low + high) // 2
            rows = runs(SEARCHED_EPSILONS[middle], SEARCH_RUNS)
            yield TriedOption(SEARCHED_EPSILONS[middle], rows)
            reached = all(row["energy_ratio"] >= target for row in rows)
            low, high = (low, middle) if reached else (middle, high)
        balanced = min(max(high, _STEPS_APART), len(SEARCHED_EPSILONS) - 1 - _STEPS_APART)
        for name, step in zip(NAMES, (-_STEPS_APART, 0, _STEPS_APART), strict=True):
            epsilon = SEARCHED_EPSILONS[balanced + step]
            rows = runs(epsilon, SEARCH_RUNS + FRESH_RUNS)
            fresh = tuple(row for row in rows if row["repetition"] >= SEARCH_RUNS)
            yield Option(name, replace(spec, epsilon=epsilon), target, fresh)
    except Stopped:
        return


def epsilon_of_breach(guarantee: Guarantee) -> float:
    """Return the epsilon that remains if the trusted parties collude; infinite if they hold rows.

    For masked messages, the adversary then knows all masks and all noise except the noise of the
    person's own site, whose scale is `sigma`.
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
    """Return the share of hard cases that a classifier recognises from a release.

    A logistic regression without noise is trained on half of the rows, projected to the K released
    components, and tested on the hard cases of the other half: the quarter of the rows that are
    nearest, relative to the mean of their own class, to the mean of another class. Easy rows are
    recognised at every epsilon. The function reads rows: it is for simulations.

    X: shape (n, n_features)
    labels: shape (n,)
    components, centre: Released values, in the units of X.
    rng: Generator that splits the rows into training and test rows.
    """
    people = rng.permutation(len(X))[:_MOST_LEARNERS]
    X, labels = X[people], labels[people]
    projected = (X - centre) @ components.T
    projected = projected / max(float(np.linalg.norm(projected, axis=1).max()), 1e-300)
    # Infinite epsilon adds no noise, so the random state changes no number.
    model = PrivateLogisticRegression(epsilon=math.inf, regularization=1e-4, random_state=0)
    model.fit(projected[::2], labels[::2])
    is_hard = _find_hard_cases(X[::2], labels[::2], X[1::2], labels[1::2])
    is_right = model.predict(projected[1::2]) == labels[1::2]
    return float(np.mean(is_right[is_hard]))


def _find_hard_cases(
    X: FloatArray, labels: IntArray, tests: FloatArray, test_labels: IntArray
) -> BoolArray:
    """Return which test rows are among the hardest by the class means of the training rows."""
    classes = np.unique(labels)
    means = np.stack([X[labels == each].mean(axis=0) for each in classes])
    squared = np.square(tests).sum(axis=1)[:, None] - 2 * tests @ means.T
    squared = squared + np.square(means).sum(axis=1)
    is_own = test_labels[:, None] == classes
    own = np.where(is_own, squared, np.inf).min(axis=1)
    other = np.where(is_own, np.inf, squared).min(axis=1)
    margin = other - own
    hard: BoolArray = margin <= np.quantile(margin, _HARD_SHARE)
    return hard


def count_strong_factors(exact: FloatArray, most: int) -> int:
    """Return how many columns make up nearly all of the exact first component, at most `most`.

    The other columns have loadings near zero, whose order is that of the noise at every ε.

    exact: shape (n_components, n_features)
    """
    shares = np.sort(np.square(exact[0]))[::-1].cumsum() / np.square(exact[0]).sum()
    return min(most, int(np.searchsorted(shares, _STRONG_SHARE)) + 1)


def count_kept_factors(components: FloatArray, exact: FloatArray, n_strongest: int) -> int:
    """Return how many of the strongest factors are still among the strongest, with their sign.

    Factors are the columns with the largest loadings of the exact first component, by magnitude.
    The exact order among them is not compared: loadings of nearly equal size change their order
    under the smallest noise.

    components, exact: shape (n_components, n_features)
    """
    released, exact_first = align_signs(components[:1], exact[:1])[0], exact[0]
    strongest = np.argsort(-np.abs(exact_first), kind="stable")[:n_strongest]
    is_among = np.isin(strongest, np.argsort(-np.abs(released), kind="stable")[:n_strongest])
    has_sign = np.sign(released[strongest]) == np.sign(exact_first[strongest])
    return int(np.count_nonzero(is_among & has_sign))
