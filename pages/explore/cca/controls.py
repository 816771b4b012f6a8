"""Controls of the CCA page: which two views, how many pairs, who releases what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

import streamlit as st

from dpcore.data import DatasetStatus, list_datasets
from dpcore.data.readers.mfeat import VIEWS
from dpcore.data.two_views import TwoViewDataset
from dpcore.experiments.cca.sentences import TITLES
from dpcore.experiments.cca.spec import CcaSpec
from dpcore.experiments.cca.views import (
    COLUMN_HALVES,
    SYNTHETIC,
    CutViews,
    SyntheticViews,
    ViewSource,
)
from pages.parameters.table import ask
from pages.parameters.two_views import CUT_NAMES, PEOPLE, TWO_VIEWS
from pages.server import cca_cache
from pages.sidebar.selection import EVERYBODY, Choice, plain
from pages.widgets.cards import dataset_ready

CUTS = dict(
    zip(CUT_NAMES, ("halves-top-bottom", "halves-left-right", COLUMN_HALVES, None), strict=True)
)
_MOST_PAIRS = 10
DEFAULTS = {name: one.default for name, one in TWO_VIEWS.items() if one.default is not None} | {
    "cca_x_columns": [],
    "cca_y_columns": [],
}


@dataclass(frozen=True)
class CcaChoice:
    """What the page's controls say: the run.

    `only_directions` hides everything that projects people; `query` restores every control.
    """

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
        name = ask("cca_data", "Two views of")
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
    for column, key, label in (
        (columns[0], "cca_shared", "Shared dimension"),
        (columns[1], "cca_view_noise", "Noise of a view"),
        (columns[2], "cca_columns", "Columns a view"),
        (columns[3], "cca_total", "People"),
    ):
        values[key] = ask(key, label, column)
    return SyntheticViews(
        values["cca_total"], values["cca_columns"], values["cca_shared"], values["cca_view_noise"]
    )


def _named() -> tuple[str, str]:
    first, second = st.columns(2)
    return ask("cca_x", "First view", first), ask("cca_y", "Second view", second)


def _cut(status: DatasetStatus, values: dict[str, object]) -> object:
    key = "cca_table" if status.image_shape is None else "cca_cut"
    values[key] = ask(key, "Cut into")
    return CUTS[values[key]]


def _chosen_columns(name: str, values: dict[str, object]) -> object:
    names = cca_cache.columns(name)
    for key, label in (("cca_x_columns", "First view"), ("cca_y_columns", "Second view")):
        values[key] = ask(key, f"Columns of the {label.lower()}", options=names)
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
            ask(
                "cca_pairs",
                "Canonical pairs K",
                max_value=most,
                value=min(DEFAULTS["cca_pairs"], most),
            )
            if most > 1
            else 1
        )
    with right:
        picked = ask(
            "cca_protocols",
            "Released by (the first is shown in pictures)",
            help="Pooled is the poster's: one trusted holder adds noise once. In the others every "
            "site adds noise to its own joint moment before anything is sent.",
        )
    values["cca_protocols"] = picked
    protocols = tuple(key for title in picked for key in TITLES if TITLES[key] == title)
    values["cca_only"] = ask(
        "cca_only",
        "Release only the directions",
        help="Nobody is projected and nobody clustered: what is left on the page about the "
        "private result is what the guarantee covers.",
    )
    intermediate = None
    with st.expander("More settings: people, floor, how the norm is shared"):
        values["cca_people"] = ask(
            "cca_people",
            "People N",
            options=(*(n for n in PEOPLE if n < views.n_samples), EVERYBODY),
        )
        if "dpdis" in protocols:
            intermediate = ask(
                "cca_directions",
                "Directions each site sends, R",
                max_value=views.n_x + views.n_y,
                value=min(4 * values["cca_pairs"], views.n_x + views.n_y),
            )
        values["cca_floor"] = ask(
            "cca_floor",
            "Eigenvalue floor of the noisy joint moment",
            help="“auto” ties it to the noise. Without a floor, noise is whitened into "
            "correlations near 1.",
        )
        values["cca_share"] = ask(
            "cca_share", "Part of the squared norm bound given to the first view"
        )
    shared = choice.spec
    spec = CcaSpec(
        source=source,
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
    return CcaChoice(spec, values["cca_only"], _query(choice.query, values | changed))


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
