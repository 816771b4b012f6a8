"""All ways to a target: a share that is to survive, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from pathlib import Path
from statistics import fmean

import numpy as np
import streamlit as st

from dpcore.data import DatasetStatus, dataset_status, unit_of
from dpcore.experiments.engine import Row
from dpcore.experiments.pca import ALL_RECOMMENDED, RunSpec
from dpcore.experiments.summaries import bytes_in_words, counted, percent
from dpcore.experiments.sweep import RunCost, Sweep, cost_of_spec
from dpcore.experiments.targets import (
    Found,
    NoiseCurve,
    Ranked,
    Recommendation,
    SearchRound,
    Trusted,
    chance_of_mean_above,
    has_field,
    held_in_words,
    iso_energy_sweep,
    least_share,
    recommend,
    value_in_words,
    ways_for,
)
from dpcore.figures.energy import energy_map
from dpcore.params import DELTAS, EPSILONS, PEOPLE_PER_SITE, params
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import describe
from pages.server import background_jobs
from pages.server.background_jobs import Parts, Progress, ShouldStop, rows_of
from pages.shell import address
from pages.shell.controls import Selection
from pages.shell.page import page
from pages.shell.parameters import EVERY_PROTOCOL, WANTED, ask
from pages.shell.share import reachable
from pages.use.best import SHARES_SHOWN, open_way, said_chance, shares_of
from pages.widgets import session_ledger
from pages.widgets.charts import chart, headline, take_away
from pages.widgets.guarantee_card import promised_cards
from pages.widgets.job_progress import JobRequest, go_where_clicked, skipped_table, watch_request
from pages.widgets.notices import (
    big_number,
)

# What a plan asks: a target, what is to be found, over which protocols; maps of its answer.

# Values at which each way is tried, most being out of sight after a few draws.
_TRIED = 3
MAP_EPSILONS = tuple(epsilon for epsilon in EPSILONS if 0.05 <= epsilon <= 20)
MAP_DRAWS = 3
# A curve at the smallest δ that goes on to ε = 50 has the noise of every other (ε, δ) in it.
_CURVE_EPSILONS = tuple(epsilon for epsilon in EPSILONS if epsilon >= 0.05)
_MOST_PEOPLE = 7


@dataclass(frozen=True)
class TargetQuestion:
    """A target, what is to be found, over what, and what is held."""

    base: RunSpec
    field: str
    target: float
    protocols: tuple[str, ...] | None

    def parts(self) -> Parts:
        """The search, and then two maps around its answer."""
        answers: list[Recommendation] = []
        options = background_jobs.run_options()

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
                yield from background_jobs.sweep_part(sweep)(stop)

        return {
            "search": search,
            "map": lambda stop: around_it(0, stop),
            "curve": lambda stop: around_it(1, stop),
        }

    def cost(self) -> RunCost:
        """What all of it takes, roughly."""
        ways = ways_for(self.base.dataset, self.protocols)
        searched = sum((cost_of_spec(way.spec(self.base)) for way in ways), RunCost())
        return searched.times(_TRIED) + background_jobs.cost_of(map_sweeps(ways[0].spec(self.base)))


def choose_question(spec: RunSpec) -> TargetQuestion:
    """Draw the page's controls; what they ask."""
    left, middle, right = st.columns(3, gap="medium")
    target = ask("plan_target", left) / 100
    field = ask("plan_find", middle)
    return question_of(spec, target, field, ask("plan_protocol", right))


def question_of(spec: RunSpec, target: float, field: str, chosen: str) -> TargetQuestion:
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
    return TargetQuestion(base, field, target, protocols)


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
    many = unit_of(spec.dataset).many
    _map(grid, people, target, f"{many} per site", here=here, key="plan_people_map")


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
        alt=f"What survives over ε and {y_title}: {reached.sum()} of {reached.size} settings "
        f"reach {percent(target)}.",
    )  # fmt: skip


