"""Activities of a class: the state of one round of each, and the answers that it accepts.

A room calls `take` under its lock. Nothing here is kept after its round, except the answers to the
quiz, which are compared with later ones and are deleted with the room.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field
from typing import Any, Protocol

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.mechanisms import estimated_counts
from dpcore.pca import SiteMessage
from dpcore.streams import Purpose, stream
from dpcore.teaching.class_hospitals import (
    ClassOfHospitals,
    ImprovedRound,
    combine,
    combine_by_noise,
    improve,
    message_of,
)
from dpcore.teaching.quiz import Phase, Question, check_answer, shuffled_quiz

MOST_STUDENTS = 60
# Shares for students who join late, and for small classes.
_FEWEST_HOSPITALS, _LATE_SHARE = 10, 1.25


class Refused(Exception):
    """Request that a room cannot grant now; the message is one sentence for its sender."""


class Activity(Protocol):
    """State of one round of an activity.

    name: Key of the activity.
    is_open_late: Whether the activity accepts messages after it was revealed.
    """

    name: str
    is_open_late: bool

    def take(self, seat: int, message: Any) -> Any:
        """Accept a student's message and return the answer to it.

        Raises `Refused` if the activity cannot accept it.
        """


def draw_secret_seed() -> int:
    """Return a seed from the operating system's entropy."""
    return secrets.randbits(62)


class Hospitals:
    """Components found by the phones of a class, each a hospital with its share of the pictures."""

    name = "hospitals"
    is_open_late = False

    def __init__(self, n_joined: int) -> None:
        n_needed = max(_FEWEST_HOSPITALS, math.ceil(_LATE_SHARE * n_joined) + 2)
        self.hospitals = ClassOfHospitals.deal(min(n_needed, MOST_STUDENTS))
        self.messages: dict[int, SiteMessage] = {}
        self.epsilons: dict[int, float] = {}
        self.n_bytes: dict[int, int] = {}
        self.opened: int | None = None  # seat whose message the projector shows
        self.is_weighed = False  # weights from the public noise scales, or a plain average
        self.improved: ImprovedRound | None = None
        self.energies_weighed: list[float] = []
        self.energies_plain: list[float] = []
        self._seed = draw_secret_seed()
        self._weighed: FloatArray | None = None
        self._plain: FloatArray | None = None

    def has_share(self, seat: int) -> bool:
        """Return whether this seat has a share of the rows."""
        return seat < self.hospitals.moments.n_sites

    def preview(self, seat: int, epsilon: float) -> tuple[SiteMessage, int]:
        """Return the message that this seat would send at epsilon, and its size in bytes."""
        return message_of(self.hospitals, seat, epsilon, self._seed)

    def take(self, seat: int, message: float) -> None:
        """Accept the epsilon of a hospital, once: a second message would be a second release."""
        if not self.has_share(seat):
            raise Refused("All shares of the patients are dealt. You get one in the next round.")
        if seat in self.messages:
            raise Refused("Your hospital has sent already: a second message would cost it again.")
        noisy, self.n_bytes[seat] = self.preview(seat, message)
        self.epsilons[seat] = message
        self.messages[seat] = noisy
        self._weighed, self._plain = combine_by_noise(self.messages), combine(self.messages)
        self.energies_weighed.append(self.hospitals.energy(self._weighed))
        self.energies_plain.append(self.hospitals.energy(self._plain))

    def run_improved(self) -> ImprovedRound:
        """Run the improved version for the hospitals that have sent, with new noise.

        The caller stores the result under the lock of the room; it takes seconds to compute.
        Raises `Refused` without a message, or after an improved round.
        """
        if not self.messages:
            raise Refused("No hospital has sent a message yet.")
        if self.improved is not None:
            raise Refused("Improved has run: another run would cost every patient again.")
        return improve(self.hospitals, dict(self.epsilons), draw_secret_seed())

    @property
    def components(self) -> FloatArray | None:
        """Components of all messages, (n_components, n_features); None before the first message."""
        return self._weighed if self.is_weighed else self._plain

    @property
    def energies(self) -> list[float]:
        """Captured energy after each message, relative to exact PCA."""
        return self.energies_weighed if self.is_weighed else self.energies_plain

    @property
    def energy(self) -> float:
        """Captured energy of all messages; 0 before the first one."""
        return self.energies[-1] if self.energies else 0.0


