"""What the projector shows: how to join, what goes on, and what comes of it as it comes."""

from __future__ import annotations

from functools import lru_cache

import segno
import streamlit as st

from dpcore.experiments.pca.sentences import counted
from pages.classroom.room import Room
from pages.learn.classroom.activity_views import view_of
from pages.learn.classroom.door import Here, watched
from pages.sidebar.foot.reachable import only_here, reachable

_EVERY_SECONDS = 0.4
_LARGE = '.stMain [data-testid="stMarkdownContainer"] :is(p, code) { font-size: 1.3rem; }'
_CODE = "font-size:min(11vw,5.5rem);font-weight:700;letter-spacing:.08em;line-height:1.1"


def shown(here: Here) -> None:
    """The wall, in letters for the last row."""
    st.html(f"<style>{_LARGE}</style>")
    watched(here, "classroom_wall", _now, every=_EVERY_SECONDS)


def address_of(room: Room) -> str:
    """Where phones on the same network find the room."""
    return f"{reachable(st.context.url or '').split('?')[0]}?room={room.code}"


def _now(here: Here) -> None:
    room = here.room
    if room.activity is None:
        _way_in(room)
        return
    view = view_of(room.activity)
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    left.markdown(f"## {view.title}")
    right.caption(f"Join: {_short(room)}, code **{room.code}** · {counted(room.n_joined, 'phone')}")
    if room.is_paused:
        st.info("Phones are locked for a moment.")
    view.on_wall(room, room.activity)


def _way_in(room: Room) -> None:
    address = address_of(room)
    left, right = st.columns([3, 2], gap="large", vertical_alignment="center")
    with left:
        st.html(f'<p style="margin:0">Room</p><p style="margin:0;{_CODE}">{room.code}</p>')
        st.markdown(f"## {_short(room)}\n\n**{counted(room.n_joined, 'phone')}** here so far.")
        st.caption("No account. The room forgets everything when it ends.")
        if only_here(address):
            st.warning(
                "The server listens to this machine alone. Started with "
                "**--server.address 0.0.0.0** it lets a class in."
            )
    right.image(_qr(address), width="stretch", alt=f"A QR code of {address}")


def _short(room: Room) -> str:
    """The address without what a browser adds by itself, as code: it is no link to follow here."""
    return f"`{address_of(room).split('?')[0].removeprefix('http://')}`"


@lru_cache(maxsize=64)
def _qr(address: str) -> str:
    svg: str = segno.make_qr(address, error="m").svg_inline(scale=8, light="white")
    return svg
