"""What an address asks for and no control can take is said, not quietly replaced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from dpcore.experiments.methods import METHODS
from pages.shared.choice import OFFERED, plain

_REFUSED = "_refused"


@contextmanager
def checked() -> Iterator[None]:
    """Draw a page, then say which parts of the address it was opened with it could not take.

    Streamlit takes a value out of the address if its control has no such value, and shows the
    default instead. The sentence stays until that control is moved.
    """
    # There in every run, so that nothing below it changes its place.
    notice = st.container()
    is_first = _REFUSED not in st.session_state
    asked = {name: st.query_params.get_all(name) for name in st.query_params} if is_first else {}
    st.session_state.setdefault(_REFUSED, {})
    try:
        yield
    finally:
        # A page that stops early has controls too.
        st.session_state[_REFUSED].update(_refused(asked))
        with notice:
            _say_refused()


def _refused(asked: dict[str, list[str]]) -> dict[str, tuple[str, object]]:
    """Sentence and present value of every control whose part of the address was dropped."""
    found = {}
    for name, values in asked.items():
        if name in st.query_params or name not in st.session_state:
            continue
        shown = st.session_state[name]
        if values != _as_addressed(shown):
            found[name] = (
                f"In the address, {name} must be {OFFERED.get(name, 'what its control offers')}, "
                f"got {', '.join(values)}: showing {', '.join(_as_addressed(shown))}.",
                shown,
            )
    return found


def _say_refused() -> None:
    for name, (sentence, shown) in st.session_state[_REFUSED].items():
        if st.session_state.get(name) == shown:
            st.warning(sentence)


def _as_addressed(value: object) -> list[str]:
    if isinstance(value, list | tuple):
        return [part for each in value for part in _as_addressed(each)]
    if isinstance(value, bool):
        return [str(value).lower()]
    if isinstance(value, float):
        return [plain(value)]
    return [METHODS[value].title if value in METHODS else str(value)]
