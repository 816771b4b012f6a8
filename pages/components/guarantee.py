"""Guarantees on pages: two sentences with a link, and the full card where something is released."""

from __future__ import annotations

import streamlit as st

from dpcore.privacy import EXPLANATIONS, Guarantee, describe, explanation_of
from dpcore.templates import fill
from pages.navigation import link

_ROWS = """
<dl style="display:grid;gap:.5rem 2rem;margin:0;
grid-template-columns:repeat(auto-fit,minmax(min(20rem,100%),1fr))">
{%- for row in rows -%}
<div><dt style="display:inline" title="{{ explanations[row.explanation] }}">{{ row.label }}: </dt>
{#- #}<dd style="display:inline;margin:0;font-weight:600">{{ row.value }}</dd></div>
{%- endfor -%}
</dl>"""
_COLOURS = {"good": "green", "bad": "red", "neutral": "gray"}


def summarize(guarantee: Guarantee, *, reads_rows_first: bool = False) -> None:
    """Write a guarantee and its adversaries, with a link to the page that explains it."""
    sentences = (headline(guarantee, reads_rows_first=reads_rows_first), adversaries(guarantee))
    st.markdown(" ".join(filter(None, sentences)))
    st.page_link(link("promise"), label="What ε promises")


def show_card(guarantee: Guarantee, *, reads_rows_first: bool = False) -> None:
    """Draw the card of one release: requested and exact ε, δ, noise, adversaries, assumptions."""
    card = describe(guarantee)
    badges = " ".join(f":{_COLOURS[badge.tone]}-badge[{badge.text}]" for badge in card.badges)
    with st.container(border=True):
        st.markdown(f"{badges} {headline(guarantee, reads_rows_first=reads_rows_first)}")
        st.html(fill(_ROWS, rows=card.rows, explanations=EXPLANATIONS))
        if card.assumptions:
            with st.expander("Assumptions"):
                lines = [
                    f"- **{explanation_of(assumption).title}**: {assumption}"
                    for assumption in card.assumptions
                ]
                st.markdown("\n".join(lines + [f"- {sight}" for sight in card.sights]))


def headline(guarantee: Guarantee, *, reads_rows_first: bool = False) -> str:
    """Return a guarantee in one or two sentences."""
    sentence = describe(guarantee).headline
    if reads_rows_first and guarantee.is_private:
        return f"Centring and scaling are not private. After them: {sentence}"
    return sentence


def adversaries(guarantee: Guarantee) -> str:
    """Return a sentence on the adversaries of a guarantee and its trusted parties.

    Returns: An empty string if nothing is guaranteed.
    """
    if not guarantee.is_private or guarantee.mechanism == "data-independent":
        return ""
    rows = (row.value for row in describe(guarantee).rows if row.explanation == "against")
    if (names := next(rows, None)) is not None:
        return f"Protects against: {names}."
    return "Protects against every reader of the result; the holder of all rows is trusted."
