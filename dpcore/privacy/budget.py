"""Privacy budgets, adversaries, assumptions and guarantees.

A guarantee holds against adversaries that differ in what they see. Each adversary knows every row
except one, everything that it sees, and its own randomness.

The value of an `Assumption` is its sentence. Longer explanations are in `explanations.md`:
`ASSUMED` has those of the assumptions, and `STATED` those of the rows of a guarantee card, by the
keys of `EXPLANATIONS`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real
from pathlib import Path

from dpcore.errors import ParameterError


class Assumption(StrEnum):
    """Condition of a guarantee, as a full sentence."""

    ONE_ROW_A_PERSON = "Each person is one row; a person with k rows is protected k times less."
    ROW_OF_ONE_PERSON = (
        "Each row depends only on its own person: no scaler, mean or vocabulary was fitted to "
        "all rows before the noise."
    )
    PUBLIC_COUNTS = "The number of people, in all and at each site, is public."
    PUBLIC_BOUND = "The bound on a row's norm was chosen without looking at the data."
    PUBLIC_RANGE = "The bounds, or the edges of the bins, were chosen without looking at the data."
    PUBLIC_LABELS = "Which labels there are is public; it is read from the labels given."
    DISJOINT_SITES = "No person's row is at more than one site."
    HONEST_SITES = (
        "Sites are honest but curious: they follow the protocol, "
        "and may study everything they receive."
    )
    ENOUGH_HONEST_SITES = (
        "At least as many sites as stated keep their masks and their noise to themselves."
    )
    JOINT_MASKS = "The zero-sum masks are drawn jointly, and no one outside the sites learns them."
    AGREED_MASKS = (
        "Each pair of sites agrees on its masks in secret, and no one gets the sum of fewer sites "
        "than answered."
    )
    TRUSTED_HOLDER = (
        "The party that adds the noise has everyone's raw rows and is trusted with them."
    )
    SECRET_SEED = (
        "The seed of the noise stays secret, and no stream is used for two releases. In this "
        "simulation the seed is public, so results can be repeated and compared. A seed uses "
        "NumPy's PCG64, whose state can be computed from known noise; estimators without "
        "random_state use a cryptographic generator."
    )
    EXACT_DRAWS = (
        "Each result has its exact distribution; a Markov chain is an approximation, "
        "and its diagnostics estimate how good it is."
    )
    VERDICT_WITH_HOLDER = (
        "Convergence, diagnostics and duration of the Markov chains stay with the holder of the "
        "rows: they are computed from the rows, and ε does not cover them."
    )
    FLOAT_ARITHMETIC = (
        "Noise is drawn in floating-point arithmetic; attacks on the last bits of a number are not "
        "covered."
    )
    FEW_DIGITS = (
        "Not every digit is published: the gaps of floating-point Laplace noise can reveal values "
        "(Mironov 2012), so publish no more digits than the noise scale justifies."
    )


@dataclass(frozen=True)
class Explanation:
    """Explanation of one paragraph, with a title of ASCII letters.

    Parameters
    ----------
    title : str
        Title, from which the anchor is made.
    text : str
        Paragraph without formulas, because formulas load late and would move the paragraph that
        a link leads to.
    brief : str
        Text on the card; empty if the card has none.
    """

    title: str
    text: str
    brief: str = ""

    @property
    def anchor(self) -> str:
        """Return the anchor of the paragraph in a page."""
        return self.title.lower().replace(" ", "-")


def _paragraphs() -> Iterator[tuple[str, Explanation]]:
    """Yield the explanations of `explanations.md` with their keys."""
    document = Path(__file__).with_name("explanations.md").read_text(encoding="utf-8")
    for part in document.split("\n## ")[1:]:
        head, *paragraphs = part.split("\n\n")
        key, _, title = head.partition(": ")
        # The quoted paragraph is the text on the card.
        *brief, text = (
            " ".join(line.removeprefix("> ") for line in paragraph.splitlines())
            for paragraph in paragraphs
        )
        yield key, Explanation(title, text, *brief)


_READ = dict(_paragraphs())
ASSUMED = {assumption: _READ.pop(assumption.name) for assumption in Assumption}
STATED = _READ


def explanation_of(key: str) -> Explanation:
    """Return the explanation of a card's row, by its key, or of an assumption."""
    return ASSUMED[key] if isinstance(key, Assumption) else STATED[key]


