"""What a class can do together: the state of a round of each, and what it takes from a phone.

Rooms call `take` under their lock; pages look on without it, at copies of what grows meanwhile.
Nothing here outlives its round.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.experiments.teaching.adversary_test import promise, single_draw
from dpcore.experiments.teaching.class_of_hospitals import (
    ClassOfHospitals,
    message_of,
    together,
    weighed_together,
)
from dpcore.mechanisms import estimated_counts
from dpcore.pca import SiteMessage
from dpcore.privacy import Bound, Cap, PrivacyBudget, best_guess, guarantee_mu
from dpcore.statistics import private_mean
from dpcore.streams import Purpose, stream
from pages.classroom.room import MOST_STUDENTS, Refused

# Room for those who come late, and for small classes.
_FEWEST_HOSPITALS, _LATE_SHARE = 10, 1.25
N_DRAWS = 10
ATTACK_DELTA = BUDGET_DELTA = 1e-5
# Of a class that asks on and on, once nothing is left.
_MOST_REFUSALS = 1_000


def _secret_seed() -> int:
    return secrets.randbits(62)


class Hospitals:
    """Every phone is a hospital with its share of the digits; together they find the components."""

    name = "hospitals"
    is_open_late = False

    def __init__(self, n_joined: int) -> None:
        wanted = max(_FEWEST_HOSPITALS, math.ceil(_LATE_SHARE * n_joined) + 2)
        self.hospitals = ClassOfHospitals.dealt(min(wanted, MOST_STUDENTS))
        self.messages: dict[int, SiteMessage] = {}
        self.epsilons: dict[int, float] = {}
        self.n_bytes: dict[int, int] = {}
        self.opened: int | None = None  # whose message the projector looks into
        self.is_weighed = False  # by what its noise leaves of a message, once it is revealed
        self.kept: list[float] = []  # energy of the plain average after each message
        self._seed = _secret_seed()
        self._components: FloatArray | None = None

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
        self._components = together(self.messages)
        self.kept.append(self.hospitals.energy(self._components))

    @property
    def components(self) -> FloatArray | None:
        """(n_components, n_features) of what has arrived; nothing before anything has."""
        return weighed_together(dict(self.messages)) if self.is_weighed else self._components

    @property
    def found(self) -> float:
        """Energy of what is shown."""
        components = self.components
        return 0.0 if components is None else self.hospitals.energy(components)


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

    @property
    def n_guesses(self) -> int:
        return sum(map(len, list(self.hits.values())))

    @property
    def n_hits(self) -> int:
        return sum(map(sum, list(self.hits.values())))


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
