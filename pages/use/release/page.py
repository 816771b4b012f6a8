"""A release of the visitor's own table: planned, asked once, charged, certified."""

from __future__ import annotations

import streamlit as st

from pages.sidebar import own_table
from pages.sidebar.navigation import page_path
from pages.use.own_data.bringing import say_empty_columns
from pages.use.release import asking, released
from pages.widgets.messages import errors_shown, how_computed

own = own_table.own_table()
result = st.container()
if own is None or own.dictionary is None:
    st.markdown(
        "**Nothing to release yet.** Bring a table and say what is public about it, or take one of "
        "the two examples; then come back."
    )
    st.page_link(page_path("own_data"), label="Your own table")
else:
    with errors_shown():
        promised = st.container(border=True)
        wish = asking.wished(own.dictionary)
        with result, errors_shown():
            released.shown(wish.there, own)
        with promised:
            say_empty_columns(own.reading)
            if asking.is_asked(wish, own.dictionary):
                asking.carry_out(wish, own, own.dictionary)
                st.rerun()
how_computed("release")