# Outside of these limits arithmetic overflows, and the noise is negligible or hides all data.
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-12, 1e40
SMALLEST_DELTA = 1e-300


@dataclass(frozen=True)
class PrivacyBudget:
    """Requested (epsilon, delta) for replace-one neighbours.

    Parameters
    ----------
    epsilon : float
        Value from 1e-12 to 1e40, or ``inf`` for no noise.
    delta : float
        0, or from 1e-300 to below 1. Zero is pure differential privacy; mechanisms that need a
        positive delta raise an error.

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
        """Return whether the budget requests no noise."""
        return math.isinf(self.epsilon)


@dataclass(frozen=True)
class Guarantee:
    """Guarantee of one release for replace-one neighbours.

    Parameters
    ----------
    requested : PrivacyBudget or None
        Requested budget; None without a request (exact PCA, a random subspace).
    epsilon : float
        Exact epsilon at `delta`: infinite without a guarantee, 0 if the release does not depend
        on the data.
    delta : float
    mechanism : str
        "gaussian" (its `epsilon` is exact for the noisy release before truncation, so it
        determines mu), "exponential", "laplace", "composed" (parts of different kinds), "none"
        or "data-independent".
    noise_added_by : str
        Party that adds the noise, and the place, as the end of a sentence "Noise is added by".
    l2_sensitivity : float or None
        Largest l2 sensitivity of a site, for replace-one neighbours, in the units of sigma.
    sigma : float or None
        Standard deviation of the drawn noise at the site with the weakest guarantee, without
        masks that cancel.
    assumptions : tuple of Assumption
        Conditions of the guarantee, as full sentences.
    against : tuple of Against
        Guarantee against each adversary; `epsilon` is the largest over the untrusted ones. Empty
        if the reader of the result is the only adversary.
    mu : float or None
        Parameter of the equivalent Gaussian mechanism for the worst adversary: l2_sensitivity /
        sigma, unless the adversary knows some of the noise or some of it cancels.
    """

    requested: PrivacyBudget | None
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
        """Return whether the release has a guarantee."""
        return math.isfinite(self.epsilon)

    @property
    def keeps_requested(self) -> bool:
        """Return whether the exact guarantee is at least as strong as the requested budget."""
        if self.requested is None:
            return True
        has_epsilon = self.epsilon <= self.requested.epsilon * (1 + 1e-9)
        return has_epsilon and self.delta <= self.requested.delta


class Adversary(StrEnum):
    """Adversary; the value is its name in addresses, on the command line and in rows."""

    OUTSIDER = "outsider"  # the result that is published
    AGGREGATOR = "aggregator"  # every message, and the result
    SITE = "site"  # a site that takes part: the result, its own rows, masks and noise

    @property
    def who(self) -> str:
        """Return the name on a page."""
        return _WHO[self]


_WHO = {
    Adversary.OUTSIDER: "A reader of the result",
    Adversary.AGGREGATOR: "The aggregator",
    Adversary.SITE: "A participating site",
}


@dataclass(frozen=True)
class Against:
    """Guarantee against one adversary, for replace-one neighbours.

    Parameters
    ----------
    adversary : Adversary
    sees : str
        Data that the adversary sees, as the end of a sentence "sees …".
    epsilon : float
        Exact epsilon; infinite for a trusted adversary or without a guarantee.
    is_trusted : bool
        Whether the protocol gives this party the raw rows or their noise. The epsilon of the
        whole guarantee ignores trusted parties.
    """

    adversary: Adversary
    sees: str
    epsilon: float
    is_trusted: bool = False
