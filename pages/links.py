"""Read values of controls from the address of a new session, and report those that do not fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from pages.components import notices

_LONGEST_SENTENCE = 400
_MOST_OFFERED = 8
_LINK, _TRANSLATED, _REJECTED = "_link", "_translated", "_rejected"


def read_link(current: st.Page) -> None:
    """Read the address of a new session before any widget is drawn.

    Streamlit drops bound values that it cannot use; the raw values are needed to report them.
    """
    if _LINK in st.session_state:
        # Streamlit writes a value that it did not read from the address itself into the address
        # when it is assigned to a widget that exists.
        for name, value in st.session_state[_TRANSLATED].items():
            if st.session_state.get(name) == value:
                st.session_state[name] = value
        st.session_state[_TRANSLATED] = {}
        return
    link = {name: st.query_params.get_all(name) for name in st.query_params}
    infinite = {name: link.pop(name) for name in tuple(link) if any(map(_is_infinite, link[name]))}
    st.session_state[_LINK] = dict(link)
    st.session_state[_TRANSLATED] = {}
    st.session_state[_REJECTED] = {
        name: f"{name} must be finite, got {', '.join(values)}" for name, values in infinite.items()
    }
    if infinite:
        # Widgets of whole numbers raise OverflowError for these. They take their values from the
        # address that the page was opened with, so it is opened again without them.
        st.switch_page(current, query_params=link)


def report_rejected_values() -> None:
    """Write one sentence for each value of the link that no control could take."""
    link: dict[str, list[str]] = st.session_state.get(_LINK, {})
    rejected: dict[str, str] = st.session_state.get(_REJECTED, {})
    for name, values in list(link.items()):
        # Streamlit removes a bound parameter whose value it rejects from the address.
        value = st.session_state.get(name)
        is_dropped = name in st.session_state and name not in st.query_params
        is_other_text = is_dropped and ", ".join(values).casefold() not in _spellings(value)
        if is_other_text or _is_other_number(value, values[-1]):
            rejected[name] = f"{name} cannot be {', '.join(values)}"
        del link[name]
    for name, sentence in list(rejected.items()):
        plain_sentence = notices.escape_markdown(sentence, _LONGEST_SENTENCE)
        st.warning(f"The link asks for an unknown value: {plain_sentence}. {_state_value(name)}")
    st.session_state[_REJECTED] = {}


def accept_option(
    name: str, options: Sequence[Any], label: Callable[[Any], str], several: bool
) -> None:
    """Set a control of options from the link, by value or by label, in any case.

    Call it before the widget is drawn. Streamlit itself accepts labels only.
    """
    link: dict[str, list[str]] = st.session_state.get(_LINK, {})
    if name not in link:
        return
    written = link.pop(name)
    if written == [""] and several:
        written = []
    chosen = [option for text in written if (option := _option(text, options, label)) is not None]
    is_empty_list = several and not written
    if len(chosen) < len(written) or not (chosen or is_empty_list):
        texts = ", ".join(written)
        st.session_state[_REJECTED][name] = f"{name} must be {_offer(options, label)}, got {texts}"
    if chosen or is_empty_list:
        st.session_state[name] = chosen if several else chosen[-1]
        if is_empty_list or written != [label(option) for option in chosen]:
            st.session_state[_TRANSLATED][name] = st.session_state[name]


def write_option(name: str, value: Any, usual: Any) -> None:
    """Write the value of a control that is not bound into the address.

    Streamlit writes the label of an option; a label such as a title may change, and is long.
    """
    text = text_of(value)
    if value == usual:
        if name in st.query_params:
            del st.query_params[name]
    elif st.query_params.get_all(name) != (text if isinstance(text, list) else [text]):
        st.query_params[name] = text


def text_of(value: Any) -> str | list[str]:
    """Return the value of a control that is not bound as the address contains it."""
    # A parameter without text is an empty list.
    return list(map(str, value)) or "" if isinstance(value, list) else str(value)


def accept_number(name: str, low: float, high: float, kind: type, usual: float) -> None:
    """Set a control of numbers from the link, or to its usual value if it cannot take the link's.

    Call it before the widget is drawn. Streamlit itself truncates 1.5 to 1.
    """
    link: dict[str, list[str]] = st.session_state.get(_LINK, {})
    if name not in link:
        return
    text = link.pop(name)[-1]
    number = _number(text)
    if number is None or not low <= number <= high or kind(number) != number:
        whole = "a whole number " if kind is int else ""
        sentence = f"{name} must be {whole}from {low:,} to {high:,}, got {text}"
        st.session_state[_REJECTED][name] = sentence
        number = usual
    st.session_state[name] = kind(number)


def _is_other_number(value: Any, text: str) -> bool:
    # Streamlit truncates 1.5 to 1.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and _number(text) not in (None, value)


def _spellings(value: Any) -> set[str]:
    values = value if isinstance(value, list | tuple) else [value]
    return {str(value).casefold(), ", ".join(map(str, values)).casefold(), f"{value!r}".casefold()}


def _state_value(name: str) -> str:
    value = st.session_state.get(name)
    if value is None:
        return "The page uses the default."
    values = value if isinstance(value, list | tuple) else [value]
    return f"The page uses {', '.join(map(str, values))}."


def _option(text: str, options: Sequence[Any], label: Callable[[Any], str]) -> Any:
    for option in options:
        if text.casefold() in (str(option).casefold(), label(option).casefold()):
            return option
        if isinstance(option, int | float) and _number(text) == option:
            return option
    return None


def _offer(options: Sequence[Any], label: Callable[[Any], str]) -> str:
    """Return the options in words; of many, the first seven and the last."""
    if isinstance(options, range):
        return f"a whole number from {options[0]} to {options[-1]}"
    labels = [label(option) for option in options]
    if len(labels) > _MOST_OFFERED:
        labels[_MOST_OFFERED - 1 : -1] = ["…"]
    return f"one of {', '.join(labels)}"


def _is_infinite(text: str) -> bool:
    number = _number(text)
    return number is not None and not math.isfinite(number)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
