"""The ε explorer on a page: a slider whose answers are in the browser before it is moved.

Two parts. The control stands where the page wants it and reruns the page when it is let go. The
feed hands over frames as the server finishes them, in a fragment of its own, so that the control
never waits for them. They meet in the browser.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.experiments.engine.control_ranges import EPSILONS
from dpcore.experiments.pca.spec import RunSpec
from pages.server import frames_cache, result_cache
from pages.sidebar.controls import move
from pages.widgets import session_ledger
from pages.widgets.energy_explorer.frames import along_epsilon, control, payload, setting_of

_KEY = "energy_explorer"
# Long enough to get somewhere, short enough that a slider moved meanwhile answers at once.
_SLICE_SECONDS = 0.2
# Leaves the browser time to draw between two slices.
_TICK_SECONDS = 0.4


def _written(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


_explorer = st.components.v2.component(
    "energy_explorer",
    html=_written("explorer.html"),
    css=_written("style.css"),
    js=_written("explorer.js") + _written("adapter.js"),
)
_feed = st.components.v2.component("energy_feed", js=_written("feed.js"))


def epsilon_control(spec: RunSpec) -> None:
    """The slider and, below it, what the browser has; it moves the sidebar's own ε when let go."""
    _explorer(key=_KEY, data=control(spec), on_released_change=_released)


def _released() -> None:
    asked = st.session_state[_KEY].released
    if asked in EPSILONS:
        move("epsilon", EPSILONS[EPSILONS.index(asked)])


def fill(spec: RunSpec, dataset: DatasetStatus) -> None:
    """Hand over the present ε, which is paid for, and the others as they are finished."""
    here = frames_cache.frame(spec, dataset)
    if not session_ledger.curves(dataset.name):
        _feed(key="energy_feed", data=payload(spec, dataset, [here], 1))
        return
    specs = along_epsilon(spec)
    unfinished = bool(frames_cache.finished(specs, dataset)[1])
    every = _TICK_SECONDS if unfinished else None
    st.fragment(_fill, run_every=every)(spec, dataset, specs, unfinished)


def _fill(
    spec: RunSpec, dataset: DatasetStatus, specs: tuple[RunSpec, ...], was_unfinished: bool
) -> None:
    setting = setting_of(spec)
    started = st.session_state.get("_explored") == setting
    st.session_state["_explored"] = setting
    frames, missing = frames_cache.finished(specs, dataset)
    if missing and started:
        result_cache.compute_for(missing, lambda item: item(), _SLICE_SECONDS)
        frames, missing = frames_cache.finished(specs, dataset)
    _feed(key="energy_feed", data=payload(spec, dataset, frames, len(specs)))
    if was_unfinished and started and not missing:
        # The whole page once more, so that the fragment stops asking to be run again.
        st.rerun()
