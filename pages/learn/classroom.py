"""Classroom: a teacher's console, a wall for the projector, and a phone for each student."""

from __future__ import annotations

import ipaddress
import secrets
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from html import escape
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import numpy as np
import segno
import streamlit as st

from dpcore.arrays import FloatArray
from dpcore.experiments.engine.summaries import bytes_in_words, counted, percent
from dpcore.figures.images import ink_strip
from dpcore.figures.messages import messages_curve
from dpcore.figures.style import look_of
from dpcore.mechanisms import chance_of_truth, randomised_response
from dpcore.privacy import icon_counts
from dpcore.teaching.activities import (
    Activity,
    Guess,
    Hospitals,
    Quiz,
    Refused,
)
from dpcore.teaching.algorithm1 import PICTURES, SHAPE, components_of, hospital_guarantee
from dpcore.teaching.quiz import QUESTIONS, UNKNOWN, Phase, analyse_quiz, is_right, quiz_csv
from dpcore.teaching.rooms import (
    AWAY_SECONDS,
    IDLE_SECONDS,
    LONGEST_NAME,
    ROOMS,
    Room,
    Student,
    clean_code,
)
from pages.background import session_name
from pages.components import charts, guarantee, ledger, notices
from pages.components.classroom import remember_token, show_countdown
from pages.number_format import plain
from pages.sidebar import Selection

# Keys of this session's tokens by room code, and of the last refusal.
_SEATS, _KEYS, _REFUSAL = "_classroom_seats", "_classroom_keys", "_classroom_refusal"
# This phone's true answer to the question of a round: room code, round, answer.
_TRUTH = "_classroom_truth"
_POLL_SECONDS = 1.0
_COUNTDOWNS = (15, 30, 60, 120)
_BAR = look_of("dpdis").colour
_EPSILONS_OF_HOSPITALS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
_EPSILONS_OF_ANSWERS = (0.5, 1.0, 2.0, 3.0)
# Fewer pairs of answers would show the answers of single phones.
_FEWEST_PAIRS = 3
_PHASES = {Phase.BEFORE: "Before the lesson", Phase.AFTER: "After the lesson"}
_NUMBERS_SHOWN = 24
_ALL_ADDRESSES = ("", "0.0.0.0", "::")  # noqa: S104  compared with, not bound to
_CODE_STYLE = "font-size:min(13vw,9rem);font-weight:700;letter-spacing:.04em;line-height:1.05"


@dataclass(frozen=True)
class Visitor:
    """Session in a room.

    token: Token of a student; empty otherwise.
    key: Key of the teacher; empty otherwise.
    """

    room: Room
    token: str = ""
    key: str = ""

    @property
    def student(self) -> Student | None:
        """The student with this token, or None."""
        return self.room.seat_of(self.token)


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


def _try(action: Callable[[], Any]) -> Any:
    """Run an action from a callback; a refusal is shown in the next run."""
    try:
        return action()
    except Refused as refused:
        st.session_state[_REFUSAL] = str(refused)
        return None


def _show_refusal() -> None:
    if sentence := st.session_state.pop(_REFUSAL, ""):
        st.warning(sentence)


def _show_landing() -> None:
    st.title("Classroom: phones become hospitals")
    left, right = st.columns(2, gap="large")
    with left.container(border=True, height="stretch"):
        st.markdown("### You teach")
        st.button("Open a room", type="primary", on_click=_open_room)
        with st.expander("Continue on this device"):
            st.text_input("Room code", key="classroom_code_of_key", max_chars=16)
            st.text_input("Teacher's key", key="classroom_key", max_chars=40, type="password")
            st.button("Continue teaching", on_click=_take_over)
    with right.container(border=True, height="stretch"):
        st.markdown("### You are in the class")
        st.text_input("Room code (six digits)", key="classroom_code", max_chars=16)
        st.button("Join", on_click=_follow_code)
    _show_refusal()
    for column, view in zip(st.columns(len(VIEWS)), VIEWS.values(), strict=True):
        column.markdown(f"**{view.title}**, {view.minutes} minutes. {view.about}")


