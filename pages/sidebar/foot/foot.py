"""The sidebar's foot: take a change back, take all of them back, share what is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import segno
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import StopException

from pages.sidebar import address
from pages.sidebar.foot.reachable import only_here, reachable

_LOOK = (Path(__file__).parent / "foot.css").read_text(encoding="utf-8")
# What a QR code of a size for a projector can hold and a phone still read.
_LONGEST_CODE = 1_200


def _component(name: str) -> Callable[..., object]:
    here = Path(__file__).parent
    html, js = ((here / f"{name}.{kind}").read_text(encoding="utf-8") for kind in ("html", "js"))
    return st.components.v2.component(f"foot_{name}", html=html, css=_LOOK, js=js)


_history, _copy = _component("history"), _component("copy")


@contextmanager
def shown() -> Iterator[None]:
    """Draw a page; when it is done, the address and the browser's history say where it stands."""
    st.sidebar.divider()
    place = st.sidebar.container()
    with st.sidebar.popover("Share this view", on_change="rerun", key="share") as asked:
        if asked.open:
            _link()
    try:
        yield
    except StopException:
        _settle(place)
        raise
    _settle(place)


def _settle(place: DeltaGenerator) -> None:
    address.write()
    with place:
        data = {"page": st.context.url, "query": address.query()}
        _history(key="history", data=data, on_defaults_change=address.back_to_defaults)


def _link() -> None:
    asked = address.query()
    link = f"{reachable(st.context.url or '')}{asked and f'?{asked}'}"
    st.caption("The page as it stands, with every control, on any server that runs the lab.")
    _copy(key="copy", data={"link": link})
    if len(link) <= _LONGEST_CODE:
        code = segno.make(link, error="l", micro=False)
        st.image(
            code.svg_inline(scale=6, border=3, light="white"),
            caption="For a phone's camera.",
            width=240,
        )
    if only_here(link):
        st.caption(
            "This server listens to this machine alone. Started with `--server.address 0.0.0.0`, "
            "it lets a class in, and the link says where."
        )
