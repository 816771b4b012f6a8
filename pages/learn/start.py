"""Start here: what this is, where to go, what is on this machine."""

from __future__ import annotations

import streamlit as st

from dpcore.data import list_datasets
from dpcore.figures.tradeoffs.messages import network_svg
from pages.sidebar.navigation import PAGES, page_path
from pages.widgets.charts import is_dark
from pages.widgets.glossary import GLOSSARY

WHAT_THIS_IS = """
**DP-PCA Lab.** Several hospitals hold people's data that may not be pooled, and want to know what
all of it has in common. Each adds noise to a summary of its own people, so that nothing it sends
says much about any one of them, and an aggregator that nobody has to trust puts the summaries
together. How much of the pattern survives? Move the sliders, and the algorithms run while you
watch.
"""
USERS = (
    (
        "You explore privacy against utility",
        "playground",
        "Open the Playground and move ε until the components dissolve.",
    ),
    (
        "You teach a class",
        "promise",
        "Ask how often somebody could guess right about you, before the page says it.",
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

for column, (who, page, what) in zip(st.columns(3), USERS, strict=True):
    with column.container(border=True, height="stretch"):
        st.markdown(f"**{who}**\n\n{what}")
        st.page_link(page_path(page), label=PAGES[page].title)

st.markdown("## The pages")
sections = dict.fromkeys(place.section for place in PAGES.values())
for column, section in zip(st.columns(len(sections), gap="large"), sections, strict=True):
    column.markdown(f"### {section}")
    for place in PAGES.values():
        if place.section == section:
            column.page_link(place.path, label=f"**{place.title}**")
            column.markdown(f":small[{place.about}]")

st.markdown("## Words")
with st.expander("What the words mean"):
    st.markdown("\n\n".join(f"**{name}**: {text}" for name, text in GLOSSARY.items()))

st.markdown("## Data sets on this machine")
st.dataframe(
    [
        {
            "Data set": status.title,
            "People": status.n_samples,
            "Features": status.n_features,
            "Ready": "a part" if status.is_part else "yes" if status.ready else "no",
        }
        for status in list_datasets()
    ],
    column_config={
        name: st.column_config.NumberColumn(format="localized") for name in ("People", "Features")
    },
    hide_index=True,
    width="stretch",
)
st.caption(
    "Choose one that is not here, and the page says how to add it. A folder named by the variable "
    "DPCORE_DATA holds official files under their official names, which serves a classroom without "
    "internet."
)
