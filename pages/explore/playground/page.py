"""Playground: move ε and see what survives."""

from __future__ import annotations

import streamlit as st

from pages.explore.playground.answer import answer
from pages.explore.playground.tour import tour
from pages.sidebar import address
from pages.sidebar.controls import beside_title, current
from pages.sidebar.parts import part
from pages.stories import telling
from pages.widgets.energy_explorer.component import energy_picture, epsilon_slider
from pages.widgets.messages import dataset_ready

selection = current()

with beside_title():
    part("slider", epsilon_slider)()
for note in selection.notes:
    st.warning(note)
if not telling.answered(selection):
    st.stop()
if not dataset_ready(selection.dataset):
    st.stop()

with st.container(horizontal=True, vertical_alignment="center", key="tour"):
    tour()
    telling.menu()
energy_picture()
# Above it a story, or a word about ε in the address, may have to say something else then.
stands_alone = telling.told() is None and not address.was_refused("epsilon")
part("answer" if stands_alone else "answer_with_the_page", answer)()
