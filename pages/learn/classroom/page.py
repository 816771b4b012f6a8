"""A room for a class: the teacher's console, the wall, and a phone in everybody's hand."""

from __future__ import annotations

import math
import re
import secrets
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import segno
import streamlit as st

from dpcore.arrays import FloatArray
from dpcore.data import load_dataset
from dpcore.experiments.summaries import bytes_in_words, counted, percent
from dpcore.figures.components import ink_strip, picture_strip
from dpcore.figures.privacy import draw_between_svg
from dpcore.figures.style import look_of
from dpcore.figures.svg import arrivals
from dpcore.mechanisms import chance_of_truth, randomised_response
from dpcore.params import EPSILONS
from dpcore.privacy import icon_counts
from dpcore.privacy.accountant import spoken_down
from dpcore.privacy.guarantee_in_words import say_number
from dpcore.teaching.adversary_test import rebuild
from dpcore.teaching.algorithm1 import (
    DELTA,
    MIDDLE,
    PICTURES,
    REACH,
    SHAPE,
    components_of,
    promise_of,
)
from dpcore.teaching.quiz import (
    QUESTIONS,
    UNKNOWN,
    Phase,
    analyse_quiz,
    is_right,
    quiz_csv,
)
from pages.learn.classroom.rooms import (
    ATTACK_DELTA,
    AWAY_SECONDS,
    IDLE_SECONDS,
    LONGEST_NAME,
    MOST_STUDENTS,
    N_DRAWS,
    ROOMS,
    Activity,
    Attack,
    Guess,
    Hospitals,
    Quiz,
    Refused,
    Room,
    Spend,
    Student,
    code_in,
)
from pages.server import caches
from pages.shell.controls import move
from pages.shell.fragments import draw_again, in_browser
from pages.shell.lessons import STORIES
from pages.shell.navigation import linked_page
from pages.shell.parameters import ask, plain
from pages.shell.share import only_here, reachable
from pages.widgets import session_ledger
from pages.widgets.charts import chart, is_dark
from pages.widgets.guarantee_card import guarantee_card
from pages.widgets.notices import big_number, errors_shown, not_private, plainly

# Who somebody is in which room: nobody yet, a student with a seat, or its teacher.

# What this session is known by in each room, by its code.
_SEATS, _KEYS = "_classroom_seats", "_classroom_keys"
# What was refused a moment ago, and which version of the room a part shows.
_SAID, _SHOWN = "_classroom_said", "_classroom_shown"
_BAR = look_of("dpdis").colour
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
        st.markdown("## You are in the class\n\nJoin with the six digits on the wall. No account.")
        ask("room")
        st.button("Find the room", key="room_found")
    say_refused()
    st.markdown("## What a class does")
    for place, view in zip(st.columns(len(VIEWS)), VIEWS.values(), strict=True):
        with place.container(border=True, height="stretch"):
            plan = lesson_plan(view.title)
            st.markdown(f"### {view.title}\n\n*{plan['Minutes']} minutes*\n\n{view.about}")


def join(room: Room) -> None:
    """A nickname or none, and a seat."""
    st.markdown(f"## Room {spaced(room.code)}")
    with st.form("join", border=False, enter_to_submit=True):
        st.text_input(
            "A nickname, if you like", key="nickname", max_chars=LONGEST_NAME, autocomplete="off"
        )
        st.form_submit_button("Join", type="primary", on_click=_joined, args=(room,))
    st.caption(
        "The room knows this name and what you choose, and forgets both when it ends. Everybody "
        f"in the class can read the name. {WHAT_A_CODE_OPENS}"
    )
    say_refused()


# Six digits can be guessed: what that gives, said where a code is used.
WHAT_A_CODE_OPENS = (
    "Anyone who has or guesses the six digits sees what the wall shows, nicknames too, and can "
    "take a seat. The teacher's console needs a key."
)


def spaced(code: str) -> str:
    """A code in two groups, as it is read aloud."""
    return f"{code[:3]}\u00a0{code[3:]}"


def written() -> str:
    """The code in the address, before its control is drawn."""
    asked: str = st.session_state.get("room", st.query_params.get("room", ""))
    return asked


def entered(code: str) -> Room | None:
    """The room of a code; says why there is none."""
    if not code.strip():
        return None
    try:
        return ROOMS.enter(code, caches.visitor(), str(st.context.ip_address or ""))
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


def answer_bars(
    answers: Sequence[str], counts: Sequence[int], *, most: int, said: str, high: int = 0
) -> None:
    """How often each answer was given, as bars that fill while answers arrive.

    most: What a full bar is: the phones of the class.
    said: What is counted.
    high: How much of a wall's height the bars take, in percent; 0 on a phone.
    """
    lines = "".join(
        f'<div style="align-self:center">{escape(answer)}</div>'
        '<div style="background:color-mix(in srgb, currentColor 12%, '
        'transparent);border-radius:4px">'
        f'<div style="width:{100 * count / max(most, count, 1):.0f}%;'
        f'min-width:2px;height:100%;min-height:1.2em;border-radius:4px;background:{_BAR}"></div>'
        '</div><b style="align-self:center;font-variant-numeric:tabular-nums">'
        f"{count}</b>"
        for answer, count in zip(answers, counts, strict=True)
    )
    size, gap = "font-size:max(1rem,min(2.2vw,1.6rem))", ".6em 1em"
    if high:
        # So large that all lines fit, and that what is written beside a bar fits into its column.
        line, longest = high / len(answers), max(map(len, answers))
        size = f"font-size:min({0.55 * line:.1f}vh,{max(2.2, 60 / longest):.1f}vw,3rem)"
        gap = f"{0.15 * line:.2f}vh 1rem;grid-auto-rows:minmax(min-content,{0.85 * line:.2f}vh)"
    st.html(
        f'<div style="width:100%"><p style="margin:0 0 .5rem">Bars: {said}, of {most}</p>'
        f'<div style="display:grid;grid-template-columns:fit-content(45%) 1fr auto;gap:{gap};'
        f'align-items:stretch;line-height:1.2;{size}">{lines}</div></div>'
    )


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
    address = str(st.context.ip_address or "")
    room = trying(lambda: ROOMS.enter(code, caches.visitor(), address))
    if room is None:
        return
    if room.is_key(key):
        _enter_as(_KEYS, room, key)
    else:
        # A wrong key is a wrong try as well, of a code that nobody has.
        trying(lambda: ROOMS.enter(f"{code}{key}", caches.visitor(), address))
        state[_SAID] = "This is not the key of that room."


