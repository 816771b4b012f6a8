"""Rooms: admission, permissions, and resistance to misuse."""

from __future__ import annotations

import threading

import pytest

from dpcore.teaching import rooms as rooms_module
from dpcore.teaching.activities import Guess
from dpcore.teaching.rooms import (
    EMPTY_SECONDS,
    GONE_SECONDS,
    IDLE_SECONDS,
    LONGEST_NAME,
    MOST_ROOMS,
    MOST_STUDENTS,
    Refused,
    Room,
    Rooms,
    clean_code,
    clean_name,
)
from pages.components.notices import escape_markdown


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def rooms(clock) -> Rooms:
    return Rooms(clock)


@pytest.fixture
def room(rooms) -> Room:
    return rooms.open()


def yes_or_no() -> Guess:
    return Guess("Well?", ("Yes", "No"), 1.0)


def test_a_code_is_taken_as_people_type_it(rooms, room):
    code = room.code
    for written in (code, code.lower(), f" {code[:3]}-{code[3:]} ", f"{code[:3]} {code[3:]}"):
        assert rooms.enter(written, "ana") is room
    assert clean_code("x" * 10_000) == "X" * 40


def test_codes_and_keys_are_new_and_long(rooms):
    opened = [rooms.open() for _ in range(MOST_ROOMS)]
    assert len({room.code for room in opened} | {room.key for room in opened}) == 2 * MOST_ROOMS
    assert all(len(room.code) == 6 and room.code.isdigit() for room in opened)
    assert len(rooms_module._LETTERS) ** len(opened[0].key) > 1e28


def test_wrong_codes_are_counted_for_one_and_for_all(rooms, room, clock):
    for wrong in "23456":
        with pytest.raises(Refused, match="No room has this code"):
            rooms.enter(wrong, "eve")
        # Drawn again, a page asks again; that is no new try.
        with pytest.raises(Refused, match="No room has this code"):
            rooms.enter(wrong, "eve")
    with pytest.raises(Refused, match="Too many"):
        rooms.enter(room.code, "eve")
    assert rooms.enter(room.code, "ana") is room
    clock.now += 61
    assert rooms.enter(room.code, "eve") is room
    _, _, of_address, of_all = rooms_module._WRONG_LIMITS[0]
    for number in range(of_all - 1):  # one from another network first
        with pytest.raises(Refused, match="No room"):
            rooms.enter("NONE", f"eve {number}", f"net {number // (of_address - 1)}")
    assert rooms.enter(room.code, "ana") is room
    with pytest.raises(Refused, match="No room"):
        rooms.enter("NONE", "eve again")
    with pytest.raises(Refused, match="Too many wrong codes. Try again in a minute"):
        rooms.enter(room.code, "ana")
    # The limit does not apply to members of the room.
    assert rooms.find_for_member(room.code, room.join("Ana")) is room


def test_new_sessions_of_one_address_share_a_limit_by_the_minute_and_by_the_hour(
    rooms, room, clock
):
    (_, _, a_minute, _), (_, _, an_hour, _) = rooms_module._WRONG_LIMITS
    for number in range(an_hour):
        with pytest.raises(Refused, match="No room"):
            rooms.enter(f"{number:05d}", f"session {number}", "10.0.0.7")
        if number % a_minute == a_minute - 1:
            with pytest.raises(Refused, match="Too many"):
                rooms.enter(room.code, "one more", "10.0.0.7")
            clock.now += 61
    with pytest.raises(Refused, match="Try again in an hour"):
        rooms.enter(room.code, "one more", "10.0.0.7")
    assert rooms.enter(room.code, "ana", "10.0.0.8") is room


def test_what_is_let_through_in_two_hours_hardly_finds_a_room():
    _, _, _, an_hour = rooms_module._WRONG_LIMITS[-1]
    assert 2 * an_hour / 10**rooms_module.CODE_LENGTH < 1 / 800
    assert MOST_ROOMS * 2 * an_hour / 10**rooms_module.CODE_LENGTH < 1 / 40


def test_a_countdown_ends_without_doing_anything(room, clock):
    token = room.join("Ana")
    with pytest.raises(Refused, match="teacher"):
        room.set_timer(token, 30.0)
    room.start(room.key, yes_or_no())
    assert room.seconds_left is None
    before = room.version
    room.set_timer(room.key, 30.0)
    clock.now += 12
    assert room.seconds_left == 18.0 and room.version > before
    clock.now += 100
    assert room.seconds_left == 0.0 and not room.is_revealed
    room.send(token, 1, ("randomised", 0))
    room.reveal(room.key)
    assert room.seconds_left is None