def _complete(rows: tuple[Row, ...]) -> list[Row]:
    """Rows of the settings whose draws have all arrived."""
    draws: dict[float, int] = {}
    for row in rows:
        draws[row["epsilon"]] = draws.get(row["epsilon"], 0) + 1
    return [row for row in rows if draws[row["epsilon"]] == max(draws.values())]


# What a target costs: the answer, who is next, how sure that is, and what was tried; and a plan on
# one page, for whoever decides.

_COLUMNS = {"epsilon": "ε", "people_per_site": "rows per site", "intermediate_dim": "R",
            "sites": "sites"}  # fmt: skip


def count_of(progress: Progress) -> str:
    """How far a plan is."""
    tried = rounds_of(progress)
    ways = sum(len(each.ranked) for each in tried)
    words = f"Searching: {counted(len({each.value for each in tried}), 'value')}, "
    words += f"{counted(ways, 'setting')} tried"
    for part, name in (("map", "map over rows per site"), ("curve", "curve through σ")):
        if events := progress.arrived.get(part):
            words = f"Filling in the {name}: {events[-1].done} of {events[-1].total} runs"
    return f"{words} …"


def answer_shown(question: TargetQuestion, progress: Progress) -> None:
    """The answer as the biggest thing, how sure it is, and as a sentence for a slide."""
    answer, tried = answer_of(progress), rounds_of(progress)
    if answer is None:
        _say_so_far(question, tried)
        return
    if answer.best is None:
        (most,) = answer.most.ranked
        big_number(
            percent(most.mean),
            f"is the most within reach, with **{most.way.label}** at "
            f"{value_in_words(question.field, answer.most.value, question.base.dataset)}; "
            f"the target is {percent(question.target)}.",
            "Lower the target, or hold something else: more rows, fewer sites, a larger ε.",
        )
    else:
        _say_answer(question, answer, answer.best)
        _buttons(answer)
    st.caption("For a slide (click to copy):")
    st.code(answer.sentence, language=None, wrap_lines=True)


def _say_so_far(question: TargetQuestion, tried: list[SearchRound]) -> None:
    reached = [
        (each, way)
        for each in tried
        for way in each.ranked
        if way.mean >= question.target
    ]  # fmt: skip
    looking = f"Looking for {WANTED[question.field]} that keeps {percent(question.target)}"
    if not reached:
        big_number("…", f"{looking}: {counted(len(tried), 'value')} tried so far.")
        return
    values = [each.value for each, _ in reached]
    last = max(values) if question.field == "sites" else min(values)
    labels = [way.way.label for each, way in reached if each.value == last]
    more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
    big_number(
        f"{_short(question.field, last)} …",
        f"{looking}. So far it is reached at "
        f"{value_in_words(question.field, last, question.base.dataset)}, with "
        f"**{labels[0]}**{more}.",
    )


def _say_answer(question: TargetQuestion, answer: Recommendation, best: Found) -> None:
    kept = percent(question.target)
    big_number(
        _short(question.field, best.value),
        f"is {WANTED[question.field]} that keeps {kept} of what exact PCA captures: with "
        f"**{best.ranked.way.label}**.",
        f"{trust_and_bytes(best.ranked)} {how_sure(answer)}",
    )
    others = [("Runner-up", answer.runner_up)]
    if answer.untrusting not in (best, answer.runner_up):
        others.append(("Trusting nobody", answer.untrusting))
    for name, found in others:
        if found is not None:
            st.markdown(
                f"**{name}:** {found.ranked.way.label} at "
                f"{value_in_words(question.field, found.value, question.base.dataset)}, "
                f"{percent(found.ranked.mean)} on average. {trust_and_bytes(found.ranked)}"
            )
    st.caption(
        f"The order: {WANTED[question.field]} first, in steps of the controls; of several that "
        "reach the target there, the least trust; of those, the fewest bytes a site."
    )


