"""What pinned views have not been run at yet, and running it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dpcore.experiments.pca.sentences import counted
from pages.presenting.views import View
from pages.server import page_lock


def run_what_is_missing(views: Sequence[View], key: str) -> bool:
    """Whether all frames of some views are there, paid for; else a button that runs the others."""
    for view in views:
        view.pay()
    missing = [item for view in views for item in view.frames()[1]]
    if not missing:
        return True
    place = st.empty()
    if not place.button(f"Run {counted(len(missing), 'draw')} that are missing", key=key):
        return False
    bar = place.progress(0.0)
    for done, item in enumerate(missing, start=1):
        with page_lock.others():
            item()
        bar.progress(done / len(missing), f"{done} of {counted(len(missing), 'draw')}")
    place.empty()
    return True
