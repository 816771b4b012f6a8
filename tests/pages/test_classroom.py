"""Classroom: a teacher opens a room, students join, and every activity runs to its result."""

from __future__ import annotations

import pytest

from dpcore.teaching.quiz import QUESTIONS
from dpcore.teaching.rooms import ROOMS
from tests.pages.opening import open_page_at, texts


def press(at, label: str):
    next(button for button in at.button if button.label == label).click().run()
    assert not at.exception, [exception.value for exception in at.exception]
    return at


def start(console, activity: str, *choices: tuple[str, object]):
    groups = {element.key: element for element in console.get("button_group")}
    groups["classroom_activity"].set_value(activity).run()
    for key, value in choices:
        {element.key: element for element in console.get("button_group")}[key].set_value(
            value
        ).run()
    console.button(key="classroom_start").click().run()
    assert not console.exception


@pytest.fixture
def console(open_page):
    return press(open_page("classroom"), "Open a room")


@pytest.fixture
def code(console):
    return "".join(console.query_params["room"])


@pytest.fixture
def phone(console, code):
    return join(code, "Ana")


def join(code: str, name: str):
    at = open_page_at("classroom", room=code)
    at.text_input(key="classroom_name").set_value(name)
    return press(at, "Join")


def test_a_wrong_code_gives_one_sentence(open_page):
    at = open_page("classroom", room="000000")
    assert not at.exception
    assert len(at.warning) == 1 and "No room" in at.warning[0].value


def test_the_wall_shows_the_code_and_who_joined(code, phone):
    wall = open_page_at("classroom", room=code, projector="true")
    assert not wall.exception
    shown = "".join(element.proto.body for element in wall.get("html"))
    assert code[:3] in shown and "Ana (1)" in shown


def test_hospitals_send_their_messages_and_the_wall_shows_captured_energy(console, code, phone):
    start(console, "hospitals")
    phone.run()
    press(phone, "Send at ε = 1")
    assert "Sent" in texts(phone)
    wall = open_page_at("classroom", room=code, projector="true")
    assert not wall.exception
    assert "As published: " in texts(wall) and "1 of 10 hospitals" in texts(wall)
    press(console.run(), "Reveal")
    assert "As published: " in texts(phone.run())
    press(console.run(), "Improved, at ε = 1")
    for page in (phone, wall):
        assert "Improved: " in texts(page.run()) and "second release" in texts(page)


def test_answers_are_estimated_after_the_reveal(console, code, phone):
    start(console, "guess")
    press(phone.run(), "Yes")
    assert "Your phone said" in texts(phone)
    press(console.run(), "Reveal")
    wall = open_page_at("classroom", room=code, projector="true")
    assert "About" in texts(wall)
    assert "±" in texts(phone.run())


def test_the_quiz_shows_right_answers_only_after_the_second_time(console, phone):
    for phase in ("before", "after"):
        start(console, "quiz", ("classroom_phase", phase))
        phone.run()
        for _ in QUESTIONS:
            press(phone, "I do not know")
        press(console.run(), "Reveal")
        phone.run()
        assert ("right before" in texts(phone)) == (phase == "after")


def test_the_teacher_continues_on_another_device(open_page, console, code):
    room = ROOMS.enter(code, "test")
    other = open_page("classroom")
    other.text_input(key="classroom_code_of_key").set_value(code)
    other.text_input(key="classroom_key").set_value(room.key)
    press(other, "Continue teaching")
    assert any(button.label == "Start" for button in other.button)


def test_a_room_that_ended_is_gone(console, phone):
    press(console, "End the room")
    assert not phone.run().exception
    assert any("No room" in warning.value for warning in phone.warning)


def test_a_public_demo_opens_no_room(open_page, monkeypatch):
    monkeypatch.setenv("DPCORE_PUBLIC_DEMO", "1")
    at = open_page("classroom")
    assert not at.exception and not at.button
