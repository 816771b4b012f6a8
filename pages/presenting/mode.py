"""Presenter mode: a page without its tools, in large type, moved by keys; and through a deck."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn
from uuid import uuid4

import streamlit as st

from dpcore.errors import ParameterError
from dpcore.experiments.engine.control_ranges import EPSILONS
from dpcore.experiments.pca.sentences import counted
from pages.parameters.table import ask
from pages.presenting.pins import deck, has_deck, restore, to_file
from pages.sidebar.address import address_of
from pages.sidebar.controls import move_all
from pages.sidebar.navigation import Place
from pages.sidebar.parts import in_browser

_BAR, _GOES_TO, _SESSION = "presenter", "_presents_from", "_deck_session"
_ENDS = "Esc ends it"


_LOOK = Path(__file__).with_name("mode.css").read_text(encoding="utf-8")
_bar = in_browser(_BAR, *Path(__file__).parent.glob("presenter.*"))


def follow(place: Place) -> None:
    """Draw what the address says of a presentation, out of sight, and how the page then looks."""
    unseen = st.container(key="presenting_out_of_sight")
    presents, slide = ask("present", unseen), ask("slide", unseen)
    goes_to = st.session_state.pop(_GOES_TO, "")
    if not (presents or goes_to or has_deck() or place.name == "deck"):
        return
    if presents:
        st.html(f"<style>{_LOOK}</style>")
    # A reload begins another session; the browser has kept the deck for it.
    kept = to_file(deck()) if has_deck() else ""
    pins = deck() if kept else []
    at = slide if slide <= len(pins) else 0
    data = {
        "caption": pins[at - 1].caption if at else "← → move ε, " * bool(place.controls) + _ENDS,
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
