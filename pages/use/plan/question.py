"""What a plan asks: a target, what is to be found, over which protocols; maps of its answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
import streamlit as st

from dpcore.data import dataset_status
from dpcore.experiments.analysis.cheapest_way import has_field, recommend
from dpcore.experiments.analysis.noise_curve import NoiseCurve
from dpcore.experiments.analysis.ranking import ways_for
from dpcore.experiments.analysis.recommendation import Recommendation
from dpcore.experiments.analysis.target_search import iso_energy_sweep
from dpcore.experiments.engine.control_ranges import DELTAS, EPSILONS, PEOPLE_PER_SITE
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.engine.sweep import RunCost, Sweep, cost_of_spec
from dpcore.experiments.pca.sentences import percent
from dpcore.experiments.pca.spec import RunSpec
from dpcore.figures.tradeoffs.targets import energy_map
from dpcore.pca.protocols.register import PROTOCOLS
from pages.parameters.table import ask
from pages.parameters.use import EVERY_PROTOCOL, WANTED
from pages.server import visitors_jobs
from pages.server.background_jobs import Parts, Progress, ShouldStop
from pages.widgets.charts import chart

# Values at which each way is tried, most being out of sight after a few draws.
_TRIED = 3
MAP_EPSILONS = tuple(epsilon for epsilon in EPSILONS if 0.05 <= epsilon <= 20)
MAP_DRAWS = 3
# A curve at the smallest δ that goes on to ε = 50 has the noise of every other (ε, δ) in it.
_CURVE_EPSILONS = tuple(epsilon for epsilon in EPSILONS if epsilon >= 0.05)
_MOST_PEOPLE = 7


@dataclass(frozen=True)
class Question:
    """A target, what is to be found, over what, and what is held."""

    base: RunSpec
    field: str
    target: float
    protocols: tuple[str, ...] | None

    def parts(self) -> Parts:
        """The search, and then two maps around its answer."""
        answers: list[Recommendation] = []
        options = visitors_jobs.run_options()

        def search(stop: ShouldStop) -> Iterator[object]:
            for step in recommend(
                self.base, self.target, self.field,
                protocols=self.protocols, should_stop=stop, **options,
            ):  # fmt: skip
                if isinstance(step, Recommendation):
                    answers.append(step)
                yield step

        def around_it(number: int, stop: ShouldStop) -> Iterator[object]:
            for answer in answers:
                sweep: Sweep = map_sweeps(shown_by(answer))[number]
                yield from visitors_jobs.sweep_part(sweep)(stop)

        return {
            "search": search,
            "map": lambda stop: around_it(0, stop),
            "curve": lambda stop: around_it(1, stop),
        }

    def cost(self) -> RunCost:
        """What all of it takes, roughly."""
        ways = ways_for(self.base.dataset, self.protocols)
        searched = sum((cost_of_spec(way.spec(self.base)) for way in ways), RunCost())
        return searched.times(_TRIED) + visitors_jobs.cost_of(map_sweeps(ways[0].spec(self.base)))


def choose_question(spec: RunSpec) -> Question:
    """Draw the page's controls; what they ask."""
    left, middle, right = st.columns(3, gap="large")
    target = ask("plan_target", left) / 100
    field = ask("plan_find", middle)
    return question_of(spec, target, field, ask("plan_protocol", right))


def question_of(spec: RunSpec, target: float, field: str, chosen: str) -> Question:
    """The question that settings ask; says so where a protocol has nothing that is looked for."""
    if chosen != EVERY_PROTOCOL and not has_field(chosen, field):
        st.warning(
            f"{PROTOCOLS[chosen].title} sends no leading directions, so it has no R: "
            f"{WANTED[field]} is looked for over every protocol that has one."
        )
        chosen = EVERY_PROTOCOL
    protocols = None if chosen == EVERY_PROTOCOL else (chosen,)
    # What is looked for is no part of the question; moving the slider on top asks nothing anew.
    if field == "epsilon":
        spec = replace(spec, epsilon=RunSpec().epsilon)
    base = ways_for(spec.dataset, protocols)[0].spec(spec)
    return Question(base, field, target, protocols)


def answer_of(progress: Progress) -> Recommendation | None:
    """The answer, once the search has ended."""
    steps = progress.arrived.get("search", ())
    return steps[-1] if steps and isinstance(steps[-1], Recommendation) else None


def shown_by(answer: Recommendation) -> RunSpec:
    """The setting an answer is about: the best, or what comes closest, where it was run."""
    if answer.best is not None:
        return answer.best.spec
    (closest,) = answer.most.ranked
    field, value = answer.field, answer.most.value
    (cell,) = Sweep(closest.way.spec(answer.base), ((field, (value,)),)).cells()
    spec: RunSpec = cell.spec
    return spec


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
