"""What a guarantee takes for granted, and what stands behind each line of its card.

A member of `Assumption` is its sentence, so that it stands in `Guarantee.assumptions` as it is.
Paragraphs are in `explanations.md` and have an address of their own; they are found by the keys of
`EXPLANATIONS` for what the card states, and by the assumption itself for what it takes for granted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Assumption(StrEnum):
    """A condition of a guarantee, as a full sentence."""

    ONE_ROW_A_PERSON = "Each person is one row; somebody with k rows is protected k times less."
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
    TRUSTED_HOLDER = "Whoever adds the noise holds everybody's raw rows and is trusted with them."
    SECRET_SEED = (
        "The seed of the noise stays secret, and no stream serves two releases; in this "
        "laboratory the seed is shown, and held, so that results can be repeated and compared. "
        "From a seed NumPy's PCG64 draws, whose state can be worked out from noise that somebody "
        "knows; estimators without random_state draw from a cryptographic generator."
    )
    EXACT_DRAWS = (
        "Every draw follows its law exactly; a Markov chain only comes close, "
        "and its diagnostics say how close."
    )
    VERDICT_WITH_HOLDER = (
        "Whether the Markov chains converged, their diagnostics and how long they ran stay with "
        "the holder of the rows: all of it is worked out from the rows, and ε does not cover it."
    )
    FLOAT_ARITHMETIC = (
        "Noise is drawn in floating-point arithmetic; "
        "attacks on the last bits of a number are not covered."
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
    book = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
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
