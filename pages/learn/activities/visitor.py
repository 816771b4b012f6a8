"""Visitor of a room, the view of an activity, and parts that all activities draw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dpcore.figures.style import look_of
from dpcore.teaching.activities import Activity, Refused
from dpcore.teaching.rooms import Room, Student
from dpcore.templates import fill

# Key of the last refusal of this session.
_REFUSAL = "_classroom_refusal"
_BARS = """
<div style="display:grid;grid-template-columns:fit-content(45%) 1fr auto;gap:.5em 1em;
align-items:center;font-size:1.2rem">
{%- for answer, count, width in lines -%}
<div>{{ answer }}</div><div style="background:color-mix(in srgb, currentColor 12%, transparent)">
<div style="width:{{ width }};height:1.4em;background:{{ colour }}"></div></div><b>{{ count }}</b>
{%- endfor -%}
</div>"""


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


@dataclass(frozen=True)
class View:
    """Pages of one activity.

    choose: Draws the settings on the console and returns a function that makes the activity.
    progress: Returns one sentence for the console.
    headline: Returns the finding so far as a title; empty before there is one.
    on_phone, on_wall, on_console: Draw the activity there.
    plan: Steps of the lesson, one sentence each.
    """

    title: str
    about: str
    minutes: int
    choose: Callable[[Room], Callable[[], Activity]]
    progress: Callable[[Any], str]
    headline: Callable[[Room, Any], str]
    on_phone: Callable[[Visitor, Student, Any], None]
    on_wall: Callable[[Room, Any], None]
    on_console: Callable[[Visitor, Any], None]
    plan: tuple[str, ...]


def try_action(action: Callable[[], Any]) -> Any:
    """Run an action from a callback; a refusal is shown in the next run."""
    try:
        return action()
    except Refused as refused:
        refuse(str(refused))
        return None


def refuse(sentence: str) -> None:
    """Keep a refusal from a callback for the next run."""
    st.session_state[_REFUSAL] = sentence


def show_refusal() -> None:
    if sentence := st.session_state.pop(_REFUSAL, ""):
        st.warning(sentence)


def draw_action(label: str, action: Callable[[], Any], kind: Any = "secondary") -> None:
    st.button(label, type=kind, on_click=try_action, args=(action,), key=f"classroom_{label}")


def send_in_round(visitor: Visitor, *values: Any) -> Callable[[], None]:
    """Return a button callback that sends an answer in the round for which the button was drawn."""
    round_ = visitor.room.round
    value = values[0] if len(values) == 1 else values
    return lambda: try_action(lambda: visitor.room.send(visitor.token, round_, value))


def show_bars(answers: Sequence[str], counts: Sequence[int], *, most: int, noun: str) -> None:
    """Draw the numbers of answers as bars.

    most: Count of a full bar.
    noun: Noun phrase for the counts.
    """
    lines = [
        (answer, count, f"{100 * count / max(most, count, 1):.0f}%")
        for answer, count in zip(answers, counts, strict=True)
    ]
    st.caption(f"{noun}, of {most}")
    st.html(fill(_BARS, lines=lines, colour=look_of("dpdis").colour))


def draw_nothing(visitor: Visitor, activity: Any) -> None:
    """Draw nothing on the console."""
