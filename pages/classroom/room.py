"""One room: who has joined, what goes on, and who may do what."""

from __future__ import annotations

import hmac
import secrets
import threading
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

MOST_STUDENTS = 60
LONGEST_NAME = 24
# Whoever was not seen for so long is not counted as here; for so long, loses a seat that is needed.
AWAY_SECONDS, GONE_SECONDS = 60.0, 600.0


class Refused(Exception):
    """What somebody in a room may not do now; the message is one sentence for them."""


class Activity(Protocol):
    """What a class does together in one round.

    `is_open_late` is whether anything is taken after it was revealed.
    """

    name: str
    is_open_late: bool

    def take(self, seat: int, sent: Any) -> Any:
        """What a student sends, and what comes back; raises `Refused` where it cannot be had."""


@dataclass
class Student:
    """Somebody with a seat: all that is known of them.

    seat: From 0, in the order of joining.
    name: As typed, at most `LONGEST_NAME` characters; empty if none was given.
    seen: When their page last asked for anything.
    """

    seat: int
    name: str
    seen: float

    @property
    def called(self) -> str:
        """What the class sees: two may have one name."""
        return f"{self.name} ({self.seat + 1})" if self.name else f"Number {self.seat + 1}"


def name_in(written: str) -> str:
    """A nickname as it is kept: in one line, of letters that are seen, and short."""
    seen = (
        " " if unicodedata.category(each)[0] in "CZ" else each
        for each in written[: 4 * LONGEST_NAME]
    )
    return " ".join("".join(seen).split())[:LONGEST_NAME].strip()


class Room:
    """A room; every method may be called from any thread.

    code: What students join with.
    key: The teacher's; nothing that a student has leads to it.
    activity: What goes on.
    round: Its number; what is sent for an earlier one is refused.
    version: Changes whenever what a phone shows may change.
    news: Changes whenever what the projector shows may change.
    """

    def __init__(self, code: str, key: str, clock: Callable[[], float]) -> None:
        self.code, self.key = code, key
        self.activity: Activity | None = None
        self.round = 0
        self.is_revealed = self.is_paused = self.has_ended = False
        self.version = self.news = 0
        self.opened = self.touched = clock()
        self._clock = clock
        self._lock = threading.RLock()
        self._students: dict[str, Student] = {}

    # Who is here.

    def is_key(self, token: str) -> bool:
        return hmac.compare_digest(self.key.encode(), token.encode(errors="replace"))

    def seat_of(self, token: str) -> Student | None:
        return self._students.get(token)

    def join(self, name: str) -> str:
        """A seat for somebody who has none; the token that it is known by from now on.

        Raises `Refused` if the room is full.
        """
        with self._lock:
            seat = self._free_seat()
            token = secrets.token_urlsafe(18)
            self._students[token] = Student(seat, name_in(name), self._clock())
            self._changed(phones=False)
            return token

    def look(self, token: str = "") -> None:
        """Somebody's page asks what is new: they are here, and so the room is not idle."""
        self.touched = self._clock()
        if (student := self._students.get(token)) is not None:
            student.seen = self.touched

    @property
    def students(self) -> list[Student]:
        """In the order of their seats."""
        with self._lock:
            return sorted(self._students.values(), key=lambda student: student.seat)

    @property
    def n_joined(self) -> int:
        return len(self._students)

    @property
    def n_here(self) -> int:
        """How many have been seen in the last minute."""
        now = self._clock()
        return sum(now - student.seen <= AWAY_SECONDS for student in self.students)

    # What goes on. The key is asked for where it is done, not only where it is offered.

    def start(self, key: str, activity: Activity) -> None:
        """Begin an activity, in place of any other."""
        with self._ruled(key):
            self.activity, self.round = activity, self.round + 1
            self.is_revealed = self.is_paused = False

    def reveal(self, key: str) -> None:
        """Show what came of it; nothing more is taken."""
        with self._ruled(key):
            self.is_revealed = True

    def close_round(self, key: str) -> None:
        """End the activity, and let go of all that was sent for it."""
        with self._ruled(key):
            self.activity, self.is_revealed, self.is_paused = None, False, False

    def pause(self, key: str, paused: bool) -> None:
        """Lock every phone's controls, or unlock them."""
        with self._ruled(key):
            self.is_paused = paused

    def reset(self, key: str) -> None:
        """Let go of everybody and everything; the code stays."""
        with self._ruled(key):
            self.close_round(key)
            self._students.clear()

    def show(self, key: str, change: Callable[[], None]) -> None:
        """Have the activity show something else."""
        with self._ruled(key):
            change()

    def send(self, token: str, round_: int, sent: Any) -> Any:
        """Hand over what a student sends; what comes back.

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
            self.look(token)
            answer = self.activity.take(student.seat, sent)
            self._changed(phones=False)
            return answer

    def end(self) -> None:
        """Nothing goes on here any more."""
        with self._lock:
            self.has_ended, self.activity = True, None
            self._students.clear()
            self._changed()

    def _free_seat(self) -> int:
        if len(self._students) >= MOST_STUDENTS:
            token, longest = min(self._students.items(), key=lambda each: each[1].seen)
            if self._clock() - longest.seen < GONE_SECONDS:
                raise Refused(f"This room is full: {MOST_STUDENTS} have joined.")
            del self._students[token]
        taken = {student.seat for student in self._students.values()}
        return next(seat for seat in range(MOST_STUDENTS) if seat not in taken)

    @contextmanager
    def _ruled(self, key: str) -> Iterator[None]:
        """While the teacher changes something: one at a time, and everybody hears of it."""
        if not self.is_key(key) or self.has_ended:
            raise Refused("Only the teacher's console can do this.")
        with self._lock:
            yield
            self._changed()

    def _changed(self, phones: bool = True) -> None:
        self.touched = self._clock()
        self.news += 1
        self.version += phones
