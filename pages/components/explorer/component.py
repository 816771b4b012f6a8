"""The explorer: headline, pictures and curve that follow ε in the browser without the server.

Four kinds of elements share their data in the browser: the explorer, the numbers, the exact
pictures, and the private pictures of each run. Streamlit sends an element again only if its data
changed, so that a new ε does not send the pictures again. Data are encoded once for all visitors:
Streamlit itself would encode them twice in every run of the script.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import streamlit as st

from dpcore.data import DatasetStatus, dataset_status
from dpcore.experiments.engine.summaries import counted, percent
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.pca.rebuilt_rows import INK
from dpcore.figures.style import look_of
from dpcore.params import EPSILONS
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy.guarantee_in_words import say_number
from pages.cached import ExactPictures, Measured, encode
from pages.number_format import plain

_KEY = "explorer"
_EPSILONS = [{"value": epsilon, "label": plain(epsilon)} for epsilon in EPSILONS]


@dataclass(frozen=True)
class Frame:
    """Results of all protocols at one ε.

    results: One per protocol and run, in the order of runs.
    floor: Captured energy without any data.
    """

    epsilon: float
    results: tuple[Measured, ...]
    floor: float


def _read(*names: str) -> str:
    folder = Path(__file__).parent
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


_explorer = st.components.v2.component(
    "explorer",
    html=_read("explorer.html").replace("<!-- control -->", _read("control.html")),
    css=_read("explorer.css", "control.css"),
    js=_read("pictures.js", "explorer.js", "control.js", "mount.js"),
)
_deliver = st.components.v2.component("explorer_data", js=_read("deliver.js"))


def draw_explorer(spec: RunSpec, on_release: Callable[[float], None]) -> bool:
    """Draw the explorer. It shows the previous results until new ones are delivered.

    on_release: Called with the ε at which a visitor released the slider.
    Returns whether the screen is too narrow for a sidebar next to the page.
    """

    def call() -> None:
        released = st.session_state[_KEY].released
        if released in EPSILONS:
            on_release(EPSILONS[EPSILONS.index(released)])

    data = {"setting": setting_of(spec), "epsilon": spec.epsilon, "epsilons": _EPSILONS}
    found = _explorer(
        key=_KEY,
        data=[data],
        on_released_change=call,
        default={"narrow": False},
        on_narrow_change=lambda: None,
    )
    return bool(found.narrow)


def deliver(
    spec: RunSpec, dataset: DatasetStatus, frames: Sequence[Frame], exact: ExactPictures, count: str
) -> None:
    """Hand results to the explorer in the browser.

    frames: All results of this setting so far.
    count: Progress in words; empty when all results are there.
    """
    setting = setting_of(spec)
    ordered = sorted(frames, key=lambda frame: frame.epsilon)

    def hand(name: str, *version: Hashable, make: Callable[[], dict[str, Any]]) -> None:
        # The name of the data set leads to the cache of a visitor's own table.
        key = (name, spec.dataset, setting, *version)
        _deliver(key=f"explorer_{name}", data=encode(*key, make=make))

    with st.container(key="explorer_data", height=1, border=False):
        hand("exact", make=lambda: _exact(dataset, exact, setting))
        for run, pictured in _by_run(ordered).items():
            hand(f"run_{run}", *pictured, make=partial(_pictures, setting, run, pictured))
        results = tuple(
            (frame.epsilon, frame.floor, *((each.protocol, each.run) for each in frame.results))
            for frame in ordered
        )
        hand("numbers", results, count, make=lambda: _all_numbers(spec, ordered, count))


def setting_of(spec: RunSpec) -> str:
    """Return a name for all settings but ε."""
    return blake2b(repr(replace(spec, epsilon=1.0)).encode(), digest_size=8).hexdigest()


def _by_run(frames: Sequence[Frame]) -> dict[int, dict[float, Measured]]:
    found: dict[int, dict[float, Measured]] = {}
    for frame in frames:
        for each in frame.results:
            if each.pictures is not None:
                found.setdefault(each.run, {})[frame.epsilon] = each
    return dict(sorted(found.items()))


def _pictures(setting: str, run: int, pictured: Mapping[float, Measured]) -> dict[str, Any]:
    pictures = [each.pictures for each in pictured.values() if each.pictures is not None]
    return {
        "setting": setting,
        "run": run,
        "epsilons": list(pictured),
        "rows": _encode(b"".join(each.rows for each in pictures)),
        "components": _encode(b"".join(each.components for each in pictures)),
        "cosines": [each.cosines for each in pictures],
    }


def _exact(dataset: DatasetStatus, exact: ExactPictures, setting: str) -> dict[str, Any]:
    shape = dataset.image_shape
    height, width = shape or (len(exact.columns), 1)
    return {
        "setting": setting,
        "kind": "bars" if shape is None else "ink" if dataset.name in INK else "photograph",
        "height": height,
        "width": width,
        "names": exact.names,
        "ranks": list(range(1, exact.n_components + 1)),
        "columns": [name.replace("_", " ") for name in exact.columns],
        "rows": _encode(exact.rows),
        "components": _encode(exact.components),
        "captions": [
            "Originals above, rebuilt from private components below",
            "Exact components above (not private), private below, with |cosine|",
        ],
    }


def _encode(levels: bytes) -> str:
    return b64encode(levels).decode()


def _look(key: str) -> dict[str, str]:
    look = look_of(key)
    return {"key": key, "label": look.label, "colour": look.colour, "symbol": look.symbol,
            "dash": look.dash}  # fmt: skip


def _all_numbers(spec: RunSpec, frames: Sequence[Frame], count: str) -> dict[str, Any]:
    return {
        "setting": setting_of(spec),
        "epsilons": _EPSILONS,
        "looks": [_look(key) for key in spec.protocols],
        "frames": [_numbers(spec, frame) for frame in frames],
        "count": count,
    }


def _numbers(spec: RunSpec, frame: Frame) -> dict[str, Any]:
    lead = spec.protocols[0]
    energies = {
        key: [round(each.energy, 4) for each in frame.results if each.protocol == key]
        for key in spec.protocols
    }
    number = percent(sum(energies[lead]) / len(energies[lead]))
    exact = next(each.exact_epsilon for each in frame.results if each.protocol == lead)
    requested, holds = plain(frame.epsilon), say_number(exact)
    exact_epsilon = "" if holds == requested else f" The exact ε is {holds}."
    means = (
        f"{PROTOCOLS[key].title} {percent(sum(found) / len(found))}"
        for key, found in energies.items()
        if found
    )
    return {
        "epsilon": frame.epsilon,
        "energies": energies,
        "floor": round(frame.floor, 4),
        "number": number,
        "range": _range(energies[lead]) + exact_epsilon,
        "floorText": _floor_in_words(spec, frame.floor),
        "alt": f"Captured energy at ε = {requested}: {', '.join(means)}; "
        f"without any data {percent(frame.floor)}; exact PCA 100 %.",
    }


def _range(energies: Sequence[float]) -> str:
    if len(energies) == 1:
        return "One run."
    least, most = percent(min(energies)), percent(max(energies))
    runs = counted(len(energies), "run")
    return f"{runs}, {least} each." if least == most else f"{runs}, {least} to {most}."


def _floor_in_words(spec: RunSpec, floor: float) -> str:
    are_pictures = dataset_status(spec.dataset).image_shape is not None
    source = "prior knowledge about pictures" if are_pictures else "a random choice"
    return f"With no data at all, {source} gives {percent(floor)}. Exact PCA gives 100 %."
