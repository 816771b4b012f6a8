"""All ways to a target: a share that is to survive, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from pathlib import Path
from statistics import fmean

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.experiments.engine import Row
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.spec import ALL_RECOMMENDED
from dpcore.experiments.summaries import bytes_in_words, counted, percent
from dpcore.experiments.sweep import RunCost, Sweep, cost_of_spec
from dpcore.experiments.targets import (
    Found,
    Ranked,
    Recommendation,
    SearchRound,
    Trusted,
    chance_of_mean_above,
    has_field,
    held_in_words,
    least_share,
    recommend,
    value_in_words,
    ways_for,
)
from dpcore.figures.energy import energy_curves
from dpcore.params import params
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
from pages.widgets.charts import chart, headline, is_dark, take_away
from pages.widgets.guarantee_card import promised_cards
from pages.widgets.job_progress import JobRequest, go_where_clicked, skipped_table, watch_request
from pages.widgets.notices import (
    big_number,
)

# What a plan asks: a target, what is to be found, over which protocols.

# Values at which each way is tried, most being out of sight after a few draws.
_TRIED = 3


@dataclass(frozen=True)
class TargetQuestion:
    """A target, what is to be found, over what, and what is held."""

    base: RunSpec
    field: str
    target: float
    protocols: tuple[str, ...] | None

    def parts(self) -> Parts:
        """The search, on this server."""
        options = background_jobs.run_options()

        def search(stop: ShouldStop) -> Iterator[object]:
            return recommend(
                self.base, self.target, self.field,
                protocols=self.protocols, should_stop=stop, **options,
            )  # fmt: skip

        return {"search": search}

    def cost(self) -> RunCost:
        """What all of it takes, roughly."""
        ways = ways_for(self.base.dataset, self.protocols)
        searched = sum((cost_of_spec(way.spec(self.base)) for way in ways), RunCost())
        return searched.times(_TRIED)


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


def tried_curve(question: TargetQuestion, progress: Progress) -> None:
    """What the answer's way kept at every value that was tried, under the target."""
    answer = answer_of(progress)
    if answer is None:
        return
    found = answer.best.ranked if answer.best is not None else answer.most.ranked[0]
    field, runs = question.field, [way for each in rounds_of(progress) for way in each.ranked]
    rows = [row for way in runs if way.way == found.way for row in way.rows]
    values = {row[field] for row in rows}
    if len(values) < 2:
        return
    st.markdown(f"## What each {_COLUMNS[field]} kept")
    figure = energy_curves(
        rows,
        field,
        axis_title=_COLUMNS[field],
        marker=None if answer.best is None else answer.best.value,
        dark=is_dark(),
    )
    figure.add_hline(question.target, line={"width": 1}, annotation_text="target")
    chart(
        figure,
        key="plan_tried",
        alt=f"What {found.way.label} kept at {len(values)} values of {_COLUMNS[field]}, and the "
        f"target of {percent(question.target)}.",
    )


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
    """The answer, and every run behind it."""
    go_where_clicked()
    answer_shown(question, progress)
    if answer_of(progress) is not None:
        tried_curve(question, progress)
        tried_table(question, progress)


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