def _joined(room: Room) -> None:
    token = trying(lambda: room.join(st.session_state.get("nickname", "")))
    if token:
        _enter_as(_SEATS, room, token)


def _enter_as(kind: str, room: Room, token: str) -> None:
    st.session_state.setdefault(kind, {})[room.code] = token
    move("room", room.code)


# Draw your own digit: what exact and private components keep of it.

_MOST = 16
# Blocks of a side of the pad, and how many of them stay empty around a digit, by the data's side.
_MARGINS = {8: 0, 14: 2}
Seen = Callable[[FloatArray], FloatArray]


_pad = in_browser("digit_pad", *Path(__file__).parent.glob("pad.*"))


def own_digit(
    key: str,
    components: Mapping[str, FloatArray],
    *,
    as_row: Seen,
    as_picture: Seen,
    side: int = 8,
) -> None:
    """A pad, and beside it the drawing rebuilt from each of the components.

    components: mapping of str to shape (n_components, side^2)
    as_row, as_picture: From counts of 0 to 16 to what components are of, and back.
    side: Of a picture, 8 or 14.
    """
    left, right = st.columns([1, 3], gap="large", vertical_alignment="center")
    with left:
        data = {"cells": side, "margin": _MARGINS[side]}
        drawn = counts_of(_pad(key=key, data=data, on_counts_change=lambda: None).counts, side)
    if drawn is None:
        right.markdown("Draw a digit. It is not stored, and takes no part in any component.")
        return
    rebuilt = {title: rebuild(as_row(drawn), each, len(each)) for title, each in components.items()}
    pictures = [drawn, *(as_picture(row) for row, _ in rebuilt.values())]
    told = ", ".join(f"{title}: {percent(error)}" for title, (_, error) in rebuilt.items())
    right.image(
        picture_strip(np.array(pictures) / _MOST, (side, side)),
        width="stretch",
        alt=f"Your digit, then rebuilt from each of the components. Missing: {told}.",
    )
    right.markdown(f"Your digit, then rebuilt. Missing with {told}.")


def counts_of(sent: object, side: int = 8) -> FloatArray | None:
    """A drawing as a browser hands it over; nothing if it is empty, or is none."""
    if not isinstance(sent, list) or len(sent) != side * side:
        return None
    if not all(isinstance(each, int | float) and 0 <= each <= _MOST for each in sent):
        return None
    return np.array(sent, dtype=float) if any(sent) else None


# We are the hospitals: on a phone, on the wall, on the console.

HOSPITALS_TITLE = "We are the hospitals"
HOSPITALS_ABOUT = (
    "Every phone is a hospital with its own patients. Each chooses its ε, looks at what its "
    "noise leaves and sends; on the wall the digits of all get sharper."
)
_HOSPITALS_EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
_NUMBERS_SHOWN, _LATEST = 24, 3


def ask_hospitals(room: Room) -> Callable[[], Hospitals]:
    """Nothing to ask: the digits are dealt among as many as have joined, and some late ones."""
    return lambda: Hospitals(room.n_joined)


def hospitals_progress(activity: Hospitals) -> str:
    return f"**{counted(len(activity.messages), 'hospital')}** sent so far."


def hospitals_on_phone(here: Here, student: Student, activity: Hospitals) -> None:
    """Choose ε, look, send once."""
    seat, room = student.seat, here.room
    if not activity.has_share(seat):
        st.info("All patients are dealt: you have some in the next round. Look at the wall.")
        return
    n_people = activity.hospitals.people(seat)
    has_sent = seat in activity.messages
    if has_sent:
        epsilon = activity.epsilons[seat]
    else:
        st.markdown(f"You are a hospital with **{n_people} patients**. How much may you tell?")
        epsilon = st.segmented_control(
            "Your ε: small is private, large is useful",
            _HOSPITALS_EPSILONS,
            format_func=plain,
            default=1.0,
            required=True,
            key=f"class_epsilon_{room.round}",
            disabled=room.is_paused or room.is_revealed,
        )
    message, n_bytes = activity.preview(seat, epsilon)
    promised = promise_of(activity.hospitals, seat, epsilon)
    right, blind = icon_counts(promised)
    _numerals_from(
        activity,
        {
            "Ten digits from your patients' patterns: these stay here":
                activity.hospitals.own_components(seat),
            f"From what you send at ε = {plain(epsilon)}": components_of(message),
        },
    )  # fmt: skip
    if has_sent:
        st.success(
            f"Sent: {bytes_in_words(n_bytes)}. Your patients' rows, "
            f"{bytes_in_words(8 * n_people * message.n_features)}, never left."
        )
    elif not room.is_revealed:
        st.button(
            f"Send at ε = {plain(epsilon)}",
            type="primary",
            width="stretch",
            key=f"class_send_{room.round}",
            on_click=sends(here, epsilon),
            disabled=room.is_paused,
        )
    st.markdown(
        f"An attacker who knows everything else and guesses whether one patient is yours is right "
        f"at most **{right} of 100** times; a coin {blind}."
    )
    if room.is_revealed:
        _found(activity)
        _drawn(activity)
    with st.expander("What this promises", on_change="rerun", key="class_promise") as opened:
        if opened.open:
            guarantee_card(promised)