@dataclass
class Guess:
    """Answers of a class to one question, randomised before they enter the room.

    question, choices: Text of the question and of its answers.
    epsilon: Epsilon of each answer.
    answers: Randomised answer of each seat, as a position in `choices`.
    clear: True answers of the seats that agreed to it after the reveal.
    """

    question: str
    choices: tuple[str, ...]
    epsilon: float
    name: str = "guess"
    answers: dict[int, int] = field(default_factory=dict)
    clear: dict[int, int] = field(default_factory=dict)
    is_open_late: bool = False

    def take(self, seat: int, message: tuple[str, int]) -> None:
        """Accept a randomised answer, or after the reveal a true one; each once per seat."""
        kind, answer = message
        if not 0 <= answer < len(self.choices):
            raise Refused("That is none of the answers.")
        if (kind == "clear") != self.is_open_late or (kind == "clear" and seat not in self.answers):
            raise Refused("This answer is not asked for now.")
        box = self.clear if kind == "clear" else self.answers
        if seat in box:
            raise Refused("You have answered already.")
        box[seat] = answer

    def counts(self, of: dict[int, int]) -> list[int]:
        """Return the number of answers of each choice."""
        values = list(of.values())
        return [values.count(choice) for choice in range(len(self.choices))]

    def estimate(self) -> tuple[FloatArray, float]:
        """Return the estimated true count of each choice and the largest standard deviation."""
        return estimated_counts(self.counts(self.answers), self.epsilon)


class QuizAnswers:
    """Answers of a room's phones to the quiz, before and after the lesson.

    Answers are paired by seat and stored without names. A seat that another phone takes over starts
    with no answers.
    """

    def __init__(self) -> None:
        self._seed = draw_secret_seed()
        self._by_seat: dict[int, dict[tuple[str, Phase], str]] = {}
        self._former: list[dict[tuple[str, Phase], str]] = []

    def of(self, seat: int) -> dict[tuple[str, Phase], str]:
        """Return the answers of a seat by question and phase."""
        return dict(self._by_seat.get(seat, {}))

    def order(self, seat: int, phase: Phase) -> list[tuple[Question, list[str]]]:
        """Return the questions in the order of this seat, which differs between the phases."""
        rng = stream(self._seed, Purpose.QUIZ, list(Phase).index(phase), seat)
        return shuffled_quiz(rng)

    def take(self, seat: int, phase: Phase, name: str, choice: str) -> None:
        """Accept an answer once, and to the first quiz only until the second has begun."""
        try:
            check_answer(name, choice)
        except ParameterError:
            raise Refused("That is none of the answers.") from None
        answers = self._by_seat.setdefault(seat, {})
        if (name, phase) in answers:
            raise Refused("You have answered this question already.")
        if phase is Phase.BEFORE and any(when is Phase.AFTER for _, when in answers):
            raise Refused("You have begun the second time: the first one is over.")
        answers[name, phase] = choice

    def free_seat(self, seat: int) -> None:
        """Separate the answers of a phone that lost its seat from those of the next phone."""
        if (answers := self._by_seat.pop(seat, None)) is not None:
            self._former.append(answers)

    def n_answered(self, phase: Phase) -> list[int]:
        """Return the number of answers of each phone that gave any in this phase."""
        counts = [sum(when is phase for _, when in phone) for phone in self.phones()]
        return [count for count in counts if count]

    def phones(self) -> list[dict[tuple[str, Phase], str]]:
        """Return the answers of all phones in random order, so that no row identifies a seat."""
        by_phone = [*map(dict, list(self._by_seat.values())), *self._former]
        order = stream(self._seed, Purpose.QUIZ, len(Phase), len(by_phone)).permutation(
            len(by_phone)
        )
        return [by_phone[k] for k in order]


class Quiz:
    """One phase of the quiz on epsilon, delta and the aggregator."""

    name = "quiz"
    is_open_late = False

    def __init__(self, phase: Phase, answers: QuizAnswers) -> None:
        self.phase, self.answers = phase, answers

    def next_question(self, seat: int) -> tuple[Question, list[str]] | None:
        """Return the next question of a seat with the order of its answers; None after the last."""
        answers = self.answers.of(seat)
        questions = self.answers.order(seat, self.phase)
        return next(
            (question for question in questions if (question[0].name, self.phase) not in answers),
            None,
        )

    def take(self, seat: int, message: tuple[str, str]) -> None:
        """Accept the name of a question and the letter of an answer, or `UNKNOWN`."""
        self.answers.take(seat, self.phase, *message)
