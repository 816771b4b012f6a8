"""Decide: three options for one question, tried in fresh runs, with a memo and slides."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from html import escape
from statistics import fmean
from typing import Any

import numpy as np
import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.data.loading import CATALOG
from dpcore.experiments.decide.decision import (
    NAMES,
    Option,
    TriedOption,
    asked_spec,
    count_kept_factors,
    count_strong_factors,
    decide,
    epsilon_of_breach,
    recommended,
    share_recognised,
)
from dpcore.experiments.decide.ranking import Trusted
from dpcore.experiments.decide.run_statistics import (
    ENOUGH_RUNS,
    FRESH_RUNS,
    SEARCH_RUNS,
    reaches_target,
)
from dpcore.experiments.decide.targets import Recommendation, SearchRound, recommend
from dpcore.experiments.engine.fields import GIVEN
from dpcore.experiments.engine.spec import Row
from dpcore.experiments.engine.store import Store
from dpcore.experiments.engine.summaries import bytes_in_words, percent
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.pca.rebuilt_rows import INK, rebuild_rows, rebuild_rows_about
from dpcore.figures.images import ink_strip, picture_strip
from dpcore.figures.privacy import accused_svg
from dpcore.figures.style import ink, look_of
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import Guarantee, guarantee_power
from dpcore.privacy.guarantee_in_words import CARD_TYPE_ONE, say_delta, say_number
from dpcore.privacy.label import label_of
from dpcore.spectra import align_signs
from dpcore.streams import Purpose, stream
from pages import background, cached, links, sidebar
from pages.components import downloads, guarantee, ledger, notices
from pages.components.brief import (
    POWERPOINT,
    Brief,
    OptionSummary,
    data_uri,
    make_presentation,
    render_memo,
)
from pages.components.charts import is_dark
from pages.number_format import plain
from pages.sidebar import Selection

CONTROLS = ("sites",)
_PATIENTS = "breast-cancer"
_TRUST_LABELS = {
    Trusted.NOBODY: "no one",
    Trusted.OTHER_SITES: "the other sites, with their masks",
    Trusted.HOLDER: "one team, with every row",
}
_TRUST = {each.name.lower(): each for each in Trusted}
_WAIT_SECONDS = 1.0
_N_FACTORS, _N_BARS = 10, 6
_HEIGHT = 440
# The grid fills the first screen of a wide window; narrow windows have no minimum.
_MIN_HEIGHT = "clamp(0px,(100vw - 60rem) * 999,min(43rem,77vh))"
_GOOD, _AXIS = "#009E73", "#8a8a8a"


@dataclass(frozen=True)
class Question:
    """Target share of captured energy on one data set, and who is trusted.

    spec: Runs of the options, at any ε.
    """

    spec: RunSpec
    trusted: Trusted
    target: float
    dataset: DatasetStatus

    @property
    def rows_in_words(self) -> str:
        """Number of rows and sites, as in "569 patients at 5 sites"."""
        n = self.dataset.n_samples
        sites = "1 site" if self.spec.sites == 1 else f"{self.spec.sites} sites"
        return f"{self.dataset.unit.of(n)} at {sites}"


def show(selection: Selection) -> None:
    """Draw the recommended ε, the three options, and what to take to a meeting."""
    question = choose(selection)
    key = ("decide", question.spec, question.target)
    if background.was_cancelled(key) and not st.button("Search again"):
        return
    job = background.start(key, partial(_search, question.spec, question.target), len(NAMES))
    # Small data sets finish at once; a progress bar would only move the page.
    job.wait(_WAIT_SECONDS)
    if not job.is_complete:
        st.title(
            f"Searching for the smallest ε that keeps {percent(question.target)}", anchor=False
        )
        background.watch(job, lambda _: None, "options", lambda steps: len(_options(steps)))
        st.container(height=_HEIGHT, border=False)
        return
    rows = [row for step in job.results for row in step.rows]
    ledger.charge_rows(rows)
    options = _options(job.results)
    best = recommended(options)
    _draw_answer(question, options, best)
    _offer_brief(question, options)
    with st.expander("Options and details", on_change="rerun", key="decide_all") as panel:
        if panel.open:
            _draw_details(question, options)
    dataset = question.dataset
    st.caption(ledger.total_sentence(dataset.name, dataset.title, question.spec.delta))
    fresh = [row for option in options for row in option.rows]
    is_own = question.spec.dataset not in CATALOG
    downloads.offer_downloads("decide", fresh if not is_own else ())


def _draw_details(question: Question, options: tuple[Option, ...]) -> None:
    titles = ("What each option means", "All options", "How this is computed")
    meaning, search, computation = st.tabs(titles)
    with meaning:
        _draw_meaning(question, options)
    with search:
        _draw_all_options(question)
    with computation:
        notices.show_formulas("decide")


def choose(selection: Selection) -> Question:
    """Draw the controls of the page in the sidebar and return the question they ask."""
    statuses = {each.name: each for each in sidebar.numeric_datasets()}
    side = st.sidebar
    common: dict[str, Any] = {"bind": "query-params", "persist_state": "session"}
    if st.session_state.get("decide_data", _PATIENTS) not in statuses:
        st.session_state["decide_data"] = _PATIENTS
    name = side.selectbox(
        "Data set",
        list(statuses),
        index=list(statuses).index(_PATIENTS),
        key="decide_data",
        format_func=lambda each: each if each in CATALOG else "your-table",
        **common,
    )
    links.accept_option("decide_target", range(50, 100), str, several=False)
    target = side.slider(
        "Captured energy (%)",
        50,
        99,
        90,
        key="decide_target",
        help="Least share of the variance captured, relative to exact PCA, in nearly all runs.",
        **common,
    )
    links.accept_option("decide_trust", list(_TRUST), _trust_label, several=False)
    trust = side.selectbox(
        "We trust",
        list(_TRUST),
        key="decide_trust",
        format_func=_trust_label,
        **common,
    )
    dataset, trusted = statuses[name], _TRUST[trust]
    notices.require_dataset(dataset)
    sizes = dataset.site_sizes
    base = RunSpec(
        dataset=name,
        sites=len(sizes) or selection.spec.sites,
        split=GIVEN if sizes else RunSpec.split,
        seed=selection.spec.seed,
    )
    spec = asked_spec(base, trusted, dataset.n_samples)
    return Question(spec, trusted, target / 100, dataset)


def _trust_label(name: str) -> str:
    return _TRUST_LABELS[_TRUST[name]]


def _search(spec: RunSpec, target: float) -> Iterator[TriedOption | Option]:
    return decide(spec, target, workers=1, store=Store(), problems=cached.problems)


def _options(steps: Sequence[TriedOption | Option]) -> tuple[Option, ...]:
    return tuple(step for step in steps if isinstance(step, Option))


# ---- the answer


def _draw_answer(question: Question, options: tuple[Option, ...], best: Option | None) -> None:
    st.title(answer_of(options, best), anchor=False)
    st.markdown(reason_of(options, best))
    st.html(_options_grid(question, options, best, dark=is_dark()))


def answer_of(options: tuple[Option, ...], best: Option | None) -> str:
    """Return the recommendation as a title, or that there is none."""
    if best is None:
        return f"No option reaches {percent(options[0].target)}"
    return f"Take ε = {best.spec.epsilon:g}: {percent(best.mean)} captured energy"


def reason_of(options: tuple[Option, ...], best: Option | None) -> str:
    """Return why an option is recommended and the others are not, as short sentences."""
    target = percent(options[0].target)
    if best is None:
        closest = max(options, key=lambda each: each.hits)
        return (
            f"The closest is {closest.name}: {_hits(closest)} reach {target}. "
            f"A recommendation needs {ENOUGH_RUNS}. Ask for less, or trust more."
        )
    more_private = [each for each in options if each.spec.epsilon < best.spec.epsilon]
    less_private = [each for each in options if each.spec.epsilon > best.spec.epsilon]
    parts = []
    if more_private:
        nearest = max(more_private, key=lambda each: each.spec.epsilon)
        parts.append(f"{nearest.name.capitalize()} reaches {target} in {_hits(nearest)}.")
    if less_private:
        nearest = min(less_private, key=lambda each: each.spec.epsilon)
        times = nearest.spec.epsilon / best.spec.epsilon
        parts.append(f"{nearest.name.capitalize()} costs {plain(times, 3)} times the ε.")
    return " ".join(parts)


def _hits(option: Option) -> str:
    return f"{option.hits} of {len(option.rows)} fresh runs"


@dataclass(frozen=True)
class Utility:
    """Use of one release in the unit of its data.

    name: Name of what is counted, as the label of a line.
    count, total: Number found with the release, out of how many.
    exact: Number found without privacy.
    """

    name: str
    count: int
    total: int
    exact: int

    @property
    def sentence(self) -> str:
        """The numbers in words, without a full stop."""
        return f"{self.name}: {self.count} of {self.total} (without privacy {self.exact})"


def utility(option: Option) -> Utility:
    """Return the use of a release: of a table the mean of all fresh runs, else the first run."""
    return _utility(option.spec, option.runs)


@cached.cached(64)
def _utility(spec: RunSpec, runs: tuple[int, ...]) -> Utility:
    key = spec.problem_key()
    problem, prepared = cached.problems(key), cached.problems.prepared(*key.data)
    exact = problem.exact_components
    released = [cached.subspaces(spec, run)[spec.protocols[0]] for run in runs]
    if prepared.image_shape is None or prepared.labels is None:
        n_factors = count_strong_factors(exact, _N_FACTORS)
        counts = [count_kept_factors(each.components, exact, n_factors) for each in released]
        return Utility("Same strongest factors", round(fmean(counts)), n_factors, n_factors)
    subspace = released[0]
    components = subspace.components
    centre = np.zeros(exact.shape[1]) if subspace.centre is None else subspace.centre
    private, without = (
        share_recognised(
            prepared.X, prepared.labels, rows, about, rng=stream(spec.seed, Purpose.SAMPLE)
        )
        for rows, about in (
            (components, np.asarray(centre)),
            (exact[: len(components)], problem.centre),
        )
    )
    return Utility(
        "Hard cases recognised", math.floor(100 * private), 100, math.floor(100 * without)
    )


def rebuilt_strips(question: Question, option: Option, *, dark: bool) -> tuple[bytes, ...]:
    """Return ten rows rebuilt from the first fresh run, as PNG files."""
    spec = cached.single(option.spec)
    return _strips(question, spec, _rebuilt_levels(spec, option.runs[0]), dark=dark)


def exact_strips(question: Question, spec: RunSpec, *, dark: bool) -> tuple[bytes, ...]:
    """Return the same rows rebuilt from exact components, as PNG files."""
    spec = cached.single(spec)
    return _strips(question, spec, _rebuilt_levels(spec, None), dark=dark)


@cached.cached(64)
def _rebuilt_levels(spec: RunSpec, run: int | None) -> bytes:
    """Return grey levels of ten rows rebuilt from a run, or from exact components for None."""
    example_rows, problem = cached.shown_rows(spec), cached.problems(spec.problem_key())
    if run is not None:
        subspace = cached.subspaces(spec, run)[spec.protocols[0]]
        rows = rebuild_rows(example_rows.rows, subspace, problem)
    else:
        k = spec.settings(problem.n_features, problem.default_components).n_components
        components = problem.exact_components[:k]
        rows = rebuild_rows_about(example_rows.rows, components, problem.centre)
    levels: bytes = example_rows.levels(rows).tobytes()
    return levels


def _strips(question: Question, spec: RunSpec, levels: bytes, *, dark: bool) -> tuple[bytes, ...]:
    shape = question.dataset.image_shape or (1, 1)
    pictures = np.frombuffer(levels, np.uint8).reshape(-1, math.prod(shape)) / 255
    is_ink = spec.dataset in INK
    return tuple(
        ink_strip(part, shape, dark=dark) if is_ink else picture_strip(part, shape)
        for part in np.array_split(pictures, 2)
    )


@cached.cached(64)
def strongest_loadings(
    spec: RunSpec, run: int
) -> tuple[tuple[str, ...], tuple[float, ...], tuple[float, ...]]:
    """Return the columns with the largest loadings in the exact first component.

    Returns (names, exact loadings, loadings of the run).
    """
    exact = cached.problems(spec.problem_key()).exact_components[:1]
    released = cached.subspaces(spec, run)[spec.protocols[0]].components[:1]
    loadings = align_signs(released, exact)[0]
    names = cached.feature_names(spec)
    strongest = np.argsort(-np.abs(exact[0]), kind="stable")[:_N_BARS]
    return (
        tuple(names[index] for index in strongest),
        tuple(exact[0][strongest].tolist()),
        tuple(loadings[strongest].tolist()),
    )


def _options_grid(
    question: Question, options: tuple[Option, ...], best: Option | None, *, dark: bool
) -> str:
    """Return the options side by side as an HTML grid, with exact PCA as the first column."""
    promised = [_guarantee(question, option) for option in options]
    heads = [
        f"<b>{option.name.capitalize()}</b>, ε\u00a0=\u00a0{option.spec.epsilon:g}"
        + (f' <b style="color:{_GOOD}" title="recommended">✓</b>' if option is best else "")
        for option in options
    ]
    lines = [
        ("", "Exact PCA", *heads),
        (
            _explained("Captured energy", "Share of the variance captured, relative to exact PCA."),
            "100 %",
            *(f"<b>{percent(option.mean)}</b>" for option in options),
        ),
        (
            _explained(f"Reach {percent(question.target)}", "Fresh runs that reach the target."),
            "",
            *(f"{option.hits}/{len(option.rows)}" for option in options),
        ),
        _utility_line([utility(option) for option in options]),
        *_release_lines(question, options, dark=dark),
        (
            _explained(
                "Accused, of 100",
                "Of 100 attackers, how many accuse a person in the data, at most. They accuse 5 of "
                "100 people who are not in it.",
            ),
            "",
            *(_dots(each) for each in promised),
        ),
    ]
    cells = "".join(f"<div>{cell}</div>" for line in lines for cell in line)
    return (
        '<div style="overflow-x:auto"><div style="display:grid;font-size:clamp(.7rem,1.6vw,.9rem);'
        f"grid-template-columns:minmax(4.5rem,1.1fr) repeat({len(options) + 1},minmax(3.5rem,1fr));"
        f'gap:.5rem clamp(.3rem,1.2vw,1rem);align-items:center;min-height:{_MIN_HEIGHT}">'
        f"{cells}</div></div>"
    )


def _utility_line(found: Sequence[Utility]) -> tuple[str, ...]:
    first = found[0]
    explanation = f"{first.name}, out of {first.total}, with one release."
    return (
        _explained(first.name, explanation),
        f"{first.exact}",
        *(f"<b>{each.count}</b>" for each in found),
    )


def _explained(text: str, explanation: str) -> str:
    return f'<span title="{escape(explanation)}">{escape(text)}</span>'


def _dots(promised: Guarantee) -> str:
    with_data, _ = accusations(promised)
    alt = f"at most {with_data} of 100"
    # The sanitizer of `st.html` removes inline SVG.
    svg = b64encode(accused_svg(with_data, alt, is_in=True).encode()).decode()
    return f'<img src="data:image/svg+xml;base64,{svg}" alt="{alt}" style="width:100%">'


def _release_lines(
    question: Question, options: tuple[Option, ...], *, dark: bool
) -> list[tuple[str, ...]]:
    """Return the lines of the grid that show one release of each option."""
    spec = options[0].spec
    if question.dataset.image_shape is not None:
        strips_of = [rebuilt_strips(question, option, dark=dark) for option in options]
        strips_of.insert(0, exact_strips(question, spec, dark=dark))
        return [("Rebuilt", *("".join(map(_picture, strips)) for strips in strips_of))]
    found = [strongest_loadings(option.spec, option.runs[0]) for option in options]
    names, exact, _ = found[0]
    colour = look_of("dpdis", dark=dark).colour
    columns = [(exact, ink(dark)), *((loadings, colour) for _, _, loadings in found)]
    longest = max(abs(value) for values, _ in columns for value in values) or 1.0
    return [
        (
            f'<div style="overflow-wrap:anywhere">{escape(name.replace("_", " "))}</div>',
            *(_bar(values[number] / longest, fill) for values, fill in columns),
        )
        for number, name in enumerate(names)
    ]


def _bar(share: float, fill: str) -> str:
    start, width = 50 + 50 * min(share, 0), 50 * abs(share)
    return (
        f'<div style="position:relative;height:1.8rem;background:linear-gradient({_AXIS},{_AXIS}) '
        'center/1px 100% no-repeat">'
        f'<div style="position:absolute;height:100%;background:{fill};left:{start:.1f}%;'
        f'width:{width:.1f}%"></div></div>'
    )


def _picture(png: bytes) -> str:
    style = "width:100%;image-rendering:pixelated;display:block;margin-bottom:.3rem"
    return f'<img src="{data_uri(png)}" alt="Ten rows rebuilt" style="{style}">'


# ---- below the fold: what it means, memo and slides, all options


def _draw_meaning(question: Question, options: tuple[Option, ...]) -> None:
    for column, option in zip(st.columns(len(NAMES), gap="medium"), options, strict=True):
        promised = _guarantee(question, option)
        with_data, without = accusations(promised)
        trust, breach = trust_in_words(question, promised)
        with column:
            st.markdown(
                f"**{option.name.capitalize()}, ε = {option.spec.epsilon:g}.** "
                f"{utility(option).sentence}. "
                f"At most {with_data} of 100 attackers accuse a person in the data, "
                f"and {without} accuse one who is not. {breach} "
                f"{bytes_in_words(option.bytes_per_site)} per site, "
                f"{PROTOCOLS[option.spec.protocols[0]].title}. {trust}"
            )
    best = recommended(options) or options[-1]
    guarantee.summarize(_guarantee(question, best))
    notices.mark_not_private(
        "Captured energy and the recommendation",
        "compare runs with the rows. Decide on public data of the same kind.",
    )


def _guarantee(question: Question, option: Option) -> Guarantee:
    return option.spec.promise(option.spec.protocols[0], question.dataset)


def accusations(promised: Guarantee) -> tuple[int, int]:
    """Return how many of 100 attackers accuse a person: with her data, at most; without it."""
    with_data = math.ceil(100 * float(guarantee_power(promised, CARD_TYPE_ONE)) - 1e-6)
    return with_data, round(100 * CARD_TYPE_ONE)


def trust_in_words(question: Question, promised: Guarantee) -> tuple[str, str]:
    """Return who is trusted, and the ε that remains if that trust is broken, as sentences."""
    remaining = epsilon_of_breach(promised)
    trusted = "You trust only the site that holds a row."
    if question.trusted is not Trusted.NOBODY:
        trusted = f"You trust {question.trusted}."
    if math.isinf(remaining):
        return trusted, "If that trust is broken, every row is exposed."
    if say_number(remaining) == say_number(promised.epsilon):
        return trusted, f"Even if all other sites are hacked, ε = {say_number(remaining)} holds."
    weaker = f"ε = {say_number(remaining)} instead of {say_number(promised.epsilon)}"
    return trusted, f"If all others break it, {weaker} holds."


def brief_of(question: Question, options: tuple[Option, ...], link: str) -> Brief:
    """Return the content of the memo and the slides of a decision."""
    best = recommended(options)
    chosen = best or max(options, key=lambda each: each.hits)
    spec, promised = chosen.spec, _guarantee(question, chosen)
    title, algorithm = question.dataset.title, PROTOCOLS[spec.protocols[0]].title
    summaries = tuple(_summary(question, option) for option in options)
    now = datetime.now(UTC)
    is_table = question.dataset.image_shape is None
    return Brief(
        question=f"{title}: which ε keeps {percent(question.target)} of the captured energy?",
        answer=f"{answer_of(options, best)}.",
        reason=reason_of(options, best),
        options=summaries,
        chosen=summaries[options.index(chosen)],
        is_recommended=best is not None,
        target=question.target,
        trust=trust_in_words(question, promised)[0],
        least_share=chosen.least_share,
        rules=(
            (
                f"Were these runs selected? No: the search used {SEARCH_RUNS} other runs, and a "
                f"recommendation needs {ENOUGH_RUNS} of {FRESH_RUNS} fresh ones."
            ),
            (
                "Does it hold for our data? For data like these. A plan on public data of the "
                "same kind costs no privacy."
            ),
        ),
        label=label_of(
            promised,
            f"{algorithm} on {title}",
            is_simulation=True,
            people=question.dataset.n_samples,
            sites=spec.sites,
            made=now.isoformat(timespec="seconds"),
        ),
        foot=f"Source: DP-PCA Lab, {title}, {algorithm}, {question.rows_in_words}, δ = "
        f"{say_delta(spec.delta)}, seed {spec.seed}, runs {chosen.runs[0] + 1} to "
        f"{chosen.runs[-1] + 1}. Simulation. {now:%Y-%m-%d}. {link}",
        loadings=strongest_loadings(spec, chosen.runs[0]) if is_table else None,
    )


def _summary(question: Question, option: Option) -> OptionSummary:
    promised = _guarantee(question, option)
    return OptionSummary(
        title=f"{option.name.capitalize()}, ε = {option.spec.epsilon:g}",
        epsilon=option.spec.epsilon,
        energies=tuple(option.energies),
        hits=option.hits,
        utility=utility(option).sentence,
        accusations=accusations(promised),
        message_size=bytes_in_words(option.bytes_per_site),
        breach=trust_in_words(question, promised)[1],
        pictures=()
        if question.dataset.image_shape is None
        else rebuilt_strips(question, option, dark=False),
    )


def _offer_brief(question: Question, options: tuple[Option, ...]) -> None:
    query = "&".join(f"{key}={value}" for key, value in st.query_params.to_dict().items())
    link = f"{st.context.url or '/decide'}{'?' if query else ''}{query}"

    def make(render: Callable[[Brief], Any]) -> Any:
        return render(brief_of(question, options, link))

    with st.container(horizontal=True):
        st.download_button(
            "Memo",
            partial(make, render_memo),
            "memo.html",
            "text/html",
            on_click="ignore",
        )
        st.download_button(
            "Slides",
            partial(make, make_presentation),
            "decision.pptx",
            POWERPOINT,
            on_click="ignore",
        )


def _draw_all_options(question: Question) -> None:
    """Draw the search over every algorithm and preparation, when it is requested."""
    key = ("all options", question.spec, question.target)
    job = background.find(key)
    if job is None and not st.button("Compare every algorithm"):
        st.caption("Finds the smallest ε for each algorithm, preparation and kind of trust.")
        return
    job = background.start(key, partial(_search_all, question))
    background.watch(job, partial(_draw_search, question), "rounds")


def _search_all(question: Question) -> Iterator[SearchRound | Recommendation]:
    base = replace(question.spec, repetitions=FRESH_RUNS)
    options: dict[str, Any] = {"workers": 1, "store": Store(), "problems": cached.problems}
    return recommend(base, question.target, **options)


def _draw_search(question: Question, steps: Sequence[SearchRound | Recommendation]) -> None:
    rows: list[Row] = [row for step in steps for row in step.rows]
    with notices.errors_as_messages():
        ledger.charge_rows(rows)
        for step in steps:
            if isinstance(step, Recommendation):
                st.markdown(step.sentence)
        lines = _table_of(question, [step for step in steps if isinstance(step, SearchRound)])
        if lines:
            whole = st.column_config.NumberColumn(format="%,.0f")
            st.dataframe(lines, hide_index=True, column_config={"Bytes per site": whole})


def _table_of(question: Question, rounds: Sequence[SearchRound]) -> list[dict[str, Any]]:
    """Return one line per algorithm and preparation that reaches the target: its smallest ε."""
    smallest: dict[Any, dict[str, Any]] = {}
    for step in sorted(rounds, key=lambda each: each.value, reverse=True):
        for each in step.ranked:
            if not reaches_target(each.energies, question.target):
                continue
            smallest[each.way] = {
                "Option": each.way.label,
                "ε": step.value,
                "Captured energy": f"{100 * each.mean:.0f} %",
                "Trusted": str(each.trusted),
                "Bytes per site": each.bytes_per_site,
            }
    return sorted(smallest.values(), key=lambda line: line["ε"])
