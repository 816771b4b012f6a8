"""Other analyses, two views (CCA): correlations between two views of the same rows, privately."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from dpcore.data import dataset_status, load_dataset
from dpcore.data.catalog import CATALOG
from dpcore.data.pictures import VIEWS
from dpcore.data.two_views import TwoViewDataset
from dpcore.errors import ParameterError
from dpcore.experiments.cca import MOST_PAIRS, TITLES, CcaRow, CcaSpec
from dpcore.experiments.cca.evaluation import (
    EvaluatedPairs,
    ProjectedPeople,
    draw_pairs,
    evaluate_exact_pairs,
    project_people,
)
from dpcore.experiments.cca.problem import CcaProblem, ViewsKey, build_cca_problem
from dpcore.experiments.cca.summaries import (
    cca_comparison,
    cca_headline,
    cca_recipe,
    epsilon_by_rows,
    half_in_words,
)
from dpcore.experiments.cca.views import (
    COLUMN_HALVES,
    SYNTHETIC,
    Cut,
    CutViews,
    SyntheticViews,
    ViewSource,
)
from dpcore.experiments.engine.fields import GIVEN, same_fields
from dpcore.experiments.engine.grid import Points, cost_of_sweeps
from dpcore.experiments.engine.summaries import mean_in_words
from dpcore.figures.cca import correlation_curves, correlation_dots, direction_bars
from dpcore.figures.components import people_scatter
from dpcore.figures.images import component_strip
from dpcore.params import EPSILONS
from dpcore.privacy import Guarantee
from pages import links, navigation, sidebar, sweeps
from pages.cached import cached
from pages.components import charts, downloads, guarantee, ledger, notices
from pages.number_format import plain
from pages.sidebar import Selection

CONTROLS = (
    "epsilon", "delta", "sites", "repetitions", "seed", "calibration", "noise", "preparation",
    "split", "concentration", "masks",
)  # fmt: skip
ALL_ROWS = "all"
CUTS: dict[str, Cut | None] = {
    "top and bottom": "halves-top-bottom",
    "left and right": "halves-left-right",
    "first and second half of the columns": COLUMN_HALVES,
    "chosen columns": None,
}
CURVE_EPSILONS = tuple(epsilon for epsilon in EPSILONS if epsilon >= 0.01)
_SIZES = (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
_FLOORS = ("auto", 0.0, 1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
_CURVE_RUNS = 5
# The controls below start where the first screen ends.
_FIGURE_HEIGHT = 540
_TITLE = "Two views of the same rows"
# All runs of a protocol with their rows.
Runs = list[tuple[EvaluatedPairs, CcaRow]]


def show(selection: Selection) -> None:
    """Draw the correlations first, then the controls, directions, rows and curves."""
    answer = notices.reserve_container("answer")
    with notices.heading_of_error(answer, partial(_show_heading, _TITLE)):
        source = _choose_views(answer)
        views = _views(source)
        spec = _choose_run(selection, source, views)
        lead = spec.protocols[0]
        problem = _problem(spec.problem_key())
        runs = {key: _runs(spec, key) for key in spec.protocols}
        _charge(spec, runs)
    rows = [row for draws in runs.values() for _, row in draws]
    with answer:
        _show_heading(cca_headline(rows, lead))
        _show_correlations([pairs for pairs, _ in runs[lead]], problem, lead)
        st.caption(cca_comparison(rows, lead))
    directions, projected, curve, guarantee_tab = st.tabs(
        ["Directions", "Rows", "Along ε", "Guarantee"]
    )
    with directions:
        _show_directions(views, evaluate_exact_pairs(problem), runs[lead][0][0], lead)
    with projected:
        _show_rows(spec, views, lead)
    with curve:
        _show_curve(spec, problem.random_share)
    with guarantee_tab:
        _show_guarantees(spec, runs)
    notices.mark_not_private(
        "Exact correlations and the captured share", "read the rows without noise."
    )
    if spec.reads_rows_first:
        notices.mark_not_private("Published centring and scaling", problem.statement)
    st.caption(views.provenance)
    recipe = cca_recipe(spec)
    is_own = source.name not in (*CATALOG, SYNTHETIC)
    downloads.offer_downloads(
        "cca",
        rows,
        script=None if is_own else recipe.script,
        notebook=None if is_own else recipe.notebook,
    )
    notices.explain_computation("cca")


# ---- controls


def _show_heading(sentence: str) -> None:
    st.title(sentence)
    navigation.link_to_parts("cca")


def _choose_views(answer: Any) -> ViewSource:
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    names = ["digits", SYNTHETIC, *(name for name in CATALOG if name != "digits")]
    names += [status.name for status in sidebar.numeric_datasets() if status.name not in CATALOG]
    links.accept_option("cca_data", names, _title_of_data, several=False)
    name = left.selectbox(
        "Two views of", names, format_func=_title_of_data, key="cca_data", bind="query-params"
    )
    sidebar.require_offered("cca_data", name, names)
    if name == SYNTHETIC:
        return _choose_synthetic_views()
    status = dataset_status(name)
    if not status.ready:
        with answer:
            _show_heading(_TITLE)
            notices.require_dataset(status)
    notices.require_dataset(status)
    if name == "mfeat":
        first, second = right.columns(2)
        options = list(VIEWS)
        x = first.selectbox("First view", options, index=options.index("fou"), key="cca_x")
        y = second.selectbox("Second view", options, index=options.index("kar"), key="cca_y")
        return CutViews(name, (x, y))
    if status.n_features < 2:
        raise ParameterError("views", "made of at least two columns", status.n_features)
    offered = list(CUTS) if status.image_shape is not None else list(CUTS)[2:]
    links.accept_option("cca_cut", offered, str, several=False)
    chosen = right.selectbox("Cut into", offered, key="cca_cut", bind="query-params")
    cut = CUTS[chosen]
    return CutViews(name, cut if cut is not None else _choose_columns(name))


def _title_of_data(name: str) -> str:
    if name == SYNTHETIC:
        return "Synthetic views"
    return CATALOG[name].title if name in CATALOG else "Your table"


def _choose_synthetic_views() -> ViewSource:
    first, second, third, fourth = st.columns(4)
    return SyntheticViews(
        people=fourth.select_slider("Rows", _SIZES[3:], value=20_000, key="cca_total"),
        columns=third.select_slider("Columns per view", (10, 20, 50, 100), 50, key="cca_columns"),
        shared=first.slider("Shared dimensions", 1, 10, 5, key="cca_shared"),
        noise=second.slider("Noise of a view", 0.0, 2.0, 0.5, 0.1, key="cca_view_noise"),
    )


def _choose_columns(name: str) -> Cut:
    names = _column_names(name)
    half = range(len(names) // 2)
    first = st.multiselect(
        "Columns of the first view; the second has the others",
        range(len(names)),
        default=list(half),
        format_func=names.__getitem__,
        key="cca_x_columns",
    )
    second = tuple(index for index in range(len(names)) if index not in first)
    if not first or not second:
        raise ParameterError("columns of the first view", "at least one, but not all", len(first))
    return tuple(first), second


@cached(8, message="Reading the data set")
def _column_names(dataset: str) -> tuple[str, ...]:
    return load_dataset(dataset, download=False).feature_names


def _choose_run(selection: Selection, source: ViewSource, views: TwoViewDataset) -> CcaSpec:
    shared = selection.spec
    most = min(views.n_x, views.n_y, MOST_PAIRS)
    left, right = st.columns([2, 3])
    pairs = 1
    if most > 1:
        usual = min(CcaSpec.components, most)
        pairs = left.slider("Pairs K", 1, most, usual, key="cca_pairs", bind="query-params")
    keys = list(TITLES)
    links.accept_option("cca_protocols", keys, TITLES.__getitem__, several=True)
    chosen = right.multiselect(
        "Protocols",
        keys,
        default=["pooled"],
        format_func=TITLES.__getitem__,
        key="cca_protocols",
        bind="query-params",
        help="Pooled: one trusted holder adds noise once, as on the poster. In the others every "
        "site adds noise to its own joint moment before it sends anything.",
    )
    intermediate = None
    with st.expander("Rows, eigenvalue floor, share of the norm"):
        sizes = (*(size for size in _SIZES if size < views.n_samples), ALL_ROWS)
        size = st.select_slider("Rows N", sizes, value=ALL_ROWS, key="cca_people")
        if "dpdis" in chosen:
            columns = views.n_x + views.n_y
            usual = min(4 * pairs, columns)
            intermediate = st.slider("Directions R", 1, columns, usual, key="cca_directions")
        floor = st.select_slider(
            "Eigenvalue floor of the noisy joint moment",
            _FLOORS,
            value="auto",
            format_func=lambda value: value if value == "auto" else f"{value:g}",
            key="cca_floor",
            help="“auto” follows the noise. Without a floor, whitening turns noise into "
            "correlations near 1.",
        )
        x_share = st.slider(
            "Share of a row's squared norm for the first view", 0.1, 0.9, 0.5, 0.1, key="cca_share"
        )
    settings = {
        "source": source,
        "protocols": tuple(chosen) or ("pooled",),
        "sites": shared.sites,
        "samples": views.n_samples if size == ALL_ROWS else size,
        "components": pairs,
        "intermediate_dim": intermediate,
        "floor": floor,
        "x_share": x_share,
        "split": "equal" if shared.split == GIVEN else shared.split,
    }
    return CcaSpec(**same_fields(shared, CcaSpec) | settings)


# ---- computations


@cached(4, message="Reading the two views")
def _views(source: ViewSource) -> TwoViewDataset:
    return source.load(download=False)


@cached(5, message="Computing the joint second moments")
def _problem(key: ViewsKey) -> CcaProblem:
    return build_cca_problem(_views(key.source), key)


@cached(256)
def _run(spec: CcaSpec, repetition: int) -> tuple[EvaluatedPairs, CcaRow]:
    (protocol,) = spec.protocols
    return draw_pairs(spec, _problem(spec.problem_key()), protocol, repetition)


def _runs(spec: CcaSpec, protocol: str) -> Runs:
    single = replace(spec, protocols=(protocol,), repetitions=1)
    return [_run(single, repetition) for repetition in range(spec.repetitions)]


@cached(64, message="Projecting the rows")
def _projected(spec: CcaSpec, protocol: str | None) -> ProjectedPeople:
    """Return the rows along the first run's directions, or along the exact ones."""
    problem = _problem(spec.problem_key())
    pairs = evaluate_exact_pairs(problem) if protocol is None else _runs(spec, protocol)[0][0]
    return project_people(_views(spec.source), problem, pairs, seed=spec.seed)


