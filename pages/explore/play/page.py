"""Play: ten people rebuilt from private components; drag ε and see what survives."""

from __future__ import annotations

import streamlit as st

from pages.explore.play.answer import answer
from pages.sidebar import address
from pages.sidebar.controls import current, link_parts, redraw_noise
from pages.sidebar.navigation import DEFAULT_PAGE, PAGES
from pages.sidebar.parts import part
from pages.stories import telling
from pages.widgets.energy_explorer.component import energy_explorer
from pages.widgets.messages import dataset_ready

selection = current()

for note in selection.notes:
    st.warning(note)
if not telling.answered(selection):
    st.stop()
if not dataset_ready(selection.dataset):
    st.stop()

part("slider", energy_explorer)()
with st.container(horizontal=True, vertical_alignment="center", key="below_play"):
    link_parts(PAGES[DEFAULT_PAGE])
    st.button(
        "New noise",
        on_click=redraw_noise,
        help="The same settings once more: how much was luck?",
    )
    telling.menu()
# Above it a story, or a word about ε in the address, may have to say something else then.
stands_alone = telling.told() is None and not address.was_refused("epsilon")
part("answer" if stands_alone else "answer_with_the_page", answer)()
