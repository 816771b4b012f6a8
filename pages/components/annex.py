"""Downloads of the annex to an impact assessment."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from dpcore.privacy.impact_annex import annex_page, annex_text
from dpcore.privacy.label import Label

_FILES: tuple[tuple[str, Callable[..., str], str, str], ...] = (
    ("Annex for the data-protection officer", annex_page, "annex.html", "text/html"),
    ("Annex as text", annex_text, "annex.txt", "text/plain"),
)


def offer_annex(label_of: Callable[[], Label], purpose: str) -> None:
    """Offer the annex as a page, which word processors open, and as text.

    label_of: Called when a visitor downloads a file.
    purpose: Purpose of the processing, as a sentence.
    """

    def make(render: Callable[..., str]) -> str:
        return render(label_of(), purpose=purpose)

    with st.container(horizontal=True):
        for title, render, name, kind in _FILES:
            st.download_button(title, partial(make, render), name, kind, on_click="ignore")
