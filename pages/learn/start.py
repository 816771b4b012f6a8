"""Start here: what this is, where to go, what is on this machine."""

from __future__ import annotations

import streamlit as st

from dpcore.data import list_datasets
from dpcore.figures.families.network import network_svg
from pages.sidebar.navigation import PAGES, page_path
from pages.widgets.charts import is_dark

WHAT_THIS_IS = """
Several hospitals hold people's data that may not be pooled, and want the principal components of
all of it. Each hospital adds noise to its own second-moment matrix, so that nothing it sends
says much about any one person. It keeps the few strongest directions and sends those; an
aggregator that nobody has to trust averages what arrives. How much of the signal survives
depends on ε, δ, the number of sites, the people at each, and how much is sent, and no formula
tells you what that feels like. Here you move the sliders and the algorithms run while you watch.
"""
USERS = (
    (
        "You explore privacy against utility",
        "playground",
        "Open the Playground and move ε until the components dissolve.",
    ),
    (
        "You teach a class",
        "playground",
        "Press one of the Playground's stories: it asks for a prediction before it shows.",
    ),
    (
        "You present to stakeholders",
        "eigen_images",
        "Show the eigen-images row by row: what ε = 0.1 leaves of a digit needs no formula.",
    ),
)

words, picture = st.columns([3, 2], gap="large", vertical_alignment="center")
words.markdown(WHAT_THIS_IS)
picture.image(
    network_svg(5, "a noisy proxy", dark=is_dark()),
    width="stretch",
    alt="Five sites each send a noisy proxy to one aggregator.",
)

st.subheader("Where to start")
for column, (who, page, what) in zip(st.columns(3), USERS, strict=True):
    with column.container(border=True, height="stretch"):
        st.markdown(f"**{who}**\n\n{what}")
        st.page_link(page_path(page), label=PAGES[page].title)

st.subheader("The pages")
for place in PAGES.values():
    link, about = st.columns([1, 3], vertical_alignment="center")
    link.page_link(place.path, label=place.title)
    about.markdown(place.about)

st.subheader("Data sets on this machine")
st.dataframe(
    [
        {
            "Data set": status.title,
            "People": status.n_samples,
            "Features": status.n_features,
            "Ready": "a part" if status.is_part else "yes" if status.ready else "no",
            "How to add it": "" if status.ready and not status.is_part else status.how_to_get,
        }
        for status in list_datasets()
    ],
    hide_index=True,
    width="stretch",
)
st.caption(
    "A folder named by the variable DPCORE_DATA holds official files under their official "
    "names, which serves a classroom without internet."
)
