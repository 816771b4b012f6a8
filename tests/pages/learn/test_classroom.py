"""The classroom's pages: a teacher and students, each a session of their own on one server."""

from __future__ import annotations

import io
import json
import re

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.teaching.quiz import (
    QUESTIONS,
    Phase,
    analyse_quiz,
    quiz_csv,
    read_quiz,
)
from pages.learn.classroom.page import VIEWS, lesson_plan
from pages.learn.classroom.rooms import ROOMS
from tests.pages.looking import HOSTILE, assert_whole

PAGE = "learn/classroom"


@pytest.fixture(autouse=True)
def nobody_before() -> None:
    ROOMS._rooms.clear()
    ROOMS._wrong.clear()


def pressed(at: AppTest, label: str) -> AppTest:
    """The page after its first button of this label was pressed."""
    next(button for button in at.button if button.label == label).click()
    at.run()
    assert_whole(at)
    return at


def words(at: AppTest) -> str:
    kinds = (at.markdown, at.caption, at.info, at.success, at.warning)
    pieces = [each.value for kind in kinds for each in kind]
    return "\n".join([*pieces, *(each.proto.body for each in at.get("html"))])


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


def test_the_page_says_what_a_class_does_before_a_room_is_open(open_page):
    said = " ".join(each.value for each in open_page(PAGE).markdown)
    for view in VIEWS.values():
        assert f"### {view.title}" in said and view.about in said


def test_hospitals_send_and_the_wall_shows_what_all_of_them_found(teacher, wall, join):
    ana, nobody = join("Ana"), join()
    assert "**2 phones** here so far" in words(wall.run())
    # The lobby: names as they arrive, and six digits.
    code = teacher.session_state["room"]
    assert code.isdigit() and f"{code[:3]}\u00a0{code[3:]}" in words(wall)
    assert "Ana (1)</li>" in words(wall) and "Number 2</li>" in words(wall)
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


def test_a_class_of_sixty_has_its_names_on_the_wall_smaller_than_three_have(code, wall):
    """Names of 25 and more ran off the wall."""
    room, sizes = ROOMS._rooms[code], []
    for n_joined in (3, 25, 60):
        while room.n_joined < n_joined:
            room.join("Konstantin the Great IV")
        shown = words(wall.run())
        assert shown.count("</li>") == n_joined
        sizes.append(float(re.search(r"<ul style.*?font-size:min\(4vw,([\d.]+)rem", shown)[1]))
    assert sizes == sorted(sizes, reverse=True) and len(set(sizes)) == 3


def test_answers_are_randomised_and_counted_in_clear_only_where_somebody_agrees(
    teacher, wall, join
):
    ana, nobody = join("Ana"), join()
    started(teacher, "guess")
    for at, answer in ((ana, "Yes"), (nobody, "No")):
        # At ε = 3 what it says is the truth 95 times in 100: it gives away what ε says it does.
        assert "the truth 73 times in 100" in words(at.run()) and "a blind guess, 50" in words(at)
        pressed(at, answer)
        assert "Your phone said" in words(at)
    assert "what the phones said, of 2" in words(wall.run()) and "estimate" not in words(wall)
    pressed(teacher.run(), "Start the countdown")
    for at in (wall.run(), ana.run()):
        (clock,) = (each for each in at.get("bidi_component") if "clock" in each.proto.id)
        assert 0 < json.loads(clock.proto.json)["left"] <= 30
    pressed(teacher.run(), "Reveal")
    assert "**The class:** about" in words(ana.run()) and "too few answers to know" in words(ana)
    assert "in clear" not in wall.run().table[0].value
    pressed(teacher.run(), "Ask who lets the true answer be counted")
    assert "not private" not in words(wall.run())
    pressed(ana.run(), "Count mine as it is")
    assert wall.run().table[0].value["in clear"].tolist() == [1, 0]
    assert "**1 of 2** let theirs be counted" in words(wall)


def test_the_class_attacks_single_draws_and_sees_the_bound(teacher, wall, join):
    ana = join("Ana")
    started(teacher, "attack")
    ana.run()
    for number in range(10):
        assert f"Release {number + 1} of 10" in words(ana)
        pressed(ana, "With her")
    assert "10 guesses" in words(wall.run()) and "no adversary" not in words(wall)
    pressed(teacher.run(), "Reveal")
    assert "no adversary is right more than" in words(wall.run())
    right = sum(ROOMS._rooms[teacher.session_state["room"]].activity.hits[0])
    # The bound stands beside what the class reached, as a bar of a hundred.
    assert "No adversary more than" in words(wall) and ">50</b>" in words(wall)
    assert f"{right}</b> right · Ana (1)" in words(wall) or right == 0
    assert f"You: {right} of 10 right" in words(ana.run())


