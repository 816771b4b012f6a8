"""Your own table: from a file to the laboratory, in this session alone."""

from __future__ import annotations

import streamlit as st

from dpcore.errors import ParameterError
from pages.formulas.releases import WHAT_STAYS_HERE
from pages.server import own_table
from pages.use.own_data import bringing, limits, ready
from pages.widgets.messages import errors_shown, how_computed
from pages.widgets.plain_text import said

own = own_table.own_table()
steps = st.container()
with st.container(border=True):
    if own is None:
        st.markdown("## 1 · Bring a table")
        bringing.choose_table()
    else:
        ready.what_was_read(own)
dictionary = None
if own is not None:
    with st.container(border=True):
        st.markdown("## 2 · What is public about each column")
        st.markdown(
            "Between which limits does a value lie, **whoever takes part**? Take them from the "
            "question, the unit or the sensor. Nothing is suggested from the values, because a "
            "limit read from them tells of somebody. Columns without limits are left out."
        )
        files = st.container()
        limits.limits_editor(own)
    with st.container(border=True):
        st.markdown("## 3 · What is one row")
        with errors_shown():
            limits.what_a_row_is(own)
    trouble = ""
    try:
        dictionary = limits.dictionary_of(own)
    except ParameterError as error:
        trouble = str(error)
    with files:
        limits.dictionary_files(own, dictionary)
    with st.container(border=True):
        st.markdown("## 4 · Ready")
        if dictionary is None:
            st.markdown(f"Not yet: {said(trouble)}.")
        else:
            ready.hand_over(own, dictionary)
with steps:
    ready.where_one_is(own, dictionary)
how_computed("own_data", WHAT_STAYS_HERE)
