"""Decide: what must survive, whom do we trust? Three named options, tried in fresh runs."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from html import escape

import numpy as np
import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.experiments.decision import (
    FRESH_RUNS,
    LOOKED_AT,
    NAMES,
    PROTOCOL_FOR,
    SEARCH_RUNS,
    Option,
    TriedOption,
    asked_spec,
    decide,
    epsilon_of_breach,
    recommended,
    share_recognised,
    signs_kept,
)
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.rebuilt_rows import INK
from dpcore.experiments.summaries import bytes_in_words, counted, percent
from dpcore.experiments.sweep import RunCost, cost_of_spec
from dpcore.experiments.targets import Trusted
from dpcore.figures.components import ink_strip, picture_strip
from dpcore.figures.privacy import accused_svg
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import Guarantee, guarantee_power
from dpcore.privacy.guarantee_in_words import CARD_TYPE_ONE, say_delta, say_number
from dpcore.spectra import align_signs
from dpcore.streams import Purpose, stream
from pages.server import background_jobs, caches
from pages.server.background_jobs import Parts, Progress, ShouldStop
from pages.shell import address
from pages.shell.controls import Selection
from pages.shell.page import page
from pages.shell.parameters import ask, plain
from pages.shell.share import home, only_here
from pages.widgets import session_ledger
from pages.widgets.charts import is_dark, take_away
from pages.widgets.guarantee_card import promised_cards
from pages.widgets.job_progress import JobRequest, watch_request
from pages.widgets.notices import (
    big_number,
)

# The question, as somebody asks it who has to decide; and the job that answers it.

PAGE = "decide"
# A bisection over the steps of the controls, and three options.
_STEPS = math.ceil(math.log2(len(LOOKED_AT) + 1))
_MOST_COLUMNS = 8


@dataclass(frozen=True)
class DecisionQuestion:
    """What has to survive, and whom one trusts with what."""

    spec: RunSpec
    trusted: Trusted
    target: float

    def parts(self) -> Parts:
        def run(stop: ShouldStop) -> Iterator[object]:
            options = background_jobs.run_options()
            return iter(decide(self.spec, self.target, should_stop=stop, **options))

        return {PAGE: run}

    def cost(self) -> RunCost:
        """What all of it takes, roughly."""
        one = cost_of_spec(replace(self.spec, repetitions=1))
        return one.times(_STEPS * SEARCH_RUNS + len(NAMES) * (SEARCH_RUNS + FRESH_RUNS))


def question_of(selection: Selection, target: float, trusted: str) -> DecisionQuestion:
    """What settings ask."""
    spec, trust = selection.spec, Trusted[trusted.upper()]
    people = selection.dataset.n_samples if spec.samples is None else spec.samples
    return DecisionQuestion(asked_spec(spec, trust, people), trust, target / 100)


def choose(selection: Selection) -> DecisionQuestion:
    """The question's own controls."""
    with st.container(border=True, key="asked_of_decide"):
        left, right = st.columns([2, 3], gap="large")
        target = ask("decide_target", left)
        return question_of(selection, target, ask("decide_trust", right))


def options_of(progress: Progress) -> tuple[Option, ...]:
    """The options that have been run so far."""
    return tuple(step for step in progress.arrived.get(PAGE, ()) if isinstance(step, Option))


def found_options(question: DecisionQuestion) -> tuple[Option, ...]:
    """The options of a question, as far as they have been run in this session."""
    work = background_jobs.find(PAGE, question)
    return () if work is None else options_of(work.progress())


def count_of(progress: Progress) -> str:
    """How far a decision is."""
    options = options_of(progress)
    if options:
        return f"Fresh runs: {len(options)} of {len(NAMES)} options …"
    tried = [step for step in progress.arrived.get(PAGE, ()) if isinstance(step, TriedOption)]
    return f"Looking for the smallest ε: {counted(len(tried), 'value')} tried …"


# What each option means: for one person, for whoever reads it, for whom one has to trust.


