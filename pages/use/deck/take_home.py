"""A deck as files: slides with editable charts, and one HTML file that works offline."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from pages.presenting.pins import Pin
from pages.presenting.views import views_of
from pages.use.deck.asked import asked_by
from pages.use.deck.one_file import one_file
from pages.use.deck.powerpoint import powerpoint
from pages.use.deck.running import run_what_is_missing
from pages.use.deck.told import all_told
from pages.widgets.messages import errors_shown

_SLIDES = "application/vnd.openxmlformats-officedocument.presentationml.presentation"


def offered(pins: Sequence[Pin]) -> None:
    """The files, once all runs behind them are there."""
    st.markdown("## Take the deck away")
    views = [view for pin in pins for view in views_of(pin)]
    asked = [job for pin in pins if (job := asked_by(pin)) is not None]
    if not run_what_is_missing(views, "deck_run_all", asked):
        st.caption("The files hold what was run, at every ε; some of it is missing so far.")
        return
    told = all_told(pins)
    with st.container(horizontal=True):
        st.download_button(
            "PowerPoint, charts that can be edited",
            partial(powerpoint, told),
            "deck.pptx",
            _SLIDES,
            on_click="ignore",
            key="save_deck_pptx",
        )
        with errors_shown():
            st.download_button(
                "One HTML file that works offline",
                one_file(told),
                "deck.html",
                "text/html",
                on_click="ignore",
                key="save_deck_html",
            )
    st.caption(
        "In both, each view says its settings, its seed and what it promises. In the HTML file ε "
        "is still dragged; ← → move it, Page Up and Page Down change the slide."
    )
