"""Parts of a page that are drawn again without the rest of it."""

from __future__ import annotations

import pytest
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.testing.v1 import AppTest

from pages.shell.fragments import FOLLOWS_EPSILON


def _app() -> None:
    import streamlit as st

    from pages.shell.fragments import part

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


@pytest.mark.parametrize(
    ("on_page", "asked", "drawn"),
    [
        (FOLLOWS_EPSILON, ["slider"], list(FOLLOWS_EPSILON)),
        # One that was waiting meanwhile comes too, and none twice.
        (FOLLOWS_EPSILON, ["frames", "foot", "slider"], ["frames", *FOLLOWS_EPSILON]),
        (FOLLOWS_EPSILON, ["foot"], ["foot"]),
        # A story has the page drawn as a whole.
        (FOLLOWS_EPSILON[:2], ["slider"], ["slider"]),
    ],
)
def test_letting_the_slider_go_is_one_run_with_all_that_follows(on_page, asked, drawn):
    storage = MemoryFragmentStorage()
    for name in ("frames", *on_page):
        storage.register(name, lambda: None, target_key=name)
    assert storage.order_fragment_ids(asked) == drawn
