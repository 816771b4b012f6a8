"""The teacher's console: who is here, what goes on, and what may go on next."""

from __future__ import annotations

from functools import partial

import streamlit as st

from dpcore.experiments.pca.sentences import counted
from pages.classroom.room import AWAY_SECONDS, MOST_STUDENTS, Activity, Room
from pages.classroom.rooms import ROOMS
from pages.learn.classroom.activity_views import VIEWS, view_of
from pages.learn.classroom.door import Here, trying, watched
from pages.learn.classroom.wall import address_of

_EVERY_SECONDS = 1.0


def shown(here: Here) -> None:
    """The console."""
    watched(here, "classroom_console", _now, every=_EVERY_SECONDS)


def _now(here: Here) -> None:
    room = here.room
    left, right = st.columns([3, 1], vertical_alignment="center")
    left.markdown(
        f"## Room {room.code}\n\n{counted(room.n_joined, 'student')} of at most {MOST_STUDENTS}; "
        f"{room.n_here} seen in the last {AWAY_SECONDS:.0f} seconds. Students join at "
        f"`{address_of(room)}`."
    )
    right.link_button(
        "Projector's view ↗",
        f"{st.context.url or ''}?room={room.code}&projector=true",
        width="stretch",
    )
    if room.activity is not None:
        _goes_on(here, room, room.activity)
    _next(here, room)
    _room_itself(here, room)


def _goes_on(here: Here, room: Room, activity: Activity) -> None:
    view = view_of(activity)
    with st.container(border=True):
        state = "revealed" if room.is_revealed else "locked" if room.is_paused else "open"
        st.markdown(f"### Now: {view.title}, {state}\n\n{view.arrived(activity)}")
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
        format_func=lambda each: VIEWS[each].title,
        default=next(iter(VIEWS)),
        required=True,
        key="classroom_activity",
        label_visibility="collapsed",
    )
    view = VIEWS[name]
    st.markdown(view.about)
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