def people_in_words(spec: RunSpec, dataset: DatasetStatus) -> str:
    """As in "1,797 pictures at 5 sites"."""
    people = dataset.n_samples if spec.samples is None else spec.samples
    return f"{dataset.unit.of(people)} at {counted(spec.sites, 'site')}"


def accused_of(guarantee: Guarantee) -> tuple[int, int]:
    """Of a hundred attackers, how many accuse her: with her in the data, at most, and without."""
    with_her = math.ceil(100 * float(guarantee_power(guarantee, CARD_TYPE_ONE)) - 1e-6)
    return with_her, round(100 * CARD_TYPE_ONE)


def utility(option: Option) -> str:
    """What a release is good for, in the unit of its data; from the first fresh run."""
    return caches.shown(
        ("utility", option.spec, option.runs[0]), partial(_utility, option.spec, option.runs[0])
    )


def _utility(spec: RunSpec, run: int) -> str:
    key = spec.problem_key()
    problem, prepared = caches.problem_of(key), caches.problems.prepared(*key.data)
    subspace = caches.subspaces(spec, run)[spec.protocols[0]]
    components, exact = subspace.components, problem.exact_components
    if prepared.image_shape is None or prepared.labels is None:
        kept = signs_kept(components, exact)
        return f"{kept} of {exact.shape[1]} columns keep their sign in the first component"
    centre = np.zeros(exact.shape[1]) if subspace.centre is None else subspace.centre
    shares = [
        share_recognised(
            prepared.X, prepared.labels, rows, about, rng=stream(spec.seed, Purpose.SAMPLE)
        )
        for rows, about in (
            (components, np.asarray(centre)),
            (exact[: len(components)], problem.centre),
        )
    ]
    what = "digits" if spec.dataset in INK else "pictures"
    private, without = (math.floor(100 * share) for share in shares)
    return f"a classifier recognises {private} of 100 {what} ({without} without privacy)"


def trust_in_words(question: DecisionQuestion, guarantee: Guarantee) -> tuple[str, str]:
    """Whom one trusts, and what a breach of that trust would cost."""
    left = epsilon_of_breach(guarantee)
    trusted = "You trust nobody beyond the site that holds a row."
    if question.trusted is not Trusted.NOBODY:
        trusted = f"You trust {question.trusted}."
    if math.isinf(left):
        return trusted, "If they break it, every row is seen: no ε is left."
    same = say_number(left) == say_number(guarantee.epsilon)
    if same:
        outside = f"ε = {say_number(left)} holds against everyone outside a row's own site."
        return trusted, f"No breach elsewhere weakens it: {outside}"
    was = f"{say_number(guarantee.epsilon)} → {say_number(left)}"
    return trusted, f"If all others break it, ε = {was}."


def capitalised(words: str) -> str:
    """With a capital at the beginning alone."""
    return words[0].upper() + words[1:]


def verdict(option: Option) -> str:
    """Whether the fresh runs reached the target, as a sentence."""
    runs = len(option.rows)
    return f"{option.hits} of {runs} fresh runs reach {percent(option.target)}."


def conclusion(options: tuple[Option, ...]) -> str:
    """The recommendation, or why there is none, as one sentence."""
    best = recommended(options)
    if best is None:
        most = max(options, key=lambda each: each.hits)
        return (
            f"Nothing is recommended: with “{most.name}”, the closest, {most.hits} of "
            f"{len(most.rows)} fresh runs reach {percent(most.target)}."
        )
    return (
        f"Take “{best.name}”, ε = {plain(best.spec.epsilon)}: {percent(best.mean)} of the pattern "
        f"survives on average, and {best.hits} of {len(best.rows)} fresh runs reach "
        f"{percent(best.target)}."
    )


# The page: the answer, three columns, ten reports to step through.


