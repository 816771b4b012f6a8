"""A page's title and the controls that pages share, bound to the address, turned into specs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import streamlit as st

from dpcore.data import DatasetStatus, dataset_status
from dpcore.data.dataset import is_held, read_limits, written_limits
from dpcore.errors import ParameterError
from dpcore.experiments.knowledge import (
    FREQUENCIES,
    NO_KNOWLEDGE,
    Knowledge,
    check_knowledge,
    count_directions,
)
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.spec import GIVEN, SPLITS
from dpcore.figures.style import ink
from dpcore.params import PEOPLE_PER_SITE, usual_delta
from pages.server import caches
from pages.shell.fragments import (
    FOLLOWS_EPSILON,
    draw_again,
    draws,
    hold,
    part,
    set_controls_to,
    set_moved,
    take_moved,
)
from pages.shell.navigation import PAGES, Place, linked_page, page_of
from pages.shell.own_table import LABORATORY
from pages.shell.parameters import (
    ADVANCED,
    DEFAULTS,
    DRAWS,
    EVERYBODY,
    FIRST,
    ask,
    known,
    usual_values,
)
from pages.shell.streamlit_internals import DeltaGenerator
from pages.widgets.charts import is_dark
from pages.widgets.notices import plainly, said

# What the controls say: a frozen spec, and what is to be noted about it.


@dataclass(frozen=True)
class Selection:
    """What the sidebar says at this moment: a spec, and the data set it stands on.

    `notes` are sentences about settings that cost something or could not be met; `compare` asks
    for the published choices beside the chosen ones.
    """

    spec: RunSpec
    dataset: DatasetStatus
    notes: tuple[str, ...]
    compare: bool = False


def selected(dataset: DatasetStatus, values: Mapping[str, Any]) -> Selection:
    """The selection that the values of all shared controls make."""
    notes = []
    fields = dict(values)
    sites, people = fields["sites"], fields.pop("people")
    if people != EVERYBODY:
        if sites * people > dataset.n_samples:
            notes.append(
                f"{sites} sites × {dataset.unit.of(people)} need {sites * people:,}, and "
                f"{dataset.title} has {dataset.n_samples:,}: each site gets "
                f"{dataset.n_samples // sites:,}."
            )
        fields["samples"] = sites * min(people, dataset.n_samples // sites)
    fields["intermediate_dim"] = fields.pop("intermediate")
    if fields["intermediate_dim"] < fields["components"]:
        notes.append(
            f"R = {fields['intermediate_dim']} is below K = {fields['components']}: each site "
            "sends fewer directions than are wanted, and only different sites can make up for it."
        )
    if fields["dropped_sites"] >= sites:
        notes.append(f"Of {sites} sites at most {sites - 1} can drop out: one has to answer.")
        fields["dropped_sites"] = sites - 1
    fields["knowledge"], objection = _usable_knowledge(fields, dataset)
    notes += objection
    try:
        limits = read_limits(fields["limits"], dataset.ranges)
        fields["limits"] = written_limits(limits, dataset.ranges)
    except ParameterError as error:
        notes.append(f"The catalogue's own limits of columns are used: {said(error)}.")
        fields["limits"] = ""
    fields["protocols"] = tuple(fields["protocols"])
    if not fields["protocols"]:
        fields["protocols"] = ("dpdis",)
        notes.append("No protocol is picked: showing DPdisPCA.")
    left = count_directions(fields["knowledge"], dataset.n_features)
    fields["intermediate_dim"] = min(fields["intermediate_dim"], left)
    compare = fields.pop("compare")
    return Selection(RunSpec(dataset=dataset.name, **fields), dataset, tuple(notes), compare)


def _usable_knowledge(fields: Mapping[str, Any], dataset: DatasetStatus) -> tuple[str, list[str]]:
    """The public subspace asked for, or none and why."""
    asked = fields["knowledge"]
    try:
        check_knowledge(asked, dataset.name)
        knowledge = Knowledge.parse(asked)
        is_data_set = knowledge is not None and knowledge.source != FREQUENCIES
        if is_data_set and not dataset_status(asked.partition(":")[0]).ready:
            raise ParameterError("knowledge", "of a data set on this machine", asked)
        left, needed = count_directions(asked, dataset.n_features), fields["components"]
        if left < needed:
            raise ParameterError("knowledge", f"of at least K = {needed} directions", left)
    except ParameterError as error:
        return NO_KNOWLEDGE, [f"No public knowledge is used: {error}."]
    return asked, []


def defaults_for(dataset: DatasetStatus) -> dict[str, Any]:
    """Every control's default; delta, K and R depend on the data set."""
    components = n_components_of(None, dataset)
    return DEFAULTS | {
        "delta": usual_delta(dataset.n_samples),
        "components": components,
        "intermediate": min(2 * components, dataset.n_features),
    }


