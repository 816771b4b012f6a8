"""Private CCA as a family of experiments."""

from dpcore.experiments.cca.runs import (
    MOST_PAIRS,
    TITLES,
    CcaRow,
    CcaSpec,
    draw_pairs,
)

__all__ = [
    "MOST_PAIRS",
    "TITLES",
    "CcaRow",
    "CcaSpec",
    "draw_pairs",
]
