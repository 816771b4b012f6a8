"""How to split one budget over the stages: specs along the shares, and the best of them.

The best share is found by looking at test errors over many draws, which no guarantee covers: it
is a lesson about data sets like this one, to be chosen beforehand for the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from dpcore.experiments.engine.experiment import Row, gathered
from dpcore.experiments.learning.classification_spec import PRIVATE, ClassificationSpec

# 0 is a random subspace. Training cannot go without, so the last share leaves it a twentieth.
SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_PARTS = 10


Split = tuple[float, ...]


@dataclass(frozen=True)
class Best:
    """The split with the smallest mean test error, and those that cannot be told from it.

    `ties` are the splits whose mean is within two standard errors of the difference.
    """

    share: tuple[float, ...]
    error: float
    ties: tuple[tuple[float, ...], ...]


def along_the_share(spec: ClassificationSpec) -> list[ClassificationSpec]:
    """The spec at every share of PCA, the mean's part of it left to the rule."""
    return [
        replace(spec, pipeline=PRIVATE, pca_share=share, centring_share=None) for share in SHARES
    ]


def three_ways(spec: ClassificationSpec, parts: int = _PARTS) -> list[ClassificationSpec]:
    """The spec at every split of `parts` equal parts over centring, PCA and training.

    Training has at least one part.
    """
    return [
        replace(spec, pipeline=PRIVATE, centring_share=centring / parts, pca_share=pca / parts)
        for centring in range(parts)
        for pca in range(parts - centring)
    ]


def people_steps(n_samples: int, count: int = 3) -> tuple[int, ...]:
    """Numbers of people for small multiples: everybody, a third, a ninth, in two digits.

    Halves and quarters where there are fewer than 2,000.
    """
    steps = [n_samples]
    factor = 3 if n_samples >= 2000 else 2
    for power in range(1, count):
        wanted = n_samples / factor**power
        unit = 10 ** max(0, math.floor(math.log10(wanted)) - 1)
        steps.append(max(20, int(wanted // unit * unit)))
    return tuple(sorted(set(steps)))


def best_split(rows: Iterable[Row], fields: Sequence[str] = ("pca_share",)) -> Best:
    """The best of the splits that have rows.

    rows: With `test_error` and the fields.
    fields: Columns that make up a split.
    """
    errors: dict[Split, list[float]] = gathered(
        (tuple(row[field] for field in fields), row["test_error"]) for row in rows
    )
    means = {split: fmean(found) for split, found in errors.items()}
    best = min(means, key=means.__getitem__)
    ties = tuple(
        split
        for split in sorted(means)
        if split != best and means[split] - means[best] <= 2 * _standard_error(errors, split, best)
    )
    return Best(best, means[best], ties)


def _standard_error(errors: Mapping[Split, Sequence[float]], split: Split, best: Split) -> float:
    """Of the difference of means; draws are paired, because splits share their unit noise."""
    differences = [a - b for a, b in zip(errors[split], errors[best], strict=False)]
    if len(differences) < 2:
        return math.inf
    return stdev(differences) / math.sqrt(len(differences))
