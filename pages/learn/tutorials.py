"""Tutorials: a few lines of code for each function of the library, run live."""

from __future__ import annotations

import plotly.graph_objects as go
import streamlit as st

from dpcore.params import EPSILONS
from dpcore.teaching.tutorials import CODE, TUTORIALS, Output, run_tutorial, tutorial_notebook
from pages import links, navigation
from pages.cached import cached
from pages.components import charts, guarantee, ledger, notices
from pages.number_format import plain
from pages.sidebar import Selection


def show(selection: Selection) -> None:  # noqa: ARG001  every page has this signature
    """Draw the chosen tutorial."""
    title = st.empty()
    navigation.link_to_parts("tutorials")
    left, middle, right = st.columns([3, 2, 1], vertical_alignment="bottom")
    links.accept_option("tutorial", list(TUTORIALS), _title, several=False)
    key = left.selectbox(
        "Tutorial",
        list(TUTORIALS),
        format_func=_title,
        key="tutorial",
        bind="query-params",
        help="  \n".join(
            f"**{tutorial.title}.** {tutorial.about}" for tutorial in TUTORIALS.values()
        ),
    )
    epsilon = middle.select_slider(
        "ε in the code",
        [value for value in EPSILONS if 0.01 <= value <= 20],
        value=1.0,
        format_func=plain,
        key="tutorial_epsilon",
        bind="query-params",
    )
    right.download_button(
        "Notebook",
        lambda: tutorial_notebook(key, epsilon),
        f"{key}.ipynb",
        "application/x-ipynb+json",
        on_click="ignore",
    )
    tutorial = TUTORIALS[key]
    title.title(tutorial.title)
    if key == "pca":
        ledger.record_uncovered("digits", "The PCA tutorial", "examples are not charged")
    outputs = _outputs(key, epsilon)
    remaining = iter(outputs)
    for number, (kind, source) in enumerate(tutorial.cells_at(epsilon)):
        if kind != CODE:
            st.markdown(source)
            continue
        st.code(source, language="python", wrap_lines=True)
        output = next(remaining)
        if output.printed:
            st.code(output.printed, language=None, wrap_lines=True)
        if isinstance(output.value, go.Figure):
            alt = "Private counts as bars, true counts as a dashed outline."
            charts.show_figure(output.value, key=f"tutorial_figure_{number}", alt=alt)
    notices.mark_not_private("Comparisons with exact results", "are computed on raw data.")
    _show_guarantees(outputs)


def _title(key: str) -> str:
    return TUTORIALS[key].title


@cached(64, message="Running the tutorial")
def _outputs(key: str, epsilon: float) -> tuple[Output, ...]:
    return run_tutorial(key, epsilon)


def _show_guarantees(outputs: tuple[Output, ...]) -> None:
    guarantees = {
        name: guarantee
        for output in outputs
        for name, guarantee in output.guarantees.items()
        if guarantee.is_private
    }
    st.markdown("## Guarantees")
    tabs = st.tabs([name.replace("_", " ") for name in guarantees])
    for tab, private in zip(tabs, guarantees.values(), strict=True):
        with tab:
            guarantee.show_card(private)
    st.caption(
        "The ledger does not count examples. To run the notebook elsewhere, install "
        "`requirements.txt`. Some cells fix the seed of the noise so that you see the same "
        "numbers. A real release keeps its seed secret."
    )
