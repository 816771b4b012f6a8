"""The explorer: headline, pictures and curve that follow a dragged line without the server.

Four kinds of elements share their data in the browser: the explorer, the numbers, the exact
pictures, and the private pictures of each run. Streamlit sends an element again only if its data
changed, so that a new ε does not send the pictures again. Data are encoded once for all visitors:
Streamlit itself would encode them twice in every run of the script.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.experiments.engine.summaries import counted, percent
from dpcore.experiments.pca.rebuilt_rows import INK
from dpcore.figures.style import look_of
from dpcore.privacy.guarantee_in_words import say_number
from pages.cached import ExactPictures, Measured, encode
from pages.number_format import plain

_KEY = "explorer"


@dataclass(frozen=True)
class Line:
    """One line of the figure.

    name: Protocol, with the version if it is the other one.
    is_thin: Whether the line belongs to the other version.
    """

    name: str
    protocol: str
    label: str
    is_thin: bool = False


@dataclass(frozen=True)
class View:
    """Everything that a figure shows besides its results.

    setting: Name of all settings but the value on the axis.
    steps: Label of each step, and whether narrow figures name it.
    present: Number of the present step.
    places: Text after "captured energy at" for each step, with a place for its label if the label
        is known only after a run.
    lines: The chosen algorithm first.
    other_version: Name of the version of the thin line.
    floor_label: Name of the floor's line; `floor_sentence` has a place for its percentage.
    file: Name of saved files, without the ending.
    """

    setting: str
    symbol: str
    title: str
    steps: tuple[tuple[str, bool], ...]
    present: int
    places: tuple[str, ...]
    lines: tuple[Line, ...]
    other_version: str
    floor_label: str
    floor_sentence: str
    file: str


@dataclass(frozen=True)
class Frame:
    """Results of all lines at one step.

    results: Runs of each line, in the order of runs.
    floor: Captured energy without any data.
    label: Label of the step, if it is known only after a run; otherwise empty.
    """

    at: int
    results: Mapping[str, tuple[Measured, ...]]
    floor: float
    label: str = ""

    @property
    def key(self) -> Hashable:
        """Identity of the results that have arrived."""
        return self.at, tuple((name, len(runs)) for name, runs in self.results.items())


def _read(*names: str) -> str:
    folder = Path(__file__).parent
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


_explorer = st.components.v2.component(
    "explorer",
    html=_read("explorer.html").replace("<!-- control -->", _read("control.html")),
    css=_read("explorer.css", "control.css"),
    js=_read(
        "pictures.js", "values.js", "saving.js", "steps.js", "explorer.js", "control.js", "mount.js"
    ),
)
_deliver = st.components.v2.component("explorer_data", js=_read("deliver.js"))


def draw_explorer(view: View, on_release: Callable[[int], None]) -> bool:
    """Draw the explorer. It shows the previous results until new ones are delivered.

    on_release: Called with the number of the step at which a visitor released the line.
    Returns whether the screen is too narrow for a sidebar next to the page.
    """

    def call() -> None:
        match st.session_state[_KEY].released:  # any JSON, from the browser
            case {"setting": view.setting, "at": int(at)}:
                on_release(min(max(at, 0), len(view.steps) - 1))

    data = {
        "setting": view.setting,
        "at": view.present,
        "symbol": view.symbol,
        "title": view.title,
        "steps": _steps(view),
    }
    state = _explorer(
        key=_KEY,
        data=[data],
        on_released_change=call,
        default={"narrow": False},
        on_narrow_change=lambda: None,
    )
    return bool(state.narrow)


def deliver(
    view: View,
    dataset: DatasetStatus,
    frames: Sequence[Frame],
    exact: ExactPictures,
    count: str,
) -> None:
    """Hand results to the explorer in the browser.

    frames: All results of this setting so far.
    count: Progress in words; empty when all results are there.
    """
    ordered = sorted(frames, key=lambda frame: frame.at)

    def hand(name: str, *version: Hashable, make: Callable[[], dict[str, Any]]) -> None:
        # The name of the data set leads to the cache of a visitor's own table.
        key = (name, dataset.name, view.setting, *version)
        _deliver(key=f"explorer_{name}", data=encode(*key, make=make))

    with st.container(key="explorer_data", height=1, border=False):
        hand("exact", make=lambda: _exact(dataset, exact, view.setting))
        for run, pictured in _by_run(view, ordered).items():
            make = partial(_pictures, view.setting, run, pictured, exact.n_components)
            hand(f"run_{run}", *pictured, make=make)
        results = tuple(frame.key for frame in ordered)
        hand("numbers", results, count, make=lambda: _all_numbers(view, dataset, ordered, count))


def name_of_setting(*parts: Hashable) -> str:
    """Return a short name for settings."""
    return blake2b(repr(parts).encode(), digest_size=8).hexdigest()


def _steps(view: View) -> list[dict[str, Any]]:
    return [{"label": label, "major": is_major} for label, is_major in view.steps]


def _by_run(view: View, frames: Sequence[Frame]) -> dict[int, dict[int, Measured]]:
    """Return the results with pictures by run and step; of a partial run, the present step's."""
    by_run: dict[int, dict[int, Measured]] = {}
    for frame in frames:
        for measured in frame.results.get(view.lines[0].name, ()):
            if measured.pictures is not None:
                by_run.setdefault(measured.run, {})[frame.at] = measured
    for run, pictured in by_run.items():
        # Each further picture of a run sends all pictures of the run again.
        if run > 0 and len(pictured) < len(view.steps):
            by_run[run] = {at: pictured[at] for at in (view.present,) if at in pictured}
    return {run: by_run[run] for run in sorted(by_run) if by_run[run]}


