"""A study across real sites: a hub and guards as programs of their own, watched from here."""

from __future__ import annotations

import streamlit as st

from pages.server import studies
from pages.use.study import panels
from pages.widgets.messages import errors_shown, how_computed

asked = panels.asked()
study = studies.shown()
if panels.begins(study):
    with errors_shown():
        studies.begin(*asked)
        st.rerun()  # without the button
if study is None:
    panels.nothing_yet(asked[0])
else:
    st.fragment(panels.look, run_every=panels.POLL_SECONDS if study.goes_on else None)()
panels.on_your_own_machines()
how_computed("study")
