"""Undo, reset and share: the foot of the sidebar."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import segno
import streamlit as st

from dpcore.errors import ParameterError
from dpcore.figures.svg import figure_thumbnail
from pages.shell import address, presenting
from pages.shell.fragments import in_browser, part
from pages.shell.navigation import Place
from pages.shell.parameters import known, plain
from pages.shell.streamlit_internals import DeltaGenerator, StopException, internal_ip
from pages.widgets.charts import is_dark, leading_figure
from pages.widgets.notices import message_of_page, said

# What a QR code of a size for a projector can hold and a phone still read.
_LONGEST_CODE = 1_200
_HERE = Path(__file__).parent
_history, _copy = (
    in_browser(f"foot_{name}", _HERE / "foot.css", *_HERE.glob(f"{name}.*"))
    for name in ("history", "copy")
)
_EVERYWHERE = ("", "0.0.0.0", "::")  # noqa: S104  compared with, not bound to


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
    row.button(
        "Present", key="present_it", on_click=presenting.begin, help="Large, without the tools."
    )
    row.button("Pin", key="pin_it", on_click=_pin, args=(page,), help="Keep this view for a deck.")
    if row.button("Share this view", key="share"):
        _shared()


def _pin(page: Place) -> None:
    """The page as it stands, at the end of the deck, from a callback."""
    try:
        presenting.add(page.name, address.stands_at(), _caption(page), _picture())
    except ParameterError as error:
        st.toast(said(error), icon="⚠️")
    else:
        st.toast(
            f"Pinned: view {len(presenting.deck())} of your deck, on the page *Deck* under Decide."
        )


def _caption(page: Place) -> str:
    """What a view is called until somebody calls it something else."""
    # What the deck itself runs has its message from those runs.
    if page.name not in presenting.RUN_BY_DECK and (message := message_of_page()):
        return "".join(filter(str.isprintable, message))
    told = [page.title]
    if "dataset" in page.controls:
        told += known("dataset").spelled(st.session_state["dataset"])
    if "epsilon" in page.controls or page.is_default:
        told.append(f"ε = {plain(st.session_state['epsilon'])}")
    return ", ".join(told)


def _picture() -> tuple[str, str] | None:
    """The page's first chart, as small as a stamp, and its alternative text."""
    drawn = leading_figure()
    svg = "" if drawn is None else figure_thumbnail(drawn[0], dark=is_dark())
    return (svg, drawn[1]) if drawn is not None and svg else None


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
            "The server listens to this machine alone. Started with **--server.address 0.0.0.0 "
            "--browser.serverAddress NAME** it lets a class in, and the link has that name."
        )


def reachable(url: str) -> str:
    """A page's address as its visitor has it, or as others on the network would.

    Whoever sits at the server's own machine calls it localhost, which is another machine to
    everybody else; where the server listens to the network, the name that its owner gave it with
    `browser.serverAddress` stands instead, else its address there.
    """
    parts = urlsplit(url)
    parts = parts._replace(path=parts.path or "/")
    listens_at = st.get_option("server.address") or ""
    if not only_here(url) or (listens_at and _is_this_machine(listens_at)):
        return parts.geturl()
    host = st.get_option("browser.serverAddress") or ""
    if not host or _is_this_machine(host):
        host = internal_ip() if listens_at in _EVERYWHERE else listens_at
    port = f":{parts.port}" if parts.port else ""
    return parts._replace(netloc=f"{host}{port}").geturl()


def home(url: str) -> str:
    """Where the server itself is reached, of a page's address; pages' names follow it."""
    parts = urlsplit(reachable(url))
    path = parts.path.rstrip("/").rpartition("/")[0] if len(parts.path) > 1 else ""
    return parts._replace(path=f"{path}/", query="", fragment="").geturl()


def only_here(url: str) -> bool:
    """Whether an address means the machine that it is opened on."""
    return _is_this_machine(urlsplit(url).hostname or "")


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
