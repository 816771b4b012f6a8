"""Against whom a guarantee holds: what each adversary sees, and the epsilon that holds against it.

A release is looked at from several places. Each adversary below is taken at its strongest: it
knows everybody's row but one, everything it sees, and its own randomness.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Adversary(StrEnum):
    """Who may be looking; the value is the name in addresses, on the command line and in rows."""

    OUTSIDER = "outsider"  # the result that is published
    AGGREGATOR = "aggregator"  # every message, and the result
    SITE = "site"  # a site that takes part: the result, its own rows, masks and noise

    @property
    def who(self) -> str:
        """The name on a page."""
        return _WHO[self]


_WHO = {
    Adversary.OUTSIDER: "Somebody with the result",
    Adversary.AGGREGATOR: "The aggregator",
    Adversary.SITE: "A participating site",
}


@dataclass(frozen=True)
class Against:
    """What holds against one adversary, under replace-one.

    Parameters
    ----------
    adversary : Adversary
    sees : str
        What it sees, in words that fit after "sees".
    epsilon : float
        Infinite where this adversary is trusted, or nothing is promised.
    is_trusted : bool
        The protocol hands this one the raw rows, or its noise: no promise is meant, and the
        guarantee's own epsilon leaves it out.
    """

    adversary: Adversary
    sees: str
    epsilon: float
    is_trusted: bool = False
