"""Classrooms of this server: rooms, who has joined, activities.

What a class can do together: the state of a round of each, and what it takes from a phone.

Rooms call `take` under their lock; pages look on without it, at copies of what grows meanwhile.
Nothing here outlives its round, but for the answers to the quiz: they are compared with later ones,
and go with the room.

The rooms of this server, in its memory alone, by a code of six digits.

Six digits can be guessed, so wrong codes are counted for each session, each network address and
all together, by the minute and by the hour. At the most that is let through, guessing for two hours
finds a given room with a chance of 1 in 800, and one of twenty rooms with a chance of 1 in 40.
A guessed code gives what the wall shows and a seat as a student; the teacher's key is 20 letters.
"""

from __future__ import annotations

import hmac
import math
import secrets
import threading
import time
import unicodedata
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.mechanisms import estimated_counts
from dpcore.pca import SiteMessage
from dpcore.privacy import Bound, Cap, PrivacyBudget, best_guess, guarantee_mu
from dpcore.statistics import private_mean
from dpcore.streams import Purpose, stream
from dpcore.teaching.adversary_test import promise, single_draw
from dpcore.teaching.algorithm1 import (
    ClassOfHospitals,
    message_of,
    together,
    weighed_together,
)
from dpcore.teaching.quiz import Phase, Question, check_answer, shuffled_quiz

# One room: who has joined, what goes on, and who may do what.

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


class QuizAnswers:
    """What the phones of a room answered to the quiz, before and after.

    Paired by seat, since both answers of a phone belong together; no name is kept here. A seat that
    is given to another phone starts anew.
    """

    def __init__(self) -> None:
        self._seed = _secret_seed()
        self._by_seat: dict[int, dict[tuple[str, Phase], str]] = {}
        self._left: list[dict[tuple[str, Phase], str]] = []

    def of(self, seat: int) -> dict[tuple[str, Phase], str]:
        """What a seat has answered, by question and phase."""
        return dict(self._by_seat.get(seat, {}))

    def order(self, seat: int, phase: Phase) -> list[tuple[Question, list[str]]]:
        """The questions in this phone's own order, another one before and after."""
        rng = stream(self._seed, Purpose.QUIZ, list(Phase).index(phase), seat)
        return shuffled_quiz(rng)

    def take(self, seat: int, phase: Phase, name: str, choice: str) -> None:
        """An answer, once; none of before once the phone has begun after."""
        try:
            check_answer(name, choice)
        except ParameterError:
            raise Refused("That is none of the answers.") from None
        own = self._by_seat.setdefault(seat, {})
        if (name, phase) in own:
            raise Refused("You have answered this question already.")
        if phase is Phase.BEFORE and any(when is Phase.AFTER for _, when in own):
            raise Refused("You have begun the second time: the first one is over.")
        own[name, phase] = choice

    def free(self, seat: int) -> None:
        """Keep the answers of a phone that lost its seat apart from the next one's."""
        if (own := self._by_seat.pop(seat, None)) is not None:
            self._left.append(own)

    def n_answered(self, phase: Phase) -> list[int]:
        """How many questions each phone has answered, of those that have answered any."""
        made = [sum(when is phase for _, when in own) for own in self.phones()]
        return [count for count in made if count]

    def phones(self) -> list[dict[tuple[str, Phase], str]]:
        """The answers of all phones, in random order: no row tells a seat."""
        own = [*map(dict, list(self._by_seat.values())), *self._left]
        order = stream(self._seed, Purpose.QUIZ, len(Phase), len(own)).permutation(len(own))
        return [own[k] for k in order]


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
        self.ends_at: float | None = None  # of the countdown, by the room's clock
        self.version = self.news = 0
        self.opened = self.touched = clock()
        self._clock = clock
        self._lock = threading.RLock()
        self._students: dict[str, Student] = {}
        self.quiz = QuizAnswers()

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
            self.ends_at = None

    def reveal(self, key: str) -> None:
        """Show what came of it; nothing more is taken."""
        with self._ruled(key):
            self.is_revealed, self.ends_at = True, None

    def close_round(self, key: str) -> None:
        """End the activity, and let go of all that was sent for it."""
        with self._ruled(key):
            self.activity, self.is_revealed, self.is_paused = None, False, False
            self.ends_at = None

    def set_timer(self, key: str, seconds: float | None) -> None:
        """Begin a countdown on the wall and the phones, or take it away.

        Its end changes nothing: answers are taken until the teacher reveals or locks.
        """
        with self._ruled(key):
            self.ends_at = None if seconds is None else self._clock() + seconds

    @property
    def seconds_left(self) -> float | None:
        """Of the countdown, at least 0; None where there is none."""
        ends_at = self.ends_at
        return None if ends_at is None else max(0.0, ends_at - self._clock())

    def pause(self, key: str, paused: bool) -> None:
        """Lock every phone's controls, or unlock them."""
        with self._ruled(key):
            self.is_paused = paused

    def reset(self, key: str) -> None:
        """Let go of everybody and everything; the code stays."""
        with self._ruled(key):
            self.close_round(key)
            self._students.clear()
            self.quiz = QuizAnswers()

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
            self.quiz = QuizAnswers()
            self._changed()

    def _free_seat(self) -> int:
        if len(self._students) >= MOST_STUDENTS:
            token, longest = min(self._students.items(), key=lambda each: each[1].seen)
            if self._clock() - longest.seen < GONE_SECONDS:
                raise Refused(f"This room is full: {MOST_STUDENTS} have joined.")
            del self._students[token]
            self.quiz.free(longest.seat)
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


