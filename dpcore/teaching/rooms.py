"""Classroom rooms of a server, kept in its memory only and found by a code of six digits.

Six digits can be guessed, so wrong codes are counted per session, per network address and in total,
by the minute and by the hour. At the most that is accepted, two hours of guessing find a given room
with probability 1/800, and one of twenty rooms with probability 1/40. A guessed code shows what the
wall shows and gives a seat as a student; the teacher's key has 20 letters.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
import unicodedata
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dpcore.teaching.activities import MOST_STUDENTS, Activity, QuizAnswers, Refused

LONGEST_NAME = 24
# A student without a request for AWAY_SECONDS is not counted as present. After GONE_SECONDS
# another student may get the seat.
AWAY_SECONDS, GONE_SECONDS = 60.0, 600.0


@dataclass
class Student:
    """Student with a seat in a room.

    seat: Number of the seat, from 0 in the order of joining.
    name: Nickname of at most `LONGEST_NAME` characters; empty if none was given.
    last_request: Time at which the student's page last asked for news.
    """

    seat: int
    name: str
    last_request: float

    @property
    def label(self) -> str:
        """Name with the number of the seat, since two students may have the same name."""
        return f"{self.name} ({self.seat + 1})" if self.name else f"Number {self.seat + 1}"


def clean_name(written: str) -> str:
    """Return a nickname without control characters, on one line and at most LONGEST_NAME long."""
    visible = (
        " " if unicodedata.category(character)[0] in "CZ" else character
        for character in written[: 4 * LONGEST_NAME]
    )
    return " ".join("".join(visible).split())[:LONGEST_NAME].strip()


class Room:
    """Classroom with its students and one activity. All methods are thread-safe.

    code: Code with which students join.
    key: Secret of the teacher; a student cannot derive it.
    activity: Present activity, or None.
    round: Number of the present round; anything sent for an earlier round is refused.
    version: Counter that changes whenever a phone may have to show something else.
    news: Counter that changes whenever the wall may have to show something else.
    """

    def __init__(self, code: str, key: str, clock: Callable[[], float]) -> None:
        self.code, self.key = code, key
        self.activity: Activity | None = None
        self.round = 0
        self.is_revealed = self.is_paused = self.has_ended = False
        self.ends_at: float | None = None  # of the countdown, by the room's clock
        self.version = self.news = 0
        self.opened = self.touched = clock()
        self._clock = clock
        self._lock = threading.RLock()
        self._students: dict[str, Student] = {}
        self.quiz = QuizAnswers()

    def is_key(self, token: str) -> bool:
        return hmac.compare_digest(self.key.encode(), token.encode(errors="replace"))

    def seat_of(self, token: str) -> Student | None:
        return self._students.get(token)

    def join(self, name: str) -> str:
        """Give a seat to a new student and return the token that identifies it.

        Raises `Refused` if the room is full.
        """
        with self._lock:
            seat = self._free_seat()
            token = secrets.token_urlsafe(18)
            self._students[token] = Student(seat, clean_name(name), self._clock())
            self._announce_change(phones=False)
            return token

    def note_presence(self, token: str = "") -> None:
        """Record that a page asked for news: the student is present and the room is in use."""
        self.touched = self._clock()
        if (student := self._students.get(token)) is not None:
            student.last_request = self.touched

    @property
    def students(self) -> list[Student]:
        """All students, ordered by seat."""
        with self._lock:
            return sorted(self._students.values(), key=lambda student: student.seat)

    @property
    def n_joined(self) -> int:
        return len(self._students)

    @property
    def n_here(self) -> int:
        """Number of students whose page asked for news in the last minute."""
        now = self._clock()
        return sum(now - student.last_request <= AWAY_SECONDS for student in self.students)

    def start(self, key: str, activity: Activity) -> None:
        """Start an activity; it replaces the present one."""
        with self._lock_for_teacher(key):
            self.activity, self.round = activity, self.round + 1
            self.is_revealed = self.is_paused = False
            self.ends_at = None

    def reveal(self, key: str) -> None:
        """Show the result; the activity accepts nothing more."""
        with self._lock_for_teacher(key):
            self.is_revealed, self.ends_at = True, None

    def close_round(self, key: str) -> None:
        """End the activity and delete what was sent for it."""
        with self._lock_for_teacher(key):
            self.activity, self.is_revealed, self.is_paused = None, False, False
            self.ends_at = None

    def set_timer(self, key: str, seconds: float | None) -> None:
        """Start a countdown on the wall and the phones, or remove it.

        Its end changes nothing: answers are taken until the teacher reveals or locks.
        """
        with self._lock_for_teacher(key):
            self.ends_at = None if seconds is None else self._clock() + seconds

    @property
    def seconds_left(self) -> float | None:
        """Seconds left of the countdown, at least 0; None without a countdown."""
        ends_at = self.ends_at
        return None if ends_at is None else max(0.0, ends_at - self._clock())

    def pause(self, key: str, paused: bool) -> None:
        """Lock or unlock the controls of all phones."""
        with self._lock_for_teacher(key):
            self.is_paused = paused

    def reset(self, key: str) -> None:
        """Remove all students and answers; the code stays valid."""
        with self._lock_for_teacher(key):
            self.close_round(key)
            self._students.clear()
            self.quiz = QuizAnswers()

    def show(self, key: str, change: Callable[[], None]) -> None:
        """Change the picture of the activity, from the teacher's console."""
        with self._lock_for_teacher(key):
            change()

    def send(self, token: str, round_: int, message: Any) -> Any:
        """Pass a student's message to the activity and return its answer.

        Raises `Refused` if they have no seat here, if it is too late, or if the activity cannot
            take it.
        """
        with self._lock:
            student = self._students.get(token)
            if student is None:
                raise Refused("You have no seat in this room any more. Join again.")
            if self.activity is None or round_ != self.round:
                raise Refused("This round is over.")
            if self.is_revealed and not self.activity.is_open_late:
                raise Refused("This round is over.")
            if self.is_paused:
                raise Refused("The teacher has paused the class.")
            self.note_presence(token)
            answer = self.activity.take(student.seat, message)
            self._announce_change(phones=False)
            return answer

    def end(self) -> None:
        """End the room: remove the students, the activity and the answers."""
        with self._lock:
            self.has_ended, self.activity = True, None
            self._students.clear()
            self.quiz = QuizAnswers()
            self._announce_change()

    def _free_seat(self) -> int:
        if len(self._students) >= MOST_STUDENTS:
            token, longest = min(self._students.items(), key=lambda entry: entry[1].last_request)
            if self._clock() - longest.last_request < GONE_SECONDS:
                raise Refused(f"This room is full: {MOST_STUDENTS} have joined.")
            del self._students[token]
            self.quiz.free_seat(longest.seat)
        occupied = {student.seat for student in self._students.values()}
        return next(seat for seat in range(MOST_STUDENTS) if seat not in occupied)

    @contextmanager
    def _lock_for_teacher(self, key: str) -> Iterator[None]:
        """Check the teacher's key, lock the room, and announce the change to all pages."""
        if not self.is_key(key) or self.has_ended:
            raise Refused("Only the teacher's console can do this.")
        with self._lock:
            yield
            self._announce_change()

    def _announce_change(self, phones: bool = True) -> None:
        self.touched = self._clock()
        self.news += 1
        self.version += phones


