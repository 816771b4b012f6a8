"""Classroom: a teacher's console, a wall for the projector, and a phone for each student."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from functools import lru_cache, partial
from urllib.parse import urlsplit, urlunsplit

import segno
import streamlit as st

from dpcore.experiments.engine.summaries import counted
from dpcore.teaching.activities import (
    Activity,
    Refused,
)
from dpcore.teaching.rooms import (
    AWAY_SECONDS,
    IDLE_SECONDS,
    LONGEST_NAME,
    ROOMS,
    Room,
    clean_code,
)
from dpcore.templates import fill
from pages.background import session_name
from pages.components import notices
from pages.components.classroom import remember_token, show_countdown
from pages.learn.activities.guess import GUESS
from pages.learn.activities.hospitals import HOSPITALS
from pages.learn.activities.quiz import QUIZ
from pages.learn.activities.visitor import (
    View,
    Visitor,
    draw_action,
    refuse,
    show_refusal,
    try_action,
)
from pages.sidebar import Selection

# Keys of this session's tokens by room code.
_SEATS, _KEYS = "_classroom_seats", "_classroom_keys"
VIEWS = {"hospitals": HOSPITALS, "guess": GUESS, "quiz": QUIZ}
_POLL_SECONDS = 1.0
_COUNTDOWNS = (15, 30, 60, 120)
_ALL_ADDRESSES = ("", "0.0.0.0", "::")  # noqa: S104  compared with, not bound to
_CODE = """
<p style="margin:0;font-size:min(13vw,9rem);font-weight:700;letter-spacing:.04em;line-height:1.05">
{{- code }}</p>"""
_NAMES = """
<ul style="display:flex;flex-wrap:wrap;gap:.4em 1.2em;list-style:none;padding:0;
font-size:{{ size }}rem">
{%- for student in students %}<li>{{ student.label }}</li>{% endfor -%}
</ul>"""


def show(selection: Selection) -> None:  # noqa: ARG001  every page has this signature
    """Draw the landing page, the form to join, the console, the wall, or a phone."""
    notices.stop_on_public_demo()
    code = str(st.query_params.get("room", ""))
    visitor = _member(code)
    room = _enter(code) if visitor is None else visitor.room
    if room is None:
        _show_landing()
    elif st.query_params.get("projector") == "true":
        _show_wall(room)
    elif visitor is None:
        _show_join(room)
    elif visitor.key:
        _show_console(visitor)
    else:
        _show_phone(visitor)


# ---- entering a room


def _member(code: str) -> Visitor | None:
    """Return this session in the room of a code, if it has a seat or the key."""
    clean = clean_code(code)
    for kind, cookie in ((_KEYS, f"desk_{clean}"), (_SEATS, f"seat_{clean}")):
        stored = st.session_state.get(kind, {}).get(clean)
        token = stored or str(st.context.cookies.get(cookie, ""))
        room = ROOMS.find_for_member(clean, token)
        if room is not None:
            remember_token(cookie, token, int(IDLE_SECONDS))
            return Visitor(room, key=token) if room.is_key(token) else Visitor(room, token=token)
    return None


def _enter(code: str) -> Room | None:
    if not code.strip():
        return None
    try:
        return ROOMS.enter(code, session_name(), str(st.context.ip_address or ""))
    except Refused as refused:
        st.warning(str(refused))
        return None


def _show_landing() -> None:
    st.title("Classroom: phones become hospitals")
    entrance, plan = st.columns([2, 3], gap="large")
    with entrance:
        with st.container(border=True):
            st.markdown("### You are in the class")
            with st.container(horizontal=True, vertical_alignment="bottom"):
                st.text_input("Room code (six digits)", key="classroom_code", max_chars=16)
                st.button("Join", on_click=_follow_code)
        with st.container(border=True):
            st.markdown("### You teach")
            st.button("Open a room", type="primary", on_click=_open_room)
            with st.expander("Continue on this device"):
                st.text_input("Room code", key="classroom_code_of_key", max_chars=16)
                st.text_input("Teacher's key", key="classroom_key", max_chars=40, type="password")
                st.button("Continue teaching", on_click=_take_over)
        show_refusal()
    with plan:
        for view in VIEWS.values():
            with st.container(border=True):
                st.markdown(f"**{view.title}**, {view.minutes} minutes. {view.about}")


def _show_join(room: Room) -> None:
    st.title(f"Room {_spaced(room.code)}")
    with st.form("join", border=False):
        st.text_input("Nickname (optional)", key="classroom_name", max_chars=LONGEST_NAME)
        st.form_submit_button("Join", type="primary", on_click=_join, args=(room,))
    st.caption(
        "The class can read your nickname. The room deletes names and answers when it ends. "
        "Anyone with the six digits can see the wall and take a seat."
    )
    show_refusal()


def _open_room() -> None:
    room = try_action(ROOMS.open)
    if room is not None:
        _store_token(_KEYS, room, room.key)


def _follow_code() -> None:
    st.query_params["room"] = clean_code(st.session_state.get("classroom_code", ""))


def _take_over() -> None:
    code = clean_code(st.session_state.get("classroom_code_of_key", ""))
    key = clean_code(st.session_state.get("classroom_key", ""))
    address = str(st.context.ip_address or "")
    room = try_action(lambda: ROOMS.enter(code, session_name(), address))
    if room is None:
        return
    if room.is_key(key):
        _store_token(_KEYS, room, key)
        return
    # A wrong key counts as a wrong code, so that keys cannot be guessed faster than codes.
    try_action(lambda: ROOMS.enter(f"{code}{key}", session_name(), address))
    refuse("This is not the key of that room.")


def _join(room: Room) -> None:
    token = try_action(lambda: room.join(st.session_state.get("classroom_name", "")))
    if token:
        _store_token(_SEATS, room, token)


def _store_token(kind: str, room: Room, token: str) -> None:
    st.session_state.setdefault(kind, {})[room.code] = token
    st.query_params["room"] = room.code


def _spaced(code: str) -> str:
    return f"{code[:3]}\N{NO-BREAK SPACE}{code[3:]}"


def _poll(room: Room, version: Callable[[], int], token: str = "") -> None:
    """Draw the page again when the room has changed."""
    drawn = version()

    @st.fragment(run_every=_POLL_SECONDS)
    def note_presence() -> None:
        room.note_presence(token)
        if version() != drawn or room.has_ended or (token and room.seat_of(token) is None):
            st.rerun()

    note_presence()


# ---- console


def _show_console(visitor: Visitor) -> None:
    room = visitor.room
    _poll(room, lambda: room.news)
    st.title(f"Room {_spaced(room.code)}")
    left, right = st.columns([3, 1], vertical_alignment="center")
    left.markdown(
        f"{counted(room.n_joined, 'student')} joined at `{_address(room)}`; {room.n_here} present "
        f"in the last {AWAY_SECONDS:.0f} s."
    )
    wall = f"{st.context.url or ''}?room={room.code}&projector=true&present=1"
    right.link_button("Open the wall ↗", wall, width="stretch")
    show_refusal()
    controls, plan = st.columns([3, 2], gap="large")
    with controls:
        if room.activity is not None:
            _show_running(visitor, room.activity)
        chosen = _choose_activity(visitor)
        _show_room_settings(visitor)
    with plan:
        _show_plan(VIEWS[chosen])


def _show_running(visitor: Visitor, activity: Activity) -> None:
    room, view = visitor.room, VIEWS[activity.name]
    with st.container(border=True):
        state = "revealed" if room.is_revealed else "locked" if room.is_paused else "open"
        st.markdown(f"### {view.title}: {state}\n\n{view.progress(activity)}")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            if not room.is_revealed:
                draw_action("Reveal", partial(room.reveal, visitor.key), "primary")
                lock = "Unlock phones" if room.is_paused else "Lock phones"
                draw_action(lock, partial(room.pause, visitor.key, not room.is_paused))
                seconds = st.selectbox("Countdown (s)", _COUNTDOWNS, 1, key="classroom_seconds")
                draw_action("Start countdown", partial(room.set_timer, visitor.key, seconds))
            draw_action("Close", partial(room.close_round, visitor.key))
        view.on_console(visitor, activity)


def _choose_activity(visitor: Visitor) -> str:
    room = visitor.room
    name = st.segmented_control(
        "Activity",
        list(VIEWS),
        format_func=lambda name: VIEWS[name].title,
        default="hospitals",
        required=True,
        key="classroom_activity",
    )
    make = VIEWS[name].choose(room)
    label = "Start" if room.activity is None else "Start (ends the current activity)"
    st.button(
        label,
        type="primary" if room.activity is None else "secondary",
        key="classroom_start",
        on_click=try_action,
        args=(lambda: room.start(visitor.key, make()),),
    )
    return name


def _show_room_settings(visitor: Visitor) -> None:
    room = visitor.room
    with st.expander("Room"):
        st.caption(
            "The room stays open for two hours after the last visit. The key continues the "
            "lesson on another device. Anyone who has the key is the teacher."
        )
        if st.toggle("Show the key", key="classroom_key_visible"):
            st.code(visitor.key, language=None)
        with st.container(horizontal=True):
            draw_action("Remove all students", partial(room.reset, visitor.key))
            draw_action("End the room", partial(ROOMS.close, room, visitor.key))


def _show_plan(view: View) -> None:
    """Show the steps of the plan one by one."""
    key = f"_classroom_step_{view.title}"
    step = min(st.session_state.get(key, 0), len(view.plan) - 1)
    with st.container(border=True):
        st.caption(f"Plan, step {step + 1} of {len(view.plan)}")
        st.markdown(f"### {view.plan[step]}")
        with st.container(horizontal=True):
            st.button("Back", on_click=_set, args=(key, step - 1), disabled=step == 0)
            is_last = step == len(view.plan) - 1
            st.button("Next step", on_click=_set, args=(key, step + 1), disabled=is_last)


def _set(key: str, value: object) -> None:
    st.session_state[key] = value


# ---- wall


def _show_wall(room: Room) -> None:
    _poll(room, lambda: room.news)
    if room.activity is None:
        _show_lobby(room)
        return
    view = VIEWS[room.activity.name]
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    left.title(view.headline(room, room.activity) or view.title)
    with right:
        if room.seconds_left is not None:
            show_countdown(room.seconds_left, is_wall=True)
        st.caption(f"{_short_address(room)}, code **{_spaced(room.code)}**")
    if room.is_paused:
        st.info("Phones are locked.")
    view.on_wall(room, room.activity)


def _show_lobby(room: Room) -> None:
    address = _address(room)
    left, right = st.columns([2, 1], gap="large", vertical_alignment="center")
    with left:
        st.title("Join")
        st.html(fill(_CODE, code=_spaced(room.code)))
        st.markdown(f"### {_short_address(room)}\n\n**{counted(room.n_joined, 'phone')}** joined.")
    if _is_local(address):
        right.warning(
            "Only this machine can reach the server. Start it with `--server.address 0.0.0.0 "
            "--browser.serverAddress NAME`, where NAME is this machine's name on the network."
        )
    else:
        right.image(_qr_code(address), width="stretch", alt=f"QR code of {address}")
    size = 1.6 if room.n_joined <= 12 else 1.0
    st.html(fill(_NAMES, students=room.students, size=size))


def _address(room: Room) -> str:
    """Return the address at which phones on the same network find the room."""
    parts = urlsplit(st.context.url or "")
    host = st.get_option("browser.serverAddress") or ""
    listens_at = st.get_option("server.address") or ""
    if _is_local(parts.geturl()) and host and listens_at in _ALL_ADDRESSES:
        port = f":{parts.port}" if parts.port else ""
        parts = parts._replace(netloc=f"{host}{port}")
    return urlunsplit(parts._replace(query=f"room={room.code}", fragment=""))


def _short_address(room: Room) -> str:
    return f"`{_address(room).split('?')[0].removeprefix('http://')}`"


def _is_local(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@lru_cache(maxsize=64)
def _qr_code(address: str) -> str:
    svg: str = segno.make_qr(address, error="m").svg_inline(scale=8, light="white")
    return svg


# ---- phone


def _show_phone(visitor: Visitor) -> None:
    room, student = visitor.room, visitor.student
    if student is None:
        return
    _poll(room, lambda: room.version, visitor.token)
    name = notices.escape_markdown(student.label)
    show_refusal()
    if room.activity is None:
        st.title("You are in")
        st.markdown(f"Room {_spaced(room.code)}, {name}. Look at the wall.")
        return
    view = VIEWS[room.activity.name]
    headline = view.headline(room, room.activity) if room.is_revealed else ""
    st.title(headline or view.title)
    st.caption(f"Room {_spaced(room.code)}, {name}")
    if room.is_paused:
        st.info("The teacher has locked the phones.")
    if room.seconds_left is not None:
        show_countdown(room.seconds_left, is_wall=False)
    view.on_phone(visitor, student, room.activity)
