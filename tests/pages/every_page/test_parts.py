"""Parts of a page that are drawn again without the rest of it."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def _app() -> None:
    import streamlit as st

    from pages.sidebar.parts import part

    def draw() -> None:
        for number in range(st.session_state.get("number", 3)):
            st.text(str(number))

    part("told", draw)()


def test_a_part_that_has_less_to_say_leaves_nothing_of_what_it_said_before():
    """The browser is told place by place, and not only by the end of the run."""
    app = AppTest.from_function(_app).run()
    for number, left in ((1, ["text", "empty", "empty"]), (2, ["text", "text"])):
        app.session_state["number"] = number
        app.run()
        (told,) = app.main.children.values()
        assert [element.type for element in told.children.values()] == left