def n_components_of(asked: int | None, dataset: DatasetStatus) -> int:
    """K of a spec: what it asks for, or else the data set's own.

    Raises `ParameterError` if the data set has none, which is then nothing to do PCA on.
    """
    n_components = asked or dataset.default_components
    if n_components is None:
        raise ParameterError("dataset", "a table of numbers", dataset.name)
    return n_components


# A page's title, and the controls that pages share, bound to the URL, turned into specs.

_UNSEEN = "controls_out_of_sight"
_FOLLOW_DATASET = ("delta", "components", "intermediate")
_FIRST_AT_SIDE = "first_at_side"
_MARK = (Path(__file__).parents[2] / "assets" / "mark.svg").read_text(encoding="utf-8")


def choose(page: Place, title: str = "") -> Selection:
    """Draw a page's title and controls, epsilon at its top and the others in the sidebar.

    Those that don't apply to a page are drawn out of sight: a bound widget that is not drawn
    takes its value out of the address, of this page and of the one before in the history.

    title: What stands in place of the page's own.
    """
    if page.controls:
        # A browser that hears of the sidebar after the title moves all that it has painted.
        st.sidebar.container(key=_FIRST_AT_SIDE)
    top = _page_top(page, title)
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
            title = known(name).title
            label = {"label": named} if (named := dataset.unit.name_in(title)) != title else {}
            values[name] = ask(name, place, **label, **_limits(name, dataset, values))

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
        s for s in caches.dataset_statuses() if s.name == values.get("dataset", DEFAULTS["dataset"])
    )
    set_controls_to(defaults_for(dataset) | values)


def move(name: str, value: Any) -> None:
    """Set one control from a callback."""
    set_controls_to({name: value})


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
    hold("epsilon", asked)
    return asked


def redraw_noise() -> None:
    """A new seed from the present one, so that a row of redraws can be repeated too."""
    previous = st.session_state["seed"]
    move_all(seed=int(np.random.SeedSequence(previous).generate_state(1)[0] >> 1))


def _dataset(place: DeltaGenerator) -> DatasetStatus:
    statuses = {status.name: status for status in caches.dataset_statuses()}
    dataset = statuses[ask("dataset", place, on_change=_leave_dataset)]
    state = "" if dataset.ready else ", not on this machine yet"
    badge = f". {LABORATORY}" * is_held(dataset.name)
    size = f"{dataset.unit.of(dataset.n_samples)} × {dataset.n_features} features"
    place.caption(f"{dataset.title}: {size}{state}{badge}")
    return dataset


def _leave_dataset() -> None:
    """Another data set was chosen: delta, K and R follow it unless a visitor moved them."""
    chosen = next(s for s in caches.dataset_statuses() if s.name == st.session_state["dataset"])
    follow = {
        name: value
        for name, value in defaults_for(chosen).items()
        if name in _FOLLOW_DATASET and st.session_state.get(name) == usual_values().get(name)
    }
    # Written limits were for the columns of the one before.
    set_controls_to(follow | {"limits": ""})


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
    if name == "delta":
        return {"value": defaults_for(dataset)[name]}
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


def _page_top(place: Place, title: str) -> DeltaGenerator:
    """The page's title; the place beside it where epsilon is drawn."""
    st.logo(_MARK.replace("currentColor", ink(is_dark())), size="large", link=None)
    top = st.container(key="page_top", horizontal=True, vertical_alignment="center", gap="large")
    page = page_of(place)
    if title:
        with top.container(key="slide_title"):
            st.title(plainly(title, longest=len(title)), anchor=False)
    else:
        # Tells the browser with the title how tall this becomes; the slider is heard of later.
        wide = "epsilon" in place.controls
        beside = top.container(key="title_beside_epsilon", width="content") if wide else top
        beside.title(page.title, anchor=False, width="content")
    if not place.is_default:  # which begins with its figure, and has them below it
        link_parts(place)
    return top


def link_parts(place: Place) -> None:
    """Links to the parts of a place's page, where there are several."""
    parts = page_of(place).parts
    if len(parts) > 1:
        with st.container(key="page_parts", horizontal=True, gap="small"):
            for name in parts:
                st.page_link(linked_page(name), label=PAGES[name].title)
