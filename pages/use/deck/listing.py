"""The pins of a deck in order, their captions, and the file that keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from dpcore.errors import ParameterError
from pages.presenting.pins import (
    LONGEST_CAPTION,
    MOST_BYTES,
    Pin,
    deck,
    from_file,
    reordered,
    set_deck,
    to_file,
)
from pages.sidebar.address import address_of
from pages.sidebar.navigation import PAGES
from pages.widgets.plain_text import said

_FILE, _TROUBLE = "deck_file", "_deck_trouble"


def way_in() -> None:
    """A deck from a file; what was wrong with the last one."""
    if trouble := st.session_state.pop(_TROUBLE, None):
        st.error(said(trouble), icon="⚠️")
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
        words, up, down, away = st.columns([12, 1, 1, 1], vertical_alignment="bottom")
        words.text_input(
            f"{number} · {PAGES[pin.page].title}",
            pin.caption,
            max_chars=LONGEST_CAPTION,
            key=f"deck_caption_{number}_{hash((pin.page, pin.caption, len(pins)))}",
            on_change=_said,
            args=(number,),
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
    st.download_button(
        "Keep the deck as a file", lambda: to_file(deck()), "deck.json", "application/json",
        on_click="ignore",
    )  # fmt: skip


def _said(number: int) -> None:
    key = next(k for k in st.session_state if str(k).startswith(f"deck_caption_{number}_"))
    pins = deck()
    caption = "".join(filter(str.isprintable, st.session_state[key]))[:LONGEST_CAPTION]
    pins[number - 1] = replace(pins[number - 1], caption=caption)


def _swap(one: int, other: int) -> None:
    order = list(range(1, len(deck()) + 1))
    order[one - 1], order[other - 1] = other, one
    set_deck(reordered(deck(), order))


def _removed(number: int) -> None:
    set_deck(reordered(deck(), [n for n in range(1, len(deck()) + 1) if n != number]))
