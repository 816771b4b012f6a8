"""How the table of parameters words its options, and how far the data sets reach."""

from __future__ import annotations

import math

from dpcore.data.catalog import CATALOG
from dpcore.pca.protocols.entry import Where
from dpcore.pca.protocols.register import PROTOCOLS

EVERYBODY = "all"
NUMERIC = tuple(entry for entry in CATALOG.values() if entry.default_components is not None)
MOST_FEATURES = max(entry.n_features for entry in CATALOG.values())
MOST_PEOPLE = max(entry.n_samples for entry in CATALOG.values())


def between_sites() -> tuple[str, ...]:
    """Protocols that start from rows at sites, as the register is now."""
    return tuple(key for key, entry in PROTOCOLS.items() if entry.has_sites)


def of_matrices() -> tuple[str, ...]:
    """Protocols that release eigenvalues too, by everybody's rows or by sites."""
    return ("ag", "wishart", *(key for key, entry in PROTOCOLS.items() if entry.is_distributed))


def to_learn_with() -> tuple[str, ...]:
    """Protocols that find a subspace for a classifier.

    A site alone trains on nobody else, and "pooled" is Analyze Gauss by another name.
    """
    where = (Where.HOLDER, Where.EVERY_SITE)
    found = [k for k, entry in PROTOCOLS.items() if entry.noise and entry.where in where]
    return ("ag", *(key for key in found if key != "ag"))


def title_of(key: str) -> str:
    return PROTOCOLS[key].title


def plain(number: float) -> str:
    """A number as people write it: no exponent, no trailing zeros."""
    return f"{number:,.10f}".rstrip("0").rstrip(".")


def or_infinity(epsilon: float) -> str:
    return "∞" if math.isinf(epsilon) else plain(epsilon)


def percent(share: float) -> str:
    return f"{share:.0%}"


def thousands(n: int) -> str:
    return f"{n:,}"
