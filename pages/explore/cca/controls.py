"""Controls of the CCA page: which two views, how many pairs, who releases what."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from dpcore.data.held_tables import is_held
from dpcore.data.two_views import TwoViewDataset
from dpcore.experiments.cca.sentences import TITLES
from dpcore.experiments.cca.spec import CcaSpec
from dpcore.experiments.cca.views import (
    COLUMN_HALVES,
    SYNTHETIC,
    Cut,
    CutViews,
    SyntheticViews,
    ViewSource,
)
from dpcore.experiments.pca.spec import GIVEN, RunSpec
from pages.parameters.explore import CCA_PEOPLE, CUT_NAMES, MOST_PAIRS, USUAL_PAIRS
from pages.parameters.table import ask, known
from pages.parameters.words import EVERYBODY
from pages.server import family_cache, result_cache
from pages.sidebar.own_table import LABORATORY
from pages.widgets.messages import dataset_ready

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
    statuses = {status.name: status for status in result_cache.dataset_statuses()}
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
    names = family_cache.columns(name)
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
        pairs = ask("cca_pairs", left, max_value=most, value=min(USUAL_PAIRS, most))
    picked = ask("cca_protocols", right)
    protocols = tuple(key for title in picked for key in TITLES if TITLES[key] == title)
    only_directions = ask("cca_only")
    intermediate = None
    with st.expander("More settings: people, floor, how the norm is shared"):
        people = ask(
            "cca_people", options=(*(n for n in CCA_PEOPLE if n < views.n_samples), EVERYBODY)
        )
        if "dpdis" in protocols:
            columns = views.n_x + views.n_y
            intermediate = ask("cca_directions", max_value=columns, value=min(4 * pairs, columns))
        floor = ask("cca_floor")
        x_share = ask("cca_share")
    spec = CcaSpec(
        source=source,
        protocols=protocols or ("pooled",),
        epsilon=shared.epsilon,
        delta=shared.delta,
        sites=shared.sites,
        samples=views.n_samples if people == EVERYBODY else people,
        components=pairs,
        intermediate_dim=intermediate,
        calibration=shared.calibration,
        noise=shared.noise,
        truncation=shared.truncation,
        masks=shared.masks,
        floor=floor,
        preparation=shared.preparation,
        x_share=x_share,
        split="equal" if shared.split == GIVEN else shared.split,
        concentration=shared.concentration,
        repetitions=shared.repetitions,
        seed=shared.seed,
    )
    return CcaChoice(spec, only_directions)
