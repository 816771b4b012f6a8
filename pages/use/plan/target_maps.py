"""Maps of a plan: where the target is reached, over ε and people, and over ε and δ."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from dpcore.experiments.analysis.noise_curve import NoiseCurve
from dpcore.experiments.engine.control_ranges import DELTAS
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.pca.sentences import percent
from dpcore.figures.tradeoffs.energy_map import energy_map
from pages.use.plan.panels import Question
from pages.widgets.charts import chart


def people_map(question: Question, rows: tuple[Row, ...]) -> None:
    """Mean energy over (ε, people per site), as far as it has been run."""
    energies: dict[tuple[int, float], list[float]] = {}
    for row in rows:
        energies.setdefault((row["people_per_site"], row["epsilon"]), []).append(
            row["energy_ratio"]
        )
    grid = np.array(
        [
            [fmean(energies.get((people, epsilon), [np.nan])) for epsilon in question.epsilons]
            for people in question.people
        ]
    )
    spec = question.spec
    _map(question, grid, question.people, "people per site",
         here=(spec.epsilon, (spec.samples or question.people[-1] * spec.sites) // spec.sites),
         key="plan_people_map")  # fmt: skip


def budget_map(question: Question, rows: tuple[Row, ...]) -> None:
    """Mean energy over (ε, δ) from one curve."""
    complete = _complete(rows)
    if len({row["epsilon"] for row in complete}) < 2:
        return
    curve = NoiseCurve.from_rows(complete, question.protocol)
    deltas = DELTAS[::-1]
    grid = curve.map(question.epsilons, deltas, calibration=question.spec.calibration)
    _map(question, grid, deltas, "δ", here=(question.spec.epsilon, question.spec.delta),
         key="plan_budget_map")  # fmt: skip


def _map(
    question: Question,
    grid: np.ndarray,
    ys: Sequence[float],
    y_title: str,
    *,
    here: tuple[float, float],
    key: str,
) -> None:
    reached = np.nan_to_num(grid) >= question.target
    chart(
        energy_map(
            question.epsilons, ys, grid, question.target,
            x_title="← more private     ε     less private →", y_title=y_title, here=here,
        ),
        key=key,
        alt=f"Captured energy over ε and {y_title}: {reached.sum()} of {reached.size} settings "
        f"reach {percent(question.target)}.",
    )  # fmt: skip


def _complete(rows: tuple[Row, ...]) -> list[Row]:
    """Rows of the settings whose draws have all arrived."""
    draws: dict[float, int] = {}
    for row in rows:
        draws[row["epsilon"]] = draws.get(row["epsilon"], 0) + 1
    return [row for row in rows if draws[row["epsilon"]] == max(draws.values())]
