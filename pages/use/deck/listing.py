"""The pins of a deck in order, their captions, the file that keeps them; a story to begin with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from dpcore.errors import ParameterError
from pages.presenting.pins import (
    LONGEST_CAPTION,
    MOST_BYTES,
    Pin,
    Written,
    deck,
    from_file,
    reordered,
    set_deck,
    to_file,
)
from pages.server.public_demo import is_public_demo
from pages.sidebar import own_table
from pages.sidebar.address import address_of
from pages.sidebar.navigation import PAGES
from pages.use.own_data.bringing import take_example
from pages.widgets.plain_text import said

_FILE, _TROUBLE = "deck_file", "_deck_trouble"
_HOSPITALS: Written = {"dataset": [own_table.YOURS], "sites": ["12"]}
_K: Written = {"components": ["3"], "intermediate": ["6"]}
_SHOWN: Written = {"protocols": ["DPdisPCA", "Full matrices", "One site alone", "Pooled, trusted"]}


def way_in() -> None:
    """A deck from a file; what was wrong with the last one."""
    if trouble := st.session_state.pop(_TROUBLE, None):
        st.error(said(trouble), icon="⚠️")
    if is_public_demo():
        return
    with st.expander("Open a deck that was kept as a file"):
        st.file_uploader(
            "A deck (.json)", type=["json"], key=_FILE, on_change=_opened,
            max_upload_size=max(1, MOST_BYTES // 10**6),
        )  # fmt: skip


def _opened() -> None:
    uploaded = st.session_state.get(_FILE)
    if uploaded is None:
        return
    try:
        set_deck(from_file(uploaded.getvalue()))
    except ParameterError as error:
        st.session_state[_TROUBLE] = f"{error}. The deck there was stays."


def listed(pins: Sequence[Pin]) -> None:
    """Each pin with its caption, where it leads, and what moves it."""
    for number, pin in enumerate(pins, start=1):
        key = f"deck_caption_{number}_{hash((pin.page, pin.caption, len(pins)))}"
        words, up, down, away = st.columns([12, 1, 1, 1], vertical_alignment="bottom")
        words.text_input(
            f"{number} · {PAGES[pin.page].title}",
            pin.caption,
            max_chars=LONGEST_CAPTION,
            key=key,
            on_change=_said,
            args=(number, key),
        )
        last = len(pins)
        up.button("↑", key=f"deck_up_{number}", help=f"View {number} comes earlier.",
                  disabled=number == 1, on_click=_swap, args=(number, number - 1))  # fmt: skip
        down.button("↓", key=f"deck_down_{number}", help=f"View {number} comes later.",
                    disabled=number == last, on_click=_swap, args=(number, number + 1))  # fmt: skip
        away.button("✕", key=f"deck_away_{number}", help=f"View {number} leaves the deck.",
                    on_click=_removed, args=(number,))  # fmt: skip
    links = (f"[{n}]({address_of(pin.page, pin.written)})" for n, pin in enumerate(pins, start=1))
    st.caption(f"Open as it was pinned: {' · '.join(links)}")
    # Made when it is pressed, outside of the session: of the list itself, which captions change.
    st.download_button(
        "Keep the deck as a file", partial(to_file, pins), "deck.json", "application/json",
        on_click="ignore", key="keep_deck",
    )  # fmt: skip


def _said(number: int, key: str) -> None:
    pins = deck()
    caption = "".join(filter(str.isprintable, st.session_state[key]))[:LONGEST_CAPTION]
    pins[number - 1] = replace(pins[number - 1], caption=caption)


def _swap(one: int, other: int) -> None:
    order = list(range(1, len(deck()) + 1))
    order[one - 1], order[other - 1] = other, one
    set_deck(reordered(deck(), order))


def _removed(number: int) -> None:
    set_deck(reordered(deck(), [n for n in range(1, len(deck()) + 1) if n != number]))


def _board() -> list[Pin]:
    """Views and questions; what they find is run where they are shown."""
    run = _HOSPITALS | _K | _SHOWN
    return [
        Pin("play", run | {"epsilon": ["50"]},
            "Twelve hospitals want 90 % of the pattern that all their patients share"),
        Pin("play", run, "What is left of it at ε = 1, where nobody has to be trusted?"),
        Pin("promise", {}, "What ε = 1 means for one patient"),
        Pin("tradeoffs", _HOSPITALS | _K, "Which ε reaches 90 %, and for whom?"),
        Pin("play", run | {"protocols": ["Secure sum", "DPdisPCA", "Pooled, trusted"]},
            "Would sums under masks get there sooner?"),
        Pin("plan", _HOSPITALS | _K | {"plan_target": ["90"]},
            "The recommendation: the smallest ε that keeps 90 %"),
    ]  # fmt: skip


def offer_story() -> None:
    """A button that lays it out, with the visitor's own table if there is one."""
    mine = own_table.names()
    data = "your own table" if mine else "569 tumours, 30 measures with names"
    st.button(
        "A story for a board: twelve hospitals want 90 % of the pattern",
        help=f"Six views from the question to a recommendation, on {data}, in place of this deck.",
        key="board",
        on_click=_lay_out,
    )


def _lay_out() -> None:
    if not own_table.names():
        take_example("breast-cancer")
    set_deck(_board())