def _charge(spec: CcaSpec, runs: Mapping[str, Runs]) -> None:
    ledger.charge(spec.charges({key: _guarantee(draws) for key, draws in runs.items()}))
    dataset = spec.source.name
    ledger.record_uncovered(dataset, "Exact correlations", "they read rows without noise")
    if spec.reads_rows_first:
        ledger.record_uncovered(dataset, "Published centring and scaling", "they read every row")


def _guarantee(runs: Runs) -> Guarantee:
    guarantee = runs[0][0].guarantee
    if guarantee is None:
        raise ParameterError("pairs", "drawn by a protocol", "exact ones")
    return guarantee


# ---- figures


def _show_correlations(runs: list[EvaluatedPairs], problem: CcaProblem, protocol: str) -> None:
    measured = np.array([pairs.measured for pairs in runs])
    reported = np.mean([pairs.claimed for pairs in runs], axis=0)
    figure = correlation_dots(
        problem.exact,
        measured,
        reported,
        problem.random,
        protocol=protocol,
        title=TITLES[protocol],
        dark=charts.is_dark(),
    )
    private = ", ".join(f"{value:.2f}" for value in measured.mean(axis=0))
    exact = ", ".join(f"{value:.2f}" for value in problem.exact)
    charts.show_figure(
        figure,
        key="cca_correlations",
        alt=f"Private correlations {private}; exact {exact}.",
        height=_FIGURE_HEIGHT,
    )
    st.caption("Dots: single runs. Diamonds: the release's own estimate.")


