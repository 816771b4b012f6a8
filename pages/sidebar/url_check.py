"""What an address asks for and no control can take is said, not quietly replaced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import streamlit as st
from streamlit.runtime.state.session_state_proxy import get_session_state

from dpcore.errors import ParameterError
from pages.parameters.table import find, known
from pages.widgets.plain_text import plainly

_REFUSED = "_refused"
_MOST_NAMED = 5
_NOT_LOOKED = object()
Written = dict[str, list[str]]


@dataclass(frozen=True)
class Asked:
    """What an address says: what controls can take, and names nobody knows.

    `new` is as controls spell it, of those that were not drawn before.
    """

    new: Written
    unknown: tuple[str, ...]


def corrected() -> Asked:
    """Leave in the address what controls can take, spelled as they spell it.

    To be called before any control is drawn: Streamlit itself reads numbers without limits, and
    stops at ?seed=inf.
    """
    asked = {name: st.query_params.get_all(name) for name in st.query_params}
    known = {name: written for name, written in asked.items() if find(name) is not None}
    taken, refused = _read(known)
    _respell(known, taken)
    # Kept before the page runs: a page that starts over has no such address any more.
    st.session_state.setdefault(_REFUSED, {}).update(
        {name: (sentence, _NOT_LOOKED) for name, sentence in refused.items()}
    )
    return Asked(
        {name: written for name, written in taken.items() if name not in st.session_state},
        tuple(name for name in asked if name not in known),
    )


@contextmanager
def checked(asked: Asked) -> Iterator[None]:
    """Draw a page under what its address could not have; each sentence stays until that control
    is moved.
    """
    # There in every run, so that nothing below it changes its place.
    notice = st.container()
    with notice:
        _say_refused()
        _say_unknown(asked.unknown)
    yield
    refused = _refused_by_controls(asked.new)
    st.session_state[_REFUSED].update(refused)
    with notice:
        for name in refused:
            _say_one(name)


def was_refused(name: str) -> bool:
    """Whether the page says that this control could not have what the address asked for."""
    return name in st.session_state[_REFUSED]


def _read(asked: Written) -> tuple[Written, dict[str, str]]:
    """What controls can take, as they spell it; and why the others cannot."""
    taken, refused = {}, {}
    for name, written in asked.items():
        try:
            taken[name] = known(name).read(name, written)
        except ParameterError:
            refused[name] = _sentence(name, written)
    return taken, refused


def _respell(asked: Written, taken: Written) -> None:
    with get_session_state().query_params() as address:
        for name, written in asked.items():
            if name not in taken:
                address.remove_param(name)
            elif taken[name] != written:
                address.set_corrected_value(name, taken[name], "string_array_value")
        # Bound controls read what the address said as the run began.
        address.set_initial_query_params_from_current()


def _refused_by_controls(new: Written) -> dict[str, tuple[str, object]]:
    """What is right by the table, and beyond what the present data or settings have."""
    return {
        name: (_sentence(name, written), st.session_state[name])
        for name, written in new.items()
        if name in st.session_state and known(name).spelled(st.session_state[name]) != written
    }


def _sentence(name: str, written: list[str]) -> str:
    return (
        f"In the address, {plainly(name)} must be {known(name).offered}, "
        f"got {plainly(', '.join(written)) or 'nothing'}"
    )


def _say_refused() -> None:
    refused = st.session_state[_REFUSED]
    for name, (sentence, shown) in list(refused.items()):
        if shown is _NOT_LOOKED:
            # A control that the page is yet to draw will stand at its default.
            default = known(name).default
            refused[name] = (sentence, st.session_state.get(name, default))
        elif name not in st.session_state or st.session_state[name] != shown:
            del refused[name]
            continue
        _say_one(name)


def _say_one(name: str) -> None:
    sentence, shown = st.session_state[_REFUSED][name]
    value = "" if shown is None else ", ".join(known(name).spelled(shown))
    st.warning(f"{sentence}: {f'showing {plainly(value)}' if value else 'its default is used'}.")


def _say_unknown(names: tuple[str, ...]) -> None:
    if names:
        told = ", ".join(plainly(name) for name in names[:_MOST_NAMED])
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        st.caption(f"No page knows what the address calls {told}{more}.")