MOST_ROOMS = 20
IDLE_SECONDS = 2 * 3600.0
# A room without students may be replaced by a new room after this time.
EMPTY_SECONDS = 600.0
CODE_LENGTH, KEY_LENGTH = 6, 20
# Letters that do not look like each other or like digits; without vowels they form no words.
_LETTERS = "23456789BCDFGHJKMNPQRSTVWXZ"
# Tuples of seconds and the number of wrong codes accepted per session, per address and in total.
# A class shares one address and makes mistakes; an attacker opens new sessions at no cost.
_WRONG_LIMITS = ((60.0, 5, 20, 60), (3600.0, 30, 120, 600))


def clean_code(written: str) -> str:
    """Return a typed code without blanks and dashes, in upper case."""
    return "".join(written[:40].upper().replace("-", "").split())


def draw_code() -> str:
    """Return six unpredictable digits."""
    return "".join(secrets.choice("0123456789") for _ in range(CODE_LENGTH))


def draw_key() -> str:
    """Return an unpredictable key for the teacher."""
    return "".join(secrets.choice(_LETTERS) for _ in range(KEY_LENGTH))


class Rooms:
    """All rooms of a server.

    clock: Function that returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._rooms: dict[str, Room] = {}
        self._wrong: deque[tuple[float, str, str, str]] = deque()

    def open(self) -> Room:
        """Open a room; its `key` belongs to the teacher.

        Raises `Refused` if there are as many as the server holds.
        """
        with self._lock:
            self._remove_idle_rooms()
            if len(self._rooms) >= MOST_ROOMS:
                self._remove_empty_room()
            code = draw_code()
            while code in self._rooms:
                code = draw_code()
            room = self._rooms[code] = Room(code, draw_key(), self._clock)
            return room

    def enter(self, written: str, visitor: str, address: str = "") -> Room:
        """Return the room of a code that a visitor typed or followed.

        visitor: Name of the browser's session.
        address: Network address of the visitor; empty if unknown.

        Raises `Refused` if there is no such room, or too many wrong codes came before.
        """
        code = clean_code(written)
        with self._lock:
            self._remove_idle_rooms()
            now = self._clock()
            while self._wrong and now - self._wrong[0][0] > _WRONG_LIMITS[-1][0]:
                self._wrong.popleft()
            # A page that is drawn again repeats its code; that is not a new attempt.
            if any(
                who == visitor and tried == code and now - at <= _WRONG_LIMITS[0][0]
                for at, who, _, tried in self._wrong
            ):
                raise _no_such_room()
            if (wait := self._wait(now, visitor, address)) is not None:
                raise Refused(f"Too many wrong codes. Try again in {wait}.")
            room = self._rooms.get(code)
            if room is None:
                self._wrong.append((now, visitor, address, code))
                raise _no_such_room()
            return room

    def _wait(self, now: float, visitor: str, address: str) -> str | None:
        """Return the seconds that a visitor must wait after too many wrong codes, or None."""
        for seconds, of_session, of_address, of_all in reversed(_WRONG_LIMITS):
            recent = [wrong for wrong in self._wrong if now - wrong[0] <= seconds]
            n_own = sum(who == visitor for _, who, _, _ in recent)
            n_address = sum(bool(address) and whence == address for _, _, whence, _ in recent)
            if n_own >= of_session or n_address >= of_address or len(recent) >= of_all:
                return "an hour" if seconds > 60 else "a minute"
        return None

    def find_for_member(self, written: str, token: str) -> Room | None:
        """Return the room of a code if the token is a seat in it or its key, else None."""
        with self._lock:
            self._remove_idle_rooms()
            room = self._rooms.get(clean_code(written))
        if room is not None and token and (room.is_key(token) or room.seat_of(token)):
            return room
        return None

    def close(self, room: Room, key: str) -> None:
        """End a room. Raises `Refused` without its key."""
        room.close_round(key)
        with self._lock:
            self._rooms.pop(room.code, None)
        room.end()

    def __len__(self) -> int:
        return len(self._rooms)

    def _remove_idle_rooms(self) -> None:
        for code, room in list(self._rooms.items()):
            if self._clock() - room.touched > IDLE_SECONDS:
                del self._rooms[code]
                room.end()

    def _remove_empty_room(self) -> None:
        now = self._clock()
        empty = [
            room
            for room in self._rooms.values()
            if not room.n_joined and now - room.opened > EMPTY_SECONDS
        ]
        if not empty:
            raise Refused(
                f"{MOST_ROOMS} rooms are open on this server, for {MOST_STUDENTS} students each: "
                "no more until one of them ends."
            )
        dropped = min(empty, key=lambda room: room.touched)
        del self._rooms[dropped.code]
        dropped.end()


def _no_such_room() -> Refused:
    return Refused("No room has this code. Rooms end with the lesson or after two quiet hours.")


ROOMS = Rooms()
