"""What is asked for, what holds, and against whom.

A release is looked at from several places. Each adversary is taken at its strongest: it knows
everybody's row but one, everything it sees, and its own randomness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real

from dpcore.errors import ParameterError
from dpcore.privacy.explanations import Assumption

# Beyond these, arithmetic overflows long before anybody could tell the noise from none or from
# all there is.
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-12, 1e40
SMALLEST_DELTA = 1e-300


@dataclass(frozen=True)
class PrivacyBudget:
    """An asked (epsilon, delta), under replace-one neighbours.

    Parameters
    ----------
    epsilon : float
        From 1e-12 to 1e40, or ``inf``, which asks for no noise at all.
    delta : float
        0, or from 1e-300 to below 1. Zero is pure differential privacy; mechanisms that need a
        positive delta say so themselves.

    Raises
    ------
    ParameterError
        If either is outside its range or not a real number.
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
            value = getattr(self, name)
            if not isinstance(value, Real) or isinstance(value, bool) or math.isnan(value):
                raise ParameterError(name, "a real number", value)
            object.__setattr__(self, name, float(value))
        if self.epsilon <= 0:
            raise ParameterError("epsilon", "greater than 0", self.epsilon)
        if not (SMALLEST_EPSILON <= self.epsilon <= LARGEST_EPSILON or self.is_noiseless):
            raise ParameterError(
                "epsilon", f"from {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}, or inf", self.epsilon
            )
        if not 0 <= self.delta < 1:
            raise ParameterError("delta", "in [0, 1)", self.delta)
        if 0 < self.delta < SMALLEST_DELTA:
            raise ParameterError("delta", f"0 or at least {SMALLEST_DELTA:g}", self.delta)

    @property
    def is_noiseless(self) -> bool:
        """Whether no noise was asked for."""
        return math.isinf(self.epsilon)


@dataclass(frozen=True)
class Guarantee:
    """What one release promises to each person, under replace-one neighbours.

    Parameters
    ----------
    asked : PrivacyBudget or None
        What the caller asked for; None where nothing was asked (exact PCA, a random subspace).
    epsilon : float
        What holds exactly at `delta`: infinite when nothing is promised, 0 when the release
        does not depend on the data.
    delta : float
    mechanism : str
        "gaussian" (of which `epsilon` is exact before anything is cut from the noisy release, so
        that mu can be told from it), "exponential", "laplace", "composed" (unlike parts
        together), "none" or "data-independent".
    noise_added_by : str
        Who adds the noise, and where, in words that fit after "Noise is added by".
    l2_sensitivity : float or None
        Largest over the sites, under replace-one, of all that one row moves, in units of sigma's.
    sigma : float or None
        Standard deviation of the noise that was drawn, at the site whose guarantee is weakest,
        without masks that cancel.
    assumptions : tuple of Assumption
        Full sentences; the guarantee holds only where they are true.
    against : tuple of Against
        What holds against each adversary; `epsilon` is the largest over those that are not
        trusted. Empty where nobody but the reader of the result is there.
    mu : float or None
        Of the Gaussian mechanism this is to the worst adversary: l2_sensitivity / sigma, but
        where some of the noise is known to it or cancels.
    """

    asked: PrivacyBudget | None
    epsilon: float
    delta: float
    mechanism: str
    noise_added_by: str
    l2_sensitivity: float | None = None
    sigma: float | None = None
    assumptions: tuple[Assumption, ...] = ()
    against: tuple[Against, ...] = ()
    mu: float | None = None

    @property
    def is_private(self) -> bool:
        """Whether anything is promised at all."""
        return math.isfinite(self.epsilon)

    @property
    def keeps_asked(self) -> bool:
        """Whether what holds is at least as strong as what was asked."""
        if self.asked is None:
            return True
        return self.epsilon <= self.asked.epsilon * (1 + 1e-9) and self.delta <= self.asked.delta


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
