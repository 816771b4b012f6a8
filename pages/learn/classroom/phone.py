"""What a student holds: what goes on, what they can do now, and what came of it."""

from __future__ import annotations

import streamlit as st

from pages.learn.classroom.activity_views import view_of
from pages.learn.classroom.door import Here, watched
from pages.widgets.plain_text import plainly

_EVERY_SECONDS = 1.0


def shown(here: Here) -> None:
    """A student's page."""
    watched(here, "classroom_phone", _now, every=_EVERY_SECONDS)


def _now(here: Here) -> None:
    room, student = here.room, here.student
    if student is None:
        return
    st.caption(f"Room {room.code} · you are {plainly(student.called)}")
    if room.activity is None:
        st.markdown("## You are in\n\nLook at the wall: the teacher begins.")
        return
    view = view_of(room.activity)
    st.markdown(f"## {view.title}")
    if room.is_paused:
        st.info("The teacher has locked the phones for a moment.")
    view.on_phone(here, student, room.activity)
