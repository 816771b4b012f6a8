"""Watch ε fall: the components of one draw at every ε, handed to the browser as they are made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.experiments.pca.sentences import percent
from dpcore.experiments.pca.spec import RunSpec
from dpcore.pca.protocols.register import PROTOCOLS
from pages.parameters.words import plain
from pages.server import frames_cache, page_lock
from pages.server.frames_cache import Frame, Pictures
from pages.server.spare_time import compute_for
from pages.widgets.energy_explorer.frames import along_epsilon, control

_HERE = Path(__file__).parent
_CONTROL = _HERE.parents[1] / "widgets" / "energy_explorer"
_SLICE_SECONDS, _TICK_SECONDS = 0.2, 0.4


def _written(ending: str) -> str:
    parts = (_CONTROL / f"control.{ending}", _HERE / f"falling.{ending}")
    return "\n".join(part.read_text(encoding="utf-8") for part in parts)


_falling = st.components.v2.component(
    "falling", html=_written("html"), css=_written("css"), js=_written("js")
)


def falling(spec: RunSpec, dataset: DatasetStatus) -> None:
    """The slider and the pictures of a spec's first protocol, of one draw; filled as they come."""
    specs = along_epsilon(spec)
    unfinished = bool(frames_cache.finished(specs, dataset)[1])
    every = page_lock.unhurried(_TICK_SECONDS) if unfinished else None
    st.fragment(_fill, run_every=every)(spec, specs, dataset, unfinished)


def _fill(
    spec: RunSpec, specs: tuple[RunSpec, ...], dataset: DatasetStatus, was_unfinished: bool
) -> None:
    frames, missing = frames_cache.finished(specs, dataset)
    if missing:
        compute_for(missing, lambda item: item(), _SLICE_SECONDS)
        frames, missing = frames_cache.finished(specs, dataset)
    title = PROTOCOLS[spec.protocols[0]].title
    exact = _picture(frames_cache.exact_pictures(spec, dataset), "Exact PCA")
    count = f"{len(frames)} of {len(specs)} steps of ε so far." if missing else ""
    steps = [_frame(frame, title) for frame in frames]
    _falling(key="falling", data=control(spec) | {"exact": exact, "frames": steps, "count": count})
    if was_unfinished and not missing:
        # The whole page once more, so that the fragment stops asking to be run again.
        st.rerun()


def _frame(frame: Frame, title: str) -> dict[str, Any]:
    epsilon, kept = frame.spec.epsilon, percent(frame.rows[0]["energy_ratio"])
    told = f"{title} at ε = {plain(epsilon)}: this draw keeps {kept}. Above, exact PCA."
    cosines = [f"{cosine:.2f}" for cosine in frame.pictures.cosines]
    drawn = {"epsilon": epsilon, "told": told, "kept": kept, "cosines": cosines}
    return drawn | _picture(frame.pictures, told)


def _picture(pictures: Pictures, alt: str) -> dict[str, str]:
    return {"sprite": pictures.sprite, "alt": f"{alt} The components as pictures."}
