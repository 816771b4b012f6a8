"""A page's title, and the controls that pages share, bound to the URL, turned into specs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.data import DatasetStatus
from dpcore.data.held_tables import is_held
from dpcore.experiments.engine.control_ranges import PEOPLE_PER_SITE
from dpcore.experiments.pca.spec import GIVEN, SPLITS
from dpcore.figures.style import ink
from pages.parameters.sidebar import ADVANCED, DEFAULTS, DRAWS, FIRST
from pages.parameters.table import ask
from pages.parameters.words import EVERYBODY
from pages.server import result_cache
from pages.sidebar.navigation import PAGES, Place, page_of, page_path
from pages.sidebar.own_table import LABORATORY
from pages.sidebar.parts import FOLLOWS_EPSILON, draw_again, draws, part, set_moved, take_moved
from pages.sidebar.selection import Selection, defaults_for, selected
from pages.widgets.charts import is_dark

_UNSEEN = "controls_out_of_sight"
_TOP = "_page_top"
_MARK = (Path(__file__).parents[2] / "assets" / "mark.svg").read_text(encoding="utf-8")


def choose(page: Place) -> Selection:
    """Draw a page's title and controls, epsilon at its top and the others in the sidebar.

    Those that don't apply to a page are drawn out of sight: a bound widget that is not drawn
    takes its value out of the address, of this page and of the one before in the history.
    """
    top = _page_top(page)
    unseen = st.container(key=_UNSEEN)

    def where(name: str) -> DeltaGenerator:
        if name not in page.controls:
            return unseen
        return top if name == "epsilon" else st.sidebar

    dataset = _dataset(where("dataset"))
    values: dict[str, Any] = {}

    def draw(name: str, place: DeltaGenerator) -> None:
        if name == "epsilon" and place is unseen:  # a page has a slider of its own
            with place:
                values[name] = part(name, _own_epsilon)()
        else:
            values[name] = ask(name, place, **_limits(name, dataset, values))

    for name in FIRST:
        if name != "dataset":
            draw(name, where(name))
    advanced = where("advanced").expander("Advanced")
    for name in ADVANCED:
        draw(name, advanced)
    for name in DRAWS:
        draw(name, advanced if where("draws") is where("advanced") else where("draws"))
    draw("limits", unseen)
    return selected(dataset, values)


def remember(selection: Selection) -> None:
    """Hand the selection to the page that runs next."""
    st.session_state["_selection"] = selection


def current() -> Selection:
    """The selection of this run of the script."""
    selection: Selection = st.session_state["_selection"]
    return selection


def set_controls(**values: Any) -> None:
    """Set controls from a callback; those not named take their defaults.

    Bound widgets are assigned, because removing their state does not reset them.
    """
    dataset = next(
        s
        for s in result_cache.dataset_statuses()
        if s.name == values.get("dataset", DEFAULTS["dataset"])
    )
    for name, value in (defaults_for(dataset) | values).items():
        st.session_state[name] = value


def move(name: str, value: Any) -> None:
    """Set one control from a callback."""
    st.session_state[name] = value


def move_all(**values: Any) -> NoReturn:
    """Set controls from the callback of something in a part, and draw the whole page."""
    set_moved(values)
    st.rerun()


def let_go_at(epsilon: float) -> None:
    """Set epsilon from its slider's callback, and draw what follows it without the rest."""
    set_moved({"epsilon": epsilon})
    before = current()
    remember(replace(before, spec=replace(before.spec, epsilon=epsilon)))
    if not draws(*FOLLOWS_EPSILON):
        draw_again(*FOLLOWS_EPSILON)


def _own_epsilon() -> float:
    """The control that the address is bound to, where a page has a slider of its own."""
    take_moved()
    asked: float = ask("epsilon", help=None, label_visibility="collapsed")
    return asked


def redraw_noise() -> None:
    """A new seed from the present one, so that a row of redraws can be repeated too."""
    previous = st.session_state["seed"]
    move_all(seed=int(np.random.SeedSequence(previous).generate_state(1)[0] >> 1))


def _dataset(place: DeltaGenerator) -> DatasetStatus:
    statuses = {status.name: status for status in result_cache.dataset_statuses()}
    # Limits that somebody wrote were for the columns of the one before.
    dataset = statuses[ask("dataset", place, on_change=move, args=("limits", ""))]
    state = "" if dataset.ready else ", not on this machine yet"
    badge = f". {LABORATORY}" * is_held(dataset.name)
    size = f"{dataset.n_samples:,} people × {dataset.n_features} features"
    place.caption(f"{dataset.title}: {size}{state}{badge}")
    return dataset


def _limits(name: str, dataset: DatasetStatus, values: Mapping[str, Any]) -> dict[str, Any]:
    """What a control leaves to the data set, or to another control."""
    if name in ("sites", "people") and _is_given(dataset):
        wanted = len(dataset.site_sizes) if name == "sites" else EVERYBODY
        if st.session_state.get(name) != wanted:
            st.session_state[name] = wanted
        return {"disabled": True}
    if name == "split":
        if not dataset.site_sizes and st.session_state.get(name) == GIVEN:
            st.session_state[name] = DEFAULTS[name]
        return {"options": [split for split in SPLITS if dataset.site_sizes or split != GIVEN]}
    if name == "people":
        return {"options": (*(n for n in PEOPLE_PER_SITE if n <= dataset.n_samples), EVERYBODY)}
    if name in ("components", "intermediate"):
        most = min(dataset.n_features, 100) if name == "components" else dataset.n_features
        given = {"max_value": most, "value": defaults_for(dataset)[name]}
        if most > 1:
            return given
        # A slider has two ends.
        st.session_state[name] = 1
        return given | {"max_value": 2, "disabled": True}
    if name == "limits":
        return {"max_chars": None}
    return {"disabled": values["split"] != "dirichlet"} if name == "concentration" else {}


def _is_given(dataset: DatasetStatus) -> bool:
    """Whether the table itself says who is at which site."""
    # Who comes by the browser's own ways has an address before there are controls.
    split = st.session_state.get("split", st.query_params.get("split"))
    return bool(dataset.site_sizes) and split == GIVEN


def _page_top(place: Place) -> DeltaGenerator:
    """The page's title; the place beside it where epsilon is drawn."""
    st.logo(_MARK.replace("currentColor", ink(is_dark())), size="large", link=None)
    top = st.container(key="page_top", horizontal=True, vertical_alignment="center", gap="large")
    page = page_of(place)
    top.title(page.title, anchor=False, width="content")
    st.session_state[_TOP] = top
    if not place.is_default:  # which begins with its figure, and has them below it
        link_parts(place)
    return top


def link_parts(place: Place) -> None:
    """Links to the parts of a place's page, where there are several."""
    parts = page_of(place).parts
    if len(parts) > 1:
        with st.container(key="page_parts", horizontal=True, gap="small"):
            for name in parts:
                st.page_link(page_path(name), label=PAGES[name].title)


def beside_title() -> DeltaGenerator:
    """Where a page draws what is moved, if that is its own."""
    place: DeltaGenerator = st.session_state[_TOP]
    return place
