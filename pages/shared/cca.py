"""Controls of the CCA page: which two views, how many pairs, who releases what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

import streamlit as st

from dpcore.data import DatasetStatus, list_datasets
from dpcore.data.two_views import TwoViewDataset
from dpcore.data.views import VIEWS
from dpcore.experiments.cca_findings import TITLES
from dpcore.experiments.cca_problem import CcaSpec
from dpcore.experiments.cca_views import (
    COLUMN_HALVES,
    SYNTHETIC,
    CutViews,
    SyntheticViews,
    ViewSource,
)
from pages.shared import runs_cca
from pages.shared.cards import dataset_ready
from pages.shared.choice import Choice, plain

CUTS = {
    "top and bottom": "halves-top-bottom",
    "left and right": "halves-left-right",
    "halves of the columns": COLUMN_HALVES,
    "chosen columns": None,
}
FLOORS = ("auto", 0.0, 1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
PEOPLE = (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
EVERYBODY = "all"
_MOST_PAIRS = 10
DEFAULTS: dict[str, object] = {
    "cca_data": "digits",
    "cca_cut": "top and bottom",
    "cca_table": "halves of the columns",
    "cca_x": "fou",
    "cca_y": "kar",
    "cca_x_columns": [],
    "cca_y_columns": [],
    "cca_shared": 5,
    "cca_view_noise": 0.5,
    "cca_columns": 50,
    "cca_total": 20_000,
    "cca_pairs": 3,
    "cca_protocols": [TITLES["pooled"]],
    "cca_people": EVERYBODY,
    "cca_floor": "auto",
    "cca_share": 0.5,
    "cca_only": False,
}


@dataclass(frozen=True)
class CcaChoice:
    """What the page's controls say: where the views come from, and the run.

    `only_directions` hides everything that projects people; `query` restores every control.
    """

    source: ViewSource
    spec: CcaSpec
    only_directions: bool
    query: str

    @property
    def lead(self) -> str:
        return self.spec.protocols[0]


def choose_views() -> tuple[ViewSource | None, dict[str, object]]:
    """The data and how they are cut; None where they are absent or not chosen yet."""
    statuses = {status.name: status for status in list_datasets()}
    left, right = st.columns([2, 3])
    with left:
        name = st.selectbox(
            "Two views of",
            [*statuses, SYNTHETIC],
            key="cca_data",
            bind="query-params",
        )
    values: dict[str, object] = {"cca_data": name}
    with right:
        if name == SYNTHETIC:
            return _synthetic(values), values
        if name == "mfeat":
            values["cca_x"], values["cca_y"] = _named()
            how = values["cca_x"], values["cca_y"]
        else:
            how = _cut(statuses[name], values)
    if not dataset_ready(statuses[name]):
        return None, values
    if how is None:
        how = _chosen_columns(name, values)
    return None if how is None else CutViews(name, how), values


def _synthetic(values: dict[str, object]) -> ViewSource:
    columns = st.columns(4)
    for column, key, label, options in (
        (columns[0], "cca_shared", "Shared dimension", tuple(range(1, 11))),
        (columns[1], "cca_view_noise", "Noise of a view", tuple(k / 10 for k in range(21))),
        (columns[2], "cca_columns", "Columns a view", (10, 20, 50, 100)),
        (columns[3], "cca_total", "People", PEOPLE[3:]),
    ):
        values[key] = column.select_slider(
            label,
            options,
            value=DEFAULTS[key],
            format_func=plain,
            key=key,
            bind="query-params",
        )
    return SyntheticViews(
        values["cca_total"], values["cca_columns"], values["cca_shared"], values["cca_view_noise"]
    )


def _named() -> tuple[str, str]:
    columns = st.columns(2)
    return tuple(
        column.selectbox(
            label,
            list(VIEWS),
            index=list(VIEWS).index(DEFAULTS[key]),
            format_func=lambda view: f"{view}: {VIEWS[view][0]} features",
            key=key,
            bind="query-params",
        )
        for column, label, key in zip(
            columns, ("First view", "Second view"), ("cca_x", "cca_y"), strict=True
        )
    )


def _cut(status: DatasetStatus, values: dict[str, object]) -> object:
    is_picture = status.image_shape is not None
    key = "cca_cut" if is_picture else "cca_table"
    values[key] = st.segmented_control(
        "Cut into",
        list(CUTS) if is_picture else list(CUTS)[2:],
        default=DEFAULTS[key],
        required=True,
        key=key,
        bind="query-params",
    )
    return CUTS[values[key]]


def _chosen_columns(name: str, values: dict[str, object]) -> object:
    names = runs_cca.columns(name)
    for key, label in (("cca_x_columns", "First view"), ("cca_y_columns", "Second view")):
        values[key] = st.multiselect(
            f"Columns of the {label.lower()}", names, key=key, bind="query-params"
        )
    groups = tuple(
        tuple(names.index(column) for column in values[key])
        for key in ("cca_x_columns", "cca_y_columns")
    )
    if not all(groups):
        st.info("Choose at least one column for each view.")
        return None
    return groups


def choose_run(
    choice: Choice, source: ViewSource, views: TwoViewDataset, values: dict[str, object]
) -> CcaChoice:
    """Pairs, protocols and the rest; ε, δ, S and noise are the sidebar's."""
    most = min(views.n_x, views.n_y, _MOST_PAIRS)
    left, right = st.columns([2, 3])
    with left:
        values["cca_pairs"] = (
            st.slider(
                "Canonical pairs K",
                1,
                most,
                min(DEFAULTS["cca_pairs"], most),
                key="cca_pairs",
                bind="query-params",
            )
            if most > 1
            else 1
        )
    with right:
        picked = st.pills(
            "Released by (the first is shown in pictures)",
            list(TITLES.values()),
            selection_mode="multi",
            default=DEFAULTS["cca_protocols"],
            key="cca_protocols",
            bind="query-params",
            help="Pooled is the poster's: one trusted holder adds noise once. In the others every "
            "site adds noise to its own joint moment before anything is sent.",
        )
    values["cca_protocols"] = picked
    protocols = tuple(key for title in picked for key in TITLES if TITLES[key] == title)
    values["cca_only"] = st.toggle(
        "Release only the directions",
        key="cca_only",
        bind="query-params",
        help="Nobody is projected and nobody clustered: what is left on the page about the "
        "private result is what the guarantee covers.",
    )
    intermediate = None
    with st.expander("More settings: people, floor, how the norm is shared"):
        values["cca_people"] = st.select_slider(
            "People N",
            (*(n for n in PEOPLE if n < views.n_samples), EVERYBODY),
            value=EVERYBODY,
            format_func=str,
            key="cca_people",
            bind="query-params",
        )
        if "dpdis" in protocols:
            intermediate = st.slider(
                "Directions each site sends, R",
                1,
                views.n_x + views.n_y,
                min(4 * values["cca_pairs"], views.n_x + views.n_y),
                key="cca_directions",
                bind="query-params",
            )
        values["cca_floor"] = st.select_slider(
            "Eigenvalue floor of the noisy joint moment",
            FLOORS,
            value=DEFAULTS["cca_floor"],
            format_func=lambda floor: floor if floor == "auto" else f"{floor:g}",
            help="“auto” ties it to the noise. Without a floor, noise is whitened into "
            "correlations near 1.",
            key="cca_floor",
            bind="query-params",
        )
        values["cca_share"] = st.slider(
            "Part of the squared norm bound given to the first view",
            0.1,
            0.9,
            DEFAULTS["cca_share"],
            0.1,
            key="cca_share",
            bind="query-params",
        )
    shared = choice.spec
    spec = CcaSpec(
        protocols=protocols or ("pooled",),
        epsilon=shared.epsilon,
        delta=shared.delta,
        sites=shared.sites,
        samples=views.n_samples if values["cca_people"] == EVERYBODY else values["cca_people"],
        components=values["cca_pairs"],
        intermediate_dim=intermediate,
        calibration=shared.calibration,
        noise=shared.noise,
        truncation=shared.truncation,
        masks=shared.masks,
        floor=values["cca_floor"],
        preparation=shared.preparation,
        x_share=values["cca_share"],
        split=shared.split,
        concentration=shared.concentration,
        repetitions=shared.repetitions,
        seed=shared.seed,
    )
    default_r = min(4 * spec.components, views.n_x + views.n_y)
    changed = {} if intermediate in (None, default_r) else {"cca_directions": intermediate}
    return CcaChoice(source, spec, values["cca_only"], _query(choice.query, values | changed))


def _query(shared: str, values: Mapping[str, object]) -> str:
    pairs: list[tuple[str, str]] = []
    for key, value in values.items():
        if value == DEFAULTS.get(key):
            continue
        if isinstance(value, list | tuple):
            pairs.extend((key, item) for item in value)
        else:
            pairs.append((key, _in_address(key, value)))
    return "&".join(part for part in (shared, urlencode(pairs)) if part)


def _in_address(key: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if key in ("cca_x", "cca_y"):
        return f"{value}: {VIEWS[value][0]} features"
    return plain(value) if isinstance(value, float) else str(value)
