"""Explore, the start page: captured energy and private components while ε is dragged."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

from dpcore.arrays import FloatArray
from dpcore.data.loading import CATALOG
from dpcore.experiments.engine.summaries import bytes_in_words, percent
from dpcore.experiments.pca import RunSpec, reference_bytes
from dpcore.experiments.publish.export import recipe_of
from dpcore.figures.components import released_variances, scree
from dpcore.params import EPSILONS
from dpcore.pca.assessment import Estimate, noise_edge
from dpcore.pca.protocols.protocol import Where
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.settings import sites_that_answer
from dpcore.streams import Repetition
from pages import background, cached, navigation, sidebar
from pages.cached import ExactPictures, Measured
from pages.components import charts, downloads, guarantee, ledger, notices
from pages.components.explorer.component import Frame, deliver, draw_explorer, setting_of
from pages.components.score_plot import draw_score_plot
from pages.explore.tradeoffs import TITLES
from pages.number_format import plain
from pages.sidebar import Selection

CONTROLS = (*sidebar.MAIN, *sidebar.ADVANCED)
TABS = (
    "Guarantee",
    "People",
    "Messages and bytes",
    "Spectrum",
    "How it is computed",
    "Own estimate",
)
# One protocol takes more than half a second a run from this size on.
_LARGE_FEATURES = 256
# Runs of which pictures are sent to the browser, and fewer for large pictures.
_PICTURED_RUNS, _PICTURED_LARGE_RUNS = 5, 3
# The curve is finished later if a visitor leaves and comes back.
_SECONDS_UNSEEN = 5.0
_WIDEST_INTERVAL = 0.9
_JOB, _AXIS = "_explore_job", "_explore_axis"
_MAX_EIGENVALUES = 60
# Ratios from this one on are written as multiples, and smaller ones in percent.
_MANY_TIMES = 2.0


def show(selection: Selection) -> None:
    """Draw the start page."""
    if axis := st.session_state.pop(_AXIS, None):
        # Its first results must not wait for runs that this page no longer shows.
        background.cancel(st.session_state.pop(_JOB, None))
        st.session_state["tradeoffs_field"] = axis
        navigation.go_to("tradeoffs", tradeoffs_field=TITLES[axis])
    spec, dataset = selection.spec, selection.dataset
    notices.show_notes(selection.notes)
    notices.require_dataset(dataset)
    ledger.charge_run(spec)
    is_narrow = draw_explorer(spec, lambda epsilon: sidebar.set_controls(epsilon=epsilon))
    if is_narrow:
        sidebar.draw_compact(selection)
    _draw_row_below(selection)
    _compute(selection)
    _draw_tabs(selection)
    _draw_statements(selection)


# ---- results along ε


def _compute(selection: Selection) -> None:
    """Deliver the result at the present ε, and the others from a background job."""
    spec, dataset = selection.spec, selection.dataset
    cached.problem_of(spec.problem_key())
    cached.prepared(*spec.problem_key().data)
    here = [_measure(spec, key, 0) for key in spec.protocols[:1]]
    exact = cached.exact_pictures(replace(spec, epsilon=1.0))
    key: tuple[Hashable, ...] = ("explore", setting_of(spec), cached.owner(spec))
    previous = st.session_state.get(_JOB)
    if previous is not None and previous != key:
        background.cancel(previous)
    st.session_state[_JOB] = key
    is_curve = ledger.may_show_curves(dataset.name)
    specs = list(cached.along_epsilon(spec)) if is_curve else [spec]
    if not is_curve:
        key = (*key, spec.epsilon)
    total = len(specs) * spec.repetitions * len(spec.protocols)
    job = background.start(key, lambda: _runs(specs), total, seconds_unseen=_SECONDS_UNSEEN)
    background.poll(job, lambda: _hand_over(selection, job, here, exact))


def _hand_over(
    selection: Selection, job: background.Job, here: Sequence[Measured], exact: ExactPictures
) -> None:
    was_running = job.is_running
    job.touch()
    if job.error is not None:
        background.show_error(job.error)
    runs = list(job.results)
    found: dict[float, dict[tuple[str, int], Measured]] = {}
    for each in (*here, *runs):
        found.setdefault(each.epsilon, {})[each.protocol, each.run] = each
    lead, floor = selection.spec.protocols[0], cached.floor(selection.spec)
    frames = [
        Frame(
            epsilon,
            tuple(measured[name] for name in sorted(measured, key=lambda each: each[1])),
            floor,
        )
        for epsilon, measured in found.items()
        if (lead, 0) in measured
    ]
    count = f"{len(runs)} of {job.total} runs" if was_running else ""
    deliver(selection.spec, selection.dataset, frames, exact, count)


def _runs(specs: Sequence[RunSpec]) -> Iterator[Measured]:
    """Run every protocol at every ε.

    The curve of the first protocol comes first, with every other point before the points between
    them. Other protocols and further runs follow, first those of the headline.
    """
    first = specs[0]
    lead, *others = first.protocols
    at = EPSILONS.index(first.epsilon)
    coarse = [each for each in specs if (EPSILONS.index(each.epsilon) - at) % 2 == 0]
    ordered = [*coarse, *(each for each in specs if each not in coarse)]
    yield from _first_runs(ordered, (lead,))
    yield from _first_runs(ordered, others)
    for run in range(1, first.repetitions):
        yield _measure(first, lead, run)
    for run in range(1, first.repetitions):
        for spec in specs:
            for key in first.protocols:
                if (spec, key) != (first, lead):
                    yield _measure(spec, key, run)


def _first_runs(specs: Sequence[RunSpec], protocols: Sequence[str]) -> Iterator[Measured]:
    for spec in specs:
        for key in protocols:
            yield _measure(spec, key, 0)


def _measure(spec: RunSpec, protocol: str, run: int) -> Measured:
    n_features = cached.problems(spec.problem_key()).moments.n_features
    n_pictured = _PICTURED_LARGE_RUNS if n_features >= _LARGE_FEATURES else _PICTURED_RUNS
    is_pictured = protocol == spec.protocols[0] and run < n_pictured
    return cached.measure(spec, protocol, run, pictured=is_pictured)


# ---- below the curve


def _draw_row_below(selection: Selection) -> None:
    """Draw the axis picker and the switch for denoising."""
    with st.container(horizontal=True, vertical_alignment="center", key="below_curve"):
        st.session_state["explore_axis"] = "epsilon"
        st.selectbox(
            "Axis",
            list(TITLES),
            format_func=lambda name: f"Axis: {TITLES[name]}",
            key="explore_axis",
            on_change=_open_axis,
            label_visibility="collapsed",
            width=190,
        )
        st.session_state["explore_denoise"] = selection.spec.denoise != "none"
        st.toggle(
            "Denoise",
            key="explore_denoise",
            on_change=_switch_denoising,
        )


def _open_axis() -> None:
    chosen = st.session_state["explore_axis"]
    if chosen not in (None, "epsilon"):
        st.session_state[_AXIS] = chosen


def _switch_denoising() -> None:
    sidebar.set_controls(denoise="auto" if st.session_state["explore_denoise"] else "none")


# ---- tabs


def _draw_tabs(selection: Selection) -> None:
    spec = selection.spec
    tabs = st.tabs(TABS, key="explore_tab", on_change="rerun")
    draw: tuple[Callable[[], None], ...] = (
        lambda: _draw_guarantees(spec),
        lambda: draw_score_plot(spec),
        lambda: _draw_messages(spec),
        lambda: _draw_spectrum(spec),
        lambda: notices.show_formulas("pca"),
        lambda: _draw_own_estimate(spec),
    )
    for tab, each in zip(tabs, draw, strict=True):
        if tab.open:
            with tab:
                each()


def _draw_guarantees(spec: RunSpec) -> None:
    groups: dict[str, list[str]] = {}
    for key, released in cached.guarantees(spec).items():
        headline = guarantee.headline(released, reads_rows_first=spec.reads_rows_first)
        groups.setdefault(headline, []).append(PROTOCOLS[key].title)
    for headline, titles in groups.items():
        st.markdown(f"**{' · '.join(titles)}**  \n{headline}")
    st.page_link(navigation.link("promise"), label="What ε promises")


def _draw_messages(spec: RunSpec) -> None:
    rows = [cached.rows_of_run(cached.one_run(spec, key), 0)[0] for key in spec.protocols]
    whole, raw = reference_bytes(spec, cached.problem_of(spec.problem_key()))
    st.dataframe(
        [
            {
                "Protocol": PROTOCOLS[row["protocol"]].title,
                "One site sends": bytes_in_words(row["bytes_per_site"]),
                "All sites send": bytes_in_words(row["bytes_sent"]),
                "Rounds": row["n_rounds"],
                "Of full matrices": _multiple(row["bytes_sent"] / whole),
                "Of raw rows": _multiple(row["bytes_sent"] / raw),
            }
            for row in rows
        ],
        hide_index=True,
    )


def _multiple(ratio: float) -> str:
    return percent(ratio) if ratio < _MANY_TIMES else f"{ratio:.0f} times"


def _draw_spectrum(spec: RunSpec) -> None:
    """Draw exact and private eigenvalues against those of noise without data."""
    lead = spec.protocols[0]
    entry = PROTOCOLS[lead]
    if not entry.noise or lead == "pooled":
        st.caption(f"{entry.title} releases no noisy matrix, so it has no spectrum to show.")
        return
    problem = cached.problem_of(spec.problem_key())
    n_features = problem.moments.n_features
    count = min(n_features, _MAX_EIGENVALUES)
    wide = replace(
        cached.one_run(spec, lead),
        components=count,
        intermediate_dim=max(count, spec.intermediate_dim or 1),
    )
    ledger.charge_run(wide, what=("components", "eigenvalues"))
    subspace = cached.subspaces(wide)[lead]
    weights: FloatArray = np.ones(1)
    if entry.where is Where.EVERY_SITE:
        settings = wide.settings(problem.n_features, problem.default_components)
        sites = sites_that_answer(settings, spec.sites, Repetition(spec.seed))
        weights = problem.moments.at(sites).weights
    noise = entry.shape or spec.noise
    # Denoising and the cut of each message move the edge, and how far depends on the rows.
    is_noisy = spec.denoise == "none" and not entry.wants_proxies
    edge = noise_edge(subspace.sigma, weights, n_features, noise=noise) if is_noisy else 0.0
    requested = plain(spec.epsilon)
    figure = scree(
        problem.eigenvalues_before_noise()[:count],
        {f"ε = {requested}": subspace.eigenvalues},
        edge,
        protocol=lead,
        dark=charts.is_dark(),
    )
    band = f"; noise without data reaches {edge:.2g}" if is_noisy else ""
    alt = f"Exact and private eigenvalues by rank{band}."
    charts.show_figure(figure, key="spectrum", alt=alt)
    if is_noisy:
        st.caption("Shaded: eigenvalues of noise without data.")


def _draw_own_estimate(spec: RunSpec) -> None:
    """Draw the captured variance that a recipient can estimate from the release."""
    found = cached.self_assessed(spec)
    rows = []
    for key in spec.protocols:
        own = found[key].own if key in found else None
        true = percent(found[key].energy / found[key].total) if key in found else "–"
        estimate = "no estimate" if own is None else _with_interval(own.captured_share)
        above = None if own is None else own.n_above_noise
        rows.append(
            {
                "Protocol": PROTOCOLS[key].title,
                "Own estimate (90 % interval)": estimate,
                "True value (not private)": true,
                "Components above noise": "–" if above is None else str(above),
            }
        )
    st.markdown(
        "A recipient can estimate the explained variance from the release, because the amount of "
        "noise is public. This costs no ε."
    )
    st.dataframe(rows, hide_index=True)
    lead = spec.protocols[0]
    own = found[lead].own if lead in found else None
    if own is not None and np.isfinite(own.captured_share.value):
        variance, total = own.explained_variance, found[lead].total
        figure = released_variances(
            variance.value / total, variance.interval / total, dark=charts.is_dark()
        )
        alt = f"Estimated share of the variance along each component of {PROTOCOLS[lead].title}."
        charts.show_figure(figure, key="own_estimate", alt=alt)


def _with_interval(share: Estimate) -> str:
    low, high = (float(end) for end in share.interval)
    if high - low > _WIDEST_INTERVAL:
        return "too noisy"
    middle = min(max(float(share.value), low), high)
    return f"{percent(middle)} ({percent(low)} to {percent(high)})"


# ---- statements below the tabs


def _draw_statements(selection: Selection) -> None:
    spec, dataset = selection.spec, selection.dataset
    st.button("New noise", on_click=sidebar.new_noise)
    st.caption(ledger.total_sentence(dataset.name, dataset.title, spec.delta))
    what = "Exact PCA, floors, original pictures and cosines"
    notices.mark_not_private(what, "are computed on raw data.")
    recipe = recipe_of(spec) if dataset.name in CATALOG else None
    downloads.offer_downloads(
        "explore",
        lambda: cached.rows(spec),
        script=recipe.script if recipe else None,
        notebook=recipe.notebook if recipe else None,
    )
