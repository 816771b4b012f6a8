"""What a plan asks: the target, what is to be found, over which protocols, and its parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import streamlit as st

from dpcore.experiments.analysis.cheapest_way import has_field, recommend
from dpcore.experiments.analysis.ranking import ways_for
from dpcore.experiments.analysis.recommendation import Recommendation
from dpcore.experiments.engine.run_cost import RunCost, cost_of_spec
from dpcore.experiments.engine.sweep import Sweep
from dpcore.experiments.pca.spec import RunSpec
from dpcore.pca.protocols.register import PROTOCOLS
from pages.parameters.table import ask
from pages.parameters.use import EVERY_PROTOCOL, WANTED
from pages.server import visitors_jobs
from pages.server.background_jobs import Parts, Progress, ShouldStop
from pages.use.plan.target_maps import map_sweeps

# Values at which each way is tried, most being out of sight after a few draws.
_TRIED = 3


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
