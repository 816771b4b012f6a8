"""The sidebar's foot: take a change back, take all of them back, share what is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import segno
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import StopException

from dpcore.errors import ParameterError
from pages.parameters.table import known
from pages.parameters.words import plain
from pages.presenting import mode, pins
from pages.sidebar import address
from pages.sidebar.foot.reachable import only_here, reachable
from pages.sidebar.navigation import Place
from pages.sidebar.parts import part
from pages.widgets.plain_text import said

_LOOK = (Path(__file__).parent / "foot.css").read_text(encoding="utf-8")
# What a QR code of a size for a projector can hold and a phone still read.
_LONGEST_CODE = 1_200


def _component(name: str) -> Callable[..., object]:
    here = Path(__file__).parent
    html, js = ((here / f"{name}.{kind}").read_text(encoding="utf-8") for kind in ("html", "js"))
    return st.components.v2.component(f"foot_{name}", html=html, css=_LOOK, js=js)


_history, _copy = _component("history"), _component("copy")


@contextmanager
def shown(page: Place) -> Iterator[None]:
    """Draw a page; when it is done, the address and the browser's history say where it stands."""
    # Under the controls; under the page where it has none, for a sidebar of its own would be empty.
    place = st.sidebar.container() if set(page.controls) - {"epsilon"} else None
    if place is not None:
        _share(place, page)
    try:
        yield
    except StopException:
        _settle(place, page)
        raise
    _settle(place, page)


def _settle(place: DeltaGenerator | None, page: Place) -> None:
    if place is None:
        place = st.container(key="foot", horizontal=True, vertical_alignment="center")
        _share(place, page)
    with place:
        part("foot", _write)()


def _write() -> None:
    address.write()
    data = {"page": st.context.url, "query": address.query()}
    _history(key="history", data=[data], on_defaults_change=address.back_to_defaults)


def _share(place: DeltaGenerator, page: Place) -> None:
    row = place.container(horizontal=True)
    row.button("Present", key="present_it", on_click=mode.begin, help="Large, without the tools.")
    row.button("Pin", key="pin_it", on_click=_pin, args=(page,), help="Keep this view for a deck.")
    if row.button("Share this view", key="share"):
        _shared()


def _pin(page: Place) -> None:
    """The page as it stands, at the end of the deck, from a callback."""
    try:
        pins.add(page.name, address.stands_at(), _caption(page))
    except ParameterError as error:
        st.toast(said(error), icon="⚠️")
    else:
        st.toast(f"Pinned: view {len(pins.deck())} of your deck, on the page *Deck* under Use.")


def _caption(page: Place) -> str:
    """What a view is called until somebody calls it something else."""
    told = [page.title]
    if "dataset" in page.controls:
        told += known("dataset").spelled(st.session_state["dataset"])
    if "epsilon" in page.controls or page.is_default:
        told.append(f"ε = {plain(st.session_state['epsilon'])}")
    return ", ".join(told)


@st.dialog("Share this view")
def _shared() -> None:
    asked = address.query()
    link = f"{reachable(st.context.url or '')}{asked and f'?{asked}'}"
    st.markdown("The page as it stands, with every control.")
    _copy(key="copy", data={"link": link})
    if len(link) <= _LONGEST_CODE:
        code = segno.make_qr(link, error="l")
        st.image(code.svg_inline(scale=8, light="white"), width=320, alt=f"A QR code of {link}")
    if only_here(link):
        st.markdown(
            "The server listens to this machine alone. Started with "
            "**--server.address 0.0.0.0** it lets a class in, and the link says where."
        )
