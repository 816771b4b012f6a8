"""How the table of parameters words its options, and how far the data sets reach."""

from __future__ import annotations

import math

from dpcore.data.catalog import CATALOG
from dpcore.experiments.pca.methods import METHODS
from dpcore.privacy import Adversary

EVERYBODY = "all"
NUMERIC = tuple(entry for entry in CATALOG.values() if entry.default_components is not None)
MOST_FEATURES = max(entry.n_features for entry in CATALOG.values())
MOST_PEOPLE = max(entry.n_samples for entry in CATALOG.values())
# Short enough for three beside one another on a phone.
ON_A_BUTTON = {
    Adversary.OUTSIDER: "Outsider",
    Adversary.AGGREGATOR: "Aggregator",
    Adversary.SITE: "Participating site",
}


def title_of(key: str) -> str:
    return METHODS[key].title


def plain(number: float) -> str:
    """A number as people write it: no exponent, no trailing zeros."""
    return f"{number:,.10f}".rstrip("0").rstrip(".")


def or_infinity(epsilon: float) -> str:
    return "∞" if math.isinf(epsilon) else plain(epsilon)


def percent(share: float) -> str:
    return f"{share:.0%}"


def thousands(n: int) -> str:
    return f"{n:,}"
