"""What a target costs: the answer, who is next, how sure that is, and what was tried;
and a plan on one page, for whoever decides.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from statistics import fmean

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.experiments.analysis.ranking import Ranked, Trusted
from dpcore.experiments.analysis.recommendation import (
    Found,
    Recommendation,
    Round,
    chance_of_mean_above,
    least_share,
)
from dpcore.experiments.analysis.target_search import held_in_words, value_in_words
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.ledger.pca_charges import promised
from dpcore.experiments.pca.sentences import bytes_in_words, counted, percent
from dpcore.privacy import describe
from pages.parameters.use import WANTED
from pages.server import visitors_jobs
from pages.server.background_jobs import Progress, rows_of
from pages.sidebar import address
from pages.sidebar.foot import reachable
from pages.use.best.panels import SHARES_SHOWN, open_way, said_chance, shares_of
from pages.use.plan.question import Question, answer_of, shown_by
from pages.widgets import session_ledger
from pages.widgets.figure_tools.small_type import headline
from pages.widgets.messages import big_number
from pages.widgets.sweep_panel import skipped_table

_COLUMNS = {"epsilon": "ε", "people_per_site": "people per site", "intermediate_dim": "R",
            "sites": "sites"}  # fmt: skip


def count_of(progress: Progress) -> str:
    """How far a plan is."""
    tried = rounds_of(progress)
    ways = sum(len(each.ranked) for each in tried)
    words = f"Searching: {counted(len({each.value for each in tried}), 'value')}, "
    words += f"{counted(ways, 'setting')} tried"
    for part, name in (("map", "map over people"), ("curve", "curve through σ")):
        if events := progress.arrived.get(part):
            words = f"Filling in the {name}: {events[-1].done} of {events[-1].total} draws"
    return f"{words} …"


def answer_shown(question: Question, progress: Progress) -> None:
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
            f"{value_in_words(question.field, answer.most.value)}; the target is "
            f"{percent(question.target)}.",
            "Lower the target, or hold something else: more people, fewer sites, a larger ε.",
        )
    else:
        _say_answer(question, answer, answer.best)
        _buttons(answer)
    st.caption("For a slide (click to copy):")
    st.code(answer.sentence, language=None, wrap_lines=True)


def _say_so_far(question: Question, tried: list[Round]) -> None:
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
        f"{looking}. So far it is reached at {value_in_words(question.field, last)}, with "
        f"**{labels[0]}**{more}.",
    )


def _say_answer(question: Question, answer: Recommendation, best: Found) -> None:
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
                f"{value_in_words(question.field, found.value)}, "
                f"{percent(found.ranked.mean)} on average. {trust_and_bytes(found.ranked)}"
            )
    st.caption(
        f"The order: {WANTED[question.field]} first, in steps of the controls; of several that "
        "reach the target there, whoever trusts least; of those, the fewest bytes a site."
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
        f"In {counted(draws, 'fresh draw')} that had no part in the search it keeps "
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
                f"{value_in_words(answer.field, each.value)}.",
                key=f"plan_do_open_{number}",
                on_click=open_way,
                args=(each.ranked,),
            )


def tried_table(question: Question, progress: Progress) -> None:
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


def rounds_of(progress: Progress) -> list[Round]:
    """What has been run, in the order in which it was."""
    return [step for step in progress.arrived.get("search", ()) if isinstance(step, Round)]


def found_so_far(page: str, question: Question) -> tuple[Recommendation | None, list[Row]]:
    """The answer, if there is one, and the rows of every run of the search."""
    work = visitors_jobs.find(page, question)
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
    guarantee = promised(spec, key, dataset)
    card = describe(guarantee)
    found = answer.best.ranked if answer.best is not None else answer.most.ranked[0]
    people = dataset.n_samples if spec.samples is None else spec.samples
    wanted = f"{WANTED[answer.field]} that keeps {percent(answer.target)} of the pattern"
    told = {
        "question": f"{dataset.title}: what is {wanted}?",
        "answer": answer.sentence,
        "certainty": how_sure(answer) if answer.best is not None else "Nothing tried reaches it.",
        "person": headline(guarantee, spec.preparation),
        "costs": f"{people:,} people at {spec.sites} sites take part, with {found.way.label}. "
        f"{trust_and_bytes(found)} With all else at {held_in_words(answer.base, answer.field)}.",
        "ledger": " ".join((
            session_ledger.sentence(dataset.name, dataset.title, spec.delta), _NOT_IN_IT,
        )).replace("**", ""),
        "made": f"Worked out live by DP-PCA Lab at seed {spec.seed}, with preparation "
        f"{spec.preparation}, calibration {spec.calibration}, noise {spec.noise}. "
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
