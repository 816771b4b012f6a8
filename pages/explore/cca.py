"""CCA: what two views of the same people share, found privately."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from dpcore.data.dataset import is_held
from dpcore.data.two_views import TwoViewDataset
from dpcore.errors import ParameterError
from dpcore.experiments.cca_runs import (
    COLUMN_HALVES,
    MOST_PAIRS,
    SYNTHETIC,
    TITLES,
    CcaProblem,
    CcaRow,
    CcaSpec,
    Cut,
    CutViews,
    FoundPairs,
    ProjectedPeople,
    SyntheticViews,
    ViewSource,
    captured,
    cca_comparison,
    cca_headline,
    cca_recipe,
    dataset_of,
    half_captured,
    half_in_words,
)
from dpcore.experiments.engine import Row
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.spec import GIVEN, as_published, same_fields
from dpcore.experiments.summaries import mean_in_words, percent
from dpcore.experiments.sweep import Points
from dpcore.figures.components import component_strip, people_scatter
from dpcore.figures.families import correlation_curves, correlation_dots, direction_bars
from dpcore.params import DELTAS, EPSILONS
from dpcore.privacy import Guarantee
from dpcore.privacy.guarantee_in_words import say_number
from pages.server import background_jobs, caches, family_caches
from pages.server.background_jobs import SweepProgress
from pages.shell.controls import Selection
from pages.shell.own_table import LABORATORY
from pages.shell.page import page
from pages.shell.parameters import (
    CCA_PEOPLE,
    CUT_NAMES,
    EVERYBODY,
    SHOWN_OF_DIRECTIONS,
    SHOWN_OF_PEOPLE,
    ask,
    known,
)
from pages.widgets import session_ledger
from pages.widgets.charts import chart, is_dark, take_away, under_pictures
from pages.widgets.guarantee_card import guarantee_card
from pages.widgets.job_progress import live_figure
from pages.widgets.notices import (
    big_number,
    dataset_ready,
    formulas,
    not_private,
)

# Controls of the CCA page: which two views, how many pairs, who releases what.

CUTS = dict(
    zip(CUT_NAMES, ("halves-top-bottom", "halves-left-right", COLUMN_HALVES, None), strict=True)
)


@dataclass(frozen=True)
class CcaChoice:
    """What the page's controls say: the run.

    `only_directions` hides everything that projects people.
    """

    spec: CcaSpec
    only_directions: bool

    @property
    def lead(self) -> str:
        return self.spec.protocols[0]


def choose_views() -> ViewSource | None:
    """The data and how they are cut; None where they are absent or not chosen yet."""
    statuses = {status.name: status for status in caches.dataset_statuses()}
    left, right = st.columns([2, 3])
    name = ask("cca_data", left)
    how: Cut | None
    with right:
        if name == SYNTHETIC:
            return _synthetic()
        if name == "mfeat":
            first, second = st.columns(2)
            how = ask("cca_x", first), ask("cca_y", second)
        else:
            how = CUTS[ask("cca_table" if statuses[name].image_shape is None else "cca_cut")]
    if is_held(name):
        st.caption(LABORATORY)
    if not dataset_ready(statuses[name]):
        return None
    if statuses[name].n_features < 2:
        st.info("Two views need two columns at least, and this table has one.")
        return None
    if how is None:
        how = _chosen_columns(name)
    return None if how is None else CutViews(name, how)


def _synthetic() -> ViewSource:
    keys = ("cca_shared", "cca_view_noise", "cca_columns", "cca_total")
    shared, noise, columns, total = map(ask, keys, st.columns(4))
    return SyntheticViews(total, columns, shared, noise)


def _chosen_columns(name: str) -> Cut | None:
    names = family_caches.columns(name)
    first, second = (
        _own_columns(key, names)
        if is_held(name)
        else tuple(names.index(column) for column in ask(key, options=names))
        for key in ("cca_x_columns", "cca_y_columns")
    )
    second = second or tuple(index for index in range(len(names)) if index not in first)
    if not (first and second):
        st.info("Choose at least one column for the first view. The second has the others.")
        return None
    return first, second


def _own_columns(key: str, names: tuple[str, ...]) -> tuple[int, ...]:
    # Of one's own table, in no address.
    asked = known(key)
    places = range(len(names))
    return tuple(
        st.multiselect(asked.title, places, format_func=names.__getitem__, help=asked.help)
    )


def choose_run(shared: RunSpec, source: ViewSource, views: TwoViewDataset) -> CcaChoice:
    """Pairs, protocols and the rest; ε, δ, S and noise are the sidebar's."""
    most = min(views.n_x, views.n_y, MOST_PAIRS)
    left, right = st.columns([2, 3])
    pairs = 1
    if most > 1:
        pairs = ask("cca_pairs", left, max_value=most, value=min(CcaSpec.components, most))
    picked = ask("cca_protocols", right)
    protocols = tuple(key for title in picked for key in TITLES if TITLES[key] == title)
    only_directions = ask("cca_only")
    intermediate = None
    with st.expander("More settings: rows, floor, how the norm is shared"):
        people = ask(
            "cca_people", options=(*(n for n in CCA_PEOPLE if n < views.n_samples), EVERYBODY)
        )
        if "dpdis" in protocols:
            columns = views.n_x + views.n_y
            intermediate = ask("cca_directions", max_value=columns, value=min(4 * pairs, columns))
        floor = ask("cca_floor")
        x_share = ask("cca_share")
    asked = {
        "source": source,
        "protocols": protocols or ("pooled",),
        "sites": shared.sites,
        "samples": views.n_samples if people == EVERYBODY else people,
        "components": pairs,
        "intermediate_dim": intermediate,
        "floor": floor,
        "x_share": x_share,
        "split": "equal" if shared.split == GIVEN else shared.split,
    }
    spec = CcaSpec(**same_fields(shared, CcaSpec) | asked)
    return CcaChoice(spec, only_directions)


