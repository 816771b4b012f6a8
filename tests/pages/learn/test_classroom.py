"""The classroom's pages: a teacher and students, each a session of their own on one server."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from pages.classroom import rooms
from pages.learn.classroom import door
from tests.pages.looking import HOSTILE, assert_whole

PAGE = "learn/classroom"


@pytest.fixture(autouse=True)
def a_server_of_its_own(monkeypatch) -> None:
    theirs = rooms.Rooms()
    for module in (rooms, door):
        monkeypatch.setattr(module, "ROOMS", theirs)


def pressed(at: AppTest, label: str) -> AppTest:
    """The page after its first button of this label was pressed."""
    next(button for button in at.button if button.label == label).click()
    at.run()
    assert_whole(at)
    return at


def words(at: AppTest) -> str:
    kinds = (at.markdown, at.caption, at.info, at.success, at.warning)
    return "\n".join(each.value for kind in kinds for each in kind)


@pytest.fixture
def teacher(open_page) -> AppTest:
    return pressed(open_page(PAGE), "Open a room")


@pytest.fixture
def code(teacher) -> str:
    return str(teacher.session_state["room"])


@pytest.fixture
def join(open_page, code):
    def joined(nickname: str = "") -> AppTest:
        at = open_page(PAGE, room=code)
        at.text_input(key="nickname").set_value(nickname)
        return pressed(at, "Join")

    return joined


@pytest.fixture
def wall(open_page, code) -> AppTest:
    return open_page(PAGE, room=code, projector="true")


def started(teacher: AppTest, activity: str) -> AppTest:
    teacher.run()
    teacher.segmented_control(key="classroom_activity").set_value(activity).run()
    teacher.button(key="classroom_start").click().run()
    assert_whole(teacher)
    return teacher


def test_hospitals_send_and_the_wall_shows_what_all_of_them_found(teacher, wall, join):
    ana, nobody = join("Ana"), join()
    assert "**2 phones** here so far" in words(wall.run())
    started(teacher, "hospitals")
    ana.run().segmented_control(key="class_epsilon_1").set_value(20.0).run()
    pressed(ana, "Send at ε = 20")
    assert "never left" in words(ana)
    assert "1 hospital together" in words(wall.run())
    pressed(nobody.run(), "Send at ε = 1")
    assert "2 hospitals together" in words(wall.run())
    pressed(teacher.run(), "Reveal")
    teacher.selectbox(key="class_opened_1").set_value(0).run()
    shown = words(wall.run())
    assert "All that the aggregator has of Ana (1)" in shown
    assert "2 hospitals together" in words(nobody.run())
    pressed(teacher, "Close the activity")
    assert "Look at the wall" in words(ana.run())