def _show_join(room: Room) -> None:
    st.title(f"Room {_spaced(room.code)}")
    with st.form("join", border=False):
        st.text_input("Nickname (optional)", key="classroom_name", max_chars=LONGEST_NAME)
        st.form_submit_button("Join", type="primary", on_click=_join, args=(room,))
    st.caption(
        "The class can read your nickname. The room deletes names and answers when it ends. "
        "Anyone with the six digits can see the wall and take a seat."
    )
    _show_refusal()


def _open_room() -> None:
    room = _try(ROOMS.open)
    if room is not None:
        _store_token(_KEYS, room, room.key)


def _follow_code() -> None:
    st.query_params["room"] = clean_code(st.session_state.get("classroom_code", ""))


def _take_over() -> None:
    code = clean_code(st.session_state.get("classroom_code_of_key", ""))
    key = clean_code(st.session_state.get("classroom_key", ""))
    address = str(st.context.ip_address or "")
    room = _try(lambda: ROOMS.enter(code, session_name(), address))
    if room is None:
        return
    if room.is_key(key):
        _store_token(_KEYS, room, key)
        return
    # A wrong key counts as a wrong code, so that keys cannot be guessed faster than codes.
    _try(lambda: ROOMS.enter(f"{code}{key}", session_name(), address))
    st.session_state[_REFUSAL] = "This is not the key of that room."


def _join(room: Room) -> None:
    token = _try(lambda: room.join(st.session_state.get("classroom_name", "")))
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
    _show_refusal()
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
                _action("Reveal", partial(room.reveal, visitor.key), "primary")
                lock = "Unlock phones" if room.is_paused else "Lock phones"
                _action(lock, partial(room.pause, visitor.key, not room.is_paused))
                seconds = st.selectbox("Countdown (s)", _COUNTDOWNS, 1, key="classroom_seconds")
                _action("Start countdown", partial(room.set_timer, visitor.key, seconds))
            _action("Close", partial(room.close_round, visitor.key))
        view.on_console(visitor, activity)


def _action(label: str, action: Callable[[], Any], kind: Any = "secondary") -> None:
    st.button(label, type=kind, on_click=_try, args=(action,), key=f"classroom_{label}")