def hospitals_on_wall(room: Room, activity: Hospitals) -> None:
    """The components of what has arrived, and how many sent it in how many bytes."""
    if room.is_revealed and activity.opened is not None:
        _looked_into(room, activity, activity.opened)
        return
    if activity.components is None:
        st.markdown("No message has arrived. Every phone chooses its ε, and sends when it likes.")
    else:
        _found(activity, more=room.is_revealed)
    left, right = st.columns([3, 2], gap="large")
    with right:
        if activity.components is not None:
            _numerals_from(activity, {"Without any noise": activity.hospitals.exact})
        # There from the beginning, so that the chart library is loaded by the first message.
        chart(
            arrivals(activity.kept, activity.hospitals.chance,
                     activity.hospitals.moments.n_sites, dark=is_dark()),
            key="class_arrivals",
            alt=f"The share found after each of {counted(len(activity.kept), 'message')}: "
            f"{percent(activity.found)} so far.",
        )  # fmt: skip
    if activity.components is None:
        return
    with left:
        _numerals_from(activity, {"Ten digits from this class": activity.components})
    latest = ", ".join(
        f"{named(room, seat)} at ε = {plain(epsilon)}"
        for seat, epsilon in list(activity.epsilons.items())[: -_LATEST - 1 : -1]
    )
    st.caption(f"Latest: {latest}.")
    not_private(
        "The share, the digits that are rebuilt and the row without noise",
        "are read off the rows; real hospitals would show none of them.",
    )
    session_ledger.uncovered(PICTURES, "Rounds in a classroom", "each hospital pays its own ε")


def hospitals_on_console(here: Here, activity: Hospitals) -> None:
    """Whose message the wall looks into, once it is revealed."""
    room, seats = here.room, list(activity.messages)
    if not room.is_revealed or not seats:
        st.caption("After Reveal: what does the aggregator know about one student?")
        return

    def set_(name: str, value: object) -> None:
        if getattr(activity, name) != value:
            trying(partial(room.show, here.key, partial(setattr, activity, name, value)))

    chosen = st.selectbox(
        "What does the aggregator know about …",
        [None, *seats],
        format_func=lambda seat: "nobody" if seat is None else called(room, seat),
        key=f"class_opened_{room.round}",
    )
    set_("opened", chosen)
    weighed = st.toggle(
        "Weigh each message by its noise",
        value=True,
        key=f"class_weighed_{room.round}",
        help="Off is the plain average of Algorithm 1: one hospital with a small ε brings its "
        "noise to all. Every σ is public, so weighing by 1 / σ² costs no privacy.",
    )
    set_("is_weighed", weighed)


def _numerals_from(activity: Hospitals, rows: Mapping[str, FloatArray]) -> None:
    """The same ten digits rebuilt from each of the components, in two lines of five."""
    figures = []
    for title, components in rows.items():
        ink = activity.hospitals.rebuilt(components)
        halves = (
            b64encode(ink_strip(half, SHAPE, dark=is_dark())).decode()
            for half in (ink[:5], ink[5:])
        )
        lines = "".join(
            f'<img src="data:image/png;base64,{png}" alt="{alt}" style="width:100%;display:block;'
            'image-rendering:pixelated">'
            for png, alt in zip(
                halves,
                (f"{escape(title)}: the digits 0 to 4.", f"{escape(title)}: the digits 5 to 9."),
                strict=True,
            )
        )
        figures.append(
            '<figure style="margin:0;flex:1 1 20rem;min-width:0">'
            '<figcaption style="font-weight:600">'
            f"{escape(title)}</figcaption>{lines}</figure>"
        )
    st.html(f'<div style="display:flex;flex-wrap:wrap;gap:.5rem 2rem">{"".join(figures)}</div>')


def _found(activity: Hospitals, *, more: bool = True) -> None:
    sent, kept = activity.messages, activity.kept
    if not kept:
        return
    n_dealt = activity.hospitals.moments.n_sites
    other = (
        f"Messages are weighed by their noise; a plain average keeps "
        f"{percent(activity.kept_plainly[-1])}."
        if activity.is_weighed
        else f"This is the plain average; weighed by their noise the messages keep "
        f"{percent(activity.kept_weighed[-1])}."
    )
    big_number(
        percent(activity.found),
        f"of the pattern is found by {counted(len(sent), 'hospital')} together, "
        f"in {bytes_in_words(sum(list(activity.n_bytes.values())))}.",
        f"{other} The first message alone had {percent(kept[0])}. Patients are dealt to "
        f"{n_dealt} hospitals; each message promises its own ε at δ = {say_number(DELTA)}."
        if more
        else "",
    )


def _drawn(activity: Hospitals) -> None:
    """What the class's components keep of a digit that somebody draws on their phone."""
    if activity.components is not None:
        st.markdown("### Draw a digit: what do the class's components keep of it?")
        own_digit(
            "class_pad",
            {"components without noise": activity.hospitals.exact, "ours": activity.components},
            as_row=lambda counts: (counts / _MOST - MIDDLE) / REACH,
            as_picture=lambda row: (row * REACH + MIDDLE) * _MOST,
            side=SHAPE[0],
        )


def _looked_into(room: Room, activity: Hospitals, seat: int) -> None:
    message, epsilon = activity.messages[seat], activity.epsilons[seat]
    right_of, blind = icon_counts(promise_of(activity.hospitals, seat, epsilon))
    values = message.values.ravel()
    st.markdown(f"### All that the aggregator has of {named(room, seat)}")
    left, right = st.columns(2, gap="large")
    shown = "  ".join(f"{value:+.3f}" for value in values[:_NUMBERS_SHOWN])
    more = f"{shown}  … and {values.size - _NUMBERS_SHOWN:,} more"
    left.code(more, language=None, wrap_lines=True)
    with right:
        _numerals_from(activity, {"What it can rebuild from them": components_of(message)})
    st.markdown(
        f"How many patients there are ({message.n_samples}), and the noise "
        f"(σ = {message.sigma:.3g}), are public. About one of them it guesses right at most "
        f"{right_of} of 100 times; a coin {blind}. No computer and no other data change that."
    )


# Guess: a question to everybody, answered through randomised response.

GUESS_TITLE = "Guess"
GUESS_ABOUT = (
    "A question to everybody. Every answer is randomised before it enters the room, and the tally "
    "is still about right."
)
_GUESS_EPSILONS = (0.5, 1.0, 2.0, 3.0)
_OWN = "own"
_LONGEST_QUESTION, _SHORT = 200, 80
# What this phone answered in truth, by room and round; it does not leave the session unasked.
_TRUTH = "_classroom_truth"


