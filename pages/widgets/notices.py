"""Messages on a page: the number that matters, errors, absent data, foreign texts as letters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from dpcore.data import DatasetStatus, list_datasets, load_dataset
from dpcore.errors import LONGEST_VALUE, DataUnavailable, ParameterError, shortened
from dpcore.experiments.store import Store
from dpcore.experiments.summaries import bytes_in_words
from dpcore.privacy import BeyondCap
from pages.server.process import is_public_demo
from pages.shell.navigation import linked_page
from pages.shell.streamlit_internals import DeltaGenerator
from pages.widgets import glossary

# What somebody else wrote, shown as what it is: letters, never markup, a link or a picture.

# Marks that begin something in Streamlit's Markdown: an underscore beside no letter, a colon
# before one, and some that are words by themselves.
_MARKUP = re.compile(
    r"[\\`*\[\]<>#$~|&!{}]|(?<![^\W_])_|_(?![^\W_])|:(?=[A-Za-z])"
    r"|^[-+=](?=[-+=]*$)|(?<=^\d)[.)](?=$)"
)
# Made into links and pictures after Markdown is read, so that a backslash does not stop them.
_MADE_LATER = re.compile(r"://|www\.|@|:[\w+/-]+:|^(?:mailto|xmpp):", re.IGNORECASE)
_LONGEST_SENTENCE = 1000
_CODE_FENCE = re.compile(r"`+")


def plainly(text: object, longest: int = LONGEST_VALUE) -> str:
    """A text from an address, a file or a person, as Markdown that shows its letters.

    Cut to `longest` characters. Control characters, those that turn the direction of writing and
    those nobody can see are written as their number, [U+202E]. Words that Streamlit makes links
    or pictures of after it has read the Markdown are set as code, which it leaves alone.
    """
    visible = "".join(map(_seen, shortened(str(text), longest)))
    return " ".join(_word(word) for word in visible.split())


def said(sentence: object) -> str:
    """A whole sentence, or an error's, as Markdown; what it quotes was cut where it was raised."""
    return plainly(sentence, longest=_LONGEST_SENTENCE)


def _seen(character: str) -> str:
    if character in " \t\n\r":
        return " "
    if unicodedata.category(character) in ("Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"):
        return f"[U+{ord(character):04X}]"
    return character


def _word(word: str) -> str:
    if _MADE_LATER.search(word):
        inside = max((len(run) for run in _CODE_FENCE.findall(word)), default=0)
        fence = "`" * (inside + 1)
        blank = " " if word.startswith("`") or word.endswith("`") else ""
        return f"{fence}{blank}{word}{blank}{fence}"
    return _MARKUP.sub(r"\\\g<0>", word)


# What a page says: the number that matters, errors, absent data, what is not private.

_FORMULAS = Path(__file__).parents[1] / "formulas"


# What the page's big number says, as one sentence.
_MESSAGE = "_message_of_page"


def forget_message() -> None:
    """A new run of the script has a message of its own."""
    st.session_state.pop(_MESSAGE, None)


def message_of_page() -> str:
    """The page's finding as one sentence with its number; empty where it has none yet."""
    found: str = st.session_state.get(_MESSAGE, "")
    return found


def big_number(number: str, sentence: str, more: str = "") -> DeltaGenerator:
    """The number that matters, as the biggest thing on the page, with its sentence and terms.

    Returns the place of the sentence, to add to it.
    """
    if any(map(str.isdigit, number)):
        told = sentence if number in sentence else f"{number} {sentence}"
        st.session_state[_MESSAGE] = _first_sentence(told.replace("**", ""))
    figure, words = st.columns([2, 5], vertical_alignment="center")
    # As large as the column bears, wide or narrow: a character is about 0.6 of the font's size.
    share = 100 / (0.6 * len(number))
    figure.html(
        '<div class="big-number" style="container-type:inline-size">'
        f'<div style="font-size:min({share:.0f}cqw,12vh,5.5rem);font-weight:700;'
        f'line-height:1.05;white-space:nowrap">{number}</div></div>'
    )
    words.markdown(f"## {_unbroken(sentence)}", help=glossary.told(f"{sentence} {more}"))
    if more:
        words.markdown(_unbroken(more))
    return words


def _first_sentence(text: str) -> str:
    """What stands before a full stop that a capital follows; with ordinary spaces."""
    return re.split(r"(?<=\.) (?=[A-Z])", " ".join(text.split()))[0]


def _unbroken(text: str) -> str:
    """So that no line ends between a number and its percent."""
    return text.replace(" %", "\u00a0%")


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
    st.page_link(linked_page("ledger"), label="See the cap, and what was spent")


def dataset_ready(dataset: DatasetStatus) -> bool:
    """True if the files are there; otherwise says how to get them and offers the download."""
    if dataset.ready:
        if dataset.is_part:
            st.caption(f"{dataset.title}: only a part of the rows is on this machine.")
        return True
    st.info(f"**{dataset.title}** is not on this machine. {said(dataset.how_to_get)}", icon="📁")
    if is_public_demo():
        return False
    size = f" ({bytes_in_words(dataset.download_bytes)})" if dataset.download_bytes else ""
    if st.button(f"Download {dataset.title}{size}"):
        bar = st.progress(0.0, "Asking for the first file …")

        def arrived(done: int, total: int) -> None:
            bar.progress(min(done / total, 1.0) if total else 0.0, f"{bytes_in_words(done)} so far")

        with errors_shown():
            load_dataset(dataset.name, progress=arrived)
            st.rerun()
    return False


def dataset_table() -> None:
    """Which data sets are on this machine, and how to add the others."""
    st.dataframe(
        [
            {
                "Data set": status.title,
                "Rows": status.n_samples,
                "Features": status.n_features,
                "Ready": "a part" if status.is_part else "yes" if status.ready else "no",
            }
            for status in list_datasets()
        ],
        column_config={
            name: st.column_config.NumberColumn(format="localized") for name in ("Rows", "Features")
        },
        hide_index=True,
        width="stretch",
        height="content",
    )
    st.caption(
        "Choose one that is not here, and the page says how to add it. A folder named by the "
        "variable DPCORE_DATA holds official files under their official names, which serves a "
        "classroom without internet."
    )


def formulas(name: str) -> str:
    """A text of `pages/formulas`, as Markdown."""
    return (_FORMULAS / f"{name}.md").read_text(encoding="utf-8")


def how_computed(page: str, name: str | None = None) -> None:
    """How a page's numbers are computed, sent to the browser only when somebody opens it.

    name: Of its formulas, where they are not the page's own.
    """
    with st.expander("How this is computed", on_change="rerun", key=f"{page}_explained") as opened:
        if opened.open:
            st.markdown(formulas(name or page))


def not_private(what: str, why: str) -> None:
    """A visible badge on something shown that no guarantee covers."""
    st.markdown(f":red-badge[not private] **{what}**: {why}")


def say_trouble() -> None:
    """One sentence if finished rows cannot be kept; the page computes them all the same."""
    # There in every run, so that nothing below it changes its place.
    with st.container():
        if trouble := Store().trouble:
            st.info(said(trouble), icon="💾")