def _choose_activity(visitor: Visitor) -> str:
    room = visitor.room
    name = st.segmented_control(
        "Activity",
        list(VIEWS),
        format_func=lambda each: VIEWS[each].title,
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
        on_click=_try,
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
            _action("Remove all students", partial(room.reset, visitor.key))
            _action("End the room", partial(ROOMS.close, room, visitor.key))


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
    left.title(view.title)
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
        st.html(f'<p style="margin:0;{_CODE_STYLE}">{_spaced(room.code)}</p>')
        st.markdown(f"### {_short_address(room)}\n\n**{counted(room.n_joined, 'phone')}** joined.")
    if _is_local(address):
        right.warning(
            "Only this machine can reach the server. Start it with `--server.address 0.0.0.0 "
            "--browser.serverAddress NAME`, where NAME is this machine's name on the network."
        )
    else:
        right.image(_qr_code(address), width="stretch", alt=f"QR code of {address}")
    names = "".join(f"<li>{escape(student.label)}</li>" for student in room.students)
    size = 1.6 if room.n_joined <= 12 else 1.0
    st.html(
        '<ul style="display:flex;flex-wrap:wrap;gap:.4em 1.2em;list-style:none;padding:0;'
        f'font-size:{size}rem">{names}</ul>'
    )


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
    _show_refusal()
    if room.activity is None:
        st.title("You are in")
        st.markdown(f"Room {_spaced(room.code)}, {name}. Look at the wall.")
        return
    view = VIEWS[room.activity.name]
    st.title(view.title)
    st.caption(f"Room {_spaced(room.code)}, {name}")
    if room.is_paused:
        st.info("The teacher has locked the phones.")
    if room.seconds_left is not None:
        show_countdown(room.seconds_left, is_wall=False)
    view.on_phone(visitor, student, room.activity)


def _send(visitor: Visitor, *sent: Any) -> Callable[[], None]:
    """Return a button callback that sends an answer in the round for which the button was drawn."""
    round_ = visitor.room.round
    value = sent[0] if len(sent) == 1 else sent
    return lambda: _try(lambda: visitor.room.send(visitor.token, round_, value))


def _show_bars(answers: Sequence[str], counts: Sequence[int], *, most: int, what: str) -> None:
    """Draw how often each answer was given, as bars.

    most: Count of a full bar.
    what: Noun phrase for the counts.
    """
    lines = "".join(
        f"<div>{escape(answer)}</div>"
        '<div style="background:color-mix(in srgb, currentColor 12%, transparent)">'
        f'<div style="width:{100 * count / max(most, count, 1):.0f}%;height:1.4em;'
        f'background:{_BAR}"></div></div><b>{count}</b>'
        for answer, count in zip(answers, counts, strict=True)
    )
    st.caption(f"{what}, of {most}")
    st.html(
        '<div style="display:grid;grid-template-columns:fit-content(45%) 1fr auto;gap:.5em 1em;'
        f'align-items:center;font-size:1.2rem">{lines}</div>'
    )


# ---- activity: hospitals


def _choose_hospitals(room: Room) -> Callable[[], Hospitals]:
    return lambda: Hospitals(room.n_joined)


def _hospitals_progress(activity: Hospitals) -> str:
    return f"**{counted(len(activity.messages), 'hospital')}** sent a message."


def _hospitals_on_phone(visitor: Visitor, student: Student, activity: Hospitals) -> None:
    seat, room = student.seat, visitor.room
    if not activity.has_share(seat):
        st.info("All patients are dealt. You get some in the next round.")
        return
    n_rows, has_sent = activity.hospitals.people(seat), seat in activity.messages
    epsilon = activity.epsilons.get(seat, 1.0)
    if not has_sent:
        st.markdown(f"You are a hospital with **{n_rows:,} patients**. How much may you reveal?")
        epsilon = st.segmented_control(
            "Your ε: small is private, large is useful",
            _EPSILONS_OF_HOSPITALS,
            format_func=plain,
            default=1.0,
            required=True,
            key=f"classroom_epsilon_{room.round}",
            disabled=room.is_paused or room.is_revealed,
        )
    message, n_bytes = activity.preview(seat, epsilon)
    _show_numerals(
        activity,
        {
            "Your patients' patterns stay here": activity.hospitals.own_components(seat),
            f"Your message at ε = {plain(epsilon)}": components_of(message),
        },
    )
    if has_sent:
        raw = bytes_in_words(8 * n_rows * message.n_features)
        st.success(f"Sent: {bytes_in_words(n_bytes)}. Your patients' rows, {raw}, stayed here.")
    elif not room.is_revealed:
        st.button(
            f"Send at ε = {plain(epsilon)}",
            type="primary",
            width="stretch",
            key=f"classroom_send_{room.round}",
            on_click=_send(visitor, epsilon),
            disabled=room.is_paused,
        )
    holds = hospital_guarantee(activity.hospitals, seat, epsilon)
    right, blind = icon_counts(holds)
    st.markdown(
        f"The best attacker guesses right about one patient at most **{right} of 100** times; "
        f"a coin {blind}."
    )
    if room.is_revealed:
        _show_energy(activity)
    with st.expander("Guarantee"):
        guarantee.show_card(holds)


def _hospitals_on_wall(room: Room, activity: Hospitals) -> None:
    if room.is_revealed and activity.opened is not None:
        _show_message(room, activity, activity.opened)
        return
    _show_energy(activity)
    left, right = st.columns([3, 2], gap="large")
    with right:
        if activity.components is not None:
            _show_numerals(activity, {"Without noise": activity.hospitals.exact})
        curve = messages_curve(
            activity.energies,
            activity.hospitals.random_energy,
            activity.hospitals.moments.n_sites,
            dark=charts.is_dark(),
        )
        alt = f"Captured energy after {counted(len(activity.messages), 'message')}."
        charts.show_figure(curve, key="classroom_energy", alt=alt)
    if activity.components is None:
        return
    with left:
        _show_numerals(activity, {"Ten digits from this class": activity.components})
    notices.mark_not_private("Captured energy and the rebuilt digits", "are read off the rows.")
    ledger.record_uncovered(PICTURES, "Rounds in a classroom", "each hospital pays its own ε")


def _show_energy(activity: Hospitals) -> None:
    n_sites, sent = activity.hospitals.moments.n_sites, len(activity.messages)
    if not sent:
        st.markdown("### No message yet. Choose your ε and send.")
        return
    st.markdown(
        f"### {percent(activity.energy)} captured energy from {sent} of {n_sites} hospitals"
    )
    rows = activity.hospitals.people(0)
    average = "with weights from their noise" if activity.is_weighed else "with equal weights"
    st.caption(
        f"Each hospital has {rows:,} of 10,000 pictures and chose its own ε. Messages are averaged "
        f"{average}. The start page has 2,000 pictures per hospital and denoises, so it captures "
        "more."
    )


def _hospitals_on_console(visitor: Visitor, activity: Hospitals) -> None:
    room, seats = visitor.room, list(activity.messages)
    if not room.is_revealed or not seats:
        return
    labels = {student.seat: student.label for student in room.students}

    def change(name: str, value: object) -> None:
        if getattr(activity, name) != value:
            _try(partial(room.show, visitor.key, partial(setattr, activity, name, value)))

    opened = st.selectbox(
        "Show one message on the wall",
        [None, *seats],
        format_func=lambda seat: "none" if seat is None else labels.get(seat, str(seat + 1)),
        key=f"classroom_opened_{room.round}",
    )
    change("opened", opened)
    weighed = st.toggle(
        "Weigh each message by its noise",
        value=True,
        key=f"classroom_weighed_{room.round}",
        help="Off is the plain average of Algorithm 1: a hospital with a small ε adds its noise "
        "to the result of all. The noise scales are public, so weights cost no privacy.",
    )
    change("is_weighed", weighed)


def _show_message(room: Room, activity: Hospitals, seat: int) -> None:
    message = activity.messages[seat]
    labels = {student.seat: student.label for student in room.students}
    holds = hospital_guarantee(activity.hospitals, seat, activity.epsilons[seat])
    right_of, blind = icon_counts(holds)
    name = notices.escape_markdown(labels.get(seat, f"Number {seat + 1}"))
    st.markdown(f"### Everything that the aggregator has from {name}")
    left, right = st.columns(2, gap="large")
    values = message.values.ravel()
    numbers = "  ".join(f"{value:+.3f}" for value in values[:_NUMBERS_SHOWN])
    more = values.size - _NUMBERS_SHOWN
    left.code(f"{numbers}  … and {more:,} more", language=None, wrap_lines=True)
    with right:
        _show_numerals(activity, {"Rebuilt from the message": components_of(message)})
    st.markdown(
        f"About one patient the aggregator guesses right at most {right_of} of 100 times; a coin "
        f"{blind}. No computer and no other data change that."
    )


def _show_numerals(activity: Hospitals, rows: Mapping[str, FloatArray]) -> None:
    """Draw the same ten digits rebuilt from each of several sets of components."""
    figures = []
    for title, components in rows.items():
        ink = activity.hospitals.rebuild(components)
        halves = (ink[:5], ink[5:])
        images = "".join(
            '<img src="data:image/png;base64,'
            f'{b64encode(ink_strip(half, SHAPE, dark=charts.is_dark())).decode()}" '
            f'alt="{escape(title)}: digits {first} to {first + 4}" '
            'style="width:100%;display:block;image-rendering:pixelated">'
            for first, half in zip((0, 5), halves, strict=True)
        )
        figures.append(
            '<figure style="margin:0;flex:1 1 16rem;min-width:0">'
            f"<figcaption><b>{escape(title)}</b></figcaption>{images}</figure>"
        )
    st.html(f'<div style="display:flex;flex-wrap:wrap;gap:.5rem 2rem">{"".join(figures)}</div>')


# ---- activity: guess


def _choose_guess(_: Room) -> Callable[[], Guess]:
    question = st.text_input(
        "Question",
        "Have you ever copied someone else's homework?",
        max_chars=200,
        key="classroom_question",
    )
    epsilon = st.segmented_control(
        "ε of an answer",
        _EPSILONS_OF_ANSWERS,
        format_func=plain,
        default=1.0,
        required=True,
        key="classroom_guess_epsilon",
    )
    return lambda: Guess(question[:200], ("Yes", "No"), epsilon)


def _guess_progress(activity: Guess) -> str:
    return f"**{counted(len(activity.answers), 'answer')}**."


def _guess_rule(activity: Guess) -> str:
    truth = 100 * chance_of_truth(len(activity.choices), activity.epsilon)
    return f"Your phone tells the truth {truth:.0f} times in 100 and lies the rest."


def _guess_on_phone(visitor: Visitor, student: Student, activity: Guess) -> None:
    room = visitor.room
    st.markdown(f"### {notices.escape_markdown(activity.question, 200)}")
    st.caption(f"{_guess_rule(activity)} This server draws the noise for your phone.")
    if student.seat in activity.answers:
        sent_answer = activity.choices[activity.answers[student.seat]]
        st.success(f"Your phone said “{sent_answer}”. That may or may not be your answer.")
        if room.is_revealed:
            _show_estimate(activity)
            _offer_true_answer(visitor, student, activity)
        return
    if room.is_revealed:
        st.info("This round is over. Look at the wall.")
        return
    for number, choice in enumerate(activity.choices):
        st.button(
            choice,
            key=f"classroom_answer_{room.round}_{number}",
            width="stretch",
            disabled=room.is_paused,
            on_click=_answer,
            args=(visitor, activity, number),
        )


def _answer(visitor: Visitor, activity: Guess, truth: int) -> None:
    rng = np.random.default_rng(secrets.randbits(128))
    sent_answer = randomised_response(truth, len(activity.choices), activity.epsilon, rng=rng)
    st.session_state[_TRUTH] = visitor.room.code, visitor.room.round, truth
    _send(visitor, "randomised", sent_answer)()


def _offer_true_answer(visitor: Visitor, student: Student, activity: Guess) -> None:
    code, round_, truth = st.session_state.get(_TRUTH, ("", 0, 0))
    is_this_round = (code, round_) == (visitor.room.code, visitor.room.round)
    if not activity.is_open_late or not is_this_round:
        return
    if student.seat in activity.clear:
        st.info("Your true answer is counted.")
        return
    st.markdown("The teacher asks: may your true answer be counted, without noise?")
    st.button(
        "Count my true answer",
        key=f"classroom_clear_{round_}",
        on_click=_send(visitor, "clear", truth),
    )


def _guess_on_wall(room: Room, activity: Guess) -> None:
    st.markdown(f"### {notices.escape_markdown(activity.question, 200)}")
    if room.is_revealed and activity.answers:
        _show_estimate(activity)
    counts = activity.counts(activity.answers)
    _show_bars(activity.choices, counts, most=room.n_joined, what="Answers of the phones")
    st.caption(_guess_rule(activity).replace("Your phone", "Each phone"))
    if activity.is_open_late and activity.clear:
        n_true = len(activity.clear)
        notices.mark_not_private(f"{n_true} true answers:", "their owners agreed to it.")
        _show_bars(
            activity.choices, activity.counts(activity.clear), most=n_true, what="True answers"
        )


def _show_estimate(activity: Guess) -> None:
    n_answers = len(activity.answers)
    estimate, deviation = activity.estimate()
    most = int(np.argmax(estimate))
    number = min(max(round(estimate[most]), 0), n_answers)
    few = " Too few answers to know." if 4 * deviation >= n_answers else ""
    st.markdown(
        f"### About {number} of {n_answers} mean “{activity.choices[most]}”, "
        f"± {2 * deviation:.0f}.{few}"
    )


def _guess_on_console(visitor: Visitor, activity: Guess) -> None:
    if visitor.room.is_revealed and not activity.is_open_late:
        allow = partial(setattr, activity, "is_open_late", True)
        _action("Ask for true answers", partial(visitor.room.show, visitor.key, allow))
        st.caption("Each phone may agree. Do not ask this for a sensitive question.")


# ---- activity: quiz


def _choose_quiz(room: Room) -> Callable[[], Quiz]:
    phase = st.segmented_control(
        "When",
        list(Phase),
        format_func=_PHASES.__getitem__,
        default=Phase.BEFORE,
        required=True,
        key="classroom_phase",
    )
    phones = room.quiz.phones()
    is_open = isinstance(room.activity, Quiz) and not room.is_revealed
    if phones and not is_open:
        st.download_button(
            f"Answers of {counted(len(phones), 'phone')} (CSV)",
            quiz_csv(phones),
            "quiz.csv",
            "text/csv",
            on_click="ignore",
        )
        st.caption(
            "One row per phone in random order, without names. `python -m dpcore quiz quiz.csv` "
            "compares both phases. In a small class, answers may identify a student."
        )
    return lambda: Quiz(phase, room.quiz)


def _quiz_progress(activity: Quiz) -> str:
    counts = activity.answers.n_answered(activity.phase)
    complete = sum(count == len(QUESTIONS) for count in counts)
    phase = _PHASES[activity.phase]
    return f"**{phase}:** {counted(complete, 'phone')} answered all {len(QUESTIONS)} questions."


def _quiz_on_phone(visitor: Visitor, student: Student, activity: Quiz) -> None:
    room = visitor.room
    own = activity.answers.of(student.seat)
    if room.is_revealed:
        _show_quiz_result(own, activity)
        return
    following = activity.next_question(student.seat)
    if following is None:
        st.info("You have answered all six questions. Thank you.")
        return
    question, letters = following
    number = 1 + sum(phase is activity.phase for _, phase in own)
    st.markdown(f"**Question {number} of {len(QUESTIONS)}.** {question.text}")
    for place, letter in enumerate(letters):
        st.button(
            "I do not know" if letter == UNKNOWN else question.choices[letter],
            key=f"classroom_quiz_{room.round}_{question.name}_{place}",
            width="stretch",
            disabled=room.is_paused,
            on_click=_send(visitor, question.name, letter),
        )
    if number == 1:
        st.caption("The teacher can save all answers, without names and in random order.")


def _show_quiz_result(own: Mapping[tuple[str, Phase], str], activity: Quiz) -> None:
    if activity.phase is Phase.BEFORE:
        st.info("Thank you. The same six questions come after the lesson, with the answers.")
        return
    right = {
        phase: sum(is_right(name, choice) for (name, when), choice in own.items() if when is phase)
        for phase in Phase
    }
    st.markdown(f"### You: {right[Phase.BEFORE]} of 6 right before, {right[Phase.AFTER]} after")
    for question in QUESTIONS:
        own_answer = own.get((question.name, Phase.AFTER), UNKNOWN)
        mark = "✓" if is_right(question.name, own_answer) else "✗"
        answer = question.choices[question.right]
        st.markdown(f"{mark} **{question.topic}.** {answer}. {question.reason}")


def _quiz_on_wall(room: Room, activity: Quiz) -> None:
    st.markdown(f"### {_quiz_progress(activity)}")
    if not (room.is_revealed and activity.phase is Phase.AFTER):
        counts = activity.answers.n_answered(activity.phase)
        numbers = range(1, len(QUESTIONS) + 1)
        _show_bars(
            [f"question {number}" for number in numbers],
            [sum(count >= number for count in counts) for number in numbers],
            most=room.n_joined,
            what="Phones that have answered",
        )
        return
    analysis = analyse_quiz(activity.answers.phones() or [{}])
    n_pairs = max(pair.n_phones for pair in analysis.questions)
    if n_pairs < _FEWEST_PAIRS:
        st.markdown(f"Bars appear from {_FEWEST_PAIRS} phones that answered twice.")
        return
    lines, values = [], []
    for question, pair in zip(QUESTIONS, analysis.questions, strict=True):
        lines += [f"{question.topic}: before", "after"]
        values += [pair.n_right_before, pair.n_right_after]
    _show_bars(lines, values, most=n_pairs, what="Right answers of phones that answered twice")
    st.caption("A gain may come from the lesson, from the second reading, or from luck.")


def _draw_nothing(visitor: Visitor, activity: Any) -> None:
    """Draw nothing on the console."""


# ---- all activities


@dataclass(frozen=True)
class View:
    """Pages of one activity.

    choose: Draws the settings on the console and returns a function that makes the activity.
    progress: Returns one sentence for the console.
    on_phone, on_wall, on_console: Draw the activity there.
    plan: Steps of the lesson, one sentence each.
    """

    title: str
    about: str
    minutes: int
    choose: Callable[[Room], Callable[[], Activity]]
    progress: Callable[[Any], str]
    on_phone: Callable[[Visitor, Student, Any], None]
    on_wall: Callable[[Room, Any], None]
    on_console: Callable[[Visitor, Any], None]
    plan: tuple[str, ...]


VIEWS = {
    "hospitals": View(
        "We are the hospitals",
        "Each phone is a hospital and sends one noisy message.",
        12,
        _choose_hospitals,
        _hospitals_progress,
        _hospitals_on_phone,
        _hospitals_on_wall,
        _hospitals_on_console,
        (
            "“10,000 digits are dealt: each phone has its own patients.” Press Start.",
            "“Choose how much you reveal. Look at your message before you send it.”",
            "“Send.” Watch the digits on the wall get sharper with each message.",
            "Press Reveal. Show one message on the wall: what does the aggregator know?",
            "Switch weighing off: one cautious hospital spoils the average of all.",
            "Ask: who would choose another ε now? Start a second round.",
        ),
    ),
    "guess": View(
        "Guess",
        "Phones randomise their answers; the tally is about right.",
        8,
        _choose_guess,
        _guess_progress,
        _guess_on_phone,
        _guess_on_wall,
        _guess_on_console,
        (
            "Type a question that people rather do not answer. Press Start.",
            "“Your phone may lie for you. Answer truthfully.” Wait for all answers.",
            "Press Reveal: the estimate removes the lies on average.",
            "Ask: what do I know about you from your phone's answer?",
            "For a harmless question, ask for true answers and compare.",
        ),
    ),
    "quiz": View(
        "Quiz",
        "Six questions, before and after the lesson.",
        6,
        _choose_quiz,
        _quiz_progress,
        _quiz_on_phone,
        _quiz_on_wall,
        _draw_nothing,
        (
            "Start the quiz before the lesson. Do not discuss the answers.",
            "Press Reveal when all phones are done. Teach the lesson.",
            "Start the quiz again with “After the lesson”, then press Reveal.",
            "Discuss the questions that most of the class got wrong.",
            "Save the answers and compare them with `python -m dpcore quiz`.",
        ),
    ),
}