def ask_guess(_: Room) -> Callable[[], Guess]:
    """Which question, and the ε of every answer."""
    name = st.selectbox(
        "Question",
        [_OWN, *STORIES],
        format_func=lambda each: "Yes or no, in your own words" if each == _OWN
        else STORIES[each].title,
        key="class_question",
    )  # fmt: skip
    if name == _OWN:
        question = st.text_input(
            "What do you ask?",
            "Have you ever copied someone else's homework?",
            max_chars=_LONGEST_QUESTION,
            key="class_own_question",
        )
        choices: tuple[str, ...] = ("Yes", "No")
    else:
        question = STORIES[name].question
        choices = tuple(choice.text for choice in STORIES[name].choices)
    epsilon = st.segmented_control(
        "ε of an answer", _GUESS_EPSILONS, format_func=plain, default=1.0, required=True,
        key="class_guess_epsilon",
    )  # fmt: skip
    st.caption(_rule(len(choices), epsilon))
    return lambda: Guess(question[:_LONGEST_QUESTION], choices, epsilon)


def guess_progress(activity: Guess) -> str:
    clear = f", {len(activity.clear)} of them also in clear" if activity.is_open_late else ""
    return f"**{counted(len(activity.answers), 'answer')}**{clear}."


def guess_on_phone(here: Here, student: Student, activity: Guess) -> None:
    """One answer, which is randomised before it is sent."""
    room = here.room
    st.markdown(_letters(activity.question))
    st.caption(
        f"{_rule(len(activity.choices), activity.epsilon)} Anyone who trusts its answer, the "
        "teacher too, is right about you that often; a blind guess, "
        f"{100 / len(activity.choices):.0f} times. (This lab's server rolls the dice for your "
        "phone; in a real study the phone would, and nobody else would ever have your answer.)"
    )
    if student.seat in activity.answers:
        _after(here, student, activity)
        return
    if room.is_revealed:
        st.info("This round is over. Look at the wall.")
        return
    for number, choice in enumerate(activity.choices):
        st.button(
            _letters(choice),
            key=f"class_answer_{room.round}_{number}",
            width="stretch",
            disabled=room.is_paused,
            on_click=_answer,
            args=(here, activity, number),
        )


def guess_on_wall(room: Room, activity: Guess) -> None:
    """The question; after Reveal the estimate, and the answers in clear of those who agreed."""
    _ask_on_wall(_letters(activity.question))
    n_answers = len(activity.answers)
    counts = activity.counts(activity.answers)
    if not room.is_revealed or not n_answers:
        st.markdown(
            f"**{counted(n_answers, 'answer')}.** {_rule(len(activity.choices), activity.epsilon)}"
        )
        answer_bars(
            activity.choices, counts, most=room.n_joined, said="what the phones said", high=56
        )
        return
    estimate, deviation = activity.estimate()
    most = int(np.argmax(estimate))
    words = big_number(
        f"{_about(estimate[most], n_answers)} of {n_answers}",
        f"mean “{_letters(activity.choices[most])}”, ± {2 * deviation:.0f}"
        f"{_few(deviation, n_answers)}, by our estimate.",
        f"{_rule(len(activity.choices), activity.epsilon)} The estimate takes out what was said by "
        "chance alone, and is right on average; ± is two standard deviations.",
    )
    lines = [
        {"answer": choice, "said": count, "estimated truths": f"{each:.1f}"}
        for choice, count, each in zip(activity.choices, counts, estimate, strict=True)
    ]
    if activity.is_open_late and activity.clear:
        true = activity.counts(activity.clear)
        for line, count in zip(lines, true, strict=True):
            line["in clear"] = count
        words.markdown(
            f":red-badge[not private] **{len(activity.clear)} of {n_answers}** let theirs be "
            "counted as it is."
        )
    bars, table = st.columns([3, 2], gap="large", vertical_alignment="center")
    with bars:
        answer_bars(
            activity.choices, counts, most=room.n_joined, said="what the phones said", high=42
        )
    table.table(lines, hide_index=True)


def _ask_on_wall(question: str) -> None:
    """What everybody is asked, in letters that the last row reads."""
    with st.container(key="wall_question" if len(question) <= _SHORT else "wall_long_question"):
        st.markdown(f"### {question}")


def _few(deviation: float, n_answers: int) -> str:
    return ": too few answers to know" if 4 * deviation >= n_answers else ""


def guess_on_console(here: Here, activity: Guess) -> None:
    """After Reveal: ask who lets the true answer be counted."""
    if not here.room.is_revealed or activity.is_open_late:
        return
    st.button(
        "Ask who lets the true answer be counted",
        on_click=trying,
        args=(partial(here.room.show, here.key, partial(setattr, activity, "is_open_late", True)),),
        help="Each phone says yes or does nothing. Only of those who say yes the wall counts the "
        "answer without noise; for a sensitive question, do not ask.",
    )


def _answer(here: Here, activity: Guess, truth: int) -> None:
    rng = np.random.default_rng(secrets.randbits(128))
    said = randomised_response(truth, len(activity.choices), activity.epsilon, rng=rng)
    st.session_state[_TRUTH] = here.room.code, here.room.round, truth
    sends(here, "randomised", said)()


def _after(here: Here, student: Student, activity: Guess) -> None:
    said = activity.choices[activity.answers[student.seat]]
    st.success(f"Your phone said “{_letters(said)}”: perhaps your answer, perhaps not.")
    if here.room.is_revealed:
        n_answers = len(activity.answers)
        estimate, deviation = activity.estimate()
        most = int(np.argmax(estimate))
        st.markdown(
            f"**The class:** about {_about(estimate[most], n_answers)} of {n_answers} mean "
            f"“{_letters(activity.choices[most])}”, ± {2 * deviation:.0f}"
            f"{_few(deviation, n_answers)}."
        )
        answer_bars(
            activity.choices,
            activity.counts(activity.answers),
            most=n_answers,
            said="what the phones said",
        )
    code, round_, truth = st.session_state.get(_TRUTH, ("", 0, 0))
    if not activity.is_open_late or (code, round_) != (here.room.code, here.room.round):
        return
    if student.seat in activity.clear:
        st.info("Your true answer is counted too.")
        return
    st.markdown("The teacher asks: may your true answer be counted, without noise?")
    st.button(
        "Count mine as it is",
        key=f"class_clear_{round_}",
        on_click=sends(here, "clear", truth),
        disabled=here.room.is_paused,
    )


def _letters(text: str) -> str:
    return plainly(text, longest=1000)


