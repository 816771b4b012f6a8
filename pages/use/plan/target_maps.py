"""Maps of a plan: where the target is reached, over ε and people, and over ε and δ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from dpcore.data import dataset_status
from dpcore.experiments.analysis.noise_curve import NoiseCurve
from dpcore.experiments.analysis.target_search import iso_energy_sweep
from dpcore.experiments.engine.control_ranges import DELTAS, EPSILONS, PEOPLE_PER_SITE
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.engine.sweep import Sweep
from dpcore.experiments.pca.sentences import percent
from dpcore.experiments.pca.spec import RunSpec
from dpcore.figures.tradeoffs.energy_map import energy_map
from pages.widgets.charts import chart

MAP_EPSILONS = tuple(epsilon for epsilon in EPSILONS if 0.05 <= epsilon <= 20)
MAP_DRAWS = 3
# A curve at the smallest δ that goes on to ε = 50 has the noise of every other (ε, δ) in it.
_CURVE_EPSILONS = tuple(epsilon for epsilon in EPSILONS if epsilon >= 0.05)
_MOST_PEOPLE = 7


def map_sweeps(spec: RunSpec) -> tuple[Sweep, Sweep]:
    """Around a setting: over (ε, people per site), and one curve through σ."""
    held = replace(spec, repetitions=min(spec.repetitions, MAP_DRAWS))
    curve = replace(held, delta=DELTAS[-1])
    return (
        iso_energy_sweep(held, MAP_EPSILONS, _people(spec)),
        Sweep(curve, (("epsilon", _CURVE_EPSILONS),)),
    )


def _people(spec: RunSpec) -> tuple[int, ...]:
    each = dataset_status(spec.dataset).n_samples // spec.sites
    return tuple(sorted({*(n for n in PEOPLE_PER_SITE if n < each), each})[-_MOST_PEOPLE:])


def people_map(spec: RunSpec, target: float, rows: tuple[Row, ...]) -> None:
    """Mean energy over (ε, people per site) around a setting, as far as it has been run."""
    energies: dict[tuple[int, float], list[float]] = {}
    for row in rows:
        energies.setdefault((row["people_per_site"], row["epsilon"]), []).append(
            row["energy_ratio"]
        )
    people = _people(spec)
    grid = np.array(
        [[fmean(energies.get((n, epsilon), [np.nan])) for epsilon in MAP_EPSILONS] for n in people]
    )
    here = spec.epsilon, (spec.samples or people[-1] * spec.sites) // spec.sites
    _map(grid, people, target, "people per site", here=here, key="plan_people_map")


def budget_map(spec: RunSpec, target: float, rows: tuple[Row, ...]) -> None:
    """Mean energy over (ε, δ) around a setting, from one curve."""
    complete = _complete(rows)
    if len({row["epsilon"] for row in complete}) < 2:
        return
    curve = NoiseCurve.from_rows(complete, spec.protocols[0])
    deltas = DELTAS[::-1]
    grid = curve.map(MAP_EPSILONS, deltas, calibration=spec.calibration)
    _map(grid, deltas, target, "δ", here=(spec.epsilon, spec.delta), key="plan_budget_map")


def _map(
    grid: np.ndarray,
    ys: Sequence[float],
    target: float,
    y_title: str,
    *,
    here: tuple[float, float],
    key: str,
) -> None:
    reached = np.nan_to_num(grid) >= target
    chart(
        energy_map(
            MAP_EPSILONS, ys, grid, target,
            x_title="← more private     ε     less private →", y_title=y_title, here=here,
        ),
        key=key,
        alt=f"Captured energy over ε and {y_title}: {reached.sum()} of {reached.size} settings "
        f"reach {percent(target)}.",
    )  # fmt: skip


def _complete(rows: tuple[Row, ...]) -> list[Row]:
    """Rows of the settings whose draws have all arrived."""
    draws: dict[float, int] = {}
    for row in rows:
        draws[row["epsilon"]] = draws.get(row["epsilon"], 0) + 1
    return [row for row in rows if draws[row["epsilon"]] == max(draws.values())]
