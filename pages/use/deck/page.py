"""Deck: views that were pinned, in order, side by side, presented, and taken away."""

from __future__ import annotations

import streamlit as st

from pages.presenting.mode import present_from
from pages.presenting.pins import deck
from pages.use.deck import listing, running
from pages.widgets.messages import errors_shown

pins = deck()
with st.container(key="asked_of_deck"):
    if not pins:
        st.markdown(
            "Nothing is pinned yet. **Pin**, beside *Share this view* on every page, keeps a page "
            "as it stands; here the pins become a presentation."
        )
    listing.way_in()
    listing.offer_story()
    if pins:
        st.button("Present the deck", type="primary", on_click=present_from, args=(1,))
        listing.listed(pins)
with errors_shown():
    running.compared(pins)
if pins:
    with st.container(key="asked_of_deck_files"), errors_shown():
        running.offered(pins)
