"""A guard's owner: what was asked of the site, what left, what may still be spent, and a yes or no.

A person who was to be asked first decides in the page or at the terminal; who says nothing in time
has said no.
"""

from __future__ import annotations

import math
import struct
import time
import zlib
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition

import numpy as np

from dpcore.arrays import AnyArray
from dpcore.privacy import Adversary, BeyondCap
from dpcore.privacy.guarantee_card import say_delta, say_number
from dpcore.releases.certificate import who_is_one
from dpcore.releases.project import Project
from dpcore.study.frames import MOMENT, SUM, Request
from dpcore.study.plan import Spent, StudyPlan

# So much of the time in which the hub waits for a message is left to a person.
_SHARE_OF_ROUND = 0.8
_MOST_COUNTED, _WIDEST, _LOOK = 99, 256, 0.2

WORDS = {
    SUM: "the sum of this site's rows, and their count",
    MOMENT: "the second moment of this site's rows",
}


def promised(plan: StudyPlan) -> str:
    """What an attempt promises, to whom, and on what that counts."""
    worst = max(plan.epsilon_against(who) for who in Adversary)
    said = (
        f"An attempt is (ε = {say_number(worst)}, δ = {say_delta(plan.delta)})-differentially "
        f"private for each person ({who_is_one(plan.dictionary.person)})"
    )
    if not plan.is_masked:
        return f"{said}, by the noise of their own site alone."
    said += (
        f", if at least {plan.fewest} of {len(plan.sites)} sites answer, and {plan.honest} of all "
        "keep their masks and noise to themselves."
    )
    if plan.epsilon_unmasked <= worst:
        return said
    return (
        f"{said} A hub that hands out public keys of its own reads a message under "
        f"ε = {say_number(plan.epsilon_unmasked)}; with --peers a guard refuses them."
    )


@dataclass(frozen=True)
class Waiting:
    """A request on which somebody has yet to decide.

    until: When silence becomes a no, by the desk's clock.
    """

    request: Request
    until: float


class Desk:
    """Where requests wait for their owner's word.

    seconds: How long one waits.
    tell: Told of a request that waits.
    now: Seconds that do not go back.
    """

    def __init__(
        self,
        seconds: float,
        *,
        tell: Callable[[Request], None] = lambda _: None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds, self._tell, self._now = seconds, tell, now
        self._changed = Condition()
        self._word: bool | None = None
        self.waiting: Waiting | None = None

    def approve(self, request: Request) -> bool:
        """Whether somebody says yes in time; waits until then."""
        with self._changed:
            self._word = None
            self.waiting = Waiting(request, self._now() + self._seconds)
        self._tell(request)
        with self._changed:
            while self._word is None and (left := self.waiting.until - self._now()) > 0:
                self._changed.wait(min(left, _LOOK))
            self.waiting = None
            return self._word is True

    def decide(self, request_id: str, word: bool) -> bool:
        """Say yes or no to the request that waits; False if it is not this one."""
        with self._changed:
            if self.waiting is None or self.waiting.request.id != request_id:
                return False
            if self._word is None:  # the first word counts
                self._word = word
            self._changed.notify_all()
            return True

    @property
    def seconds_left(self) -> float:
        waiting = self.waiting
        return 0.0 if waiting is None else max(0.0, waiting.until - self._now())


def desk_for(plan: StudyPlan, seconds: float | None, tell: Callable[[Request], None]) -> Desk:
    """A desk on which nothing lies until the hub has given up waiting, unless told otherwise."""
    return Desk(_SHARE_OF_ROUND * plan.round_seconds if seconds is None else seconds, tell=tell)


def attempts_left(plan: StudyPlan, project: Project) -> int:
    """How many more attempts of this study the ledger's cap admits; at most 99 are counted."""

    def is_too_many(number: int) -> bool:
        together = Spent(math.sqrt(number) * plan.worst.mu, number * plan.distance)
        try:
            project.require_room(f"{plan.name}-next", together)
        except BeyondCap:
            return True
        return False

    return bisect_left(range(1, _MOST_COUNTED + 1), True, key=is_too_many)


def picture(plan: StudyPlan, round_: str, values: AnyArray) -> bytes:
    """What a message holds as a picture in grey, PNG: a pixel a number, of large ones every n-th.

    round_: {"sum", "moment"}
    values: As `values_from` reads them.
    """
    if round_ == SUM or values.ndim == 2:
        whole = np.atleast_2d(values)
        seen = whole[np.ix_(*map(_every_nth, whole.shape))]
    else:  # the upper triangle, row by row
        size, at = plan.n_features, _every_nth(plan.n_features)
        row, column = np.minimum.outer(at, at), np.maximum.outer(at, at)
        seen = values[row * size - row * (row - 1) // 2 + column - row]
    seen = seen.astype(np.float64)
    low, high = np.quantile(seen, [0.02, 0.98])
    grey = np.clip((seen - low) / max(high - low, 1e-300), 0, 1) * 255
    return _png(grey.astype(np.uint8))


def _every_nth(length: int) -> AnyArray:
    return np.arange(0, length, math.ceil(length / _WIDEST))


def _png(grey: AnyArray) -> bytes:
    def chunk(name: bytes, body: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(name + body))
        return struct.pack(">I", len(body)) + name + body + check

    height, width = grey.shape
    lines = b"".join(b"\0" + line.tobytes() for line in grey)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(lines))
        + chunk(b"IEND", b"")
    )
