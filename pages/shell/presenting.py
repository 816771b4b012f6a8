"""Pinned views, the deck they make, and presenter mode."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NoReturn
from uuid import uuid4

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.data.dataset import is_held
from dpcore.errors import DataUnavailable, ParameterError
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.summaries import counted
from dpcore.params import EPSILONS, usual_delta
from dpcore.pca.protocols.register import PROTOCOLS
from pages.server import caches
from pages.server.caches import Frame, Missing
from pages.shell import own_table
from pages.shell.address import address_of
from pages.shell.controls import Selection, defaults_for, move_all, selected
from pages.shell.fragments import in_browser
from pages.shell.navigation import MOVED, PAGES, Place
from pages.shell.parameters import ADVANCED, FIRST, MOST_PINS, PRESENTING, SIDEBAR, ask, find, known
from pages.widgets import session_ledger
from pages.widgets.charts import OPEN, headline
from pages.widgets.energy_explorer.component import along_epsilon, control, met, payload

# Pinned views: a page, its address and a caption each; the deck they make, in session or file.

_DECK, _RESTORED = "_deck", "_deck_restored"
# Small pictures of charts as they were pinned, as SVG with its alternative text, by `_name_of`.
_PICTURES = "_deck_pictures"
_FORMAT, _VERSION = "dp-pca-lab deck", 1
MOST_BYTES = 1_000_000
LONGEST_CAPTION = 200
# What says which two are side by side, and who is unless it is said.
_PAIR = (("deck_a", "1"), ("deck_b", "2"))
Written = dict[str, list[str]]


@dataclass(frozen=True)
class Pin:
    """A view: the name of its page, what its address says, and what somebody says of it."""

    page: str
    written: Written
    caption: str

    def stands(self, name: str) -> Any:
        """What a control of its page stood at."""
        parameter = known(name)
        if name in self.written:
            return parameter.value(self.written[name])
        if name == "delta":
            found = (s for s in caches.dataset_statuses() if s.name == self.stands("dataset"))
            return usual_delta(max((each.n_samples for each in found), default=1))
        return parameter.default

    def stands_as(self, written: Written) -> bool:
        """Whether an address has the ε that was pinned, which a presenter moves by keys."""
        now = replace(self, written=written)
        return bool(now.stands("epsilon") == self.stands("epsilon"))


def deck() -> list[Pin]:
    """The visitor's pins, in order."""
    pins: list[Pin] = st.session_state.setdefault(_DECK, [])
    return pins


def has_deck() -> bool:
    """Whether this session has begun one, be it empty by now."""
    return _DECK in st.session_state


def set_deck(pins: Sequence[Pin]) -> None:
    """Another deck in its place."""
    st.session_state[_DECK] = list(pins)


def restore(content: bytes) -> int:
    """Put a deck that the browser kept over a reload before what this session has pinned since.

    Returns how many pins came back. Done once in a session, however often a browser asks.

    Raises `ParameterError` as `from_file` does; what there is stays.
    """
    if st.session_state.get(_RESTORED):
        return 0
    st.session_state[_RESTORED] = True
    before = from_file(content)[: MOST_PINS - len(deck())]
    set_deck([*before, *deck()])
    return len(before)


def add(page: str, written: Written, caption: str, picture: tuple[str, str] | None = None) -> None:
    """A view at the end of the deck.

    picture: SVG of its chart, with alternative text.

    Raises `ParameterError` if the deck is full.
    """
    if len(deck()) >= MOST_PINS:
        raise ParameterError("deck", f"at most {MOST_PINS} pins", len(deck()) + 1)
    pin = Pin(page, of_its_page(page, written), caption[:LONGEST_CAPTION])
    deck().append(pin)
    if picture is not None:
        st.session_state.setdefault(_PICTURES, {})[_name_of(pin)] = picture


def picture_of(pin: Pin) -> tuple[str, str] | None:
    """The page's chart as it was pinned in this session: SVG and alternative text."""
    picture: tuple[str, str] | None = st.session_state.get(_PICTURES, {}).get(_name_of(pin))
    return picture


def _name_of(pin: Pin) -> str:
    """The same whatever its caption and place."""
    return json.dumps([pin.page, pin.written], sort_keys=True)


def reordered(pins: Sequence[Pin], order: Sequence[int]) -> list[Pin]:
    """The pins of these numbers, in this order; a view that shows two of them follows."""
    now = {str(before): [str(after)] for after, before in enumerate(order, start=1)}

    def followed(pin: Pin) -> Pin:
        pair = {name: now.get(pin.written.get(name, [usual])[0], ["1"]) for name, usual in _PAIR}
        return replace(pin, written=pin.written | pair) if pin.page == "deck" else pin

    return [followed(pins[number - 1]) for number in order]