def _about(estimate: float, most: int) -> int:
    """An estimate as a number of people: what is shown is cut, what is tabulated is not."""
    return min(max(round(estimate), 0), most)


def _rule(n_choices: int, epsilon: float) -> str:
    truth = chance_of_truth(n_choices, epsilon)
    other = "the other" if n_choices == 2 else "another"
    return (
        f"At ε = {plain(epsilon)} a phone says the truth {100 * truth:.0f} times in 100, and "
        f"{other} answer else."
    )


# Attack: everybody is the adversary, on single releases.

ATTACK_TITLE = "Attack"
ATTACK_ABOUT = (
    "Everybody plays the adversary: ten single releases, with her or without? The class's hit rate "
    "against the bound that no adversary beats."
)
# So many names have room beside the bars.
_ON_A_STEP = 4
_OFFERED = tuple(value for value in EPSILONS if 0.1 <= value <= 10)


def ask_attack(_: Room) -> Callable[[], Attack]:
    """The ε of the releases."""
    epsilon = st.segmented_control(
        "ε of a release", _OFFERED, format_func=plain, default=1.0, required=True,
        key="class_attack_epsilon",
    )  # fmt: skip
    return lambda: Attack(epsilon)


def attack_progress(activity: Attack) -> str:
    made = "1 guess" if activity.n_guesses == 1 else f"{activity.n_guesses} guesses"
    return f"**{made}** by {counted(len(activity.hits), 'student')}."


def attack_on_phone(here: Here, student: Student, activity: Attack) -> None:
    """One release after the other: with her, or without?"""
    room, seat = here.room, student.seat
    hits = activity.hits.get(seat, [])
    if hits and not room.is_revealed:
        verdict = "right" if hits[-1] else "wrong"
        st.markdown(f"The last one was **{verdict}**: {sum(hits)} of {len(hits)} so far.")
    release = activity.release(seat)
    if room.is_revealed:
        st.markdown(
            f"## You: {sum(hits)} of {len(hits)} right\n\nThe class: {activity.n_hits} of "
            f"{activity.n_guesses}. On average no adversary is right more than "
            f"**{percent(activity.bound)}** of the time; a coin is, half of the time."
        )
        return
    if release is None:
        st.info("You have judged all ten. The teacher reveals what the class made of it.")
        return
    st.markdown(
        f"**Release {len(hits) + 1} of {N_DRAWS}.** You know everybody's row, and hers. Is hers "
        "among them? A coin has decided."
    )
    st.image(
        draw_between_svg(release, activity.mu, dark=is_dark()),
        width="stretch",
        alt=f"The release is {release:.2f}. Without her it would be around 0, with her around "
        f"{activity.mu:.2f}.",
    )
    st.caption("The upright line is the release. Dashed: without her; solid: with her.")
    left, right = st.columns(2)
    for place, label, guess in ((left, "Without her", False), (right, "With her", True)):
        place.button(
            label,
            key=f"class_attack_{room.round}_{guess}",
            width="stretch",
            disabled=room.is_paused,
            on_click=sends(here, len(hits), guess),
        )


def attack_on_wall(room: Room, activity: Attack) -> None:
    """The class's hit rate, and the bound after Reveal."""
    count, epsilon = activity.n_guesses, plain(activity.epsilon)
    delta = say_number(ATTACK_DELTA)
    if not count:
        st.markdown(
            f"Ten releases on every phone, at ε = {epsilon} and δ = {delta}: is her row among the "
            "others, or not?"
        )
        return
    if not room.is_revealed:
        _ask_on_wall("How often can a guess be right?")
        st.markdown(attack_progress(activity))
        made = [len(each) for each in list(activity.hits.values())]
        answer_bars(
            [f"{number} of {N_DRAWS}" for number in range(2, N_DRAWS + 1, 2)],
            [sum(each >= number for each in made) for number in range(2, N_DRAWS + 1, 2)],
            most=room.n_joined,
            said="phones that have judged so many releases",
            high=54,
        )
        return
    rate = activity.n_hits / count
    luck = math.sqrt(activity.bound * (1 - activity.bound) / count)
    big_number(
        percent(rate),
        f"of the class's guesses were right at ε\u00a0=\u00a0{epsilon}. On average no adversary is "
        f"right more than **{percent(activity.bound)}** of the time; a coin is, half of the time.",
        f"{activity.n_hits} of {count:,} guesses. In so many, luck alone moves the best "
        f"adversary's rate by {100 * luck:.0f} points (one standard deviation).",
    )
    bars, best = st.columns(2, gap="large")
    with bars:
        answer_bars(
            ["A coin", "This class", "No adversary more than"],
            [50, round(100 * rate), round(100 * activity.bound)],
            most=100,
            said="right guesses",
            high=30,
        )
    with best:
        _podium(room, activity)
    st.markdown(
        "A score above the bound is luck: ε bounds how often a guess is right on average over runs."
    )
    st.page_link(linked_page("promise"), label="Where the bound comes from: What ε promises")


def _podium(room: Room, activity: Attack) -> None:
    """Most right guesses, by the names that the class has given itself; equal scores share."""

    def named_on_wall(seats: Sequence[int]) -> str:
        more = f" and {len(seats) - _ON_A_STEP} more" if len(seats) > _ON_A_STEP else ""
        return ", ".join(escape(called(room, seat)) for seat in seats[:_ON_A_STEP]) + more

    steps = "".join(
        f'<li><b style="font-size:1.6em">{score}</b> right · {named_on_wall(seats)}</li>'
        for score, seats in activity.podium()
    )
    st.html(f'<ol style="font-size:min(3vw,1.6rem);margin:0;line-height:1.5">{steps}</ol>')


def attack_on_console(_: Here, __: Attack) -> None:
    """Nothing besides."""


# Spend: one budget for the class, and every question is charged.

SPEND_TITLE = "Spend"
SPEND_ABOUT = (
    "One budget for the whole class. Every question about the same people is charged, until one is "
    "refused."
)
_BUDGETS = (0.5, 1.0, 2.0, 5.0, 10.0)
_PRICES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_LAST_SHOWN = 12


def ask_spend(_: Room) -> Callable[[], Spend]:
    """The budget of the whole class."""
    epsilon = st.segmented_control(
        "ε for everybody together", _BUDGETS, format_func=plain, default=2.0, required=True,
        key="class_spend_epsilon",
    )  # fmt: skip
    return lambda: Spend(epsilon, _numerals())


