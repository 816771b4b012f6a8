"""What the CCA page shows of a run: correlations, directions, people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from dpcore.data.two_views import TwoViewDataset
from dpcore.errors import ParameterError
from dpcore.experiments.cca.evaluation import FoundPairs, ProjectedPeople
from dpcore.experiments.cca.runs import CcaRow
from dpcore.experiments.cca.sentences import TITLES, cca_recipe
from dpcore.experiments.cca.spec import CcaProblem, CcaSpec
from dpcore.experiments.cca.views import ViewSource
from dpcore.experiments.ledger.family_charges import dataset_of, of_pairs
from dpcore.experiments.pca.sentences import mean_in_words
from dpcore.figures.components.charts import people_scatter
from dpcore.figures.components.images import component_strip
from dpcore.figures.families.cca import correlation_dots, direction_bars
from dpcore.privacy import Guarantee
from pages.explore.cca.controls import CcaChoice
from pages.parameters.explore import SHOWN_OF_DIRECTIONS, SHOWN_OF_PEOPLE
from pages.parameters.table import ask
from pages.server import family_cache, result_cache
from pages.widgets import session_ledger
from pages.widgets.charts import chart, is_dark
from pages.widgets.component_images import under_pictures
from pages.widgets.downloads import take_away
from pages.widgets.guarantee_card import guarantee_card

Found = list[tuple[FoundPairs, CcaRow]]
Draws = Mapping[str, Found]


def correlations(draws: list[FoundPairs], problem: CcaProblem, protocol: str) -> go.Figure:
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
        "A bar is what the private directions are worth on the true data, a dot one draw. The "
        "diamond is what the release itself says; only that, and the directions, are released."
    )
    return figure


def promises(draws: Draws, spec: CcaSpec) -> None:
    """The guarantee card of each protocol, in tabs where there are several."""
    tabs = st.tabs([TITLES[key] for key in draws]) if len(draws) > 1 else [st.container()]
    for tab, found in zip(tabs, draws.values(), strict=True):
        with tab:
            guarantee_card(_promised(found), preparation=spec.preparation)
            if said := mean_in_words(spec.preparation, has_mean=found[0][0].has_mean):
                st.caption(said)


def pay(spec: CcaSpec, problem: CcaProblem) -> None:
    """Pay for every draw before it is shown, and enter what is shown beside them."""
    # What a release promises depends on its settings alone: any draw of it says so.
    first = replace(spec, repetitions=1)
    guarantees = {key: _promised(family_cache.found_pairs(first, key)) for key in spec.protocols}
    people = int(problem.moments.n_samples.sum())
    session_ledger.pay(of_pairs(spec.source, spec, guarantees, people, spec.repetitions))
    dataset = dataset_of(spec.source)
    session_ledger.uncovered(
        dataset, "Exact correlations and what is captured of them", "they read rows without noise"
    )
    if spec.preparation == "published":
        session_ledger.uncovered(
            dataset, "The published preparation", "its centre and scale read every row"
        )


def _promised(found: Found) -> Guarantee:
    """What each draw of a protocol promises; only exact pairs promise nothing."""
    guarantee = found[0][0].guarantee
    if guarantee is None:
        raise ParameterError("pairs", "drawn by a protocol", "exact ones")
    return guarantee


def so_far(source: ViewSource, delta: float) -> None:
    """What has been shown of the people of these views, on this page and on others."""
    dataset = dataset_of(source)
    titles = {status.name: status.title for status in result_cache.dataset_statuses()}
    session_ledger.so_far(dataset, titles.get(dataset, dataset), delta)


def directions(
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
        "One draw of the noise. |correlation| of the private score with the exact one is on the "
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


def people(
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
                alt=f"{len(cloud_of[0])} people along {title.lower()}, coloured by group.",
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