def of_its_page(page: str, written: Written) -> Written:
    """What of an address the page itself reads, without the presentation."""
    return {
        name: each
        for name, each in written.items()
        if name not in PRESENTING
        and (parameter := find(name)) is not None
        and parameter.page in ("", page)
    }


def to_file(pins: Sequence[Pin]) -> str:
    """A deck as one keeps it."""
    content = {"format": _FORMAT, "version": _VERSION, "pins": [asdict(pin) for pin in pins]}
    return json.dumps(content, ensure_ascii=False, indent=1)


def from_file(content: bytes) -> list[Pin]:
    """A deck that somebody kept.

    Raises `ParameterError`: in one sentence, whatever the file is: it is not believed anything.
    """
    if len(content) > MOST_BYTES:
        raise ParameterError("deck", f"at most {MOST_BYTES:,} bytes", f"{len(content):,}")
    try:
        read: Any = json.loads(content)
    except (ValueError, RecursionError):
        raise ParameterError("deck", "a file that this page saved", "no JSON") from None
    if not isinstance(read, dict) or read.get("format") != _FORMAT:
        raise ParameterError("deck", "a file that this page saved", "another kind of file")
    if read.get("version") != _VERSION:
        raise ParameterError("deck's version", str(_VERSION), "another")
    pins = read.get("pins")
    if not isinstance(pins, list) or len(pins) > MOST_PINS:
        raise ParameterError("deck", f"a list of at most {MOST_PINS} pins", "something else")
    return [_pin(number, each) for number, each in enumerate(pins, start=1)]


def _pin(number: int, read: Any) -> Pin:
    where = f"pin {number} of the deck"
    if not isinstance(read, dict):
        raise ParameterError(where, "a page, what it shows and a caption", "something else")
    page, caption, written = read.get("page"), read.get("caption"), read.get("written")
    page = MOVED.get(page, page) if isinstance(page, str) else page
    if not isinstance(page, str) or page not in PAGES:
        raise ParameterError(where, "of a page of the lab", "an unknown one")
    if not isinstance(caption, str) or len(caption) > LONGEST_CAPTION or not caption.isprintable():
        raise ParameterError(f"the caption of {where}", f"at most {LONGEST_CAPTION} letters", "not")
    if not isinstance(written, dict) or not all(map(_is_written, written.values())):
        raise ParameterError(where, "settings by name, as an address has them", "something else")
    return Pin(page, {name: _respelled(where, name, each) for name, each in written.items()},
               caption)  # fmt: skip


def _is_written(values: Any) -> bool:
    return isinstance(values, list) and bool(values) and all(isinstance(v, str) for v in values)


def _respelled(where: str, name: str, values: list[str]) -> list[str]:
    parameter = find(name)
    if parameter is None or name in PRESENTING:
        raise ParameterError(where, "of settings that the lab knows", "an unknown one")
    if name in own_table.CHOOSERS and values == [own_table.YOURS]:
        return values  # which may be brought later
    try:
        return parameter.read(name, values)
    except ParameterError:
        raise ParameterError(f"{name} of {where}", parameter.offered, "something else") from None


# What a pin shows: the run it stands for, what is said of it, its frames in the browser.

_OWN = (
    "Computed on your own table, with exact results and a seed beside them: not a release. Show it "
    "to people who may see the table's rows."
)
# Pages that show a run along ε, and one that shows two of them.
EXPLORED, SIDE_BY_SIDE = ("play", "eigen_images"), "deck"
# Whose results a deck's files hold, so that their messages come of the files' own runs.
RUN_BY_DECK = (*EXPLORED, SIDE_BY_SIDE, "promise", "decide", "plan", "tradeoffs")
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
class PinnedRun:
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
        return caches.finished(self.specs, self.dataset)

    def data(self) -> dict[str, Any]:
        """All of it for the browser."""
        rounds = caches.rounds(self.specs)[:_RUNS_OF_PEOPLE]
        people = {"rounds": [met(self.spec, self.dataset, each) for each in rounds]}
        return payload(self.spec, self.frames()[0], len(self.specs)) | people

    def guarantees(self) -> list[str]:
        """What each release promises at the pinned ε, those that promise the same together, and
        what of the view no promise covers."""
        titles: dict[str, list[str]] = {}
        for key in self.spec.protocols:
            said = headline(self.spec.promise(key, self.dataset), self.spec.reads_rows_first)
            titles.setdefault(said, []).append(PROTOCOLS[key].title)
        own = [_OWN] if is_held(self.dataset.name) else []
        return [*(f"{', '.join(named)}: {said}" for said, named in titles.items()), OPEN, *own]

    def charge(self) -> None:
        """Enter it in the books, before it is shown.

        Raises `BeyondCap` if there is a cap that it would exceed.
        """
        session_ledger.charge_run(self.spec, self.spec.repetitions)
        session_ledger.curves(self.dataset.name)