def draw(question: DecisionQuestion, dataset: DatasetStatus, progress: Progress) -> None:
    """The answer and the options that are there."""
    options = options_of(progress)
    if len(options) < len(NAMES):
        looked = f"Looking for the smallest ε that keeps {percent(question.target)}"
        big_number("…", f"{looked} of the pattern, for {people_in_words(question.spec, dataset)}.")
        return
    best = recommended(options)
    number = "none" if best is None else f"ε = {plain(best.spec.epsilon)}"
    more = f"For {people_in_words(question.spec, dataset)}, at δ = {say_delta(question.spec.delta)}"
    if best is not None:
        more += (
            f". At least {percent(best.least_share)} of all releases reach it, at 95 % confidence"
        )
    else:
        more += f". Ask for less, include more {dataset.unit.many}, or trust more"
    big_number(number, conclusion(options), f"{more}.")
    report = ask("decide_report")
    for place, option in zip(st.columns(len(NAMES), gap="medium"), options, strict=True):
        with place.container(border=True):
            _column(question, option, dataset, option.runs[report - 1], is_best=option is best)
    st.caption(
        f"Report {report} of {FRESH_RUNS}, each a run that had no part in choosing. Dots: of 100 "
        "attackers who wrongly accuse 5 of 100 innocent people, so many accuse one person."
    )


def _column(
    question: DecisionQuestion, option: Option, dataset: DatasetStatus, run: int, *, is_best: bool
) -> None:
    spec = option.spec
    guarantee = spec.promise(spec.protocols[0], dataset)
    mark = " :green-badge[recommended]" if is_best else ""
    missed = "" if option.has_reached else " :red-badge[misses the target]"
    st.markdown(f"## {option.name.capitalize()}: ε = {plain(spec.epsilon)}{mark}{missed}")
    st.html(report_html(spec, dataset, run, dark=is_dark()))
    energy = next(row["energy_ratio"] for row in option.rows if row["repetition"] == run)
    st.markdown(
        f"**{percent(option.mean)}** survives on average; {percent(energy)} in this report. "
        f"{verdict(option)}\n\n**{capitalised(utility(option))}.**"
    )
    with_her, without = accused_of(guarantee)
    left, right = st.columns(2)
    for side, count, is_in in ((left, with_her, True), (right, without, False)):
        told = f"{count} of 100 attackers accuse her" + (", at most" if is_in else "")
        side.image(accused_svg(count, told, is_in=is_in), width="stretch", alt=told)
        side.caption(f"**{count} of 100** accuse her {'with' if is_in else 'without'} her data")
    trusted, breach = trust_in_words(question, guarantee)
    st.markdown(
        f"{bytes_in_words(option.bytes_per_site)} a site, {PROTOCOLS[spec.protocols[0]].title}. "
        f"{trusted} {breach}"
    )


def report_html(spec: RunSpec, dataset: DatasetStatus, run: int, *, dark: bool) -> str:
    """One report as pictures of ten people rebuilt from it, or as the columns of a table."""
    if dataset.image_shape is None:
        return caches.shown(("loadings", spec, run), lambda: _bars(spec, run))
    return caches.shown(("numerals", spec, run, dark), lambda: _numerals(spec, dataset, run, dark))


def _numerals(spec: RunSpec, dataset: DatasetStatus, run: int, dark: bool) -> str:
    return "".join(
        f'<img src="data:image/png;base64,{b64encode(png).decode()}" alt="{alt}" '
        'style="width:100%;image-rendering:pixelated;display:block;margin-bottom:.3rem">'
        for png, alt in zip(
            strips(spec, dataset, run, dark=dark),
            (f"Ten {dataset.unit.many} rebuilt from a release at ε = {plain(spec.epsilon)}.", ""),
            strict=True,
        )
    )


def strips(spec: RunSpec, dataset: DatasetStatus, run: int, *, dark: bool) -> tuple[bytes, ...]:
    """Ten people rebuilt from a run, in two rows, each a PNG."""
    shape, shown = dataset.image_shape or (1, 1), caches.people(spec)
    levels = np.frombuffer(caches.levels(spec, run), np.uint8).reshape(len(shown.rows), -1) / 255
    is_ink = dataset.name in INK
    return tuple(
        ink_strip(half, shape, dark=dark) if is_ink else picture_strip(half, shape)
        for half in np.array_split(levels, 2)
    )