# What a class can do together: the state of a round of each, and what it takes from a phone.

# Room for those who come late, and for small classes.
_FEWEST_HOSPITALS, _LATE_SHARE = 10, 1.25
N_DRAWS = 10
ATTACK_DELTA = BUDGET_DELTA = 1e-5
# Of a class that asks on and on, once nothing is left.
_MOST_REFUSALS = 1_000


def _secret_seed() -> int:
    return secrets.randbits(62)


class Hospitals:
    """Every phone is a hospital with its share of the pictures; together they find components."""

    name = "hospitals"
    is_open_late = False

    def __init__(self, n_joined: int) -> None:
        wanted = max(_FEWEST_HOSPITALS, math.ceil(_LATE_SHARE * n_joined) + 2)
        self.hospitals = ClassOfHospitals.dealt(min(wanted, MOST_STUDENTS))
        self.messages: dict[int, SiteMessage] = {}
        self.epsilons: dict[int, float] = {}
        self.n_bytes: dict[int, int] = {}
        self.opened: int | None = None  # whose message the projector looks into
        self.is_weighed = True  # by what its noise leaves of a message; else a plain average
        # Energy after each message, weighed and of the plain average.
        self.kept_weighed: list[float] = []
        self.kept_plainly: list[float] = []
        self._seed = _secret_seed()
        self._weighed: FloatArray | None = None
        self._plain: FloatArray | None = None

    def has_share(self, seat: int) -> bool:
        """Whether there are people left for this seat."""
        return seat < self.hospitals.moments.n_sites

    def preview(self, seat: int, epsilon: float) -> tuple[SiteMessage, int]:
        """What this seat would send; for its own eyes until it does."""
        return message_of(self.hospitals, seat, epsilon, self._seed)

    def take(self, seat: int, sent: float) -> None:
        """The epsilon that a hospital sends at; a second message would be a second release."""
        if not self.has_share(seat):
            raise Refused("Every share of the patients is dealt: you have one in the next round.")
        if seat in self.messages:
            raise Refused("Your hospital has sent already: a second message would cost it again.")
        message, self.n_bytes[seat] = self.preview(seat, sent)
        self.epsilons[seat] = sent
        self.messages[seat] = message
        self._weighed, self._plain = weighed_together(self.messages), together(self.messages)
        self.kept_weighed.append(self.hospitals.energy(self._weighed))
        self.kept_plainly.append(self.hospitals.energy(self._plain))

    @property
    def components(self) -> FloatArray | None:
        """(n_components, n_features) of what has arrived; nothing before anything has."""
        return self._weighed if self.is_weighed else self._plain

    @property
    def kept(self) -> list[float]:
        """Energy of what is shown, after each message."""
        return self.kept_weighed if self.is_weighed else self.kept_plainly

    @property
    def found(self) -> float:
        """Energy of what is shown."""
        return self.kept[-1] if self.kept else 0.0


@dataclass
class Guess:
    """A question to everybody. What enters is an answer that has been randomised already.

    epsilon: Of each answer.
    """

    question: str
    choices: tuple[str, ...]
    epsilon: float
    name: str = "guess"
    answers: dict[int, int] = field(default_factory=dict)
    # Of those who said, afterwards, that theirs may be counted as it is.
    clear: dict[int, int] = field(default_factory=dict)
    is_open_late: bool = False

    def take(self, seat: int, sent: tuple[str, int]) -> None:
        """A randomised answer, once; or the true one, once its owner has been asked for it."""
        kind, answer = sent
        if not 0 <= answer < len(self.choices):
            raise Refused("That is none of the answers.")
        if (kind == "clear") != self.is_open_late or (kind == "clear" and seat not in self.answers):
            raise Refused("Nobody asks for this answer now.")
        box = self.clear if kind == "clear" else self.answers
        if seat in box:
            raise Refused("You have answered already.")
        box[seat] = answer

    def counts(self, of: dict[int, int]) -> list[int]:
        """How often each choice was given."""
        given = list(of.values())
        return [given.count(choice) for choice in range(len(self.choices))]

    def estimate(self) -> tuple[FloatArray, float]:
        """How many truths there are of each, and the largest standard deviation of that."""
        return estimated_counts(self.counts(self.answers), self.epsilon)


