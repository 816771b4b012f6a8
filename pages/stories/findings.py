"""What decides a story: a number worked out from rows that were run for it, never written down."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev

from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.ledger.account import Account
from dpcore.experiments.ledger.pca_charges import of_rows
from dpcore.experiments.pca.sentences import percent
from dpcore.privacy.card import say_delta, say_number

# Gives the rows at a story's settings, with some of its controls standing elsewhere.
Look = Callable[[Mapping[str, object]], Sequence[Row]]
CHANCE = "chance"
# Of the mean of ten draws: about one mean in twenty lies further from what very many would give.
_STANDARD_ERRORS = 2.3


@dataclass(frozen=True)
class Finding:
    """The number that decides, of every draw that has one, as shown large and in a sentence."""

    values: tuple[float, ...]
    number: str
    sentence: str

    @property
    def mean(self) -> float:
        return fmean(self.values)

    @property
    def reach(self) -> tuple[float, float]:
        """From where to where the mean of very many draws may be; one value is exact."""
        if len(self.values) == 1:
            return self.mean, self.mean
        error = _STANDARD_ERRORS * stdev(self.values) / math.sqrt(len(self.values))
        return self.mean - error, self.mean + error


@dataclass(frozen=True)
class Scene:
    """One protocol, or pure chance, at a story's settings with some controls moved."""

    protocol: str = "dpdis"
    moved: Mapping[str, object] = field(default_factory=dict)

    def kept(self, look: Look) -> list[float]:
        """The share that each draw keeps of what exact PCA captures."""
        rows = look(self.moved)
        if self.protocol == CHANCE:
            return [row["random_ratio"] for row in rows if row["protocol"] == rows[0]["protocol"]]
        return [row["energy_ratio"] for row in rows if row["protocol"] == self.protocol]

    def exact_epsilon(self, look: Look) -> str:
        """What holds of it; pure chance looks at nobody."""
        rows = look(self.moved)
        found = (row["exact_epsilon"] for row in rows if row["protocol"] == self.protocol)
        return say_number(next(found, 0.0))


@dataclass(frozen=True)
class Difference:
    """How many points more the second scene keeps than the first; `said` has all their shares.

    In `said` {0} is the share of the first scene, and {holds[0]} the ε that holds of it.
    """

    scenes: tuple[Scene, ...]
    said: str

    def __call__(self, look: Look) -> Finding:
        kept = [scene.kept(look) for scene in self.scenes]
        values = tuple(100 * (b - a) for a, b in zip(kept[0], kept[1], strict=True))
        means = [fmean(shares) for shares in kept]
        # Between the shares as they are written, so that a reader who subtracts finds the same.
        points = round(100 * means[1]) - round(100 * means[0])
        holds = [scene.exact_epsilon(look) for scene in self.scenes]
        sign = "" if not points else "+" if points > 0 else "−"
        unit = "point" if abs(points) == 1 else "points"
        sentence = self.said.format(*map(percent, means), holds=holds)
        return Finding(values, f"{sign}{abs(points)} {unit}", sentence)


@dataclass(frozen=True)
class ExactEpsilon:
    """The ε that holds of the first protocol, and how far it can move somebody's odds."""

    said: str

    def __call__(self, look: Look) -> Finding:
        row = look({})[0]
        exact = row["exact_epsilon"]
        asked, odds = (_two_digits(math.exp(epsilon)) for epsilon in (row["epsilon"], exact))
        sentence = self.said.format(exact=say_number(exact), asked_odds=asked, odds=odds)
        return Finding((exact,), f"ε = {say_number(exact)}", sentence)


@dataclass(frozen=True)
class SpentOnAll:
    """What all draws of a run cost one person together."""

    said: str

    def __call__(self, look: Look) -> Finding:
        rows = look({})
        account = Account(rows[0]["dataset"])
        account.pay(*of_rows(rows))
        delta = rows[0]["delta"]
        total, stopping = (
            account.spent_by_person().epsilon(delta),
            account.odometer_epsilon(delta),
        )
        sentence = self.said.format(
            n=account.n_releases, one=say_number(rows[0]["exact_epsilon"]),
            total=say_number(total), delta=say_delta(delta), stopping=say_number(stopping),
        )  # fmt: skip
        return Finding((total,), f"ε = {say_number(total)}", sentence)


def _two_digits(number: float) -> str:
    return f"{float(f'{number:.2g}'):,.0f}"