def strongest_loadings(
    spec: RunSpec, run: int
) -> tuple[tuple[str, ...], tuple[float, ...], tuple[float, ...]]:
    """Columns that weigh most in the exact first component: names, exact, as the run has them."""
    exact = caches.problem_of(spec.problem_key()).exact_components[:1]
    found = caches.subspaces(spec, run)[spec.protocols[0]].components[:1]
    loadings, names = align_signs(found, exact)[0], caches.feature_names(spec)
    strongest = np.argsort(-np.abs(exact[0]), kind="stable")[:_MOST_COLUMNS]
    return (
        tuple(names[index] for index in strongest),
        tuple(exact[0][strongest].tolist()),
        tuple(loadings[strongest].tolist()),
    )


def _bars(spec: RunSpec, run: int) -> str:
    names, exact, found = strongest_loadings(spec, run)
    most = max(*map(abs, (*exact, *found)), 1e-300)

    def bar(name: str, true: float, value: float) -> str:
        return (
            f'<div style="font-size:.8rem;overflow:hidden;white-space:nowrap;'
            f'text-overflow:ellipsis">{escape(name)}</div>'
            '<div style="position:relative;height:1rem"><div style="position:absolute;height:100%;'
            f"background:#0072B2;left:{50 + 50 * min(value / most, 0):.1f}%;"
            f'width:{50 * abs(value) / most:.1f}%"></div>'
            '<div style="position:absolute;height:100%;width:3px;background:currentColor;'
            f'left:calc({50 + 50 * true / most:.1f}% - 1px)"></div></div>'
        )

    return (
        '<div style="display:grid;grid-template-columns:2fr 3fr;gap:.15rem .5rem">'
        f"{''.join(map(bar, names, exact, found))}</div>"
        '<p style="font-size:.8rem">First component: bar, this report; line, without privacy.</p>'
    )


def _offer(question: DecisionQuestion, options: tuple[Option, ...], dataset: DatasetStatus) -> None:
    """The decision as a memo and as slides, once every option has been run."""
    # The slides are drawn with what the page Deck draws with, which reads pins of this page.
    from pages.use.decide.brief import brief_of, memo, powerpoint_of, slides_page
    from pages.use.deck.page import POWERPOINT

    server, asked = home(st.context.url or ""), address.query()
    view = f"{PAGE}?{asked}" if asked else PAGE
    brief = brief_of(question, options, dataset, f"/{view}" if only_here(server) else server + view)
    st.markdown("## For the meeting")
    with st.container(horizontal=True):
        for name, file, kind, make in (
            ("Memo, one page to print (HTML)", "memo.html", "text/html", memo),
            ("Five slides (PowerPoint)", "decision.pptx", POWERPOINT, powerpoint_of),
            ("Five slides (HTML)", "decision.html", "text/html", slides_page),
        ):
            st.download_button(
                name, partial(make, brief), file, kind, on_click="ignore", key=f"save_{file}"
            )


@page(
    reads=True, formulas="decide",
    beside=(
        "Shares, recognised digits and the recommendation",
        "compare runs with the rows: decide on public data of the same kind.",
    ),
)  # fmt: skip
def show_decide(selection: Selection) -> None:
    """Decide: three named options for one question, and what reached the target in fresh runs."""
    question = choose(selection)
    watch_request(
        JobRequest(PAGE, question, question.parts, question.cost()),
        selection.dataset,
        partial(draw, question, selection.dataset),
        count_of,
        is_there=lambda progress: len(options_of(progress)) == len(NAMES),
    )
    options = found_options(question)
    best = recommended(options)
    spec = question.spec if best is None else best.spec
    promised_cards(
        spec,
        selection.dataset,
        (PROTOCOL_FOR[question.trusted],),
        f"Of ε = {plain(spec.epsilon)}. The other options promise the same at their own ε.",
    )
    session_ledger.so_far(selection.dataset.name, selection.dataset.title, spec.delta)
    if len(options) == len(NAMES):
        _offer(question, options, selection.dataset)
    take_away(PAGE, [row for each in options for row in each.rows])
