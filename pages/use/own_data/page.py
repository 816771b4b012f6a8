"""Your own table: from a file to the laboratory, in this session alone."""

from __future__ import annotations

import streamlit as st

from dpcore.errors import ParameterError
from pages.sidebar import own_table
from pages.use.own_data import bringing, limits, planning
from pages.widgets.messages import errors_shown, how_computed

own = own_table.own_table()
top = st.container()
dictionary, trouble = None, ""
if own is None:
    with st.container(border=True):
        st.markdown("## 1 · Bring a table")
        bringing.choose_table()
else:
    with st.container(border=True):
        bringing.what_was_read(own)
    with st.container(border=True):
        st.markdown("## 2 · What is public about each column")
        st.markdown(
            "Between which limits does a value lie, **whoever takes part**? Take them from the "
            "question, the unit or the sensor. Nothing is suggested from the values: a limit read "
            "from them would tell of somebody. Columns without limits are left out."
        )
        files = st.container()
        limits.limits_editor(own)
    with st.container(border=True):
        st.markdown("## 3 · What is one row")
        with errors_shown():
            limits.what_a_row_is(own)
    try:
        dictionary = limits.dictionary_of(own)
    except ParameterError as error:
        trouble = str(error)
    with files:
        limits.dictionary_files(own, dictionary)
with top:
    bringing.where_one_is(own, dictionary)
    if own is not None:
        bringing.hand_over(own, dictionary, trouble)
if own is None or dictionary is not None:
    with st.expander("Plan, before anything is read", on_change="rerun", key="plan") as opened:
        if opened.open:
            with errors_shown():
                if dictionary is None:
                    planning.dictionary_alone()
                else:
                    planning.plan_for(dictionary)
how_computed("own_data")