def spend_progress(activity: Spend) -> str:
    refused = sum(list(activity.refused.values()))
    return (
        f"**{counted(len(activity.queries), 'answer')}**, {refused} refused, ε = "
        f"{spoken_down(activity.left)} left."
    )


def spend_on_phone(here: Here, student: Student, activity: Spend) -> None:
    """Ask how many people wrote a numeral, at a price."""
    room = here.room
    st.markdown(
        f"1,797 people each wrote one numeral. The class may spend ε = "
        f"**{plain(activity.cap.epsilon)}** on all of them together."
    )
    over = room.is_paused or room.is_revealed
    numeral = st.segmented_control(
        "How many wrote a …", range(10), default=3, required=True,
        key=f"class_numeral_{room.round}", disabled=over,
    )  # fmt: skip
    price = st.segmented_control(
        "What you pay: ε of the answer", _PRICES, format_func=plain, default=0.1, required=True,
        key=f"class_price_{room.round}", disabled=over,
    )  # fmt: skip
    st.caption(f"The answer will be off by {1 / price:.0f} people on average.")
    st.button(
        f"Ask, for ε = {plain(price)}",
        type="primary",
        width="stretch",
        key=f"class_ask_{room.round}",
        on_click=sends(here, numeral, price),
        disabled=over,
    )
    mine = [query for query in list(activity.queries) if query.seat == student.seat]
    if mine:
        paid = sum(query.epsilon for query in mine)
        st.markdown(
            f"About **{mine[-1].answer:,.0f}** people wrote a {mine[-1].numeral}. "
            f"You have spent ε = {say_number(paid)} of everybody's."
        )
    if room.is_revealed and activity.queries:
        _revealed(activity)


def spend_on_wall(room: Room, activity: Spend) -> None:
    """What is left, and who spent it on what."""
    left = activity.left
    refused = sum(list(activity.refused.values()))
    big_number(
        spoken_down(left),
        f"is left of the class's ε\u00a0=\u00a0{plain(activity.cap.epsilon)}.",
        f"{counted(len(activity.queries), 'question')} answered, {refused} refused. Every answer "
        "uses up the privacy of the people in the data, no matter who asks.",
    )
    st.progress(min(1.0, activity.spent / activity.cap.epsilon), "spent")
    lines = [
        {
            "who asked": called(room, query.seat),
            "how many wrote a": query.numeral,
            "ε": query.epsilon,
            "answer": round(query.answer),
        }
        for query in reversed(activity.queries[-_LAST_SHOWN:])
    ]
    if lines:
        st.dataframe(lines, hide_index=True, width="stretch")
    if room.is_revealed and activity.queries:
        _revealed(activity)
    session_ledger.uncovered("digits", "Questions of a classroom", "charged to the room's budget")


def spend_on_console(_: Here, __: Spend) -> None:
    """Nothing besides."""


def _revealed(activity: Spend) -> None:
    best = min(
        activity.queries, key=lambda query: abs(query.answer - activity.count(query.numeral))
    )
    dearest = max(list(activity.queries), key=lambda query: query.epsilon)
    known = {query.numeral for query in list(activity.queries)}
    st.markdown(
        f"The class learnt about **{len(known)} of 10** numerals. One question took "
        f"**{percent(dearest.epsilon / activity.cap.epsilon)}** of the budget. The closest answer "
        f"was {best.answer:,.0f} for {activity.count(best.numeral):,} who wrote a {best.numeral}."
    )
    not_private("The true count", "is read off the rows.")


def _numerals() -> list[int]:
    labels = load_dataset("digits").labels
    return [] if labels is None else [int(label) for label in labels]


# Quiz: the same six questions before and after a lesson.

QUIZ_TITLE = "Quiz"
QUIZ_ABOUT = (
    "Six questions on what ε, δ and an aggregator can and cannot do: once before the lesson, once "
    "after. Questions and answers come in another order on every phone. The right answers are "
    "shown after the second time."
)
_PHASES = {Phase.BEFORE: "Before the lesson", Phase.AFTER: "After the lesson"}
_FEWEST_PAIRS = 3
_UNKNOWN = "I do not know"


def ask_quiz(room: Room) -> Callable[[], Quiz]:
    """Before or after; and, while no quiz is open, the file of the answers."""
    phase = st.segmented_control(
        "When", tuple(Phase), format_func=_PHASES.__getitem__, default=Phase.BEFORE, required=True,
        key="class_quiz_phase",
    )  # fmt: skip
    is_open = isinstance(room.activity, Quiz) and not room.is_revealed
    phones = room.quiz.phones()
    if phones and not is_open:
        st.download_button(
            f"Save the answers of {counted(len(phones), 'phone')} (CSV)",
            quiz_csv(phones),
            "quiz.csv",
            "text/csv",
            on_click="ignore",
            key="class_quiz_saved",
        )
        st.caption(
            "One row a phone in random order, no names, no times. In a small class answers may "
            "still give a student away: keep the file as you keep an exam. "
            "`python -m dpcore quiz quiz.csv` compares before with after by exact tests."
        )
    return lambda: Quiz(phase, room.quiz)


def quiz_progress(activity: Quiz) -> str:
    made = activity.answers.n_answered(activity.phase)
    n_done = sum(count == len(QUESTIONS) for count in made)
    some = f", {n_some} some" if (n_some := len(made) - n_done) else ""
    return (
        f"**{_PHASES[activity.phase]}:** {counted(n_done, 'phone')} answered all "
        f"{len(QUESTIONS)}{some}."
    )


def quiz_on_phone(here: Here, student: Student, activity: Quiz) -> None:
    """One question after the other, in this phone's own order."""
    room = here.room
    own = activity.answers.of(student.seat)
    if room.is_revealed:
        _quiz_result(own, activity)
        return
    asked = activity.next_question(student.seat)
    if asked is None:
        st.info("You have answered all six. Thank you.")
        return
    question, letters = asked
    number = 1 + sum(when is activity.phase for _, when in own)
    st.markdown(f"**Question {number} of {len(QUESTIONS)}.** {question.text}")
    for place, letter in enumerate(letters):
        st.button(
            _UNKNOWN if letter == UNKNOWN else question.choices[letter],
            key=f"class_quiz_{room.round}_{question.name}_{place}",
            width="stretch",
            disabled=room.is_paused,
            on_click=sends(here, question.name, letter),
        )
    if number == 1:
        st.caption(
            "The teacher can save all answers, without names and in random order. Until the room "
            "ends this server pairs your answers before and after by your seat."
        )


