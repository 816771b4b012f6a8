"""Privacy budgets and guarantees: what is asked for, what holds, and against whom.

A member of `Assumption` is its sentence, so that it stands in `Guarantee.assumptions` as it is.
Paragraphs are in `explanations.md` and have an address of their own; they are found by the keys of
`EXPLANATIONS` for what the card states, and by the assumption itself for what it takes for granted.

What is asked for, what holds, and against whom.

A release is looked at from several places. Each adversary is taken at its strongest: it knows
everybody's row but one, everything it sees, and its own randomness.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real
from pathlib import Path

from dpcore.errors import ParameterError

# What a guarantee takes for granted, and what stands behind each line of its card.


class Assumption(StrEnum):
    """A condition of a guarantee, as a full sentence."""

    ONE_ROW_A_PERSON = "Each person is one row; a person with k rows is protected k times less."
    ROW_OF_ONE_PERSON = (
        "Each row depends on its own person alone: nothing was fitted to everybody's rows (a "
        "scaler, a mean, a vocabulary) before the noise."
    )
    PUBLIC_COUNTS = "The number of people, in all and at each site, is public."
    PUBLIC_BOUND = "The bound on a row's norm was chosen without looking at the data."
    PUBLIC_RANGE = "The bounds, or the edges of the bins, were chosen without looking at the data."
    PUBLIC_LABELS = "Which labels there are is public; it is read from the labels given."
    DISJOINT_SITES = "Nobody's row is held by more than one site."
    HONEST_SITES = (
        "Sites are honest but curious: they follow the protocol, "
        "and may study everything they receive."
    )
    ENOUGH_HONEST_SITES = (
        "At least as many sites as stated keep their masks and their noise to themselves."
    )
    JOINT_MASKS = "The zero-sum masks are drawn jointly, and nobody outside the sites learns them."
    AGREED_MASKS = (
        "Each pair of sites agrees on its masks in secret, and nobody gets the sum of fewer sites "
        "than answered."
    )
    TRUSTED_HOLDER = (
        "The party that adds the noise has everyone's raw rows and is trusted with them."
    )
    SECRET_SEED = (
        "The seed of the noise stays secret, and no stream serves two releases; in this "
        "simulation the seed is shown, and held, so that results can be repeated and compared. "
        "From a seed NumPy's PCG64 draws, whose state can be worked out from noise that another "
        "knows; estimators without random_state draw from a cryptographic generator."
    )
    EXACT_DRAWS = (
        "Each result follows its law exactly; a Markov chain only comes close, "
        "and its diagnostics say how close."
    )
    VERDICT_WITH_HOLDER = (
        "Whether the Markov chains converged, their diagnostics and how long they ran stay with "
        "the holder of the rows: all of it is worked out from the rows, and ε does not cover it."
    )
    FLOAT_ARITHMETIC = (
        "Noise is drawn in floating-point arithmetic; attacks on the last bits of a number are not "
        "covered."
    )
    FEW_DIGITS = (
        "Nobody reads every digit: the gaps of floating-point Laplace noise can give values away "
        "(Mironov 2012), so publish no more digits than the noise scale calls for."
    )


@dataclass(frozen=True)
class Explained:
    """A text of one paragraph, under a title of ASCII letters that its anchor is made of.

    brief: The line on the card itself, where it has one.
    No formulas: a browser fetches what draws them once the page is there, and the paragraph
    somebody was led to would slide away.
    """

    title: str
    text: str
    brief: str = ""

    @property
    def anchor(self) -> str:
        """Where a page's link to it leads."""
        return self.title.lower().replace(" ", "-")


def _paragraphs() -> Iterator[tuple[str, Explained]]:
    """By the keys that `explanations.md` gives them."""
    book = Path(__file__).with_name("explanations.md").read_text(encoding="utf-8")
    for part in book.split("\n## ")[1:]:
        head, *said = part.split("\n\n")
        key, _, title = head.partition(": ")
        # What is quoted is the line that the card itself has.
        *brief, text = (
            " ".join(line.removeprefix("> ") for line in each.splitlines()) for each in said
        )
        yield key, Explained(title, text, *brief)


_READ = dict(_paragraphs())
ASSUMED = {each: _READ.pop(each.name) for each in Assumption}
STATED = _READ


def explained(key: str) -> Explained:
    """The paragraph of a card's row, by the key of its explanation, or of an assumption."""
    return ASSUMED[key] if isinstance(key, Assumption) else STATED[key]


# What is asked for, what holds, and against whom.

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
    Adversary.OUTSIDER: "A reader of the result",
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
