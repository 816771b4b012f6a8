"""Pieces several pages show: errors, absent data, the guarantee, what to take away."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import TypeVar

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.data import DatasetStatus, load_dataset
from dpcore.errors import DataUnavailable, ParameterError
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.pca.export import csv_of, notebook_of, script_of
from dpcore.experiments.pca.sentences import bytes_in_words
from dpcore.figures.style import ink
from dpcore.privacy import EXPLANATIONS, Assumption, BeyondCap, Guarantee, describe, explained
from dpcore.privacy.card import CardRow
from pages.server import result_cache
from pages.sidebar.navigation import PAGES
from pages.widgets.downloads import link_to
from pages.widgets.plain_text import said

# The camera in a chart's corner saves it as a vector image, in the browser.
CHART_CONFIG = {
    "displaylogo": False,
    "modeBarButtons": [["toImage"]],
    "toImageButtonOptions": {"format": "svg", "filename": "dp-pca-lab"},
}
Spec = TypeVar("Spec")
_TONES = {"good": "green", "bad": "red", "neutral": "gray"}


def is_dark() -> bool:
    """Whether the page is dark, for lines that have to stand out from it."""
    return st.context.theme.type == "dark"


def big_number(number: str, sentence: str, more: str = "") -> DeltaGenerator:
    """The number that matters, as the biggest thing on the page, with its sentence.

    Returns the place of the sentence, to add to it.
    """
    figure, words = st.columns([2, 5], vertical_alignment="center")
    # As large as the column bears, wide or narrow: a character is about 0.6 of the font's size.
    share = 100 / (0.6 * len(number))
    figure.html(
        f'<div style="container-type:inline-size"><div style="font-size:min({share:.0f}cqw,5.5rem);'
        f'font-weight:700;line-height:1.05;white-space:nowrap">{number}</div></div>'
    )
    words.markdown(f"#### {sentence}")
    if more:
        words.markdown(more)
    return words


def readable(figure: Callable[[], go.Figure], *, dark: bool) -> go.Figure:
    """The figure with labels dark enough to read on the page it is for.

    Streamlit's own chart theme draws axis labels in a grey of less than AA contrast.
    """
    colour = ink(dark)
    figure.update_layout(font={"color": colour}, legend={"font": {"color": colour}})
    for axes in (figure.update_xaxes, figure.update_yaxes):
        axes(tickfont={"color": colour}, title={"font": {"color": colour}})
    return figure


def chart(figure: Callable[[], go.Figure], *, key: str, alt: str, **options: object) -> object:
    """A figure with readable labels, and a camera that saves it."""
    if figure.layout.font.color is None:
        readable(figure, dark=is_dark())
    return st.plotly_chart(figure, key=key, alt=alt, config=CHART_CONFIG, **options)


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show what a person can put right as one sentence, and go on with the page."""
    try:
        yield
    except (ParameterError, DataUnavailable) as error:
        st.error(said(error), icon="⚠️")
    except BeyondCap as refused:
        say_refused(refused)


def say_refused(refused: BeyondCap) -> None:
    """That something would exceed the visitor's cap, and where the cap is."""
    st.warning(f"Not drawn. {refused}", icon="⚠️")
    st.page_link(PAGES["ledger"].path, label="See the cap, and what was spent")


def dataset_ready(dataset: DatasetStatus) -> bool:
    """True if the files are there; otherwise says how to get them and offers the download."""
    if dataset.ready:
        if dataset.is_part:
            st.caption(f"{dataset.title}: only a part of the rows is on this machine.")
        return True
    st.info(f"**{dataset.title}** is not on this machine. {said(dataset.how_to_get)}", icon="📁")
    size = f" ({bytes_in_words(dataset.download_bytes)})" if dataset.download_bytes else ""
    if st.button(f"Download {dataset.title}{size}"):
        bar = st.progress(0.0, "Asking for the first file …")
        with errors_shown():
            load_dataset(
                dataset.name,
                progress=lambda done, total: bar.progress(
                    min(done / total, 1.0) if total else 0.0, f"{bytes_in_words(done)} so far"
                ),
            )
            st.rerun()
    return False


