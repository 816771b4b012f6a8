"""Tutorials: a short text, code, and what it gives, for each function."""

from __future__ import annotations

import plotly.graph_objects as go
import streamlit as st

from dpcore.experiments.teaching.tutorials import CODE, TUTORIALS, tutorial_notebook
from pages.parameters.table import ask
from pages.server import learning_cache
from pages.widgets import session_ledger
from pages.widgets.charts import chart
from pages.widgets.guarantee_card import guarantee_card
from pages.widgets.messages import errors_shown

st.markdown(
    "Six functions, a few lines each. Everything below was just run on this server; the notebook "
    "holds the same cells."
)
key = ask("tutorial", label_visibility="collapsed")
left, right = st.columns([3, 1], vertical_alignment="bottom")
epsilon = ask("tutorial_epsilon", left)
chosen = TUTORIALS[key]
right.download_button(
    "Notebook (.ipynb)",
    lambda: tutorial_notebook(key, epsilon),
    f"{key}.ipynb",
    "application/x-ipynb+json",
    on_click="ignore",
    width="stretch",
)
st.markdown(f"## {chosen.title}")
st.markdown(chosen.about)
with errors_shown():
    if key == "pca":
        session_ledger.uncovered("digits", "The PCA tutorial", "examples are not paid for")
    all_outputs = learning_cache.tutorial_outputs(key, epsilon)
    outputs = iter(all_outputs)
    for number, (kind, source) in enumerate(chosen.filled(epsilon)):
        if kind != CODE:
            st.markdown(source)
            continue
        st.code(source, language="python", wrap_lines=True)
        output = next(outputs)
        if output.printed:
            st.code(output.printed, language=None, wrap_lines=True)
        if isinstance(output.value, go.Figure):
            chart(
                output.value,
                key=f"tutorial_figure_{number}",
                alt="Private counts as bars, true counts as a dashed outline.",
            )
    promises = {
        name: guarantee
        for output in all_outputs
        for name, guarantee in output.promises.items()
        if guarantee.is_private
    }
    st.markdown("## What it promises")
    several = len(promises) > 1
    places = st.tabs([f"`{name}`" for name in promises]) if several else [st.container()]
    for place, guarantee in zip(places, promises.values(), strict=True):
        with place:
            guarantee_card(guarantee)
st.caption(
    "Examples do not enter the ledger. To run the notebook elsewhere: put it in the folder that "
    "holds `dpcore` and install `requirements.txt`. The noise of some cells is seeded, so that you "
    "see the same numbers; real releases keep their seed secret."
)
