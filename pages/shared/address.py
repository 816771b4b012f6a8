"""What an address asks for and no control can take is said, not quietly replaced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
from streamlit.runtime.state.session_state_proxy import get_session_state

from dpcore.errors import ParameterError
from pages.shared.parameters.table import parameters
from pages.shared.plainly import plainly

_REFUSED = "_refused"
_MOST_NAMED = 5
Asked = dict[str, list[str]]


@contextmanager
def checked() -> Iterator[None]:
    """Draw a page on what its address says and controls can take; say what they could not.

    What no control could take is taken out of the address before any control is drawn, and what
    is written in another way is spelled as its control spells it. Streamlit itself reads numbers
    without limits, and stops at ?seed=inf. The sentence stays until that control is moved.
    """
    # There in every run, so that nothing below it changes its place.
    notice = st.container()
    asked = {name: st.query_params.get_all(name) for name in st.query_params}
    known = {name: written for name, written in asked.items() if name in parameters()}
    taken, refused = _read(known)
    _respell(known, taken)
    new = {name: taken[name] for name in taken if name not in st.session_state}
    st.session_state.setdefault(_REFUSED, {})
    try:
        yield
    finally:
        # A page that stops early has controls too.
        st.session_state[_REFUSED] |= {
            name: (sentence, st.session_state.get(name))
            for name, sentence in (refused | _refused_by_controls(new)).items()
        }
        with notice:
            _say_refused()
            _say_unknown([name for name in asked if name not in known])


def _read(asked: Asked) -> tuple[Asked, dict[str, str]]:
    """What controls can take, as they spell it; and why the others cannot."""
    taken, refused = {}, {}
    for name, written in asked.items():
        try:
            taken[name] = parameters()[name].read(name, written)
        except ParameterError:
            refused[name] = _sentence(name, written)
    return taken, refused


def _respell(asked: Asked, taken: Asked) -> None:
    with get_session_state().query_params() as address:
        for name, written in asked.items():
            if name not in taken:
                address.remove_param(name)
            elif taken[name] != written:
                address.set_corrected_value(name, taken[name], "string_array_value")
        # Bound controls read what the address said as the run began.
        address.set_initial_query_params_from_current()


def _refused_by_controls(new: Asked) -> dict[str, str]:
    """What is right by the table, and beyond what the present data or settings have."""
    return {
        name: _sentence(name, written)
        for name, written in new.items()
        if name in st.session_state
        and parameters()[name].spelled(st.session_state[name]) != written
    }


def _sentence(name: str, written: list[str]) -> str:
    return (
        f"In the address, {plainly(name)} must be {parameters()[name].offered}, "
        f"got {plainly(', '.join(written)) or 'nothing'}"
    )


def _say_refused() -> None:
    for name, (sentence, shown) in st.session_state[_REFUSED].items():
        if st.session_state.get(name) != shown:
            continue
        if shown is None:
            st.warning(f"{sentence}: not used.")
        else:
            value = ", ".join(parameters()[name].spelled(shown))
            st.warning(f"{sentence}: showing {plainly(value)}.")


def _say_unknown(names: list[str]) -> None:
    if names:
        told = ", ".join(plainly(name) for name in names[:_MOST_NAMED])
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        st.caption(f"No page knows what the address calls {told}{more}.")