def guarantee_card(guarantee: Guarantee, *, preparation: str = "private") -> None:
    """What one release promises, in words first and numbers after.

    Under the published preparation the card says that centring and scaling came before the
    promise and are not part of it.
    """
    card = result_cache.shown(guarantee, lambda: describe(guarantee))
    said = [
        " ".join(f":{_TONES[badge.tone]}-badge[{badge.text}]" for badge in card.badges)
        + f" {card.headline}"
    ]
    if preparation == "published" and guarantee.is_private:
        said.append(
            ":red-badge[preparation not private] This promise starts after centring and "
            "scaling, which read the rows. Choose the private preparation to have it all."
        )
    with st.container(border=True):
        st.markdown("\n\n".join(said))
        st.html(_definitions(card.rows))
        if card.assumptions:
            with st.expander("It holds where all of this is true"):
                st.markdown("\n".join(f"- {assumed(each)}" for each in card.assumptions))
                if card.sights:
                    st.markdown("\n".join(["Who sees what:", "", *(f"- {s}" for s in card.sights)]))


def assumed(assumption: Assumption) -> str:
    """An assumption as markdown: a title that leads to its paragraph, and the sentence."""
    return f"{_link(explained(assumption).title, assumption)}: {assumption}"


def _link(words: str, key: str) -> str:
    return f"[{words}]({_address(key)})"


def _address(key: str) -> str:
    return f"{PAGES['promise'].address}#{explained(key).anchor}"


def _definitions(rows: Sequence[CardRow]) -> str:
    """The numbers of a card as one list: an element each would cost more than their chart.

    Every line leads to its paragraph, in a tab of its own, so that what is on the screen stays.
    """
    entries = "".join(
        f'<div><dt style="display:inline"><a href="{_address(row.explanation)}" target="_blank" '
        f'title="{escape(EXPLANATIONS[row.explanation])}" style="color:inherit;'
        f'text-decoration:underline dotted">{escape(row.label)}</a></dt>: '
        f'<dd style="display:inline;margin:0;font-weight:600">{escape(row.value)}</dd></div>'
        for row in rows
    )
    columns = "repeat(auto-fit,minmax(min(20rem,100%),1fr))"
    style = f"display:grid;gap:.5rem 2rem;margin:0;padding:0;grid-template-columns:{columns}"
    return f'<dl style="{style}">{entries}</dl>'


def guarantee_tabs(
    guarantees: Mapping[str, Guarantee], *, preparation: str = "private", key: str
) -> None:
    """The cards of several releases, a tab each. Only the open one is drawn."""
    tabs = st.tabs(list(guarantees), on_change="rerun", key=key)
    for tab, guarantee in zip(tabs, guarantees.values(), strict=True):
        if tab.open:
            with tab:
                guarantee_card(guarantee, preparation=preparation)


def how_computed(key: str, text: str) -> None:
    """How the page's numbers are computed, sent to the browser only when somebody opens it."""
    with st.expander("How this is computed", on_change="rerun", key=f"{key}_explained") as opened:
        if opened.open:
            st.markdown(text)


def not_private(what: str, why: str) -> None:
    """A visible badge on something shown that no guarantee covers."""
    st.markdown(f":red-badge[not private] **{what}**: {why}")


def take_away(
    rows: Sequence[Row],
    figure: Callable[[], go.Figure],
    spec: Spec,
    query: str,
    *,
    script: Callable[[Spec], str] = script_of,
    notebook: Callable[[Spec], str] = notebook_of,
) -> None:
    """Downloads that give the same numbers elsewhere, and a link that restores the page."""
    with st.container(horizontal=True):
        for label, data, name, mime in (
            ("Rows (CSV)", lambda: csv_of(rows), "rows.csv", "text/csv"),
            (
                "Figure (HTML)",
                lambda: figure().to_html(include_plotlyjs=True, full_html=True),
                "figure.html",
                "text/html",
            ),
            ("Script (Python)", lambda: script(spec), "run.py", "text/x-python"),
            ("Notebook", lambda: notebook(spec), "run.ipynb", "application/x-ipynb+json"),
        ):
            st.download_button(label, data, name, mime, on_click="ignore", key=f"save_{name}")
        link_to(query)
    st.caption("The camera in a chart's corner saves it as SVG.")