def test_a_room_waits_two_hours_and_no_longer(rooms, room, clock):
    token = room.join("Ana")
    clock.now += IDLE_SECONDS
    room.note_presence()  # the teacher's laptop is open again
    clock.now += IDLE_SECONDS
    assert rooms.find_for_member(room.code, token) is room
    clock.now += 1
    assert rooms.find_for_member(room.code, token) is None
    assert room.has_ended and not room.students and len(rooms) == 0
    with pytest.raises(Refused, match="teacher"):
        room.start(room.key, yes_or_no())


def test_a_full_server_refuses_and_lets_go_of_empty_rooms_first(rooms, clock):
    opened = [rooms.open() for _ in range(MOST_ROOMS)]
    with pytest.raises(Refused, match=f"{MOST_ROOMS} rooms are open"):
        rooms.open()
    opened[0].join("Ana")
    clock.now += EMPTY_SECONDS + 1
    rooms.open()
    assert not opened[0].has_ended and opened[1].has_ended and len(rooms) == MOST_ROOMS


def test_a_full_room_refuses_until_somebody_has_been_gone_for_long(room, clock):
    first = room.join("Ana")
    others = [room.join("") for _ in range(MOST_STUDENTS - 1)]
    with pytest.raises(Refused, match="full"):
        room.join("late")
    clock.now += GONE_SECONDS
    for token in others:
        room.note_presence(token)
    room.join("late")
    assert room.seat_of(first) is None and room.n_joined == MOST_STUDENTS
    assert sorted(student.seat for student in room.students) == list(range(MOST_STUDENTS))


def test_who_comes_back_goes_on(rooms, room, clock):
    token = room.join("Ana")
    room.start(room.key, yes_or_no())
    room.send(token, 1, ("randomised", 0))
    clock.now += 59
    assert room.n_here == 1
    assert rooms.find_for_member(room.code, token) is room
    with pytest.raises(Refused, match="answered already"):
        room.send(token, 1, ("randomised", 1))
    clock.now += 2
    room.note_presence(token)
    assert room.n_here == room.n_joined == 1


def test_a_message_of_another_room_or_round_is_refused(rooms, room):
    other = rooms.open()
    token, stranger = room.join("Ana"), other.join("Eve")
    for open_room in (room, other):
        open_room.start(open_room.key, yes_or_no())
    with pytest.raises(Refused, match="no seat"):
        room.send(stranger, 1, ("randomised", 0))
    room.start(room.key, yes_or_no())
    with pytest.raises(Refused, match="over"):
        room.send(token, 1, ("randomised", 0))
    room.pause(room.key, True)
    with pytest.raises(Refused, match="paused"):
        room.send(token, 2, ("randomised", 0))
    room.pause(room.key, False)
    room.send(token, 2, ("randomised", 0))
    room.reveal(room.key)
    with pytest.raises(Refused, match="over"):
        room.send(room.join("late"), 2, ("randomised", 0))
    assert room.activity.answers == {0: 0} and other.activity.answers == {}


def test_a_student_can_do_nothing_of_the_teachers(rooms, room):
    token = room.join("Ana")
    assert not room.is_key(token) and not room.is_key("") and not room.is_key("\udcff")
    for key in (token, "", room.code):
        for do in (
            lambda key: room.start(key, yes_or_no()),
            room.reveal,
            room.close_round,
            room.reset,
            lambda key: room.pause(key, True),
            lambda key: room.show(key, pytest.fail),
            lambda key: rooms.close(room, key),
        ):
            with pytest.raises(Refused, match="teacher"):
                do(key)
    assert room.activity is None and room.n_joined == 1
    rooms.close(room, room.key)
    assert room.has_ended and rooms.find_for_member(room.code, token) is None


@pytest.mark.parametrize(
    "written", ["<b>Ana</b>", "a\u202eb\u200b", "A" * 10_000, "\x00\n\t", "\ud800", "  "]
)
def test_a_name_is_letters_and_short(room, written):
    room.join(written)
    (student,) = room.students
    assert len(student.name) <= LONGEST_NAME and student.name == clean_name(student.name)
    assert escape_markdown(student.label).encode()


def test_two_of_one_name_are_told_apart(room):
    room.join("Ana"), room.join("Ana"), room.join("")
    assert [student.label for student in room.students] == ["Ana (1)", "Ana (2)", "Number 3"]


def test_sixty_students_who_answer_at_once_lose_no_answer(room):
    tokens = [room.join("") for _ in range(MOST_STUDENTS)]
    room.start(room.key, yes_or_no())
    before = room.news
    threads = [
        threading.Thread(target=room.send, args=(token, 1, ("randomised", k % 2)))
        for k, token in enumerate(tokens)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(room.activity.answers) == MOST_STUDENTS == room.news - before
    # The answers of others do not draw a phone again.
    assert room.version == 1
