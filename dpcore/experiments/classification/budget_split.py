"""Share of the budget for PCA with the smallest test error of a classification pipeline.

The search reads test errors over many draws. No guarantee covers it. Its result is advice for other
data sets of the same kind, where the split must be chosen in advance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from dpcore.experiments.classification.runs import ClassificationSpec
from dpcore.experiments.classification.spec import PRIVATE
from dpcore.experiments.engine.spec import Row, group_by_key

# Shares of PCA that are compared. At 0 the subspace is random. Training needs a positive share, so
# the last share leaves a twentieth for it.
SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class BestSplit:
    """PCA share with the smallest mean test error, and shares that are not significantly worse.

    `close_shares` are the shares whose mean is within two standard errors of the difference.
    """

    share: float
    error: float
    close_shares: tuple[float, ...]


def specs_by_share(spec: ClassificationSpec) -> list[ClassificationSpec]:
    """Return the spec with every share of PCA; a rule chooses the share of the mean."""
    return [
        replace(spec, pipeline=PRIVATE, pca_share=share, centring_share=None) for share in SHARES
    ]


def best_split(rows: Iterable[Row]) -> BestSplit:
    """Return the best of the shares in the rows, from `pca_share` and `test_error`."""
    errors: dict[float, list[float]] = group_by_key(
        (row["pca_share"], row["test_error"]) for row in rows
    )
    means = {share: fmean(rates) for share, rates in errors.items()}
    best = min(means, key=means.__getitem__)
    close_shares = tuple(
        share
        for share in sorted(means)
        if share != best and means[share] - means[best] <= 2 * _standard_error(errors, share, best)
    )
    return BestSplit(best, means[best], close_shares)


def _standard_error(errors: Mapping[float, Sequence[float]], share: float, best: float) -> float:
    """Return the standard error of a difference of means, paired by draw.

    Draws are paired because all shares use the same unit noise.
    """
    differences = [a - b for a, b in zip(errors[share], errors[best], strict=False)]
    if len(differences) < 2:
        return math.inf
    return stdev(differences) / math.sqrt(len(differences))