def _show_directions(
    views: TwoViewDataset, exact: EvaluatedPairs, private: EvaluatedPairs, protocol: str
) -> None:
    kind = st.segmented_control(
        "Show",
        ["What a direction responds to", "Weights"],
        default="What a direction responds to",
        required=True,
        key="cca_kind",
    )
    field = "rotations" if kind == "Weights" else "pattern"
    for side, name, shape, names in (
        ("x", views.x_name, views.x_image_shape, views.x_feature_names),
        ("y", views.y_name, views.y_image_shape, views.y_feature_names),
    ):
        matrices = [getattr(pairs, f"{side}_{field}") for pairs in (exact, private)]
        agreement = getattr(private, f"{side}_agreement")
        titles = ("exact", TITLES[protocol])
        st.markdown(f"**{name}**: |correlation| with exact scores {agreement[0]:.2f}, first pair")
        if shape is None:
            bars = direction_bars(
                matrices[0][:, 0],
                matrices[1][:, 0],
                names,
                protocol=protocol,
                titles=titles,
                dark=charts.is_dark(),
            )
            alt = f"The first direction of {name} by column, exact and private."
            charts.show_figure(bars, key=f"cca_direction_{side}", alt=alt)
            continue
        for column, title, matrix in zip(st.columns(2), titles, matrices, strict=True):
            column.caption(title)
            strip = component_strip(matrix.T, shape, dark=charts.is_dark())
            column.image(strip, width="stretch", alt=f"{name}, {title}: one picture per pair.")


