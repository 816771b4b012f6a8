"""A room for a class: the teacher's console, the wall, and a phone in everybody's hand."""

from __future__ import annotations

import streamlit as st

from pages.learn.classroom import door, screens
from pages.parameters.table import ask
from pages.widgets.messages import errors_shown

unseen = st.container(key="classroom_out_of_sight")
is_wall = ask("projector", unseen)
code = door.written()
here = door.found(code)
room = door.entered(code) if here is None else here.room
if room is not None:
    # On the first page it is in sight. What is at the foot of a page would lead out of the room.
    ask("room", unseen)
    st.html("<style>.st-key-foot { display: none; }</style>")
with errors_shown():
    if room is None:
        door.landing()
    elif is_wall:
        screens.wall(door.Here(room))
    elif here is None:
        door.join(room)
    elif here.key:
        screens.console(here)
    else:
        screens.phone(here)
