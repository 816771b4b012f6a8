"""Explore, the start page: captured energy and private components while ε is dragged."""

from __future__ import annotations

import streamlit as st

from dpcore.data.catalog import CATALOG
from dpcore.experiments.publish.export import recipe_of
from pages import cached, links, sidebar
from pages.components import downloads, ledger, notices
from pages.components.explorer.component import draw_explorer
from pages.explore import curve, tabs, versions
from pages.explore.axes import SYMBOLS, axes_of, steps_of
from pages.sidebar import Selection

CONTROLS = (*sidebar.MAIN, *sidebar.ADVANCED)


def show(selection: Selection) -> None:
    """Draw the start page."""
    spec, dataset = selection.spec, selection.dataset
    notices.show_notes(selection.notes)
    notices.require_dataset(dataset)
    ledger.charge_run(spec)
    with st.container(horizontal=True, vertical_alignment="center", key="explore_head"):
        st.markdown(
            "Hospitals compute principal components together without sharing rows. "
            "Move ε and see what is left."
        )
        versions.draw_switch(selection)
    axis = _axis(selection)
    steps = steps_of(selection, axis)
    view = curve.view_of(selection, steps)
    is_narrow = draw_explorer(
        view, lambda at: sidebar.set_controls(**dict(steps.steps[at].controls))
    )
    if is_narrow:
        sidebar.draw_compact(selection)
    _draw_axis_picker(selection)
    curve.compute(selection, steps, view)
    with st.container(key="differences"):
        st.markdown("**What the switch changes**")
        versions.draw_differences(selection)
    with st.expander("Words on this page", key="explain_words", on_change="rerun") as words:
        if words.open:
            notices.show_formulas("words")
    tabs.draw_tabs(selection)
    _draw_statements(selection)


def _axis(selection: Selection) -> str:
    links.accept_option("axis", tuple(SYMBOLS), SYMBOLS.__getitem__, several=False)
    axis = st.session_state.get("axis", "epsilon")
    return axis if axis in axes_of(selection) else "epsilon"


def _draw_axis_picker(selection: Selection) -> None:
    options = axes_of(selection)
    if st.session_state.get("axis", options[0]) not in options:
        st.session_state["axis"] = options[0]
    st.selectbox(
        "Axis",
        options,
        format_func=lambda axis: f"Axis: {SYMBOLS[axis]}",
        key="axis",
        label_visibility="collapsed",
        persist_state="session",
        width=190,
    )
    links.write_option("axis", st.session_state["axis"], "epsilon")


# ---- statements below the tabs


def _draw_statements(selection: Selection) -> None:
    spec, dataset = selection.spec, selection.dataset
    st.button("New noise", on_click=sidebar.new_noise)
    st.caption(ledger.total_sentence(dataset.name, dataset.title, spec.delta))
    shown_exactly = "Exact PCA, floors, original pictures and cosines"
    notices.mark_not_private(shown_exactly, "are computed on raw data.")
    recipe = recipe_of(spec) if dataset.name in CATALOG else None
    downloads.offer_downloads(
        "explore",
        lambda: cached.rows(spec),
        script=recipe.script if recipe else None,
        notebook=recipe.notebook if recipe else None,
    )
