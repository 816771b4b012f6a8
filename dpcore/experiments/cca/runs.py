"""Private CCA as a family of the engine: tidy rows, one a (protocol, repetition)."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from statistics import fmean

import numpy as np

from dpcore.cca import CanonicalPairs, distributed_cca, joint_moment_sigma, measured_correlations
from dpcore.data.two_views import TwoViewDataset
from dpcore.experiments.cca.spec import CcaProblem, CcaSpec, build_cca_problem
from dpcore.experiments.cca.views import CutViews
from dpcore.experiments.engine.experiment import Experiment, Row, each_alone, gathered, row_from
from dpcore.experiments.engine.once_cache import OnceCache
from dpcore.experiments.pca.paired_curves import crossing
from dpcore.experiments.pca.runs import AskedRow
from dpcore.privacy import PrivacyBudget
from dpcore.streams import Repetition


class CcaRow(AskedRow):
    """One protocol in one repetition: the whole cell, and what it is worth on the true data.

    `correlation_share` is the measured total correlation over the exact one, `random_share` that
    of random directions, `estimate_error` the root mean square error of the private correlations.
    """

    preparation: str
    mean_share: float | None
    x_share: float
    floor: float
    repetition: int
    seed: int
    correlation_share: float
    random_share: float
    measured_total: float
    exact_total: float
    estimated_total: float
    estimate_error: float
    sigma: float | None
    exact_epsilon: float
    bytes_sent: int
    seconds: float


def draw_pairs(
    spec: CcaSpec, problem: CcaProblem, protocol: str, repetition: int
) -> CanonicalPairs:
    """The private pairs of one protocol in one repetition, for bounded rows."""
    return distributed_cca(
        problem.moments,
        problem.n_x,
        spec.settings(len(problem.reference)),
        protocol=protocol,
        floor=spec.floor,
        repetition=Repetition(spec.seed, repetition),
    )


def pairs_and_row(
    spec: CcaSpec, problem: CcaProblem, protocol: str, repetition: int
) -> tuple[CanonicalPairs, CcaRow]:
    """One draw of one protocol, and its tidy row."""
    started = time.perf_counter()
    pairs = draw_pairs(spec, problem, protocol, repetition)
    seconds = time.perf_counter() - started
    return pairs, row_of(spec, problem, protocol, repetition, pairs, seconds)


def run_cca_repetition(spec: CcaSpec, problem: CcaProblem, repetition: int) -> list[CcaRow]:
    """Tidy rows of one repetition, one a protocol; every cell meets the same unit noise."""
    return [pairs_and_row(spec, problem, key, repetition)[1] for key in spec.protocols]


def epsilon_reaching(rows: Iterable[Row], share: float = 0.5) -> float:
    """Smallest epsilon at which a curve's mean `correlation_share` reaches `share`.

    Linear in log epsilon between neighbouring points; the lowest epsilon of the rows if it
    reaches the share already, infinity if none does.
    """
    shares = gathered((row["epsilon"], row["correlation_share"]) for row in rows)
    means = ((epsilon, fmean(values)) for epsilon, values in sorted(shares.items()))
    reached = crossing(means, share)
    return math.inf if reached is None else reached


def row_of(
    spec: CcaSpec,
    problem: CcaProblem,
    protocol: str,
    repetition: int,
    pairs: CanonicalPairs,
    seconds: float,
) -> CcaRow:
    """The tidy row of pairs found."""
    measured = measured_correlations(pairs.x_rotations, pairs.y_rotations, problem.reference)
    exact_total = float(problem.exact.sum())
    settings = spec.settings(len(problem.reference))
    return row_from(
        CcaRow,
        spec,
        dataset=problem.dataset,
        protocol=protocol,
        samples=int(problem.moments.n_samples.sum()),
        components=settings.n_components,
        intermediate_dim=settings.intermediate_dim,
        mean_share=settings.mean_share,
        floor=pairs.floor,
        repetition=repetition,
        correlation_share=measured.total / exact_total,
        random_share=problem.random_share,
        measured_total=measured.total,
        exact_total=exact_total,
        estimated_total=float(pairs.correlations.sum()),
        estimate_error=float(np.sqrt(np.mean((pairs.correlations - problem.exact) ** 2))),
        sigma=pairs.guarantee.sigma,
        exact_epsilon=pairs.guarantee.epsilon,
        bytes_sent=int(pairs.bytes_sent.sum()),
        seconds=seconds,
    )


def check_cca(spec: CcaSpec) -> None:
    """Refuse, without reading any data, a spec that no release can have.

    Raises `ParameterError`.
    """
    spec.settings(spec.components)
    # Of epsilon alone: the number of people does not matter.
    joint_moment_sigma(PrivacyBudget(spec.epsilon, spec.delta), 2, calibration=spec.calibration)


_views: OnceCache[TwoViewDataset] = OnceCache(lambda source: source.load(), keep=2)
_problems: OnceCache[CcaProblem] = OnceCache(
    lambda key: build_cca_problem(_views(key.source), key), keep=2
)


def local_cca_problem(key: CcaSpec) -> CcaProblem:
    """Problems of this process, the latest kept."""
    return _problems(key)


CCA: Experiment[CcaSpec, CcaSpec, CcaProblem] = Experiment(
    row=CcaRow,
    outline=lambda spec: [{"protocol": key} for key in spec.protocols],
    run=each_alone(run_cca_repetition),
    problem_key=CcaSpec.problem_key,
    problem=local_cca_problem,
    dataset=lambda spec: spec.source.dataset if isinstance(spec.source, CutViews) else None,
    data_of=lambda key: key.source,
    check=check_cca,
)