def _show_rows(spec: CcaSpec, views: TwoViewDataset, protocol: str) -> None:
    notices.mark_not_private(
        "Projected rows", "are not released: the directions are private, a row's scores are not."
    )
    if not st.toggle("Show rows along the directions", True, key="cca_rows"):
        return
    ledger.record_uncovered(
        spec.source.name, "Scores of rows along directions", "they are computed from rows"
    )
    exact, private = _projected(spec, None), _projected(spec, protocol)
    if exact.nmi is not None and private.nmi is not None:
        st.markdown(
            f"k-means finds the groups with NMI **{exact.nmi:.2f}** along exact directions and "
            f"**{private.nmi:.2f}** along private ones."
        )
    titles = ("Exact directions", f"{TITLES[protocol]}, private directions")
    for column, title, projected in zip(st.columns(2), titles, (exact, private), strict=True):
        with column:
            st.markdown(f"**{title}**")
            figure = people_scatter(
                projected.x_scores[:, 0],
                projected.y_scores[:, 0],
                projected.labels,
                views.label_names,
                axis_titles=(f"{views.x_name}, pair 1", f"{views.y_name}, pair 1"),
                dark=charts.is_dark(),
            )
            alt = f"{len(projected.x_scores)} rows along {title.lower()}, coloured by group."
            charts.show_figure(figure, key=f"cca_rows_{title[:5]}", alt=alt)


def _show_curve(spec: CcaSpec, floor: float) -> None:
    if not ledger.may_show_curves(spec.source.name):
        return
    runs = min(_CURVE_RUNS, spec.repetitions)
    points = Points(
        tuple(replace(spec, epsilon=epsilon, repetitions=runs) for epsilon in CURVE_EPSILONS)
    )
    sweeps.watch((points,), partial(_draw_curve, spec, points, floor))


def _draw_curve(
    spec: CcaSpec, points: Points, floor: float, rows_of_sweeps: sweeps.RowsOfSweeps
) -> None:
    rows = rows_of_sweeps[0]
    if not rows:
        st.caption("The first runs have started.")
        return
    sentence = f"Share of the exact total correlation, requested ε = {plain(spec.epsilon)} marked."
    if len(rows) == cost_of_sweeps((points,)).rows:
        reached = epsilon_by_rows(rows, spec.protocols[0])
        sentence = half_in_words(reached, CURVE_EPSILONS[0], CURVE_EPSILONS[-1])
    st.markdown(f"### {sentence}")
    figure = correlation_curves(
        rows,
        "epsilon",
        titles=TITLES,
        axis_title="← more private     requested ε     less private →",
        axis_range=(CURVE_EPSILONS[0], CURVE_EPSILONS[-1]),
        floor=floor,
        marker=spec.epsilon,
        dark=charts.is_dark(),
    )
    charts.show_figure(figure, key="cca_curve", alt=sentence)


def _show_guarantees(spec: CcaSpec, runs: Mapping[str, Runs]) -> None:
    tabs = st.tabs([TITLES[key] for key in runs])
    for tab, draws in zip(tabs, runs.values(), strict=True):
        with tab:
            guarantee.show_card(_guarantee(draws), reads_rows_first=spec.reads_rows_first)
            if centring := mean_in_words(spec, has_mean=draws[0][0].has_mean):
                st.caption(centring)
