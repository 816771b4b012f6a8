"""The ε explorer on a page: a slider whose answers are in the browser before it is moved.

Three parts, each in its place on the page, that meet in the browser: the slider, which reruns the
page when it is let go; the picture, which never changes for the server; and the frames, which a
fragment hands over as they are finished, so that nobody waits for them.
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
from pages.widgets.energy_explorer.frames import along_epsilon, control, payload, setting_of

_SLIDER = "energy_slider"
# Of which setting the browser has been handed frames, and whether of every ε.
_TOLD = "_explored"
# Long enough to get somewhere, short enough that a slider moved meanwhile answers at once.
_SLICE_SECONDS = 0.2
# Leaves the browser time to draw between two slices.
_TICK_SECONDS = 0.4


def _written(*names: str) -> str:
    here = Path(__file__).parent
    return "\n".join((here / name).read_text(encoding="utf-8") for name in names)


_slider = st.components.v2.component(
    _SLIDER,
    html=_written("control.html"),
    css=_written("control.css"),
    js=_written("control.js", "streamlit_control.js"),
)
_picture = st.components.v2.component(
    "energy_picture",
    html=_written("explorer.html"),
    css=_written("explorer.css"),
    js=_written("../figure_tools/picture.js", "explorer.js", "streamlit_explorer.js"),
)
_frames = st.components.v2.component("energy_frames", js=_written("streamlit_frames.js"))


def epsilon_slider() -> None:
    """The slider; when it is let go it moves the control that the address is bound to."""
    _slider(key=_SLIDER, data=control(current().spec), on_released_change=_released)


def energy_picture() -> None:
    """What follows the slider; it shows the last answer until frames of a new one come."""
    _picture(key="energy_picture")


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
            _frames(key="energy_frames", data=payload(spec, dataset, [here], 1))
        elif not (is_alone() and has_all):  # the browser has them
            st.fragment(_fill)(here, dataset, along_epsilon(spec), is_alone())


def _fill(here: Frame, dataset: DatasetStatus, specs: tuple[RunSpec, ...], is_let_go: bool) -> None:
    setting = setting_of(here.spec)
    goes_on = st.session_state.get(_TOLD, ("", False))[0] == setting
    if is_let_go and not goes_on:
        # The browser keeps the others that it has, and gets what else there is in a moment.
        _frames(key="energy_frames", data=payload(here.spec, dataset, [here]))
        st.session_state[_TOLD] = setting, False
        ask_again(page_lock.unhurried(_TICK_SECONDS))
        return
    frames, missing = frames_cache.finished(specs, dataset)
    if missing and goes_on:
        compute_for(missing, lambda item: item(), _SLICE_SECONDS)
        frames, missing = frames_cache.finished(specs, dataset)
    _frames(key="energy_frames", data=payload(here.spec, dataset, frames, len(specs)))
    st.session_state[_TOLD] = setting, not missing
    if missing or goes_on:
        ask_again(page_lock.unhurried(_TICK_SECONDS) if missing else None)