# What the CCA page shows of a run: correlations, directions, people.

Found = list[tuple[FoundPairs, CcaRow]]
Draws = Mapping[str, Found]


def show_correlations(draws: list[FoundPairs], problem: CcaProblem, protocol: str) -> go.Figure:
    """Correlations pair by pair; returns the figure, to be taken away."""
    measured = np.array([found.measured for found in draws])
    claimed = np.mean([found.claimed for found in draws], axis=0)
    figure = correlation_dots(
        problem.exact,
        measured,
        claimed,
        problem.random,
        protocol=protocol,
        title=TITLES[protocol],
        dark=is_dark(),
    )
    found = ", ".join(f"{value:.2f}" for value in measured.mean(axis=0))
    exact = ", ".join(f"{value:.2f}" for value in problem.exact)
    chart(
        figure,
        key="cca_correlations",
        alt=f"Canonical correlations of the private directions on the true data: {found}. "
        f"Exact: {exact}.",
    )
    st.caption(
        "A bar is what the private directions are worth on the true data, a dot one run. The "
        "diamond is what the release itself says; only that, and the directions, are released."
    )
    return figure


def show_promises(draws: Draws, spec: CcaSpec) -> None:
    """The guarantee card of each protocol, in tabs where there are several."""
    tabs = st.tabs([TITLES[key] for key in draws]) if len(draws) > 1 else [st.container()]
    for tab, (key, found) in zip(tabs, draws.items(), strict=True):
        with tab:
            guarantee_card(_promised(found), reads_rows_first=spec.reads_rows_first, where=key)
            if said := mean_in_words(spec, has_mean=found[0][0].has_mean):
                st.caption(said)


def charge(spec: CcaSpec) -> None:
    """Pay for every draw before it is shown, and enter what is shown beside them."""
    # What a release promises depends on its settings alone: any draw of it says so.
    first = replace(spec, repetitions=1)
    guarantees = {key: _promised(family_caches.found_pairs(first, key)) for key in spec.protocols}
    session_ledger.charge(spec.charges(guarantees))
    dataset = dataset_of(spec.source)
    session_ledger.uncovered(
        dataset, "Exact correlations and what is captured of them", "they read rows without noise"
    )
    session_ledger.uncovered_centring(dataset, spec.reads_rows_first)


def _promised(found: Found) -> Guarantee:
    """What each draw of a protocol promises; only exact pairs promise nothing."""
    guarantee = found[0][0].guarantee
    if guarantee is None:
        raise ParameterError("pairs", "drawn by a protocol", "exact ones")
    return guarantee


def so_far(source: ViewSource, delta: float) -> None:
    """What has been shown of the people of these views, on this page and on others."""
    dataset = dataset_of(source)
    titles = {status.name: status.title for status in caches.dataset_statuses()}
    session_ledger.so_far(dataset, titles.get(dataset, dataset), delta)


def show_directions(
    views: TwoViewDataset, exact: FoundPairs, private: FoundPairs, protocol: str
) -> None:
    """Directions of both views, exact beside private: pictures where a view is one, else bars."""
    kind = ask("cca_kind")
    sides = (
        ("x", views.x_name, views.x_image_shape, views.x_feature_names),
        ("y", views.y_name, views.y_image_shape, views.y_feature_names),
    )
    field = "pattern" if kind == SHOWN_OF_DIRECTIONS[0] else "rotations"
    bars = []
    for side, name, shape, names in sides:
        shown = [getattr(found, f"{side}_{field}") for found in (exact, private)]
        agreement = getattr(private, f"{side}_agreement")
        if shape is None:
            bars.append((side, name, names, shown, agreement))
        else:
            _pictures(name, shape, shown, agreement, TITLES[protocol])
    for column, (side, name, names, shown, agreement) in zip(
        st.columns(len(bars) or 1, gap="large"), bars, strict=False
    ):
        with column:
            st.markdown(f"**{name}**, first pair: |correlation| with exact {agreement[0]:.2f}")
            chart(
                direction_bars(
                    shown[0][:, 0],
                    shown[1][:, 0],
                    names,
                    protocol=protocol,
                    titles=("exact", TITLES[protocol]),
                    dark=is_dark(),
                ),
                key=f"cca_direction_{side}",
                alt=f"The first direction of {name} by column, exact and private.",
            )
    st.caption(
        "One run. |correlation| of the private score with the exact one is on the "
        "true data, one number a pair. Red and blue are opposite signs."
    )