def test_a_budget_is_spent_together_until_a_question_is_refused(teacher, wall, join):
    ana, nobody = join("Ana"), join()
    started(teacher, "spend")
    for at in (ana, nobody):
        at.run().segmented_control(key="class_price_1").set_value(1.0).run()
        pressed(at, "Ask, for ε = 1")
        assert "people wrote a 3" in words(at)
    pressed(ana, "Ask, for ε = 1")
    assert "Refused: this costs ε = 1" in words(ana)
    pressed(teacher.run(), "Reveal")
    assert "1 refused" in words(wall.run()) and "closest answer" in words(wall)


def answered(at: AppTest, choose) -> AppTest:
    """The page after all six questions, each answered by what `choose` gives for its text."""
    for number in range(1, 7):
        assert f"Question {number} of 6" in words(at.run())
        question = next(each for each in QUESTIONS if each.text in words(at))
        pressed(at, choose(question))
    assert "You have answered all six" in words(at)
    return at


def test_the_quiz_is_answered_twice_and_saved_without_names(teacher, code, wall, join):
    ana, nobody = join("Ana"), join("Benjamin")
    teacher.run().segmented_control(key="classroom_activity").set_value("quiz").run()
    teacher.button(key="classroom_start").click().run()
    answered(ana, lambda question: "I do not know")
    assert not teacher.run().get("download_button")  # while the quiz is open
    assert "1 phone answered all 6" in words(wall.run())
    pressed(teacher, "Reveal")
    reasons = [question.reason for question in QUESTIONS]
    for at in (wall.run(), ana.run(), nobody.run()):
        assert not [each for each in reasons if each in words(at)]
    assert "Thank you" in words(ana)
    teacher.segmented_control(key="class_quiz_phase").set_value(Phase.AFTER).run()
    teacher.button(key="classroom_start").click().run()
    for at in (ana, nobody):
        answered(at, lambda question: question.choices[question.right])
    pressed(teacher.run(), "Reveal")
    assert "0 of 6 right before, 6 of 6 after" in words(ana.run())
    assert all(reason in words(ana) for reason in reasons)
    assert "Bars need 3 phones that answered twice" in words(wall.run())
    for seat in (5, 6):
        for phase in Phase:
            ROOMS._rooms[code].quiz.take(seat, phase, "delta", "b")
    assert "right answers of phones that answered twice, of 3" in words(wall.run())
    assert "What δ allows: before" in words(wall)
    assert teacher.run().get("download_button")
    saved = quiz_csv(ROOMS._rooms[code].quiz.phones())
    assert "Ana" not in saved and "Benjamin" not in saved
    totals = analyse_quiz(read_quiz(io.StringIO(saved))).totals
    assert (totals.n_phones, totals.mean_gain) == (1, 6.0)
    assert len(saved.splitlines()) == 1 + 4


def test_the_plan_stands_beside_the_controls_of_every_activity(teacher):
    for name, view in VIEWS.items():
        plan = lesson_plan(view.title)
        assert {"Minutes", "Script", "Questions"} <= set(plan)
        teacher.segmented_control(key="classroom_activity").set_value(name).run()
        assert f"Plan: {plan['Minutes']} minutes" in words(teacher)
        assert plan["Script"] in words(teacher)
    assert "My hospital has" in lesson_plan("We are the hospitals")["Worksheet"]


def test_what_students_and_teachers_type_is_letters(teacher, code, wall, join):
    room = ROOMS._rooms[code]
    ana = join(HOSTILE[0])
    tokens = [room.join(hostile) for hostile in (*HOSTILE, "A" * 10_000)]
    teacher.run().segmented_control(key="classroom_activity").set_value("guess").run()
    teacher.text_input(key="class_own_question").set_value(" ".join(HOSTILE)[:200]).run()
    teacher.button(key="classroom_start").click().run()
    for at in (teacher, wall.run(), ana.run()):
        assert_whole(at)
    started(teacher, "hospitals")
    for token in tokens:
        room.send(token, room.round, 5.0)
    pressed(teacher.run(), "Reveal")
    teacher.selectbox(key="class_opened_2").set_value(3).run()
    for at in (teacher, wall.run(), ana.run()):
        assert_whole(at)


def test_a_wrong_code_an_ended_room_and_a_wrong_key_are_each_one_sentence(
    teacher, code, open_page, join
):
    at = open_page(PAGE, room="NONE")
    assert "No room has this code" in words(at)
    at.text_input(key="room_of_key").set_value(code)
    at.text_input(key="room_key").set_value("22222")
    pressed(at, "Go on teaching")
    assert "not the key of that room" in words(at)
    ana = join("Ana")
    assert not [each for each in ana.button if each.label in ("Start", "End the room")]
    pressed(teacher.run(), "End the room")
    assert "No room has this code" in words(ana.run())


def test_the_teacher_goes_on_elsewhere_with_the_key(teacher, code, open_page):
    at = open_page(PAGE)
    at.text_input(key="room_of_key").set_value(code.lower())
    key = teacher.session_state["_classroom_keys"][code]
    at.text_input(key="room_key").set_value(key)
    pressed(at, "Go on teaching")
    assert any(each.label == "Start" for each in at.button)
