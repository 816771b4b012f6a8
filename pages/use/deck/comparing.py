"""Two pins of a deck side by side."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parameters.table import ask
from pages.presenting.pins import Pin
from pages.presenting.player import side_by_side
from pages.presenting.views import EXPLORED, views_of
from pages.server import page_lock
from pages.use.deck.running import run_what_is_missing


def compared(pins: Sequence[Pin]) -> None:
    """Two of the pins that have an ε, at one scale; chosen in the address."""
    there = [number for number, pin in enumerate(pins, start=1) if pin.page in EXPLORED]
    if len(there) < 2:
        return
    st.markdown("## Side by side")
    left, right = st.container(key="asked_of_deck_pair").columns(2)
    a = ask("deck_a", left, options=there)
    b = ask("deck_b", right, options=there, index=1)
    views = [view for number in (a, b) for view in views_of(pins[number - 1])]
    if run_what_is_missing(views, "deck_run_pair"):
        page_lock.breath()
        side_by_side(views)
