"""Pinned views: a page, its address and a caption each; the deck they make, in session or file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import streamlit as st

from dpcore.errors import ParameterError
from pages.parameters.table import find, known
from pages.parameters.use import MOST_PINS, PRESENTING
from pages.sidebar import own_table
from pages.sidebar.navigation import MOVED, PAGES

_DECK, _RESTORED = "_deck", "_deck_restored"
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
        return parameter.value(self.written[name]) if name in self.written else parameter.default


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


def add(page: str, written: Written, caption: str) -> None:
    """A view at the end of the deck.

    Raises `ParameterError` if the deck is full.
    """
    if len(deck()) >= MOST_PINS:
        raise ParameterError("deck", f"at most {MOST_PINS} pins", len(deck()) + 1)
    deck().append(Pin(page, of_its_page(page, written), caption[:LONGEST_CAPTION]))


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