class Attack:
    """Everybody plays the adversary on single draws: was she among the people, or not?"""

    name = "attack"
    is_open_late = False

    def __init__(self, epsilon: float) -> None:
        self.epsilon = epsilon
        self.promise = promise(PrivacyBudget(epsilon, ATTACK_DELTA))
        self.bound = best_guess(self.promise)
        # How far the two laws lie apart, in units of the noise.
        self.mu = guarantee_mu(self.promise) or 0.0
        self.hits: dict[int, list[bool]] = {}
        self._seed = _secret_seed()

    def _drawn(self, seat: int, number: int) -> tuple[bool, float]:
        rng = stream(self._seed, Purpose.AUDIT, seat, number)
        with_you = bool(rng.random() < 0.5)
        return with_you, single_draw(self.mu, with_you=with_you, rng=rng)

    def release(self, seat: int) -> float | None:
        """What this seat is to judge next; nothing when it has judged all."""
        number = len(self.hits.get(seat, ()))
        return self._drawn(seat, number)[1] if number < N_DRAWS else None

    def take(self, seat: int, sent: tuple[int, bool]) -> bool:
        """A guess at a draw, by its number; whether it is right."""
        number, guess = sent
        hits = self.hits.setdefault(seat, [])
        if number != len(hits) or number >= N_DRAWS:
            raise Refused("You have judged this one already.")
        hits.append(self._drawn(seat, number)[0] == guess)
        return hits[-1]

    def podium(self) -> list[tuple[int, list[int]]]:
        """The three largest numbers of right guesses, each with the seats that have it."""
        hits = {seat: sum(each) for seat, each in list(self.hits.items())}
        best = sorted(set(hits.values()) - {0}, reverse=True)[:3]
        return [(score, [seat for seat, own in hits.items() if own == score]) for score in best]

    @property
    def n_guesses(self) -> int:
        return sum(map(len, list(self.hits.values())))

    @property
    def n_hits(self) -> int:
        return sum(map(sum, list(self.hits.values())))


class Quiz:
    """Six questions on what epsilon, delta and an aggregator can and cannot do."""

    name = "quiz"
    is_open_late = False

    def __init__(self, phase: Phase, answers: QuizAnswers) -> None:
        self.phase, self.answers = phase, answers

    def next_question(self, seat: int) -> tuple[Question, list[str]] | None:
        """What this phone is asked now; nothing when it has answered all."""
        own = self.answers.of(seat)
        asked = self.answers.order(seat, self.phase)
        return next((each for each in asked if (each[0].name, self.phase) not in own), None)

    def take(self, seat: int, sent: tuple[str, str]) -> None:
        """A question's name, and the letter of an answer or that one does not know."""
        self.answers.take(seat, self.phase, *sent)


@dataclass(frozen=True)
class Query:
    """A question that was paid for: how many of the digits show one numeral."""

    seat: int
    numeral: int
    epsilon: float
    answer: float


class Spend:
    """One budget for the whole class: every question is charged, until one is refused."""

    name = "spend"
    is_open_late = False

    def __init__(self, epsilon: float, numerals: Sequence[int]) -> None:
        self.cap = Cap(epsilon, BUDGET_DELTA)
        self.queries: list[Query] = []
        self.refused: dict[int, int] = {}
        self._numerals = np.asarray(numerals)
        self._rng = np.random.default_rng(secrets.randbits(128))

    @property
    def spent(self) -> float:
        """Epsilon of all that was answered: pure promises add up."""
        return math.fsum([query.epsilon for query in list(self.queries)])

    @property
    def left(self) -> float:
        return self.cap.left_pure(self._bound(self.spent))

    def count(self, numeral: int) -> int:
        """The true count, which no guarantee covers."""
        return int((self._numerals == numeral).sum())

    def take(self, seat: int, sent: tuple[int, float]) -> Query:
        """A numeral and an epsilon; the noisy count, or `Refused` where the budget has no room."""
        numeral, epsilon = sent
        if not self.cap.admits(self._bound(self.spent + epsilon)):
            if sum(self.refused.values()) < _MOST_REFUSALS:
                self.refused[seat] = self.refused.get(seat, 0) + 1
            raise Refused(
                f"Refused: this costs ε = {epsilon:g}, and of the class's ε = "
                f"{self.cap.epsilon:g} there is {self.left:.3g} left."
            )
        is_it = (self._numerals == numeral).astype(float)
        mean = private_mean(is_it, bounds=(0, 1), epsilon=epsilon, rng=self._rng)
        query = Query(seat, numeral, epsilon, float(mean) * len(is_it))
        self.queries.append(query)
        return query

    @staticmethod
    def _bound(epsilon: float) -> Bound:
        return Bound(mu=math.inf, epsilon=epsilon)


