"""How the table of parameters words its options, and how far the data sets reach."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import overload

from dpcore.data.catalog import CATALOG
from dpcore.pca.protocols.entry import Protocol, Where
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import Adversary
from pages.sidebar.selection import plain

NUMERIC = tuple(entry for entry in CATALOG.values() if entry.default_components is not None)
MOST_FEATURES = max(entry.n_features for entry in CATALOG.values())
MOST_PEOPLE = max(entry.n_samples for entry in CATALOG.values())
# Short enough for three beside one another on a phone.
ON_A_BUTTON = {
    Adversary.OUTSIDER: "Outsider",
    Adversary.AGGREGATOR: "Aggregator",
    Adversary.SITE: "Participating site",
}


@dataclass(frozen=True)
class Registered(Sequence[str]):
    """Keys of the protocols that `fits` is true of, as the register is whenever they are read."""

    fits: Callable[[Protocol], bool]
    before: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        return (*self.before, *(key for key, entry in PROTOCOLS.items() if self.fits(entry)))

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...

    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return self.keys[index]

    def __len__(self) -> int:
        return len(self.keys)


BETWEEN_SITES = Registered(lambda entry: entry.has_sites)
OF_MATRICES = Registered(lambda entry: entry.is_distributed, before=("ag",))
# A site alone trains on nobody else, and "pooled" is Analyze Gauss by another name.
TO_LEARN_WITH = Registered(
    lambda entry: (
        entry.noise is not None
        and entry.where in (Where.HOLDER, Where.EVERY_SITE)
        and entry.key != "ag"
    ),
    before=("ag",),
)


def title_of(key: str) -> str:
    return PROTOCOLS[key].title


def or_infinity(epsilon: float) -> str:
    return "∞" if math.isinf(epsilon) else plain(epsilon)


def percent(share: float) -> str:
    return f"{share:.0%}"


def thousands(n: int) -> str:
    return f"{n:,}"
