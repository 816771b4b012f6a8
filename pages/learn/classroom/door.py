"""Who somebody is in which room: nobody yet, a student with a seat, or its teacher."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from pages.classroom.room import LONGEST_NAME, Refused, Room, Student
from pages.classroom.rooms import IDLE_SECONDS, ROOMS, code_in
from pages.parameters.table import ask
from pages.server import result_cache
from pages.sidebar.controls import move
from pages.sidebar.parts import draw_again, in_browser
from pages.widgets.plain_text import plainly

# What this session is known by in each room, by its code.
_SEATS, _KEYS = "_classroom_seats", "_classroom_keys"
# What was refused a moment ago, and which version of the room a part shows.
_SAID, _SHOWN = "_classroom_said", "_classroom_shown"
_kept = in_browser("classroom_kept", Path(__file__).with_name("kept.js"))


@dataclass(frozen=True)
class Here:
    """Somebody in a room.

    token: Of a student; empty for anybody else.
    key: The teacher's; empty for anybody else.
    """

    room: Room
    token: str = ""
    key: str = ""

    @property
    def student(self) -> Student | None:
        return self.room.seat_of(self.token)


def found(written: str) -> Here | None:
    """Where somebody is who has a seat, or the key, of the room that the address names."""
    code = code_in(written)
    for kind, cookie in ((_KEYS, f"desk_{code}"), (_SEATS, f"seat_{code}")):
        token = st.session_state.get(kind, {}).get(code) or str(st.context.cookies.get(cookie, ""))
        room = ROOMS.of_member(code, token)
        if room is not None:
            is_teacher = room.is_key(token)
            _kept(
                key=f"kept_{cookie}",
                data={"name": cookie, "value": token, "seconds": int(IDLE_SECONDS)},
            )
            return Here(room, key=token) if is_teacher else Here(room, token=token)
    return None


def landing() -> None:
    """Open a room, or join one."""
    left, right = st.columns(2, gap="large")
    with left.container(border=True, height="stretch"):
        st.markdown("## You teach\n\nOpen a room, show its code, and start what the class does.")
        st.button("Open a room", type="primary", on_click=_opened, key="room_opened")
        with st.expander("Your room is open on another device"):
            st.text_input("Room code", key="room_of_key", max_chars=16)
            st.text_input("Teacher's key", key="room_key", max_chars=40, type="password")
            st.button("Go on teaching", on_click=_taken_over, key="room_taken_over")
    with right.container(border=True, height="stretch"):
        st.markdown("## You are in the class\n\nJoin with the code on the wall. No account.")
        ask("room")
        st.button("Find the room", key="room_found")
    say_refused()


def join(room: Room) -> None:
    """A nickname or none, and a seat."""
    st.markdown(f"## Room {room.code}")
    with st.form("join", border=False, enter_to_submit=True):
        st.text_input(
            "A nickname, if you like", key="nickname", max_chars=LONGEST_NAME, autocomplete="off"
        )
        st.form_submit_button("Join", type="primary", on_click=_joined, args=(room,))
    st.caption(
        "The room knows this name and what you choose, and forgets both when it ends. Everybody "
        "in the class can read the name."
    )
    say_refused()


def written() -> str:
    """The code in the address, before its control is drawn."""
    asked: str = st.session_state.get("room", st.query_params.get("room", ""))
    return asked


def entered(code: str) -> Room | None:
    """The room of a code; says why there is none."""
    if not code.strip():
        return None
    try:
        return ROOMS.enter(code, result_cache.visitor())
    except Refused as refused:
        st.warning(str(refused))
        return None


def sends(here: Here, *sent: Any) -> Callable[[], None]:
    """A button's callback that hands something over, for the round that its button shows."""
    round_ = here.room.round
    value = sent[0] if len(sent) == 1 else sent

    def send() -> None:
        trying(lambda: here.room.send(here.token, round_, value))

    return send


def trying(what: Callable[[], Any]) -> Any:
    """From a callback: do something that a room may refuse, and say so where the page goes on."""
    try:
        return what()
    except Refused as refused:
        st.session_state[_SAID] = str(refused)
        return None


def say_refused() -> None:
    """What was refused a moment ago."""
    if (sentence := st.session_state.pop(_SAID, "")) != "":
        st.warning(sentence)


def called(room: Room, seat: int) -> str:
    """What a seat is called, for what shows letters as they are."""
    names = {each.seat: each.called for each in room.students}
    return names.get(seat, f"Number {seat + 1}")


def named(room: Room, seat: int) -> str:
    """The same as Markdown that shows its letters."""
    return plainly(called(room, seat))


def watched(here: Here, part: str, draw: Callable[[Here], None], *, every: float) -> None:
    """A part of the page that is drawn again when something in the room has changed.

    What asks every so many seconds draws nothing, so that nothing moves under a finger.
    """

    def version() -> int:
        return here.room.version if here.token else here.room.news

    def drawn() -> None:
        st.session_state[_SHOWN] = version()
        say_refused()
        draw(here)

    def look() -> None:
        here.room.look(here.token)
        if here.room.has_ended or (here.token and here.student is None):
            st.rerun()
        if st.session_state.get(_SHOWN) != version():
            draw_again(part)

    st.fragment(drawn, key=part)()
    st.fragment(look, run_every=every, key=f"{part}_look")()


def _opened() -> None:
    room = trying(ROOMS.open)
    if room is not None:
        _enter_as(_KEYS, room, room.key)


def _taken_over() -> None:
    state = st.session_state
    code, key = code_in(state.get("room_of_key", "")), code_in(state.get("room_key", ""))
    room = trying(lambda: ROOMS.enter(code, result_cache.visitor()))
    if room is None:
        return
    if room.is_key(key):
        _enter_as(_KEYS, room, key)
    else:
        # A wrong key is a wrong try as well, of a code that nobody has.
        trying(lambda: ROOMS.enter(f"{code}{key}", result_cache.visitor()))
        state[_SAID] = "This is not the key of that room."


def _joined(room: Room) -> None:
    token = trying(lambda: room.join(st.session_state.get("nickname", "")))
    if token:
        _enter_as(_SEATS, room, token)


def _enter_as(kind: str, room: Room, token: str) -> None:
    st.session_state.setdefault(kind, {})[room.code] = token
    move("room", room.code)
