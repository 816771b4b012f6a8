"""The ε explorer: a slider whose answers are in the browser before it is moved.

The ε explorer on a page: a slider whose answers are in the browser before it is moved.

Two parts that meet in the browser: the explorer with its slider, which reruns the page when it is
let go; and the frames, which a fragment hands over as they are finished, so that nothing waits for
them. People rebuilt from each run are elements of their own: a browser is sent each of them once.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import streamlit as st

from dpcore.data import DatasetStatus, unit_of
from dpcore.experiments.pca import PcaRow, RunSpec
from dpcore.experiments.rebuilt_rows import INK
from dpcore.experiments.summaries import counted, in_plain_words, percent, spread_of
from dpcore.figures.style import look_of
from dpcore.params import EPSILONS
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy.guarantee_in_words import say_number
from pages.server import caches, turns
from pages.server.caches import Frame, PicturedRun
from pages.server.turns import compute_for
from pages.shell.controls import current, let_go_at
from pages.shell.fragments import ask_again, is_alone
from pages.shell.parameters import plain
from pages.widgets import session_ledger

# What the explorer in the browser is handed: sentences, numbers to be drawn, and pictures.

_EPSILONS = [{"value": epsilon, "label": plain(epsilon)} for epsilon in EPSILONS]


def control(spec: RunSpec) -> dict[str, Any]:
    """Where the slider stands, and among what."""
    return {
        "setting": setting_of(spec),
        "epsilon": spec.epsilon,
        "epsilons": _EPSILONS,
    }


def setting_of(spec: RunSpec) -> str:
    """A name for everything but ε: frames of one name belong together."""
    return blake2b(repr(replace(spec, epsilon=1.0)).encode(), digest_size=8).hexdigest()


def along_epsilon(spec: RunSpec) -> tuple[RunSpec, ...]:
    """A spec at every ε that its calibration takes, the present one first, then outwards."""
    most = 1.0 if spec.calibration == "classic" else EPSILONS[-1]
    there = [EPSILONS.index(epsilon) for epsilon in EPSILONS if epsilon <= most]
    here = EPSILONS.index(spec.epsilon)
    order = sorted(there, key=lambda index: abs(index - here))
    return tuple(replace(spec, epsilon=EPSILONS[index]) for index in order)


def payload(spec: RunSpec, frames: Sequence[Frame], n_wanted: int | None = None) -> dict[str, Any]:
    """Frames of a setting, for the browser: all there are, at `n_wanted` ε, or some of them."""
    return {
        "setting": setting_of(spec),
        "epsilons": _EPSILONS,
        "looks": [_look(key) for key in spec.protocols],
        # In one order wherever ε stands: what the browser has already is then not sent again.
        "frames": [_frame(frame) for frame in sorted(frames, key=lambda each: each.spec.epsilon)],
        "count": None if n_wanted is None else _so_far(frames, n_wanted),
    }


def met(spec: RunSpec, dataset: DatasetStatus, round_: PicturedRun) -> dict[str, Any]:
    """The people of one run for the browser, at every ε there is; with the first, who they are."""
    return {
        "setting": setting_of(spec),
        "run": round_.run,
        "epsilons": list(round_.levels),
        "levels": b64encode(b"".join(round_.levels.values())).decode(),
        "people": _rebuilt_people(spec, dataset) if round_.run == 0 else None,
    }


def _rebuilt_people(spec: RunSpec, dataset: DatasetStatus) -> dict[str, Any]:
    shown, shape = caches.people(spec), dataset.image_shape
    height, width = shape or (len(shown.columns), 1)
    kind = "bars" if shape is None else "ink" if dataset.name in INK else "photograph"
    true, exact = caches.true_and_exact(spec)
    return {
        "kind": kind,
        "height": height,
        "width": width,
        "names": shown.names,
        "truth": b64encode(true).decode(),
        "exact": b64encode(exact).decode(),
    }


def _so_far(frames: Sequence[Frame], n_wanted: int) -> str:
    """How far it is, in words; nothing once it is whole."""
    if len(frames) < n_wanted:
        return f"{len(frames)} of {n_wanted} steps of ε so far."
    least, draws = min(frame.n_draws for frame in frames), frames[0].spec.repetitions
    return f"{least} of {draws} runs everywhere so far." if least < draws else ""


def _look(key: str) -> dict[str, str]:
    look = look_of(key)
    return {"key": key, "label": look.label, "colour": look.colour, "symbol": look.symbol,
            "dash": look.dash}  # fmt: skip


def _frame(frame: Frame) -> dict[str, Any]:
    key, first = frame.spec.protocols[0], frame.rows[0]
    lead, title = spread_of(frame.rows, key), PROTOCOLS[key].title
    exact = next(row["exact_epsilon"] for row in frame.rows if row["protocol"] == key)
    asked, holds = plain(frame.spec.epsilon), say_number(exact)
    delivered = "" if holds == asked else f" Requested ε = {asked}, delivered ε = {holds}."
    found: dict[str, Any] = {
        "epsilon": frame.spec.epsilon,
        "energies": {
            key: [round(row["energy_ratio"], 4) for row in frame.rows if row["protocol"] == key]
            for key in frame.spec.protocols
        },
        "floor": round(first["random_ratio"], 4),
        "number": percent(lead.mean),
        "meaning": in_plain_words(frame.rows),
        "by": f"{title}, {_sites(first)}{_spread(frame)}.{delivered}",
        "alt": _takeaway(frame),
        "people_alt": f"Ten {unit_of(frame.spec.dataset).many} rebuilt from private components at "
        f"ε = {asked}.",
    }
    return found


def _sites(row: PcaRow) -> str:
    each = unit_of(row["dataset"]).of(row["samples"] // row["sites"])
    return f"{counted(row['sites'], 'site')} of {each}"


def _spread(frame: Frame) -> str:
    lead = spread_of(frame.rows, frame.spec.protocols[0])
    if lead.draws == 1:
        return ", one run"
    least, greatest = percent(lead.least), percent(lead.greatest)
    reach = f"{least} to {greatest}" if least != greatest else f"{least} each"
    return f"; {lead.draws} runs: {reach}"


def _takeaway(frame: Frame) -> str:
    kept = (
        f"{PROTOCOLS[key].title} {percent(spread_of(frame.rows, key).mean)}"
        for key in frame.spec.protocols
    )
    return (
        f"What survives of the pattern at ε = {plain(frame.spec.epsilon)}: {', '.join(kept)}; "
        f"a random guess {percent(frame.rows[0]['random_ratio'])}."
    )


# The ε explorer on a page: a slider whose answers are in the browser before it is moved.

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
        here = caches.frame(spec, dataset, rows)
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
        ask_again(turns.unhurried(_TICK_SECONDS))
        return
    frames, missing = caches.finished(specs, dataset)
    if missing and goes_on:
        compute_for(missing, lambda item: item(), _SLICE_SECONDS)
        frames, missing = caches.finished(specs, dataset)
    _hand_over(here.spec, dataset, frames, len(specs))
    st.session_state[_TOLD] = setting, not missing
    if missing or goes_on:
        ask_again(turns.unhurried(_TICK_SECONDS) if missing else None)


def _hand_over(
    spec: RunSpec, dataset: DatasetStatus, frames: list[Frame], n_wanted: int | None = None
) -> None:
    _frames(key="energy_frames", data=[payload(spec, frames, n_wanted)])
    for round_ in caches.rounds(tuple(frame.spec for frame in frames)):
        _people(key=f"energy_people_{round_.run}", data=[met(spec, dataset, round_)])
