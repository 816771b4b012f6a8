"""A decision between harm and use: the most use within a harm, and the harm of a use.

Every epsilon of the controls is run, ten times to choose from and ten times with other noise to
confirm the choice. A target is reached if nine of ten runs of each kind reach it. The harm is the
number of 100 attackers who are right about a person although they know everything else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Unpack

import numpy as np

from dpcore.arrays import BoolArray, FloatArray, IntArray, largest_entries
from dpcore.classification import PrivateLogisticRegression
from dpcore.data import dataset_status
from dpcore.data.splits import MOST_SITES
from dpcore.errors import ParameterError
from dpcore.experiments.decide.ranking import Trusted
from dpcore.experiments.decide.run_statistics import (
    FRESH_RUNS,
    count_hits,
    least_share,
    reaches_target,
)
from dpcore.experiments.decide.targets import Stopped, collect_all
from dpcore.experiments.engine.fields import version_fields
from dpcore.experiments.engine.grid import Points
from dpcore.experiments.engine.spec import Row
from dpcore.experiments.engine.sweep import RunOptions
from dpcore.experiments.engine.units import ProblemSource
from dpcore.experiments.pca import RunSpec, run_repetitions
from dpcore.experiments.pca.problem import Problem, local_problem
from dpcore.params import EPSILONS
from dpcore.privacy import Guarantee, gaussian_epsilon, icon_counts
from dpcore.spectra import align_signs

# Protocol with the most captured energy for each kind of trust, if all sites take part.
PROTOCOL_FOR = {
    Trusted.NOBODY: "dpdis",
    Trusted.OTHER_SITES: "securesum",
    Trusted.HOLDER: "pooled",
}
# Protocol with smaller messages of the same noisy matrices as "dpdis".
CODED = "coded"
# Runs whose mean is displayed, as many as the explorer's default.
SEARCHED_RUNS = 10
TRIED_EPSILONS = tuple(epsilon for epsilon in EPSILONS if epsilon >= 0.01)
# Runs of ten that may miss a target that is reached.
_MOST_MISSES = 1
# Rows that a classifier is trained and tested on, limited so that a page can wait for it.
_MOST_LEARNERS = 4000
# Hard cases: the share of the test rows that are nearest to the mean of another class.
_HARD_SHARE = 0.25
# Strong factors: the columns that make up this share of the squared loadings.
_STRONG_SHARE = 0.95


@dataclass(frozen=True)
class Option:
    """One epsilon, its runs, and how much an attacker may learn.

    spec: Spec of the runs, at this epsilon.
    searched: Rows of the runs from which an option is chosen; their mean is displayed.
    fresh: Rows of further runs, which confirm the choice.
    most_right: Largest number of 100 attackers who are right about a person although they know
        everything else; 50 is a coin.
    """

    spec: RunSpec
    searched: tuple[Row, ...]
    fresh: tuple[Row, ...]
    most_right: int

    @property
    def epsilon(self) -> float:
        """Requested epsilon."""
        return self.spec.epsilon

    @property
    def energies(self) -> list[float]:
        """Captured energy of each searched run."""
        return [row["energy_ratio"] for row in self.searched]

    @property
    def mean(self) -> float:
        """Mean captured energy of the searched runs."""
        return fmean(self.energies)

    def hits(self, target: float) -> int:
        """Return the number of fresh runs that reach the target."""
        return count_hits([row["energy_ratio"] for row in self.fresh], target)

    def has_reached(self, target: float) -> bool:
        """Return whether nine of ten searched runs and nine of ten fresh runs reach the target."""
        fresh = [row["energy_ratio"] for row in self.fresh]
        return reaches_target(self.energies, target) and reaches_target(fresh, target)

    def least_share(self, target: float) -> float:
        """Return the lower 95 % confidence limit of the share of releases that reach the target."""
        return least_share(self.hits(target), len(self.fresh))

    @property
    def bytes_per_site(self) -> float:
        """Mean size of the messages of one site."""
        return fmean(row["bytes_per_site"] for row in self.searched)

    @property
    def runs(self) -> tuple[int, ...]:
        """Numbers of the searched runs."""
        return tuple(row["repetition"] for row in self.searched)


@dataclass(frozen=True)
class Answer:
    """Best options for a tolerable harm and for a requested use.

    tolerated: Option with the most captured energy among those with tolerable harm; None if every
        option harms more.
    needed: Option with the smallest epsilon that reaches the target; None if none does.
    """

    most_right: int
    target: float
    tolerated: Option | None
    needed: Option | None

    @property
    def do_meet(self) -> bool:
        """Whether an option reaches the target within the tolerable harm."""
        return self.needed is not None and self.needed.most_right <= self.most_right

    @property
    def chosen(self) -> Option | None:
        """Option to recommend: the most private that does both, else the most use tolerated."""
        return self.needed if self.do_meet else self.tolerated

    @property
    def options(self) -> tuple[Option, ...]:
        """Both options by epsilon, without repetition."""
        both = {
            option.epsilon: option for option in (self.tolerated, self.needed) if option is not None
        }
        return tuple(both[epsilon] for epsilon in sorted(both))


def answer(options: Sequence[Option], *, most_right: int, target: float) -> Answer:
    """Return the answer to both questions; it changes monotonically along both.

    A larger `most_right` admits more options, so the tolerated use never decreases. A larger
    `target` is reached by fewer options, so the needed epsilon and its harm never decrease.

    options: Results of `decide`.
    most_right: Largest tolerable number of 100 attackers who are right, from 50 to 100.
    target: Share of the captured energy of exact PCA, in (0, 1).
    Raises `ParameterError` if a number is out of range.
    """
    if not 50 <= most_right <= 100:
        raise ParameterError("most_right", "from 50 to 100", most_right)
    if not 0 < target < 1:
        raise ParameterError("target", "between 0 and 1", target)
    tolerated = [option for option in options if option.most_right <= most_right]
    reaching = [option for option in options if option.has_reached(target)]
    return Answer(
        most_right,
        target,
        max(tolerated, key=lambda option: (option.mean, -option.epsilon), default=None),
        min(reaching, key=lambda option: option.epsilon, default=None),
    )


def people_factor(guarantee: Guarantee, needed: Guarantee) -> float:
    """Return the factor on the number of people that gives the noise of another guarantee.

    The noise of a second moment of n people is proportional to 1 / n at a fixed guarantee.

    guarantee: Guarantee that must hold.
    needed: Guarantee whose noise is small enough, for the same data set and protocol.
    """
    if not guarantee.sigma or not needed.sigma:
        return math.inf
    return max(1.0, guarantee.sigma / needed.sigma)


def spec_of_trust(base: RunSpec, trusted: Trusted, n_people: int) -> RunSpec:
    """Return the spec of the options: the base, improved, with the most captured energy."""
    return replace(
        base,
        protocols=(PROTOCOL_FOR[trusted],),
        epsilon=1.0,
        **version_fields("improved", n_people),
        intermediate_dim=None,
        repetitions=SEARCHED_RUNS,
    )


def decide(
    spec: RunSpec,
    *,
    epsilons: Sequence[float] = TRIED_EPSILONS,
    should_stop: Callable[[], bool] = lambda: False,
    **options: Unpack[RunOptions],
) -> Iterator[Option]:
    """Run every epsilon, first to choose from and then to confirm the choice.

    spec: Result of `spec_of_trust`.
    epsilons: Epsilons to try.
    Yields an `Option` for each epsilon, the smallest first.
    Raises `ParameterError` if the spec cannot run.
    """
    dataset = dataset_status(spec.dataset)
    for epsilon in sorted(epsilons):
        tried = replace(spec, epsilon=epsilon, repetitions=SEARCHED_RUNS + FRESH_RUNS)
        try:
            result = collect_all(Points((tried,)), should_stop, options)
        except Stopped:
            return
        if result.skipped:
            raise ParameterError("epsilon", "possible to run", result.skipped[0]["skipped"])
        rows = result.rows
        yield Option(
            replace(spec, epsilon=epsilon),
            tuple(row for row in rows if row["repetition"] < SEARCHED_RUNS),
            tuple(row for row in rows if row["repetition"] >= SEARCHED_RUNS),
            icon_counts(tried.guarantee(tried.protocols[0], dataset))[0],
        )


def with_coded_messages(option: Option, **options: Unpack[RunOptions]) -> Option:
    """Return the option with coded matrices as messages, in the same searched runs.

    option: Option of the protocol "dpdis", whose guarantee and noise coded matrices share.
    """
    spec = replace(option.spec, protocols=(CODED,), repetitions=SEARCHED_RUNS)
    rows = collect_all(Points((spec,)), lambda: False, options).rows
    return replace(option, spec=spec, searched=tuple(rows), fresh=())


def is_recommended_for_bytes(coded: Option, option: Option) -> bool:
    """Return whether coded messages are smaller and capture at least as much, in whole percent."""
    is_as_good = round(100 * coded.mean) >= round(100 * option.mean)
    return coded.bytes_per_site < option.bytes_per_site and is_as_good


def epsilon_of_breach(guarantee: Guarantee) -> float:
    """Return the epsilon that remains if the trusted parties collude; infinite if they hold rows.

    For masked messages, the adversary then knows all masks and all noise except the noise of the
    person's own site, whose scale is `sigma`.
    """
    if any(adversary.is_trusted for adversary in guarantee.against) or not guarantee.sigma:
        return math.inf
    if guarantee.l2_sensitivity is None:
        return math.inf
    of_one_site = gaussian_epsilon(guarantee.delta, guarantee.sigma, guarantee.l2_sensitivity)
    return max(guarantee.epsilon, of_one_site)


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
    means = np.stack([X[labels == label].mean(axis=0) for label in classes])
    squared = np.square(tests).sum(axis=1)[:, None] - 2 * tests @ means.T
    squared = squared + np.square(means).sum(axis=1)
    is_own = test_labels[:, None] == classes
    distance = np.where(is_own, squared, np.inf).min(axis=1)
    other = np.where(is_own, np.inf, squared).min(axis=1)
    margin = other - distance
    hard: BoolArray = margin <= np.quantile(margin, _HARD_SHARE)
    return hard


def count_strong_factors(exact: FloatArray, most: int) -> int:
    """Count the columns that make up nearly all of the exact first component, at most `most`.

    The other columns have loadings near zero, whose order is that of the noise at every ε.

    exact: shape (n_components, n_features)
    """
    shares = np.sort(np.square(exact[0]))[::-1].cumsum() / np.square(exact[0]).sum()
    return min(most, int(np.searchsorted(shares, _STRONG_SHARE)) + 1)


def count_kept_factors(components: FloatArray, exact: FloatArray, n_strongest: int) -> int:
    """Return the number of strongest factors that the release has too, with their sign.

    Factors are the columns with the largest loadings of the exact first component, by magnitude.
    The exact order among them is not compared: loadings of nearly equal size change their order
    under the smallest noise.

    components, exact: shape (n_components, n_features)
    """
    released, exact_first = align_signs(components[:1], exact[:1])[0], exact[0]
    strongest = largest_entries(exact_first, n_strongest)
    is_among = np.isin(strongest, largest_entries(released, n_strongest))
    has_sign = np.sign(released[strongest]) == np.sign(exact_first[strongest])
    return int(np.count_nonzero(is_among & has_sign))


@dataclass(frozen=True)
class Remedy:
    """Change of a question under which the tolerated epsilon reaches the target.

    trusted: Party that has to be trusted more; None for other changes.
    option: Option at the tolerated epsilon under this change.
    has_more_sites: Whether further sites join.
    """

    trusted: Trusted | None
    option: Option
    has_more_sites: bool = False


def remedies(
    spec: RunSpec, trusted: Trusted, answer: Answer, **options: Unpack[RunOptions]
) -> Iterator[Remedy]:
    """Yield changes that reach the target at the tolerated epsilon.

    Only the first change of each kind is searched: the least additional trust, the largest number
    of components, and the smallest multiple of the sites.

    spec: Result of `spec_of_trust` for this trust.
    found: Answer whose harm and use do not meet.
    **options: Passed on to `run_sweep`.
    """
    if answer.tolerated is None:
        return
    dataset = dataset_status(spec.dataset)
    epsilons = (answer.tolerated.epsilon,)

    def reaches(changed: RunSpec) -> Option | None:
        (option,) = decide(changed, epsilons=epsilons, **options)
        return option if option.has_reached(answer.target) else None

    for more_trust in list(Trusted)[list(Trusted).index(trusted) + 1 :]:
        if option := reaches(replace(spec, protocols=(PROTOCOL_FOR[more_trust],))):
            yield Remedy(more_trust, option)
            break
    n_components = spec.components or dataset.default_components or 1
    for fewer in range(n_components - 1, 0, -1):
        if option := reaches(replace(spec, components=fewer)):
            yield Remedy(None, option)
            break
    if option := with_more_sites(spec, answer.tolerated, answer.target, options.get("problems")):
        yield Remedy(None, option, has_more_sites=True)


def with_more_sites(
    spec: RunSpec, tolerated: Option, target: float, problems: ProblemSource | None = None
) -> Option | None:
    """Return the option with the smallest multiple of the sites that reaches the target.

    Each site joins several times, with the same rows and noise of its own: a simulation of further
    sites whose people are alike. The guarantee of a row does not change. Returns None if no
    multiple up to `MOST_SITES` reaches the target, or if the protocol has no noise of each site.

    tolerated: Option whose epsilon is kept.
    """
    if spec.protocols != (PROTOCOL_FOR[Trusted.NOBODY],):
        return None
    problem = (problems or local_problem)(tolerated.spec.problem_key())
    for factor in range(2, MOST_SITES // spec.sites + 1):
        sites = [*range(spec.sites)] * factor
        joined = replace(problem, moments=problem.moments.at(sites))
        option = _run_joined(replace(tolerated.spec, sites=len(sites)), joined, tolerated, target)
        if option is not None:
            return option
    return None


def _run_joined(spec: RunSpec, problem: Problem, tolerated: Option, target: float) -> Option | None:
    """Return the option of the joined sites; None once too many runs miss the target."""
    groups: tuple[list[Row], list[Row]] = ([], [])
    for repetition in range(SEARCHED_RUNS + FRESH_RUNS):
        rows = groups[repetition >= SEARCHED_RUNS]
        rows += run_repetitions([replace(spec, repetitions=1)], problem, repetition)[0]
        misses = len(rows) - count_hits([row["energy_ratio"] for row in rows], target)
        if misses > _MOST_MISSES:
            return None
    searched, fresh = map(tuple, groups)
    option = Option(spec, searched, fresh, tolerated.most_right)
    return option if option.has_reached(target) else None