def _pictures(
    name: str, shape: tuple[int, int], shown: list[np.ndarray], agreement: np.ndarray, title: str
) -> None:
    told = [f"{number:.2f}" for number in agreement]
    left, right = st.columns(2, gap="large")
    for column, whose, matrix in ((left, "exact", shown[0]), (right, title, shown[1])):
        with column:
            st.markdown(f"**{name}**, {whose}")
            st.image(
                component_strip(matrix.T, shape),
                width="stretch",
                alt=f"{name}, {whose}: one picture a canonical pair. |correlation| of private "
                f"scores with exact ones: {', '.join(told)}.",
            )
    right.html(under_pictures(told, "opacity:.75;margin-top:-.8rem"))


def show_people(
    views: TwoViewDataset, exact: ProjectedPeople, private: ProjectedPeople, protocol: str
) -> None:
    """The same people along exact and private directions, and how well they separate."""
    if exact.nmi is not None and private.nmi is not None:
        st.markdown(
            f"k-means finds the groups with NMI **{exact.nmi:.2f}** along exact directions and "
            f"**{private.nmi:.2f}** along private ones."
            + (
                " More correlated is not better separated: the floor keeps noise, and with it "
                "columns that hardly vary, from leading."
                if private.nmi > exact.nmi + 0.05
                else ""
            )
        )
    several = exact.x_scores.shape[1] > 1
    cloud = ask("cca_cloud") if several else SHOWN_OF_PEOPLE[1]
    for column, title, projected in zip(
        st.columns(2, gap="large"),
        ("Exact directions", f"{TITLES[protocol]}, private directions"),
        (exact, private),
        strict=True,
    ):
        with column:
            st.markdown(f"**{title}**")
            if cloud == SHOWN_OF_PEOPLE[0]:
                cloud_of = projected.x_scores[:, 0], projected.x_scores[:, 1]
                axis_titles = f"{views.x_name}, pair 1", f"{views.x_name}, pair 2"
            else:
                cloud_of = projected.x_scores[:, 0], projected.y_scores[:, 0]
                axis_titles = f"{views.x_name}, pair 1", f"{views.y_name}, pair 1"
            chart(
                people_scatter(
                    *cloud_of,
                    projected.labels,
                    views.label_names,
                    axis_titles=axis_titles,
                    dark=is_dark(),
                ),
                key=f"cca_people_{title[:5]}",
                alt=f"{len(cloud_of[0])} rows along {title.lower()}, coloured by group.",
            )
            if projected.nmi is not None:
                left, right = st.columns(2)
                left.metric(
                    "k-means against labels, NMI",
                    f"{projected.nmi:.2f}",
                    help="1 where clusters are the labels, 0 where they have nothing in common.",
                )
                right.metric(
                    "Calinski–Harabasz of the groups",
                    f"{projected.calinski_harabasz:,.0f}",
                    help="How far apart the true groups lie against how wide they are.",
                )


def carry_off(selection: CcaChoice, rows: list[CcaRow], figure: go.Figure) -> None:
    take_away(
        "cca",
        rows,
        dataset=dataset_of(selection.spec.source),
        figures={"": figure},
        script=cca_recipe(selection.spec).script,
        notebook=cca_recipe(selection.spec).notebook,
    )


# The poster's three curves, filling in while one looks.

CURVE_EPSILONS = tuple(epsilon for epsilon in EPSILONS if epsilon >= 0.01)
_DRAWS = 5
_FEWEST_PEOPLE = 50
_TITLES = {
    "epsilon": ("Against ε", "← more private     asked ε     less private →"),
    "samples": ("Against the number of rows", "rows N"),
    "delta": ("Against δ", "← more private     δ     less private →"),
}


