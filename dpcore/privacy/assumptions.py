"""What has to be true for a guarantee to hold: every sentence, once.

A member is its sentence, so that it stands in `Guarantee.assumptions` as it is; its name is the
key under which `dpcore.privacy.explanations` explains it.
"""

from __future__ import annotations

from enum import StrEnum


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
    TRUSTED_HOLDER = "Whoever adds the noise holds everybody's raw rows and is trusted with them."
    SECRET_SEED = (
        "The seed of the noise stays secret, and no stream serves two releases; in this "
        "laboratory the seed is shown, and held, so that results can be repeated and compared."
    )
    EXACT_DRAWS = (
        "Every draw follows its law exactly; a Markov chain only comes close, "
        "and its diagnostics say how close."
    )
    VERDICT_WITH_HOLDER = (
        "Whether the Markov chains converged, their diagnostics and how long they ran stay with "
        "the holder of the rows: all of it is worked out from the rows, and ε does not cover it."
    )
    EXACT_OPTIMUM = (
        "The training problem is solved to its exact minimum; the solver certifies how close it "
        "came, and the rest is neglected."
    )
    FLOAT_ARITHMETIC = (
        "Noise is drawn in floating-point arithmetic; "
        "attacks on the last bits of a number are not covered."
    )
    FEW_DIGITS = (
        "Nobody reads every digit: the gaps of floating-point Laplace noise can give values away "
        "(Mironov 2012), so publish no more digits than the noise scale calls for."
    )
