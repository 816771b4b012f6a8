"""Decide: the most use within a tolerable harm, and the harm of a requested use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.data.catalog import CATALOG
from dpcore.experiments.decide.decision import (
    TRIED_EPSILONS,
    Answer,
    Option,
    Remedy,
    answer,
    decide,
    people_factor,
    remedies,
    spec_of_trust,
)
from dpcore.experiments.decide.ranking import Trusted
from dpcore.experiments.decide.run_statistics import count_hits
from dpcore.experiments.engine.fields import GIVEN
from dpcore.experiments.engine.store import Store
from dpcore.experiments.engine.summaries import bytes_in_words, percent
from dpcore.experiments.pca import RunSpec
from dpcore.figures.tradeoffs import harm_and_use
from dpcore.pca.protocols.register import PROTOCOLS
from pages import background, cached, links, sidebar
from pages.components import charts, downloads, guarantee, ledger, notices
from pages.components.all_options import draw_all_options, draw_message_sizes
from pages.components.decision_brief import (
    Decision,
    guarantee_of,
    offer_brief,
    offer_decision_annex,
    trust_in_words,
)
from pages.components.decision_grid import options_grid, utility
from pages.number_format import plain
from pages.sidebar import Selection

CONTROLS = ("sites",)
_PATIENTS = "breast-cancer"
_TRUST_LABELS = {
    Trusted.NOBODY: "no one",
    Trusted.OTHER_SITES: "the other sites, with their masks",
    Trusted.HOLDER: "one team, with every row",
}
_TRUST = {trusted.name.lower(): trusted for trusted in Trusted}
_WAIT_SECONDS = 1.0
_HEIGHT = 440
_COMMON: dict[str, Any] = {"bind": "query-params", "persist_state": "session"}


@dataclass(frozen=True)
class Question:
    """Data set and trust, for which every ε is run once.

    spec: Runs of the options, at any ε.
    """

    spec: RunSpec
    trusted: Trusted
    dataset: DatasetStatus


def show(selection: Selection) -> None:
    """Draw the answer to both questions, and the downloads for a meeting."""
    question = choose(selection)
    title = st.empty()
    most_right, target = _choose_limits()
    key = ("decide", question.spec)
    if background.was_cancelled(key) and not st.button("Search again"):
        return
    job = background.start(key, partial(_search, question.spec), len(TRIED_EPSILONS))
    # Small data sets finish at once; a progress bar would only move the page.
    job.wait(_WAIT_SECONDS)
    if not job.is_complete:
        title.title(f"Running {len(TRIED_EPSILONS)} values of ε", anchor=False)
        background.watch(job, lambda _: None, "values of ε", len)
        st.container(height=_HEIGHT, border=False)
        return
    options: tuple[Option, ...] = tuple(job.results)
    ledger.charge_rows([row for option in options for row in (*option.searched, *option.fresh)])
    result = answer(options, most_right=most_right, target=target)
    title.title(title_of(result), anchor=False)
    decision = Decision(
        question.spec, question.trusted, question.dataset, result, reason_of(result)
    )
    _draw_answer(question, options, result, decision)
    with st.expander("Details", on_change="rerun", key="decide_all") as panel:
        if panel.open:
            _draw_details(decision)
    dataset = question.dataset
    st.caption(ledger.total_sentence(dataset.name, dataset.title, question.spec.delta))
    is_own = question.spec.dataset not in CATALOG
    rows = [row for option in options for row in option.searched]
    downloads.offer_downloads("decide", rows if not is_own else ())


def choose(selection: Selection) -> Question:
    """Draw the controls of the sidebar and return the question they ask."""
    statuses = {status.name: status for status in sidebar.numeric_datasets()}
    side = st.sidebar
    if st.session_state.get("decide_data", _PATIENTS) not in statuses:
        st.session_state["decide_data"] = _PATIENTS

    def title(name: str) -> str:
        return statuses[name].title if name in CATALOG else "your-table"

    links.accept_option("decide_data", list(statuses), title, several=False)
    name = side.selectbox(
        "Data set",
        list(statuses),
        index=list(statuses).index(_PATIENTS),
        key="decide_data",
        format_func=title,
        **_COMMON,
    )
    links.accept_option("decide_trust", list(_TRUST), _trust_label, several=False)
    trust = side.selectbox(
        "We trust", list(_TRUST), key="decide_trust", format_func=_trust_label, **_COMMON
    )
    dataset = statuses[sidebar.require_offered("decide_data", name, statuses)]
    trusted = _TRUST[trust]
    notices.require_dataset(dataset)
    sizes = dataset.site_sizes
    base = RunSpec(
        dataset=name,
        sites=len(sizes) or selection.spec.sites,
        split=GIVEN if sizes else RunSpec.split,
        seed=selection.spec.seed,
    )
    return Question(spec_of_trust(base, trusted, dataset.n_samples), trusted, dataset)


def _choose_limits() -> tuple[int, float]:
    """Draw both sliders and return the tolerable harm and the target share."""
    links.accept_option("decide_harm", range(50, 101), str, several=False)
    links.accept_option("decide_target", range(50, 100), str, several=False)
    harm, use = st.columns(2, gap="large")
    most_right = harm.slider(
        "Tolerable: right, of 100 attackers",
        50,
        100,
        75,
        key="decide_harm",
        **_COMMON,
    )
    target = use.slider(
        "Wanted: captured energy (%)",
        50,
        99,
        90,
        key="decide_target",
        **_COMMON,
    )
    return most_right, target / 100


def _trust_label(name: str) -> str:
    return _TRUST_LABELS[_TRUST[name]]


def _search(spec: RunSpec) -> Iterator[Option]:
    return decide(spec, workers=1, store=Store(), problems=cached.problems)


# ---- the answer


def title_of(answer: Answer) -> str:
    """Return the answer with the harm first."""
    chosen = answer.chosen
    if chosen is None:
        return f"At {answer.most_right} of 100, nothing can be released"
    harm = f"{chosen.most_right} of 100 right at most, {percent(chosen.mean)} captured"
    if not answer.do_meet and chosen.mean >= answer.target:
        # The mean of the runs reaches the target, and too few of the runs do.
        n_runs = len(chosen.searched) + len(chosen.fresh)
        hits = count_hits(chosen.energies, answer.target) + chosen.hits(answer.target)
        harm += f", but {percent(answer.target)} in only {hits} of {n_runs} runs"
    if answer.do_meet:
        return f"Take ε = {chosen.epsilon:g}: {harm}"
    return f"The two do not meet. At ε = {chosen.epsilon:g}: {harm}"


def reason_of(answer: Answer) -> str:
    """Return the reason for the chosen option in two sentences."""
    tolerated, needed, target = answer.tolerated, answer.needed, percent(answer.target)
    if needed is None:
        use = f"No ε reaches {target} in 9 of 10 runs."
    else:
        use = f"{target} needs ε = {needed.epsilon:g}: {needed.most_right} of 100 right at most."
    if tolerated is None:
        return f"A coin is right 50 times, and every release helps an attacker a little. {use}"
    if not answer.do_meet:
        return f"{use} Within {answer.most_right} of 100, ε = {tolerated.epsilon:g} is the most."
    if tolerated.epsilon == (needed.epsilon if needed else None):
        return f"{use} A larger ε exceeds {answer.most_right} of 100 or captures no more."
    return (
        f"{use} Your limit of {answer.most_right} of 100 also admits "
        f"ε = {tolerated.epsilon:g} with {percent(tolerated.mean)}."
    )


def _draw_answer(
    question: Question, options: Sequence[Option], answer: Answer, decision: Decision
) -> None:
    # If both limits can be met, the title gives the reason; the memo and the details explain it.
    if answer.do_meet and answer.chosen is not None:
        st.markdown(f"{utility(answer.chosen).finding}.")
    else:
        st.markdown(f"{decision.reason.partition('. ')[0].removesuffix('.')}.")
    if not answer.do_meet:
        _draw_remedies(question, answer)
    curve, table = st.columns([5, 6], gap="large")
    with curve:
        points = [
            {"epsilon": option.epsilon, "right": option.most_right, "energy": option.mean}
            for option in options
        ]
        figure = harm_and_use(
            points, most_right=answer.most_right, target=answer.target, dark=charts.is_dark()
        )
        charts.show_figure(figure, key="decide_curve", alt=title_of(answer))
    with table:
        if answer.options:
            st.html(options_grid(answer, question.dataset, dark=charts.is_dark()))
    if answer.chosen is not None:
        offer_brief(decision, title_of(answer))


def _draw_remedies(question: Question, answer: Answer) -> None:
    """State the changes with which harm and use meet, each tried in runs."""
    parts = []
    if answer.tolerated is not None and answer.needed is not None:
        # Noise of a site shrinks with its people; with more sites it is averaged.
        factor = people_factor(
            guarantee_of(question.spec, question.dataset, answer.tolerated.epsilon),
            guarantee_of(question.spec, question.dataset, answer.needed.epsilon),
        )
        parts.append(f"{plain(factor, 2)} times as many {question.dataset.unit.many} per site")
    if answer.tolerated is not None:
        key = ("remedies", question.spec, answer.most_right, answer.target)
        search = partial(
            remedies, question.spec, question.trusted, answer, workers=1, problems=cached.problems
        )
        job = background.start(key, search)
        job.wait(_WAIT_SECONDS)
        parts += [_remedy_in_words(result) for result in job.results]
        if not job.is_complete:
            background.watch(job, lambda _: None, "other settings", len)
    if parts:
        st.markdown(f"**What would make them meet:** {'; '.join(parts)}.")


def _remedy_in_words(remedy: Remedy) -> str:
    reached = f"{percent(remedy.option.mean)} at ε = {remedy.option.epsilon:g}"
    if remedy.trusted is not None:
        return f"trust in {remedy.trusted} ({reached})"
    if remedy.has_more_sites:
        return f"{remedy.option.spec.sites} sites like these ({reached})"
    n = remedy.option.spec.components
    return f"{n} component{'s' * (n != 1)} only ({reached})"


# ---- below the fold


def _draw_details(decision: Decision) -> None:
    titles = ("What each option means", "All options", "How this is computed")
    meaning, search, computation = st.tabs(titles)
    with meaning:
        _draw_meaning(decision)
    with search:
        draw_all_options(decision.spec, decision.answer.target)
        chosen = decision.answer.chosen
        if chosen is not None and decision.trusted is Trusted.NOBODY:
            draw_message_sizes(chosen)
    with computation:
        notices.show_formulas("decide")


def _draw_meaning(decision: Decision) -> None:
    answer = decision.answer
    st.markdown(
        f"{decision.reason} An attacker guesses whether a person's row is in the data. A coin is "
        "right 50 times; at 100 nothing is protected."
    )
    for column, option in zip(st.columns(2, gap="medium"), answer.options, strict=False):
        option_guarantee = decision.guarantee(option)
        trust, breach = trust_in_words(decision.trusted, option_guarantee)
        column.markdown(
            f"**ε = {option.epsilon:g}.** Even with this release, a guess about one person is "
            f"right at most {option.most_right} of 100 times. {utility(option).sentence}. "
            f"{option.hits(answer.target)} of {len(option.fresh)} fresh runs reach "
            f"{percent(answer.target)}. {bytes_in_words(option.bytes_per_site)} per site, "
            f"{PROTOCOLS[option.spec.protocols[0]].title}. {trust} {breach}"
        )
    if answer.chosen is not None:
        guarantee.summarize(decision.guarantee(answer.chosen))
        offer_decision_annex(decision, title_of(answer))
    notices.mark_not_private(
        "Captured energy and the recommendation",
        "compare runs with the rows. Decide on public data of the same kind.",
    )