# The rooms of this server, in its memory alone: by a code of six digits.

MOST_ROOMS = 20
IDLE_SECONDS = 2 * 3600.0
# A room that nobody has joined makes room for another after this.
EMPTY_SECONDS = 600.0
CODE_LENGTH, KEY_LENGTH = 6, 20
# No letter looks like another or a digit, and without vowels they make no words.
_LETTERS = "23456789BCDFGHJKMNPQRSTVWXZ"
# Wrong codes that are let through in so many seconds: of a session, an address, and all together.
# A class behind one address types some wrong ones; new sessions cost an attacker nothing.
_WRONG_LIMITS = ((60.0, 5, 20, 60), (3600.0, 30, 120, 600))


def code_in(written: str) -> str:
    """A code as somebody types it: in any case, with blanks or dashes."""
    return "".join(written[:40].upper().replace("-", "").split())


def drawn_code() -> str:
    """Six digits that nobody can foretell, to be read off a wall."""
    return "".join(secrets.choice("0123456789") for _ in range(CODE_LENGTH))


def drawn_key() -> str:
    """A teacher's key: letters that nobody can foretell."""
    return "".join(secrets.choice(_LETTERS) for _ in range(KEY_LENGTH))


class Rooms:
    """All rooms.

    clock: Seconds; the server's own, for nobody else's is asked.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._rooms: dict[str, Room] = {}
        self._wrong: deque[tuple[float, str, str, str]] = deque()

    def open(self) -> Room:
        """A new room; its `key` is the teacher's.

        Raises `Refused` if there are as many as the server holds.
        """
        with self._lock:
            self._let_go()
            if len(self._rooms) >= MOST_ROOMS:
                self._drop_an_empty_one()
            code = drawn_code()
            while code in self._rooms:
                code = drawn_code()
            room = self._rooms[code] = Room(code, drawn_key(), self._clock)
            return room

    def enter(self, written: str, visitor: str, address: str = "") -> Room:
        """The room of a code that was typed or followed.

        visitor: A browser's session.
        address: Of its network; empty where it is not known.

        Raises `Refused` if there is no such room, or too many wrong codes came before.
        """
        code = code_in(written)
        with self._lock:
            self._let_go()
            now = self._clock()
            while self._wrong and now - self._wrong[0][0] > _WRONG_LIMITS[-1][0]:
                self._wrong.popleft()
            # A page that is drawn again asks again; that is no new try.
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
        """How long a limit on wrong codes asks to wait; None where none is reached."""
        for seconds, of_session, of_address, of_all in reversed(_WRONG_LIMITS):
            recent = [wrong for wrong in self._wrong if now - wrong[0] <= seconds]
            n_own = sum(who == visitor for _, who, _, _ in recent)
            n_address = sum(bool(address) and whence == address for _, _, whence, _ in recent)
            if n_own >= of_session or n_address >= of_address or len(recent) >= of_all:
                return "an hour" if seconds > 60 else "a minute"
        return None

    def of_member(self, written: str, token: str) -> Room | None:
        """The room of a code, for who has a seat in it or its key; nothing for anybody else."""
        with self._lock:
            self._let_go()
            room = self._rooms.get(code_in(written))
        if room is not None and token and (room.is_key(token) or room.seat_of(token)):
            return room
        return None

    def close(self, room: Room, key: str) -> None:
        """End a room; raises `Refused` without its key."""
        room.close_round(key)
        with self._lock:
            self._rooms.pop(room.code, None)
        room.end()

    def __len__(self) -> int:
        return len(self._rooms)

    def _let_go(self) -> None:
        for code, room in list(self._rooms.items()):
            if self._clock() - room.touched > IDLE_SECONDS:
                del self._rooms[code]
                room.end()

    def _drop_an_empty_one(self) -> None:
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
    return Refused("No room has this code. A room ends two hours after the last visit.")


ROOMS = Rooms()
