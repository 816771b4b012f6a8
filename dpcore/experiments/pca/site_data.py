"""What is left of a data set's rows once it is known who holds which."""

from __future__ import annotations

from dataclasses import dataclass

from dpcore.arrays import FloatArray
from dpcore.data import Prepared
from dpcore.spectra import SiteMoments, SiteRows


@dataclass(frozen=True)
class About:
    """What a page says of the rows; as in `Prepared`."""

    default_components: int | None
    feature_names: tuple[str, ...]
    statement: str
    n_clipped: int = 0

    @classmethod
    def of(cls, prepared: Prepared) -> About:
        return cls(
            prepared.default_components,
            prepared.feature_names,
            prepared.statement,
            prepared.n_clipped,
        )


@dataclass(frozen=True, eq=False)
class SiteData:
    """All that a problem needs of the rows.

    moments, centre, about: As in `Problem`.
    """

    moments: SiteMoments | SiteRows
    centre: FloatArray
    about: About
