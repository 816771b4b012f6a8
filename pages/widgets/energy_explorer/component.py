"""The ε explorer on a page: a slider whose answers are in the browser before it is moved.

Two parts that meet in the browser: the explorer with its slider, which reruns the page when it is
let go; and the frames, which a fragment hands over as they are finished, so that nothing waits for
them. People rebuilt from each run are elements of their own: a browser is sent each of them once.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.experiments.engine.control_ranges import EPSILONS
from dpcore.experiments.pca.runs import PcaRow
from dpcore.experiments.pca.spec import RunSpec
from pages.server import frames_cache, page_lock
from pages.server.frames_cache import Frame
from pages.server.spare_time import compute_for
from pages.sidebar.controls import current, let_go_at
from pages.sidebar.parts import ask_again, is_alone
from pages.widgets import session_ledger
from pages.widgets.energy_explorer.frames import along_epsilon, control, met, payload, setting_of

_SLIDER = "energy_slider"
# Of which setting the browser has been handed frames, and whether of every ε.
_TOLD = "_explored"
# Long enough to get somewhere, short enough that a slider moved meanwhile answers at once.
_SLICE_SECONDS = 0.5
# Leaves the browser time to draw between two slices.
_TICK_SECONDS = 0.4


def _written(*names: str) -> str:
    here = Path(__file__).parent
    return "\n".join((here / name).read_text(encoding="utf-8") for name in names)


_explorer = st.components.v2.component(
    "energy_explorer",
    html=_written("explorer.html").replace("<!-- control -->", _written("control.html")),
    css=_written("control.css", "explorer.css"),
    js=_written("../figure_tools/picture.js", "control.js", "explorer.js", "streamlit_explorer.js"),
)
_frames, _people = (
    st.components.v2.component(name, js=_written("streamlit_frames.js"))
    for name in ("energy_frames", "energy_people")
)


def energy_explorer() -> None:
    """People, number, and the curve whose line is the slider of ε.

    It shows the last answer until frames of a new one come; when the slider is let go it moves the
    control that the address is bound to.
    """
    _explorer(key=_SLIDER, data=[control(current().spec)], on_released_change=_released)


def _released() -> None:
    asked = st.session_state[_SLIDER].released
    if asked in EPSILONS:
        let_go_at(EPSILONS[EPSILONS.index(asked)])


def fill(spec: RunSpec, dataset: DatasetStatus, rows: list[PcaRow]) -> None:
    """Hand over the present ε, which is paid for, and the others as they are finished."""
    has_all = st.session_state.get(_TOLD) == (setting_of(spec), True)
    may_go_on = session_ledger.curves(dataset.name)
    # One place on the page in every run, which takes no room whether anything is in it or not.
    with st.container(key="frames_out_of_sight"):
        here = frames_cache.frame(spec, dataset, rows)
        if is_alone() and not has_all:
            st.session_state.pop(_TOLD, None)  # whoever let go wants an answer, not more frames
        if not may_go_on:
            st.session_state.pop(_TOLD, None)
            _hand_over(spec, dataset, [here], 1)
        elif not (is_alone() and has_all):  # the browser has them
            st.fragment(_fill)(here, dataset, along_epsilon(spec), is_alone())


def _fill(here: Frame, dataset: DatasetStatus, specs: tuple[RunSpec, ...], is_let_go: bool) -> None:
    setting = setting_of(here.spec)
    goes_on = st.session_state.get(_TOLD, ("", False))[0] == setting
    if is_let_go and not goes_on:
        # The browser keeps the others that it has, and gets what else there is in a moment.
        _hand_over(here.spec, dataset, [here])
        st.session_state[_TOLD] = setting, False
        ask_again(page_lock.unhurried(_TICK_SECONDS))
        return
    frames, missing = frames_cache.finished(specs, dataset)
    if missing and goes_on:
        compute_for(missing, lambda item: item(), _SLICE_SECONDS)
        frames, missing = frames_cache.finished(specs, dataset)
    _hand_over(here.spec, dataset, frames, len(specs))
    st.session_state[_TOLD] = setting, not missing
    if missing or goes_on:
        ask_again(page_lock.unhurried(_TICK_SECONDS) if missing else None)


def _hand_over(
    spec: RunSpec, dataset: DatasetStatus, frames: list[Frame], n_wanted: int | None = None
) -> None:
    _frames(key="energy_frames", data=[payload(spec, frames, n_wanted)])
    for round_ in frames_cache.rounds(tuple(frame.spec for frame in frames)):
        _people(key=f"energy_people_{round_.run}", data=[met(spec, dataset, round_)])