def views_of(pin: Pin) -> tuple[PinnedRun, ...]:
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


def run_of(pin: Pin) -> PinnedRun:
    """A pin's run; of a page without one, that of its controls in the sidebar."""
    dataset, values = _controls_of(pin)
    spec = selected(dataset, values).spec
    if pin.page == "eigen_images":
        largest = max((e for e in pin.stands("epsilons") if e in EPSILONS), default=spec.epsilon)
        protocols = (pin.stands("method"),)
        spec = replace(spec, protocols=protocols, epsilon=largest)
        values |= {"protocols": protocols, "epsilon": largest}
    specs = along_epsilon(spec) if session_ledger.cap() is None else (spec,)
    return PinnedRun(spec, specs, dataset, pin.caption, _in_words(dataset, values))


def selection_of(pin: Pin) -> Selection:
    """What a pin's controls in the sidebar say; raises as `views_of`."""
    return selected(*_controls_of(pin))


def _controls_of(pin: Pin) -> tuple[DatasetStatus, dict[str, Any]]:
    name = pin.stands("dataset")
    dataset = next((each for each in caches.dataset_statuses() if each.name == name), None)
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


def played(views: Sequence[PinnedRun]) -> dict[str, Any]:
    """What the browser is handed."""
    return {
        "control": control(views[0].spec),
        "views": [view.data() for view in views],
        "captions": [view.caption for view in views] if len(views) > 1 else [""],
    }


_pair = st.components.v2.component(
    "two_views", html=markup(2), css=read(*LOOKS), js=read(*SCRIPTS, _HERE / "streamlit_player.js")
)


def side_by_side(views: Sequence[PinnedRun]) -> None:
    """Two views at one scale, under one slider."""
    _pair(key="two_views", data=played(views))


# Presenter mode: a page without its tools, in large type, moved by keys; and through a deck.

_BAR, _GOES_TO, _SESSION = "presenter", "_presents_from", "_deck_session"
_ENDS = "Esc to exit"


_LOOK = Path(__file__).with_name("mode.css").read_text(encoding="utf-8")
_bar = in_browser(_BAR, *Path(__file__).parent.glob("presenter.*"))


def follow(place: Place) -> Pin | None:
    """Draw what the address says of a presentation, out of sight, and how the page then looks.

    Returns the pin that is presented, if any.
    """
    unseen = st.container(key="presenting_out_of_sight")
    presents, slide = ask("present", unseen), ask("slide", unseen)
    goes_to = st.session_state.pop(_GOES_TO, "")
    if not (presents or goes_to or has_deck() or place.name == "deck"):
        return None
    if presents:
        st.html(f"<style>{_LOOK}</style>")
    # A reload begins another session; the browser has kept the deck for it.
    kept = to_file(deck()) if has_deck() else ""
    pins = deck() if kept else []
    at = slide if slide <= len(pins) else 0
    data = {
        "caption": "← → move ε, " * bool(place.controls) + _ENDS,
        "at": at,
        "addresses": [presented(number) for number in range(1, len(pins) + 1)],
        "page": place.address,
        "steps": "epsilon" in place.controls,
        "goes_to": goes_to,
        "presents": presents,
        "kept": kept,
        "session": st.session_state.setdefault(_SESSION, uuid4().hex),
    }
    _bar(key=_BAR, data=data, on_ended_change=_end, on_step_change=_step, on_kept_change=_restore)
    return pins[at - 1] if at and presents else None


def begin() -> NoReturn:
    """Present the page as it stands, from a callback."""
    move_all(present=True)


def present_from(number: int) -> None:
    """Go to a pin of the deck in presenter mode, from a callback."""
    st.session_state[_GOES_TO] = presented(number)


def presented(number: int) -> str:
    """What follows the server's name at a pin of the deck in presenter mode."""
    pin = deck()[number - 1]
    return address_of(pin.page, pin.written | {"present": ["true"], "slide": [str(number)]})


def _restore() -> None:
    has_pinned = bool(deck())
    try:
        n_before = restore(st.session_state[_BAR].kept.encode())
    except ParameterError:  # no browser's copy is believed more than a file
        return
    if has_pinned and n_before:
        st.toast(f"Your deck from before the reload is back: {counted(len(deck()), 'view')}.")


def _end() -> NoReturn:
    move_all(present=False, slide=0)


def _step() -> NoReturn:
    here = EPSILONS.index(st.session_state["epsilon"])
    there = here + (1 if st.session_state[_BAR].step > 0 else -1)
    move_all(epsilon=EPSILONS[min(max(there, 0), len(EPSILONS) - 1)])