def _pictures(
    setting: str, run: int, pictured: Mapping[int, Measured], n_components: int
) -> dict[str, Any]:
    pictures = [
        measured.pictures for measured in pictured.values() if measured.pictures is not None
    ]
    padded = [picture.padded(n_components) for picture in pictures]
    return {
        "setting": setting,
        "run": run,
        "steps": list(pictured),
        "rows": _encode(b"".join(picture.rows for picture in padded)),
        "components": _encode(b"".join(picture.components for picture in padded)),
        "cosines": [picture.cosines for picture in padded],
    }


def _exact(dataset: DatasetStatus, exact: ExactPictures, setting: str) -> dict[str, Any]:
    shape = dataset.image_shape
    height, width = shape or (len(exact.columns), 1)
    originals = "Real pictures" if shape is not None else "Real rows"
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
        "captions": [f"{originals}; rebuilt below", "Exact components; private below (1 = same)"],
    }


def _encode(levels: bytes) -> str:
    return b64encode(levels).decode()


def _look(line: Line) -> dict[str, Any]:
    look = look_of(line.protocol)
    return {
        "id": line.name,
        "label": line.label,
        "colour": look.colour,
        "symbol": look.symbol,
        "dash": look.dash,
        "thin": line.is_thin,
    }


def _all_numbers(
    view: View, dataset: DatasetStatus, frames: Sequence[Frame], count: str
) -> dict[str, Any]:
    return {
        "setting": view.setting,
        "dataset": dataset.title,
        "symbol": view.symbol,
        "steps": _steps(view),
        "lines": [_look(line) for line in view.lines],
        "floorLabel": view.floor_label,
        "file": view.file,
        "frames": [_numbers(view, frame) for frame in frames],
        "count": count,
    }


def _numbers(view: View, frame: Frame) -> dict[str, Any]:
    lead = view.lines[0]
    label = frame.label or view.steps[frame.at][0]
    place = view.places[frame.at].format(label)
    energies = {
        name: [round(run.energy, 4) for run in runs] for name, runs in frame.results.items()
    }
    exact, requested = (
        frame.results[lead.name][0].exact_epsilon,
        frame.results[lead.name][0].epsilon,
    )
    holds = say_number(exact)
    exact_epsilon = "" if holds == plain(requested) else f" Exact ε: {holds}."
    means = {
        line.name: percent(sum(energies[line.name]) / len(energies[line.name]))
        for line in view.lines
        if energies.get(line.name)
    }
    named = (f"{line.label} {means[line.name]}" for line in view.lines if line.name in means)
    others = (means[line.name] for line in view.lines if line.is_thin and line.name in means)
    other = next(others, "")
    return {
        "at": frame.at,
        "label": label,
        "where": place,
        "energies": energies,
        "floor": round(frame.floor, 4),
        "number": means[lead.name],
        "other": f"{view.other_version} {other}" if other else "",
        "range": _range(energies[lead.name]) + exact_epsilon,
        "floorText": view.floor_sentence.format(percent(frame.floor)),
        "alt": f"Captured energy at {place}: {', '.join(named)}; "
        f"{view.floor_label} {percent(frame.floor)}; exact PCA 100 %.",
    }


def _range(energies: Sequence[float]) -> str:
    if len(energies) == 1:
        return "One run."
    least, most = percent(min(energies)), percent(max(energies))
    runs = counted(len(energies), "run")
    return f"{runs}, {least} each." if least == most else f"{runs}, {least} to {most}."
