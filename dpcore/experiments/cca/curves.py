"""Private CCA against epsilon, the number of people and delta: the poster's three panels."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from dpcore.cca import (
    CanonicalPairs,
    distributed_cca,
    joint_moment_sigma,
    measured_correlations,
)
from dpcore.data.two_views import TwoViewDataset
from dpcore.errors import ParameterError
from dpcore.experiments.cca.spec import CcaProblem, CcaSpec, build_cca_problem
from dpcore.streams import Repetition

AXES = ("epsilon", "samples", "delta")

Row = dict[str, object]


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


def run_cca_repetition(spec: CcaSpec, problem: CcaProblem, repetition: int) -> list[Row]:
    """Tidy rows of one repetition, one a protocol; every cell meets the same unit noise."""
    rows = []
    for protocol in spec.protocols:
        started = time.perf_counter()
        pairs = draw_pairs(spec, problem, protocol, repetition)
        seconds = time.perf_counter() - started
        rows.append(row_of(spec, problem, protocol, repetition, pairs) | {"seconds": seconds})
    return rows


def cca_sweep(
    views: TwoViewDataset, spec: CcaSpec, *, over: str = "epsilon", values: Sequence[float]
) -> Iterator[Row]:
    """Rows of a curve, as they are finished; repetitions outermost, so it fills in evenly.

    Parameters
    ----------
    views : TwoViewDataset
    spec : CcaSpec
    over : {"epsilon", "samples", "delta"}
        Field of the spec that varies. Draws of noise are common to all its values.
    values : sequence of float or int

    Yields
    ------
    dict
        The whole cell and its parameters; `correlation_share` is the measured total correlation
        over the exact one, `estimate_error` the root mean square error of the private
        correlations.

    Raises
    ------
    ParameterError
        If the axis is unknown or a cell cannot run; before any row.
    """
    if over not in AXES:
        raise ParameterError("over", f"one of {', '.join(AXES)}", over)
    cells = [replace(spec, **{over: value}) for value in values]
    problems: dict[tuple, CcaProblem] = {}
    for cell in cells:
        settings = cell.settings(views.n_x + views.n_y)
        joint_moment_sigma(settings.budget, views.n_samples, calibration=settings.calibration)
        if cell.data_side not in problems:
            problems[cell.data_side] = build_cca_problem(views, cell)
    for repetition in range(spec.repetitions):
        for cell in cells:
            yield from run_cca_repetition(cell, problems[cell.data_side], repetition)


def epsilon_reaching(rows: Iterable[Row], share: float = 0.5) -> float:
    """Smallest epsilon at which a curve's mean `correlation_share` reaches `share`.

    Linear in log epsilon between neighbouring points; the lowest epsilon of the rows if it
    reaches the share already, infinity if none does.
    """
    shares: dict[float, list[float]] = {}
    for row in rows:
        shares.setdefault(row["epsilon"], []).append(row["correlation_share"])
    curve = [(epsilon, float(np.mean(values))) for epsilon, values in sorted(shares.items())]
    below: tuple[float, float] | None = None
    for epsilon, mean in curve:
        if mean >= share:
            if below is None:
                return epsilon
            part = (share - below[1]) / (mean - below[1])
            return below[0] * (epsilon / below[0]) ** part
        below = (epsilon, mean)
    return math.inf


def row_of(
    spec: CcaSpec, problem: CcaProblem, protocol: str, repetition: int, pairs: CanonicalPairs
) -> Row:
    """The tidy row of pairs found: the whole cell, and what they are worth on the true data."""
    measured = measured_correlations(pairs.x_rotations, pairs.y_rotations, problem.reference)
    exact_total = float(problem.exact.sum())
    settings = spec.settings(len(problem.reference))
    return {
        "dataset": problem.dataset,
        "protocol": protocol,
        "epsilon": spec.epsilon,
        "delta": spec.delta,
        "sites": spec.sites,
        "samples": int(problem.moments.n_samples.sum()),
        "components": settings.n_components,
        "intermediate_dim": settings.intermediate_dim,
        "calibration": spec.calibration,
        "noise": spec.noise,
        "truncation": spec.truncation,
        "preparation": spec.preparation,
        "x_share": spec.x_share,
        "floor": pairs.floor,
        "repetition": repetition,
        "seed": spec.seed,
        "correlation_share": measured.total / exact_total if exact_total > 0 else math.nan,
        "random_share": problem.random_share,
        "measured_total": measured.total,
        "exact_total": exact_total,
        "estimated_total": float(pairs.correlations.sum()),
        "estimate_error": float(np.sqrt(np.mean((pairs.correlations - problem.exact) ** 2))),
        "sigma": pairs.guarantee.sigma,
        "exact_epsilon": pairs.guarantee.epsilon,
        "bytes_sent": int(pairs.bytes_sent.sum()),
    }
