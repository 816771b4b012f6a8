"""What a search for the cheapest way gives: rounds of runs, and a recommendation at the end."""

from __future__ import annotations

from dataclasses import dataclass

from dpcore.experiments.analysis.ranking import Ranked
from dpcore.experiments.analysis.target_search import held_in_words, value_in_words
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.pca.sentences import percent
from dpcore.experiments.pca.spec import RunSpec


@dataclass(frozen=True)
class Round:
    """Ways that were run at one value of the axis."""

    value: float
    ranked: tuple[Ranked, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """Rows of all of them."""
        return tuple(row for each in self.ranked for row in each.rows)


@dataclass(frozen=True)
class Found:
    """A way that reaches the target, and the cheapest value at which it does.

    spec: What it runs there.
    ranked: Its draws in the search.
    """

    value: float
    spec: RunSpec
    ranked: Ranked


@dataclass(frozen=True)
class Recommendation:
    """What a target costs at least.

    base: What was held.
    best, runner_up: The cheapest, and the cheapest of the others; None if no way reaches the
        target.
    untrusting: The cheapest that needs nobody trusted.
    most: Where nothing reaches the target: the way that comes closest, and where.
    fresh: As many further draws of the best, which had no part in the search.
    skipped: Settings that could not be run, with reasons.
    """

    base: RunSpec
    field: str
    target: float
    best: Found | None
    runner_up: Found | None
    untrusting: Found | None
    most: Round
    fresh: tuple[Row, ...]
    skipped: tuple[Row, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """Those that no `Round` has."""
        return self.fresh

    @property
    def sentence(self) -> str:
        """The answer for a slide."""
        held = held_in_words(self.base, self.field)
        wanted = f"{percent(self.target)} of the optimum at {held}"
        if self.best is None:
            (most,) = self.most.ranked
            where = value_in_words(self.field, self.most.value)
            return (
                f"{wanted} is out of reach: the most is {percent(most.mean)}, "
                f"with {most.way.label} at {where}."
            )
        takes = "is kept up to" if self.field == "sites" else "takes"
        named = value_in_words(self.field, self.best.value)
        second = ""
        if self.runner_up is not None:
            other = value_in_words(self.field, self.runner_up.value)
            second = f"; next is {self.runner_up.ranked.way.label} at {other}"
        return f"{wanted} {takes} {named} with {self.best.ranked.way.label}{second}."