def trust_and_bytes(each: Ranked) -> str:
    """Who has to be trusted for a way, and what a site sends."""
    need = (
        "Nobody need be trusted" if each.trusted is Trusted.NOBODY else f"Trusted: {each.trusted}"
    )
    sent = bytes_in_words(each.bytes_per_site)
    return f"{need}; {sent} a site in {counted(each.n_rounds, 'round')}."


def how_sure(answer: Recommendation) -> str:
    """How certain an answer is, by draws that had no part in finding it."""
    energies = [row["energy_ratio"] for row in answer.fresh]
    draws, hits = len(energies), sum(energy >= answer.target for energy in energies)
    words = (
        f"In {counted(draws, 'fresh run')} that had no part in the search it keeps "
        f"{percent(fmean(energies))} on average, {percent(min(energies))} to "
        f"{percent(max(energies))}, and {hits} of them reach{'es' * (hits == 1)} the target: so do "
        f"at least {percent(least_share(hits, draws))} of all releases, at 95 % confidence."
    )
    chance = chance_of_mean_above(energies, answer.target)
    if chance is not None:
        words += f" The chance that the average release reaches it is {said_chance(chance)}."
    return words


def _buttons(answer: Recommendation) -> None:
    found = (answer.best, answer.runner_up, answer.untrusting)
    shown = {each.ranked.way.label: each for each in found if each is not None}
    with st.container(horizontal=True):
        for number, (label, each) in enumerate(shown.items()):
            st.button(
                f"Open {label}",
                help=f"With every control as it was run, at "
                f"{value_in_words(answer.field, each.value, answer.base.dataset)}.",
                key=f"plan_do_open_{number}",
                on_click=open_way,
                args=(each.ranked,),
            )


def tried_table(question: TargetQuestion, progress: Progress) -> None:
    """Every setting that was run, once there is an answer."""
    lines: list[dict[str, object]] = [
        {
            _COLUMNS[question.field]: each.value,
            "with": way.way.label,
            **shares_of(way),
            "draws": len(way.rows),
            "reaches the target": way.mean >= question.target,
            "trusted": str(way.trusted),
            "bytes a site": way.bytes_per_site,
        }
        for each in sorted(rounds_of(progress), key=lambda each: each.value)
        for way in each.ranked
    ]
    if not lines:
        return
    st.expander(f"Every setting that was tried: {len(lines)}").dataframe(
        lines, column_config=SHARES_SHOWN, hide_index=True
    )
    answer = answer_of(progress)
    if answer is not None:
        skipped_table(answer.skipped)


def rounds_of(progress: Progress) -> list[SearchRound]:
    """What has been run, in the order in which it was."""
    return [step for step in progress.arrived.get("search", ()) if isinstance(step, SearchRound)]


def found_so_far(page: str, question: TargetQuestion) -> tuple[Recommendation | None, list[Row]]:
    """The answer, if there is one, and the rows of every run of the search."""
    work = background_jobs.find(page, question)
    if work is None:
        return None, []
    progress = work.progress()
    rows = [row for step in progress.arrived.get("search", ()) for row in rows_of(step)]
    return answer_of(progress), rows


def _short(field: str, value: float) -> str:
    return f"ε = {value:,.3g}" if field == "epsilon" else f"{value:,}"


_PAGE = (Path(__file__).parent / "summary.html").read_text(encoding="utf-8")
_NOT_IN_IT = "The search itself compared runs with exact results, which is not private."


def offer_summary(answer: Recommendation, dataset: DatasetStatus) -> None:
    """A button that hands over the page."""
    st.download_button(
        "Summary for a decision, one page to print (HTML)",
        summary(answer, dataset),
        "summary.html",
        "text/html",
        on_click="ignore",
        key="save_plan_summary",
    )


