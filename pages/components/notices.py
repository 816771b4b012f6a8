"""Messages of a page: errors, missing data, badges of non-private results, explanations."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.data.loading import download_dataset, rows_here
from dpcore.errors import LONGEST_VALUE, DataUnavailable, ParameterError, truncate_text
from dpcore.experiments.engine.summaries import bytes_in_words
from dpcore.privacy import BeyondCap
from pages.components.browser_parts import redraw_on_theme_switch

PUBLIC_DEMO_VARIABLE = "DPCORE_PUBLIC_DEMO"
_STYLE = Path(__file__).with_name("style.css")
_FORMULAS = Path(__file__).parents[1] / "formulas"
# Characters that begin something in Streamlit's Markdown.
_MARKUP = re.compile(
    r"[\\`*\[\]<>#$~|&!{}]|(?<![^\W_])_|_(?![^\W_])|:(?=[A-Za-z])"
    r"|^[-+=](?=[-+=]*$)|(?<=^\d)[.)](?=$)"
)
# Streamlit makes links and pictures of these after it has read the Markdown.
_LINKED_LATER = re.compile(r"://|www\.|@|:[\w+/-]+:|^(?:mailto|xmpp):", re.IGNORECASE)
_LONGEST_SENTENCE = 1000
_CODE_FENCE = re.compile(r"`+")


def apply_style() -> None:
    """Add the dashboard's style sheet to the page; presenter mode enlarges text and hides tools."""
    st.html(_STYLE)
    redraw_on_theme_switch()
    if st.query_params.get("present") == "1":
        st.html(_STYLE.with_name("present.css"))


def reserve_container(key: str) -> Any:
    """Return a container for results that are drawn after the controls below it.

    key: Key whose height is in style.css. Streamlit does not draw an empty container.
    """
    container = st.container(key=key)
    container.html("<span></span>")
    return container


def escape_markdown(text: object, longest: int = LONGEST_VALUE) -> str:
    """Return text from an address, a file or a person as Markdown that shows its characters.

    Control characters and invisible characters are written as their number, such as [U+202E].
    """
    visible = "".join(map(_visible, truncate_text(str(text), longest)))
    return " ".join(_escape_word(word) for word in visible.split())


def _visible(character: str) -> str:
    if character in " \t\n\r":
        return " "
    if unicodedata.category(character) in ("Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"):
        return f"[U+{ord(character):04X}]"
    return character


def _escape_word(word: str) -> str:
    if _LINKED_LATER.search(word):
        inside = max((len(run) for run in _CODE_FENCE.findall(word)), default=0)
        fence = "`" * (inside + 1)
        blank = " " if word.startswith("`") or word.endswith("`") else ""
        return f"{fence}{blank}{word}{blank}{fence}"
    return _MARKUP.sub(r"\\\g<0>", word)


@contextmanager
def errors_as_messages() -> Iterator[None]:
    """Show an error that a visitor can correct as one sentence and end the page there."""
    try:
        yield
    except (ParameterError, DataUnavailable) as error:
        st.error(escape_markdown(error, _LONGEST_SENTENCE), icon="⚠️")
    except BeyondCap as error:
        st.warning(f"Not computed: {escape_markdown(error, _LONGEST_SENTENCE)}", icon="⚠️")


@contextmanager
def heading_of_error(place: Any, draw_heading: Callable[[], object]) -> Iterator[None]:
    """Draw the page's heading in `place` if an error ends the page before its answer is drawn."""
    try:
        yield
    except (ParameterError, DataUnavailable, BeyondCap):
        with place:
            draw_heading()
        raise


def is_public_demo() -> bool:
    """Return whether the server refuses uploads, rooms and releases (`DPCORE_PUBLIC_DEMO=1`)."""
    return os.environ.get(PUBLIC_DEMO_VARIABLE, "") not in ("", "0")


def stop_on_public_demo() -> None:
    """End the page with an explanation if the server is a public demo."""
    if is_public_demo():
        st.info(
            "This is a public demo. It takes no tables, opens no rooms and writes nothing. "
            "Install the dashboard on your own machine to use this page.",
            icon="🔒",
        )
        st.stop()


def require_dataset(dataset: DatasetStatus) -> None:
    """End the page with instructions and a download button if a data set is not on this machine."""
    if dataset.ready and not dataset.is_part:
        return
    how = escape_markdown(dataset.how_to_get, _LONGEST_SENTENCE)
    if dataset.is_part:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{dataset.title}: {rows_here(dataset.name)}.", width="content")
            if not is_public_demo():
                with st.popover("Get all rows"):
                    st.markdown(how)
                    _offer_download(dataset)
        return
    st.info(f"**{dataset.title}** is not on this machine. {how}", icon="📁")
    if not is_public_demo():
        _offer_download(dataset)
    st.stop()


def _offer_download(dataset: DatasetStatus) -> None:
    size = f" ({bytes_in_words(dataset.download_bytes)})" if dataset.download_bytes else ""
    if st.button(f"Download {dataset.title}{size}"):
        bar = st.progress(0.0, "Requesting the first file")

        def report(done: int, total: int) -> None:
            share = min(done / total, 1.0) if total else 0.0
            bar.progress(share, f"{bytes_in_words(done)} received")

        with errors_as_messages():
            download_dataset(dataset.name, progress=report)
            st.rerun()


def show_notes(notes: tuple[str, ...]) -> None:
    """Show notes about settings that could not be met."""
    for note in notes:
        st.warning(note)


def mark_not_private(name: str, reason: str) -> None:
    """Show a badge for something that no guarantee covers."""
    st.markdown(f":red-badge[not private] **{name}** {reason}")


def explain_computation(name: str) -> None:
    """Show the formulas of a page in an expander.

    name: Name of a Markdown file in `pages/formulas`.
    """
    with st.expander("How this is computed", on_change="rerun", key=f"explain_{name}") as panel:
        if panel.open:
            show_formulas(name)


def show_formulas(name: str) -> None:
    """Show the formulas of a page; `name` is that of a file in `pages/formulas`."""
    st.markdown((_FORMULAS / f"{name}.md").read_text(encoding="utf-8"))