def three_curves(selection: CcaChoice, floor: float) -> None:
    """Total correlation captured against ε (at three numbers of people), N and δ."""
    spec = replace(selection.spec, repetitions=min(_DRAWS, selection.spec.repetitions))
    least = max(_FEWEST_PEOPLE, 2 * spec.sites)
    sizes = [n for n in (round(spec.samples / 2**half) for half in range(6)) if n >= least]
    panels = {
        "epsilon": [
            # The lead at fewer people too; the others would make a thicket of it.
            replace(
                spec,
                epsilon=epsilon,
                samples=n,
                protocols=spec.protocols if n == spec.samples else spec.protocols[:1],
            )
            for n in sizes[:6:2]
            for epsilon in CURVE_EPSILONS
        ],
        "samples": [replace(spec, samples=n) for n in sizes],
        "delta": [replace(spec, delta=delta) for delta in DELTAS],
    }
    sweeps = {field: Points(tuple(specs)) for field, specs in panels.items() if specs}

    def draw(progress: SweepProgress) -> None:
        rows_of = dict(zip(sweeps, progress.rows, strict=True))
        _half(sweeps.get("epsilon"), rows_of.get("epsilon", ()), spec)
        for column, (field, rows) in zip(st.columns(3), rows_of.items(), strict=False):
            with column:
                _panel(field, rows, sweeps[field].specs, spec, floor)

    live_figure("cca_curves", tuple(sweeps.values()), draw)


def _half(curve: Points | None, rows: Sequence[Row], spec: CcaSpec) -> None:
    if curve is not None and len(rows) == background_jobs.cost_of((curve,)).rows > 0:
        reached = half_captured(rows, spec.protocols[0])
        st.markdown(half_in_words(reached, CURVE_EPSILONS[0], CURVE_EPSILONS[-1]))
    else:
        st.markdown("Half of the exact correlation is captured … (the first curve is filling in)")


def _panel(
    field: str, rows: Sequence[Row], specs: Sequence[CcaSpec], spec: CcaSpec, floor: float
) -> None:
    title, axis_title = _TITLES[field]
    st.markdown(f"**{title}**")
    if not rows:
        st.caption("Waiting for its turn.")
        return
    values = [getattr(each, field) for each in specs]
    chart(
        correlation_curves(
            rows,
            field,
            titles=TITLES,
            axis_title=axis_title,
            axis_range=(min(values), max(values)),
            floor=floor,
            marker=getattr(spec, field),
            dark=is_dark(),
        ),
        key=f"cca_curve_{field}",
        alt=f"Share of the exact total correlation captured, {title.lower()}.",
    )


@page(formulas="cca")
def show_cca(shared: Selection) -> None:
    """CCA: what two views of the same people share, found privately."""
    answer = st.container()
    with st.container(border=True, key="asked_of_cca"):
        source = choose_views()
        if source is None:
            st.stop()
        views = family_caches.views(source)
        selection = choose_run(shared.spec, source, views)
    spec, lead = selection.spec, selection.lead
    # In a place of its own: what stands below stays, greyed, until its successor is there.
    with st.container():
        problem = family_caches.cca_problem(spec)
        charge(spec)
        draws = {key: family_caches.found_pairs(spec, key) for key in spec.protocols}
    rows = [row for found in draws.values() for _, row in found]
    private = [found for found, _ in draws[lead]]
    exact = family_caches.exact_pairs(spec)

    with answer:
        words = big_number(
            percent(captured(rows, lead)), cca_headline(rows, lead), cca_comparison(rows, lead)
        )
        if shared.compare:
            printed = replace(as_published(spec), protocols=(lead,))
            charge(printed)
            published = family_caches.found_pairs(printed, lead)
            share = captured([row for _, row in published], lead)
            words.markdown(
                f"With the poster's noise it is **{percent(share)}**, for an exact ε of "
                f"{say_number(published[0][1]['exact_epsilon'])}."
            )

    # One idea a tab.
    found, directions, people, curves, promised = st.tabs(
        ["Correlations", "Directions", "Rows", "More ε, rows, δ", "What it promises"]
    )
    with found:
        figure = show_correlations(private, problem, lead)
    with directions:
        show_directions(views, exact, private[0], lead)
    with people:
        if selection.only_directions:
            st.info(formulas("cca_directions"), icon="🔒")
        else:
            not_private(
                "Projecting and clustering rows",
                "the directions are private, each row's own scores along them are not. "
                "“Release only the directions” above leaves them out.",
            )
            show_people(
                views, family_caches.people(spec, None), family_caches.people(spec, lead), lead
            )
            session_ledger.uncovered(
                dataset_of(source),
                "Scores of rows along directions",
                "they are computed from rows",
            )
    with curves:
        if session_ledger.curves(dataset_of(source)):
            three_curves(selection, problem.random_share)
    with promised:
        show_promises(draws, spec)
    so_far(source, shared.spec.delta)

    not_private(
        "Exact correlations, the captured share and the agreement of directions",
        "read the rows without any noise.",
    )
    if spec.reads_rows_first:
        not_private("Published centring and scaling", problem.statement)
    st.caption(views.provenance)
    carry_off(selection, rows, figure)
