"""Browser parts of the classroom: a countdown, and a cookie that keeps a student's seat."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_FOLDER = Path(__file__).parent


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


_countdown = st.components.v2.component(
    "classroom_countdown",
    html='<p class="countdown" role="timer" aria-live="off"></p>',
    css=_read("countdown.css"),
    js=_read("countdown.js"),
)
_remember = st.components.v2.component("classroom_remember", js=_read("remember.js"))


def show_countdown(seconds: float, *, is_wall: bool) -> None:
    """Count down in the browser from a number of seconds."""
    _countdown(key="classroom_clock", data={"left": seconds, "wall": is_wall})


def remember_token(name: str, token: str, seconds: int) -> None:
    """Keep a token in a cookie of the browser."""
    _remember(key=f"remember_{name}", data={"name": name, "value": token, "seconds": seconds})