def quiz_on_wall(room: Room, activity: Quiz) -> None:
    """How far the phones are; right answers only after the second time was revealed."""
    st.markdown(f"### {quiz_progress(activity)}")
    if not (room.is_revealed and activity.phase is Phase.AFTER):
        made = activity.answers.n_answered(activity.phase)
        answer_bars(
            [f"{number} of {len(QUESTIONS)}" for number in range(1, len(QUESTIONS) + 1)],
            [sum(count >= number for count in made) for number in range(1, len(QUESTIONS) + 1)],
            most=room.n_joined,
            said="phones that have answered so many questions",
            high=62,
        )
        if room.is_revealed:
            st.markdown("The same six questions come after the lesson, and then the answers.")
        return
    analysis = analyse_quiz(activity.answers.phones() or [{}])
    lines, counts = [], []
    for question, pair in zip(QUESTIONS, analysis.questions, strict=True):
        lines += [f"{question.topic}: before", "after"]
        counts += [pair.n_right_before, pair.n_right_after]
    n_pairs = max(pair.n_phones for pair in analysis.questions)
    if n_pairs < _FEWEST_PAIRS:
        st.markdown(
            f"Bars need {_FEWEST_PAIRS} phones that answered twice: they show no single one."
        )
        return
    answer_bars(
        lines, counts, most=n_pairs, said="right answers of phones that answered twice", high=64
    )
    st.markdown("A gain may come of the lesson, of the second reading, or of luck.")


def quiz_on_console(_: Here, __: Quiz) -> None:
    """Nothing besides."""


def _quiz_result(own: Mapping[tuple[str, Phase], str], activity: Quiz) -> None:
    if activity.phase is Phase.BEFORE:
        st.info("Thank you. The same six questions come after the lesson, and then the answers.")
        return
    right = {
        phase: sum(is_right(name, choice) for (name, when), choice in own.items() if when is phase)
        for phase in Phase
    }
    st.markdown(f"## You: {right[Phase.BEFORE]} of 6 right before, {right[Phase.AFTER]} of 6 after")
    for question in QUESTIONS:
        given = own.get((question.name, Phase.AFTER), UNKNOWN)
        mark = "✓" if is_right(question.name, given) else "✗"
        st.markdown(
            f"{mark} **{question.topic}.** {question.choices[question.right]}. {question.reason}"
        )


# What a class sees, each drawn anew when something has changed: console, wall and phone.

_EVERY_SECONDS = 1.0
_WALL_SECONDS = 0.25
_COUNTDOWNS = (15, 30, 60, 120)
_CODE = "font-size:min(13vw,11rem);font-weight:700;letter-spacing:.04em;line-height:1.05"
_countdown = in_browser("classroom_countdown", *Path(__file__).parent.glob("countdown.*"))


@dataclass(frozen=True)
class View:
    """An activity as pages show it.

    ask: Draws its settings on the console; gives what makes a round of it.
    progress: How far it is, for the console, in a sentence.
    """

    title: str
    about: str
    ask: Callable[[Room], Callable[[], Activity]]
    progress: Callable[[Any], str]
    on_phone: Callable[[Here, Student, Any], None]
    on_wall: Callable[[Room, Any], None]
    on_console: Callable[[Here, Any], None]


VIEWS: dict[str, View] = {
    "hospitals": View(
        HOSPITALS_TITLE,
        HOSPITALS_ABOUT,
        ask_hospitals,
        hospitals_progress,
        hospitals_on_phone,
        hospitals_on_wall,
        hospitals_on_console,
    ),
    "guess": View(
        GUESS_TITLE,
        GUESS_ABOUT,
        ask_guess,
        guess_progress,
        guess_on_phone,
        guess_on_wall,
        guess_on_console,
    ),
    "attack": View(
        ATTACK_TITLE,
        ATTACK_ABOUT,
        ask_attack,
        attack_progress,
        attack_on_phone,
        attack_on_wall,
        attack_on_console,
    ),
    "spend": View(
        SPEND_TITLE,
        SPEND_ABOUT,
        ask_spend,
        spend_progress,
        spend_on_phone,
        spend_on_wall,
        spend_on_console,
    ),
    "quiz": View(
        QUIZ_TITLE,
        QUIZ_ABOUT,
        ask_quiz,
        quiz_progress,
        quiz_on_phone,
        quiz_on_wall,
        quiz_on_console,
    ),
}


def console(here: Here) -> None:
    """The teacher's: who is here, what goes on, and what may go on next."""
    watched(here, "classroom_console", _console, every=_EVERY_SECONDS)


_DOCS = Path(__file__).parents[3] / "docs"
_PARTS = re.compile(r"\*\*(Aim|Minutes|Script|Questions|They see|What goes wrong)\.\*\*")


@lru_cache(maxsize=8)
def lesson_plan(title: str) -> Mapping[str, str]:
    """The plan of an activity by its parts, from the documentation; with its worksheet, if any."""
    _, *parts = _PARTS.split(_section("classroom.md", title))
    plan = {name: text.strip() for name, text in zip(parts[::2], parts[1::2], strict=True)}
    worksheet = _section("worksheet.md", title).strip()
    return plan | ({"Worksheet": worksheet} if worksheet else {})


def _section(document: str, title: str) -> str:
    """What stands below a heading of the second level; empty where there is none."""
    _, _, after = (_DOCS / document).read_text(encoding="utf-8").partition(f"\n## {title}\n")
    return after.partition("\n## ")[0]


def _plan(title: str) -> None:
    """What to say and do, beside the controls."""
    plan = lesson_plan(title)
    with st.container(border=True):
        st.markdown(f"### Plan: {plan['Minutes']} minutes\n\n{plan['Script']}")
        st.markdown(f"**Ask.** {plan['Questions']}")
        for name in ("Aim", "They see", "What goes wrong", "Worksheet"):
            if name in plan:
                with st.expander(name):
                    st.markdown(plan[name])


