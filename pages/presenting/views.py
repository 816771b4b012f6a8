"""What a pin shows: the run it stands for, what is said of it, its frames in the browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.data.held_tables import is_held
from dpcore.errors import DataUnavailable, ParameterError
from dpcore.experiments.engine.control_ranges import EPSILONS
from dpcore.experiments.ledger.pca_charges import promised
from dpcore.experiments.pca.spec import RunSpec
from dpcore.pca.protocols.register import PROTOCOLS
from pages.parameters.sidebar import ADVANCED, FIRST, SIDEBAR
from pages.parameters.table import known
from pages.presenting.pins import Pin, deck
from pages.server import frames_cache, result_cache
from pages.server.frames_cache import Frame, Missing
from pages.sidebar.selection import Selection, defaults_for, selected
from pages.widgets import session_ledger
from pages.widgets.energy_explorer.frames import along_epsilon, control, met, payload
from pages.widgets.figure_tools.small_type import OPEN, headline

_OWN = (
    "A laboratory's results on somebody's own table, exact ones and a seed among them: no release, "
    "and for nobody who may not see its rows."
)
# Pages that show a run along ε, and one that shows two of them.
EXPLORED, SIDE_BY_SIDE = ("play", "eigen_images"), "deck"
# Of so many runs a file has the people: enough to see them boil, few enough to mail.
_RUNS_OF_PEOPLE = 3
_HERE = Path(__file__).parent
_WIDGETS = _HERE.parent / "widgets"
_EXPLORER = _WIDGETS / "energy_explorer"
SCRIPTS = (
    _WIDGETS / "figure_tools" / "picture.js", _EXPLORER / "control.js", _EXPLORER / "explorer.js",
    _HERE / "player.js",
)  # fmt: skip
LOOKS = (_EXPLORER / "control.css", _EXPLORER / "explorer.css", _HERE / "player.css")


@dataclass(frozen=True)
class View:
    """A pinned run: what it is, on which data, its caption, and its settings in words.

    `specs` is the run at every ε, or under a cap at its own alone.
    """

    spec: RunSpec
    specs: tuple[RunSpec, ...]
    dataset: DatasetStatus
    caption: str
    settings: str

    def frames(self) -> tuple[list[Frame], list[Missing]]:
        """What of it has been run, and what has not."""
        return frames_cache.finished(self.specs, self.dataset)

    def data(self) -> dict[str, Any]:
        """All of it for the browser."""
        rounds = frames_cache.rounds(self.specs)[:_RUNS_OF_PEOPLE]
        people = {"rounds": [met(self.spec, self.dataset, each) for each in rounds]}
        return payload(self.spec, self.frames()[0], len(self.specs)) | people

    def guarantees(self) -> list[str]:
        """What each release promises at the pinned ε, those that promise the same together, and
        what of the view no promise covers."""
        titles: dict[str, list[str]] = {}
        for key in self.spec.protocols:
            said = headline(promised(self.spec, key, self.dataset), self.spec.preparation)
            titles.setdefault(said, []).append(PROTOCOLS[key].title)
        own = [_OWN] if is_held(self.dataset.name) else []
        return [*(f"{', '.join(named)}: {said}" for said, named in titles.items()), OPEN, *own]

    def pay(self) -> None:
        """Enter it in the books, before it is shown.

        Raises `BeyondCap` if there is a cap that it would exceed.
        """
        session_ledger.pay_run(self.spec, self.spec.repetitions)
        session_ledger.curves(self.dataset.name)


def views_of(pin: Pin) -> tuple[View, ...]:
    """The runs that a pin shows: none, one, or two side by side.

    Raises `ParameterError or DataUnavailable`: in a sentence, if its settings or its data cannot be
        had here.
    """
    if pin.page in EXPLORED:
        return (run_of(pin),)
    if pin.page != SIDE_BY_SIDE:
        return ()
    both = (deck()[number - 1] for number in numbers_of(pin) if number <= len(deck()))
    return tuple(run_of(each) for each in both if each.page in EXPLORED)


def numbers_of(pin: Pin) -> list[int]:
    """Which pins of the deck are side by side on its page, from 1."""
    return [int(pin.stands(name)) for name in ("deck_a", "deck_b")]


def run_of(pin: Pin) -> View:
    """A pin's run; of a page without one, that of its controls in the sidebar."""
    dataset, values = _controls_of(pin)
    spec = selected(dataset, values).spec
    if pin.page == "eigen_images":
        largest = max((e for e in pin.stands("epsilons") if e in EPSILONS), default=spec.epsilon)
        protocols = (pin.stands("method"),)
        spec = replace(spec, protocols=protocols, epsilon=largest)
        values |= {"protocols": protocols, "epsilon": largest}
    specs = along_epsilon(spec) if session_ledger.cap() is None else (spec,)
    return View(spec, specs, dataset, pin.caption, _in_words(dataset, values))


def selection_of(pin: Pin) -> Selection:
    """What a pin's controls in the sidebar say; raises as `views_of`."""
    return selected(*_controls_of(pin))


def _controls_of(pin: Pin) -> tuple[DatasetStatus, dict[str, Any]]:
    name = pin.stands("dataset")
    dataset = next((each for each in result_cache.dataset_statuses() if each.name == name), None)
    if dataset is None:
        raise ParameterError("dataset", "one that there is: your own table is gone", "your-table")
    if not dataset.ready:
        raise DataUnavailable(f"{dataset.title} is not on this machine.")
    written = {name: pin.stands(name) for name in pin.written if name in SIDEBAR}
    values = defaults_for(dataset) | written
    values.pop("dataset", None)
    return dataset, values


def _in_words(dataset: DatasetStatus, values: dict[str, Any]) -> str:
    told = (*FIRST, *ADVANCED, "repetitions")
    said = (f"{known(n).title}: {', '.join(known(n).spelled(values[n]))}"
            for n in told if n in values)  # fmt: skip
    return "; ".join((f"Data set: {dataset.title}", *said))


@cache
def read(*files: Path) -> str:
    """Files of the program, one after the other."""
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def markup(n_views: int, name: str = "epsilon") -> str:
    """A slider and the places of so many views; `name` tells sliders of one document apart."""
    slider = read(_EXPLORER / "control.html").replace('"epsilon"', f'"{name}"')
    place = f'<div class="view"><h2></h2>{read(_EXPLORER / "explorer.html")}</div>'
    return f'{slider}<div class="views">{place * n_views}</div>'


def played(views: Sequence[View]) -> dict[str, Any]:
    """What the browser is handed."""
    return {
        "control": control(views[0].spec),
        "views": [view.data() for view in views],
        "captions": [view.caption for view in views] if len(views) > 1 else [""],
    }


_pair = st.components.v2.component(
    "two_views", html=markup(2), css=read(*LOOKS), js=read(*SCRIPTS, _HERE / "streamlit_player.js")
)


def side_by_side(views: Sequence[View]) -> None:
    """Two views at one scale, under one slider."""
    _pair(key="two_views", data=played(views))
