"""What a class sees, each drawn anew when something has changed: console, wall and phone."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Protocol

import segno
import streamlit as st

from dpcore.experiments.pca.sentences import counted
from pages.classroom.room import AWAY_SECONDS, MOST_STUDENTS, Activity, Room, Student
from pages.classroom.rooms import ROOMS
from pages.learn.classroom import attacking, guessing, hospitals, spending
from pages.learn.classroom.door import Here, trying, watched
from pages.sidebar.foot import only_here, reachable
from pages.widgets.plain_text import plainly

_EVERY_SECONDS = 1.0
_WALL_SECONDS = 0.25
_CODE = "font-size:min(11vw,5.5rem);font-weight:700;letter-spacing:.08em;line-height:1.1"


class View(Protocol):
    """An activity as pages show it: one of the modules beside this one."""

    TITLE: str
    ABOUT: str

    def asked(self, room: Room, /) -> Callable[[], Activity]:
        """Draw its settings on the console; gives what makes a round of it."""

    def arrived(self, activity: Any, /) -> str:
        """How far it is, for the console, in a sentence."""

    def on_phone(self, here: Here, student: Student, activity: Any, /) -> None: ...

    def on_wall(self, room: Room, activity: Any, /) -> None: ...

    def on_console(self, here: Here, activity: Any, /) -> None: ...


VIEWS: dict[str, View] = {
    "hospitals": hospitals,
    "guess": guessing,
    "attack": attacking,
    "spend": spending,
}


def console(here: Here) -> None:
    """The teacher's: who is here, what goes on, and what may go on next."""
    watched(here, "classroom_console", _console, every=_EVERY_SECONDS)


def _console(here: Here) -> None:
    room = here.room
    left, right = st.columns([3, 1], vertical_alignment="center")
    left.markdown(
        f"## Room {room.code}\n\n{counted(room.n_joined, 'student')} of at most {MOST_STUDENTS}; "
        f"{room.n_here} seen in the last {AWAY_SECONDS:.0f} seconds. Students join at "
        f"`{address_of(room)}`."
    )
    right.link_button(
        "Projector's view ↗",
        f"{st.context.url or ''}?room={room.code}&projector=true&present=true",
        width="stretch",
    )
    if room.activity is not None:
        _goes_on(here, room, room.activity)
    _next(here, room)
    _room_itself(here, room)


def _goes_on(here: Here, room: Room, activity: Activity) -> None:
    view = VIEWS[activity.name]
    with st.container(border=True):
        state = "revealed" if room.is_revealed else "locked" if room.is_paused else "open"
        st.markdown(f"### Now: {view.TITLE}, {state}\n\n{view.arrived(activity)}")
        row = st.container(horizontal=True)
        if not room.is_revealed:
            row.button(
                "Reveal", type="primary", on_click=trying, args=(partial(room.reveal, here.key),)
            )
            row.button(
                "Unlock the phones" if room.is_paused else "Lock the phones",
                on_click=trying,
                args=(partial(room.pause, here.key, not room.is_paused),),
            )
        row.button(
            "Close the activity", on_click=trying, args=(partial(room.close_round, here.key),)
        )
        view.on_console(here, activity)


def _next(here: Here, room: Room) -> None:
    st.markdown("### Start an activity" if room.activity is None else "### Start another, or again")
    name = st.segmented_control(
        "Activity",
        tuple(VIEWS),
        format_func=lambda each: VIEWS[each].TITLE,
        default=next(iter(VIEWS)),
        required=True,
        key="classroom_activity",
        label_visibility="collapsed",
    )
    view = VIEWS[name]
    st.markdown(view.ABOUT)
    make = view.asked(room)
    st.button(
        "Start" if room.activity is None else "Start it, and let go of the one before",
        type="primary" if room.activity is None else "secondary",
        key="classroom_start",
        on_click=trying,
        args=(lambda: room.start(here.key, make()),),
    )


def _room_itself(here: Here, room: Room) -> None:
    with st.expander("The room itself"):
        st.markdown(
            "Close the laptop, and the room waits for two hours. On another machine, **Your room "
            "is open on another device** takes over with the code and this key. Whoever has it is "
            "the teacher."
        )
        if st.toggle("Show the key", key="classroom_key_shown"):
            st.code(here.key, language=None)
        row = st.container(horizontal=True)
        row.button(
            "Empty the room", on_click=trying, args=(partial(room.reset, here.key),),
            help="Everybody has to join again; the code stays.",
        )  # fmt: skip
        row.button(
            "End the room", on_click=trying, args=(partial(ROOMS.close, room, here.key),),
            help="Nothing of it is left.",
        )  # fmt: skip


def wall(here: Here) -> None:
    """What the projector shows: how to join, what goes on, and what comes of it as it comes."""
    watched(here, "classroom_wall", _wall, every=_WALL_SECONDS)


def address_of(room: Room) -> str:
    """Where phones on the same network find the room."""
    return f"{reachable(st.context.url or '').split('?')[0]}?room={room.code}"


def _wall(here: Here) -> None:
    room = here.room
    if room.activity is None:
        _way_in(room)
        return
    view = VIEWS[room.activity.name]
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    left.markdown(f"## {view.TITLE}")
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
                "**--server.address 0.0.0.0 --browser.serverAddress NAME** it lets a "
                "class in, where NAME is this machine's name or address on the phones' network."
            )
    right.image(_qr(address), width="stretch", alt=f"A QR code of {address}")


def _short(room: Room) -> str:
    """The address without what a browser adds by itself, as code: it is no link to follow here."""
    return f"`{address_of(room).split('?')[0].removeprefix('http://')}`"


@lru_cache(maxsize=64)
def _qr(address: str) -> str:
    svg: str = segno.make_qr(address, error="m").svg_inline(scale=8, light="white")
    return svg


def phone(here: Here) -> None:
    """What a student holds: what goes on, what they can do now, and what came of it."""
    watched(here, "classroom_phone", _phone, every=_EVERY_SECONDS)


def _phone(here: Here) -> None:
    room, student = here.room, here.student
    if student is None:
        return
    st.caption(f"Room {room.code} · you are {plainly(student.called)}")
    if room.activity is None:
        st.markdown("## You are in\n\nLook at the wall: the teacher begins.")
        return
    view = VIEWS[room.activity.name]
    st.markdown(f"## {view.TITLE}")
    if room.is_paused:
        st.info("The teacher has locked the phones for a moment.")
    view.on_phone(here, student, room.activity)