def _console(here: Here) -> None:
    room = here.room
    left, right = st.columns([3, 1], vertical_alignment="center")
    left.markdown(
        f"## Room {spaced(room.code)}\n\n{counted(room.n_joined, 'student')} of at most "
        f"{MOST_STUDENTS}; {room.n_here} seen in the last {AWAY_SECONDS:.0f} seconds. Students "
        f"join at `{address_of(room)}`. {WHAT_A_CODE_OPENS}"
    )
    right.link_button(
        "Projector's view ↗",
        f"{st.context.url or ''}?room={room.code}&projector=true&present=true",
        width="stretch",
    )
    controls, plan = st.columns([3, 2], gap="large")
    with controls:
        if room.activity is not None:
            _goes_on(here, room, room.activity)
        chosen = _next(here, room)
        _room_itself(here, room)
    with plan:
        _plan(VIEWS[chosen].title)


def _goes_on(here: Here, room: Room, activity: Activity) -> None:
    view = VIEWS[activity.name]
    with st.container(border=True):
        state = "revealed" if room.is_revealed else "locked" if room.is_paused else "open"
        st.markdown(f"### Now: {view.title}, {state}\n\n{view.progress(activity)}")
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
        if not room.is_revealed:
            _ask_timer(here, room)
        view.on_console(here, activity)


def _ask_timer(here: Here, room: Room) -> None:
    row = st.container(horizontal=True, vertical_alignment="bottom")
    seconds = row.segmented_control(
        "Countdown, in seconds",
        _COUNTDOWNS,
        default=30,
        required=True,
        key="classroom_countdown",
        help="Wall and phones count down. Nothing happens at its end: you reveal.",
    )
    row.button(
        "Start the countdown",
        key="classroom_countdown_start",
        on_click=trying,
        args=(partial(room.set_timer, here.key, seconds),),
    )
    if room.ends_at is not None:
        row.button(
            "Stop it",
            key="classroom_countdown_stop",
            on_click=trying,
            args=(partial(room.set_timer, here.key, None),),
        )
        _count_down(room)


def _count_down(room: Room, *, is_wall: bool = False) -> None:
    left = room.seconds_left
    if left is not None:
        _countdown(key="classroom_clock", data={"left": left, "wall": is_wall})


def _next(here: Here, room: Room) -> str:
    """The choice of what may be started; its name."""
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
    make = view.ask(room)
    st.button(
        "Start" if room.activity is None else "Start it, and let go of the one before",
        type="primary" if room.activity is None else "secondary",
        key="classroom_start",
        on_click=trying,
        args=(lambda: room.start(here.key, make()),),
    )
    return name


def _room_itself(here: Here, room: Room) -> None:
    with st.expander("The room itself"):
        st.markdown(
            "Close the laptop, and the room waits for two hours. On another machine, **Your room "
            "is open on another device** takes over with the code and this key. Anyone with the "
            "key is the teacher."
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
    left, right = st.columns([1, 2], vertical_alignment="bottom")
    left.markdown(f"## {view.title}")
    with right:
        _count_down(room, is_wall=True)
        st.caption(
            f"Join: {_short(room)}, code **{spaced(room.code)}** · "
            f"{counted(room.n_joined, 'phone')}"
        )
    if room.is_paused:
        st.info("Phones are locked for a moment.")
    view.on_wall(room, room.activity)


# Up to so many names, the size of each: a class of sixty fits below the code.
_NAME_SIZES = ((4, 3.0), (12, 1.6), (30, 1.1), (MOST_STUDENTS, 0.8))
_NAMES = "display:flex;flex-wrap:wrap;gap:.5em .6em;list-style:none;padding:0;margin:.6rem 0 0"
_NAME = (
    "padding:.05em .6em;margin:0;border-radius:2em;line-height:1.4;"
    "border:2px solid color-mix(in srgb, currentColor 35%, transparent)"
)


def _way_in(room: Room) -> None:
    address = address_of(room)
    left, right = st.columns([2, 1], gap="large", vertical_alignment="center")
    with left:
        st.html(f'<p style="margin:0">Room</p><p style="margin:0;{_CODE}">{spaced(room.code)}</p>')
        with st.container(key="wall_address"):
            st.markdown(f"## {_short(room)}\n\n**{counted(room.n_joined, 'phone')}** here so far.")
        st.caption("No account. The room forgets everything when it ends.")
    if only_here(address):  # a code that leads each phone to itself helps nobody
        right.warning(
            "The server listens to this machine alone. Started with "
            "**--server.address 0.0.0.0 --browser.serverAddress NAME** it lets a "
            "class in, where NAME is this machine's name or address on the phones' network."
        )
    else:
        with right.container(key="wall_code"):
            st.image(_qr(address), width="stretch", alt=f"A QR code of {address}")
    names = "".join(f'<li style="{_NAME}">{escape(each.called)}</li>' for each in room.students)
    size = next(size for most, size in _NAME_SIZES if len(room.students) <= most)
    st.html(f'<ul style="{_NAMES};font-size:min(4vw,{size}rem)">{names}</ul>')


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
    st.caption(f"Room {spaced(room.code)} · you are {plainly(student.called)}")
    if room.activity is None:
        st.markdown("## You are in\n\nLook at the wall: the teacher begins.")
        return
    view = VIEWS[room.activity.name]
    st.markdown(f"## {view.title}")
    if room.is_paused:
        st.info("The teacher has locked the phones for a moment.")
    _count_down(room)
    view.on_phone(here, student, room.activity)


def show_classroom() -> None:
    """A room for a class."""
    unseen = st.container(key="classroom_out_of_sight")
    is_wall = ask("projector", unseen)
    code = written()
    here = found(code)
    room = entered(code) if here is None else here.room
    if room is not None:
        # On the first page it is in sight. What is at the foot of a page would lead out of the
        # room.
        ask("room", unseen)
        st.html("<style>.st-key-foot { display: none; }</style>")
    with errors_shown():
        if room is None:
            landing()
        elif is_wall:
            wall(Here(room))
        elif here is None:
            join(room)
        elif here.key:
            console(here)
        else:
            phone(here)