def summary(answer: Recommendation, dataset: DatasetStatus) -> str:
    """The page as HTML, all of it from the answer and what it promises."""
    spec = shown_by(answer)
    key = spec.protocols[0]
    guarantee = spec.promise(key, dataset)
    card = describe(guarantee)
    found = answer.best.ranked if answer.best is not None else answer.most.ranked[0]
    people = dataset.n_samples if spec.samples is None else spec.samples
    named = params(RunSpec)
    chosen = ", ".join(f"{named[n].title.lower()} {getattr(spec, n)}" for n in ALL_RECOMMENDED)
    wanted = f"{WANTED[answer.field]} that keeps {percent(answer.target)} of the pattern"
    told = {
        "question": f"{dataset.title}: what is {wanted}?",
        "answer": answer.sentence,
        "certainty": how_sure(answer) if answer.best is not None else "Nothing tried reaches it.",
        "person": headline(guarantee, spec.reads_rows_first),
        "costs": f"{dataset.unit.of(people)} at {spec.sites} sites take part, with "
        f"{found.way.label}. {trust_and_bytes(found)} With all else at "
        f"{held_in_words(answer.base, answer.field)}.",
        "ledger": " ".join((
            session_ledger.sentence(dataset.name, dataset.title, spec.delta), _NOT_IN_IT,
        )).replace("**", ""),
        "made": f"Worked out live by DP-PCA Lab at seed {spec.seed}, with {chosen}. "
        f"{reachable(st.context.url or '')}?{address.query()}",
    }  # fmt: skip
    lists = {
        "numbers": "".join(
            f"<dt>{escape(row.label)}</dt><dd>{escape(row.value)}</dd>" for row in card.rows
        ),
        "assumptions": "".join(f"<li>{escape(str(each))}</li>" for each in card.assumptions),
    }
    page = _PAGE
    for name, text in ({name: escape(text) for name, text in told.items()} | lists).items():
        page = page.replace(f"{{{name}}}", text)
    return page


PAGE = "plan"


def draw(question: TargetQuestion, progress: Progress) -> None:
    """The answer, the maps around it, and every run behind it."""
    go_where_clicked()
    answer_shown(question, progress)
    answer = answer_of(progress)
    if answer is None:
        return
    tried_table(question, progress)
    around = shown_by(answer)
    left, right = st.columns(2, gap="large")
    with left:
        if "map" in progress.arrived:
            st.markdown(f"## Every ε and number of {unit_of(around.dataset).many}")
            people_map(around, question.target, progress.rows_of("map"))
            st.caption(
                f"Percent kept in the answer's way. White line: {percent(question.target)} is "
                "reached to its right. Frame: the answer. Each cell is a fresh run on "
                f"that many {unit_of(around.dataset).many} (average of up to {MAP_DRAWS})."
            )
    with right:
        if "curve" in progress.arrived:
            st.markdown("## Every ε and δ, from one curve")
            budget_map(around, question.target, progress.rows_of("curve"))
            st.caption(
                "With all else held, what survives depends on ε, δ and n only through σ. So one "
                "curve against σ gives every (ε, δ): exact where its points are, interpolated "
                "between them."
            )


@page(
    reads=True, ledger=True, formulas="plan",
    beside=(
        "The search",
        (
            "compares real runs with exact PCA on the same rows. To plan a release without "
            "spending anything, run it on public data of the same kind."
        ),
    ),
)  # fmt: skip
def show_plan(selection: Selection) -> None:
    """All ways to a target: a share that is to survive, and what it costs."""
    with st.container(border=True):
        question = choose_question(selection.spec)
    watch_request(
        JobRequest(PAGE, question, question.parts, question.cost()),
        selection.dataset,
        partial(draw, question),
        count_of,
        is_there=lambda progress: answer_of(progress) is not None,
    )
    answer, rows = found_so_far(PAGE, question)
    promising = question.base if answer is None else shown_by(answer)
    promised_cards(
        promising,
        selection.dataset,
        promising.protocols,
        "Of the answer." if answer else f"Of ε = {promising.epsilon:g}, until there is an answer.",
    )
    take_away(PAGE, rows)
    if answer is not None:
        offer_summary(answer, selection.dataset)
