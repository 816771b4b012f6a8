"""What stands in small type on a picture that somebody takes away: settings and guarantees."""

from __future__ import annotations

import streamlit as st

from dpcore.privacy import Guarantee, describe
from pages.parameters.sidebar import FIRST
from pages.parameters.table import known
from pages.server import result_cache
from pages.sidebar.navigation import Place

_PROMISES = "_promises_of_figures"
# A figure shows many releases: its points at other settings promise something else.
_OF_ONE = "Each private result at these settings, taken alone:"
OPEN = "Exact results, and every share or error measured against them, are not private."


def forget_promises() -> None:
    """A new run of the script shows releases of its own."""
    st.session_state[_PROMISES] = {}


def promise(guarantee: Guarantee, preparation: str, title: str = "") -> None:
    """Remember what a release that the page shows promises, and which it is."""
    said = headline(guarantee, preparation)
    titles = st.session_state.setdefault(_PROMISES, {}).setdefault(said, [])
    if title not in titles:
        titles.append(title)


def headline(guarantee: Guarantee, preparation: str) -> str:
    """What a release promises in one sentence, and what of it no promise covers."""
    said = result_cache.shown(guarantee, lambda: describe(guarantee)).headline
    if preparation == "published" and guarantee.is_private:
        return f"Centring and scaling are not private. From there on: {said}"
    return said


def promises() -> list[str]:
    """What the releases on the page promise, those that promise the same together."""
    told = [
        f"{', '.join(filter(None, titles))}: {said}".removeprefix(": ")
        for said, titles in st.session_state.get(_PROMISES, {}).items()
    ]
    return [f"{_OF_ONE} {told[0]}", *told[1:], OPEN] if told else []


def settings(place: Place) -> str:
    """The page's shared controls in words; the address has all the others."""
    state = st.session_state
    # The Playground has its epsilon on the page.
    shown = [n for n in FIRST if n in place.controls or (n == "epsilon" and place.is_default)]
    words = [
        f"{known(name).title}: {', '.join(known(name).spelled(state[name]))}"
        for name in shown
        if name in state
    ]
    return f"{place.title}. {'; '.join(words)}".strip()
