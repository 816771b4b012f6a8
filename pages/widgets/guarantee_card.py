"""What a release promises: cards of what was drawn, and of what a run would promise."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from html import escape

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.data.dataset import PEOPLE
from dpcore.errors import ParameterError
from dpcore.experiments.pca import RunSpec
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import EXPLANATIONS, Assumption, Guarantee, describe, explained
from dpcore.privacy.guarantee_in_words import Badge, CardRow
from dpcore.privacy.label import label_of, label_page
from pages.server import caches
from pages.shell.address import query
from pages.shell.navigation import PAGES
from pages.widgets.charts import promise

_TONES = {"good": "green", "bad": "red", "neutral": "gray"}


def guarantee_card(
    guarantee: Guarantee, *, reads_rows_first: bool = False, where: str = ""
) -> None:
    """What one release promises, in words first and numbers after.

    reads_rows_first: Centring and scaling came before the promise and are not part of it.
    where: Tells cards of one page apart.
    """
    promise(guarantee, reads_rows_first)
    _card(guarantee, reads_rows_first, where)


def _card(guarantee: Guarantee, reads_rows_first: bool, where: str) -> None:
    card = caches.shown(guarantee, lambda: describe(guarantee))
    badges, said = card.badges, card.headline
    if reads_rows_first and guarantee.is_private:
        # The verdict is on the whole, so that no green badge stands over what is not private.
        badges = (
            Badge("centring not private", "bad"),
            *(badge for badge in badges if badge.tone != "good"),
        )
        said = (
            "This promise starts after centring and scaling, which read the rows; bounded or on "
            f"the sphere it covers them too. From there on: {said}"
        )
    page = _explaining_page()
    marks = " ".join(f":{_TONES[badge.tone]}-badge[{badge.text}]" for badge in badges)
    with st.container(border=True):
        st.markdown(f"{marks} {said}")
        st.html(_definitions(card.rows, page))
        if card.assumptions:
            with st.expander("Assumptions"):
                st.markdown("\n".join(f"- {assumed(each, page)}" for each in card.assumptions))
                if card.sights:
                    st.markdown("\n".join(["Who sees what:", "", *(f"- {s}" for s in card.sights)]))
    _label(guarantee, reads_rows_first, where)


_SPENT = "Simulations cost nobody anything: What was spent adds up what they would have cost."
_AUDITED = "The register's tests attack this mechanism; Break it runs the attack live."


def _label(guarantee: Guarantee, reads_rows_first: bool, where: str) -> None:
    """The label of a simulation, which is what every page shows; drawn where it is opened."""
    key = sha256(f"{guarantee!r} {reads_rows_first} {where}".encode()).hexdigest()[:12]
    with st.expander("Privacy label", on_change="rerun", key=f"label_{key}") as opened:
        if not opened.open:
            return
        reads = "Centring and scaling read the rows before the promise starts: what they give away."
        label = label_of(
            guarantee,
            "Principal components, simulated",
            is_simulation=True,
            not_protected=(reads,) * reads_rows_first,
            total=_SPENT,
            checked=(_AUDITED,) * guarantee.is_private,
        )
        # st.html drops SVG.
        st.iframe(label_page(label), height=1000, alt=f"Privacy label: {label.title}")
        with st.container(horizontal=True):
            for ending, kind, content in (
                ("html", "text/html", label_page(label)),
                ("json", "application/json", json.dumps(label.as_dict(), ensure_ascii=False)),
            ):
                st.download_button(
                    f"Label ({ending.upper()})", content, f"label.{ending}", kind,
                    on_click="ignore", key=f"save_label_{ending}_{key}",
                )  # fmt: skip


def assumed(assumption: Assumption, page: str | None = None) -> str:
    """An assumption as markdown: a title that leads to its paragraph, and the sentence."""
    told = explained(assumption)
    return f"[{told.title}]({page or _explaining_page()}#{told.anchor}): {assumption}"


def _explaining_page() -> str:
    """Under the present settings, which the tab that opens then shows too."""
    asked = query()
    return f"{PAGES['promise'].address}{asked and f'?{asked}'}"


def _definitions(rows: Sequence[CardRow], page: str) -> str:
    """The numbers of a card as one list: an element each would cost more than their chart.

    Every line leads to its paragraph, in a tab of its own, so that what is on the screen stays.
    """
    entries = "".join(
        f'<div><dt style="display:inline">'
        f'<a href="{escape(page)}#{explained(row.explanation).anchor}" target="_blank" '
        f'title="{escape(EXPLANATIONS[row.explanation])}" style="color:inherit;'
        f'text-decoration:underline dotted">{escape(row.label)}</a>: </dt>'
        f'<dd style="display:inline;margin:0;font-weight:600">{escape(row.value)}</dd></div>'
        for row in rows
    )
    columns = "repeat(auto-fit,minmax(min(20rem,100%),1fr))"
    style = f"display:grid;gap:.5rem 2rem;margin:0;padding:0;grid-template-columns:{columns}"
    return f'<dl style="{style}">{entries}</dl>'


def guarantee_tabs(
    guarantees: Mapping[str, Guarantee], *, reads_rows_first: bool = False, key: str
) -> None:
    """The cards of several releases, a tab each. Only the open one is drawn."""
    for title, guarantee in guarantees.items():
        promise(guarantee, reads_rows_first, title)
    tabs = st.tabs(list(guarantees), on_change="rerun", key=key)
    for tab, (title, guarantee) in zip(tabs, guarantees.items(), strict=True):
        if tab.open:
            with tab:
                _card(guarantee, reads_rows_first, f"{key} {title}")


def promised_cards(
    spec: RunSpec, dataset: DatasetStatus, protocols: Sequence[str], where: str
) -> None:
    """The card of each protocol at these settings; no row is read for it."""
    st.markdown("## What it promises")
    if dataset.unit != PEOPLE:
        st.caption(f"Here a row is a {dataset.unit.one}: read “you” as one {dataset.unit.one}.")
    try:
        cards = {
            PROTOCOLS[key].title: caches.shown(
                ("promised", spec, key, dataset.n_samples),
                partial(spec.promise, key, dataset),
            )
            for key in protocols
        }
    except ParameterError as error:
        st.caption(f"Nothing at these settings, which cannot run: {error}.")
        return
    guarantee_tabs(cards, reads_rows_first=spec.reads_rows_first, key="promised")
    st.caption(where)
