"""What the register holds for a protocol: its entry, and the parts an entry is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.pca.aggregator import NoisyAverage, Subspace
from dpcore.pca.cut_assessment import assess_cut
from dpcore.pca.draw import Draw
from dpcore.pca.messages import message_length
from dpcore.pca.protocols.guarantees import Promise
from dpcore.pca.self_assessment import Assessment
from dpcore.pca.settings import ReleaseSettings, rounding_step


class Kind(StrEnum):
    """What kind of guarantee a protocol comes with."""

    PURE = "pure ε"
    APPROXIMATE = "(ε, δ)"
    NONE = "none"


class Where(StrEnum):
    """Where the noise is added, and so whose rows are read by whom."""

    EVERY_SITE = "at every site"
    FIRST_SITE = "at the first site, which alone takes part"
    AFTER_POOLING = "at an aggregator who was sent the sites' rows"
    HOLDER = "at a holder of all rows; there are no sites"


@dataclass(frozen=True)
class NoiseIdentity:
    """Which noisy thing a protocol reads. Protocols with one identity read one draw: for the
    ledger they are one release, and estimators with one seed draw it once.

    name: Part of the root of a release's streams: never renamed.
    words: What it is; "{sites}" stands for their number.
    settings: Fields of a row that shape the noise besides the people and epsilon.
    on_sphere: The same where rows get length 1 around a mean, if that makes it another.
    """

    name: str
    words: str
    settings: tuple[str, ...]
    on_sphere: NoiseIdentity | None = None

    def of(self, sites: str) -> str:
        """The words with the number of sites filled in, as in "5 sites"."""
        return self.words.format(sites=sites)


@dataclass(frozen=True)
class Look:
    """How a protocol is drawn: colour, marker and dash, so that none rests on colour alone."""

    colour: str
    symbol: str
    dash: str = "solid"
    label: str = ""


@dataclass(frozen=True)
class Neighbours:
    """Where an audit attacks a protocol: on how many sites, and under which settings.

    epsilon: Asked, where the audit's own would leave nothing to be found.
    settings: tuple of (name, value). Fields of `ReleaseSettings` that differ from the audit's.
    noisy_mean: Draw -> the private mean that is seen beside the matrix, for protocols that buy one.
    has_own_cases: Whether sites and aggregators attack in cases written for this protocol.
    """

    n_sites: int = 1
    epsilon: float | None = None
    settings: tuple[tuple[str, str], ...] = ()
    noisy_mean: Callable[[Draw], FloatArray] | None = None
    has_own_cases: bool = False


@dataclass(frozen=True)
class Protocol:
    """A protocol: a draw in, a subspace out, and what everybody has to know about it.

    key, title: The name in specs, addresses and on the command line; the name on a page.
    summary: One sentence: who adds noise where, and what is sent.
    release: Draw -> Subspace.
    promise: (ReleaseSettings, people at each site, n_features) -> the Guarantee that `release`
        comes with, no row being read. Raises `ParameterError` where the protocol cannot run.
    noise: None where nothing noisy is read.
    average: Draw -> NoisyAverage, the noisy second moment of which `release` gives the leading
        directions. From it a release can tell how good it is (`assess`); None where there is none.
    silent_because: Where there is none: why, as half a sentence.
    wants_proxies, wants_average: Which products of the sites `release` reads.
    is_chain: Whether sites hand on from one to the next, and there is no aggregator.
    look: The next free one where there is none.
    neighbours: Of the audit.
    """

    key: str
    title: str
    summary: str
    release: Callable[[Draw], Subspace]
    promise: Promise
    kind: Kind
    where: Where
    noise: NoiseIdentity | None = None
    average: Callable[[Draw], NoisyAverage] | None = None
    silent_because: str = "it releases no noisy second moment"
    wants_proxies: bool = False
    wants_average: bool = False
    is_chain: bool = False
    look: Look | None = None
    neighbours: Neighbours = Neighbours()

    def reads(self, *, on_sphere: bool) -> NoiseIdentity:
        """What it reads; of one that reads nothing noisy, its own name."""
        noise = self.noise or NoiseIdentity(self.key, self.key, ())
        return (noise.on_sphere or noise) if on_sphere else noise

    @property
    def is_distributed(self) -> bool:
        """Whether sites add the noise, each to what its own people gave."""
        return self.where in (Where.EVERY_SITE, Where.FIRST_SITE)

    @property
    def is_alone(self) -> bool:
        """Whether nobody's rows are read but those of the first site."""
        return self.where is Where.FIRST_SITE

    @property
    def has_sites(self) -> bool:
        """Whether it starts from rows at sites, wherever noise is added."""
        return self.where is not Where.HOLDER

    def why_silent(self, settings: ReleaseSettings) -> str:
        """Half a sentence: why a release that `assess` has nothing of cannot tell."""
        if self.average is None:
            return self.silent_because
        if rounding_step(settings.encoding) is not None:
            return "the error of rounded messages is not Gaussian"
        if settings.denoise:
            return "how much noise flatters the choice of denoised components is not worked out"
        return (
            "of cut messages that is known for isometric noise alone, ranked by value, where no "
            "mean is subtracted"
        )

    def assess(self, draw: Draw) -> Assessment | None:
        """How good the release of this draw is, told by itself; None where it cannot tell.

        Rounded messages carry an error that is not Gaussian, and tell nothing of theirs. Where
        sites cut, each is asked once more.
        """
        settings = draw.settings
        if self.average is None or rounding_step(settings.encoding) is not None:
            return None
        if settings.denoise:
            return None
        average = self.average(draw)
        if not average.of_proxies:
            return average.assessment(settings)
        # Triangle noise, ranking by magnitude and noise in a subtracted mean have other formulas.
        if (settings.noise, settings.ranking) != ("isometric", "value") or average.mean_sigma > 0:
            return None
        sites = (
            (draw.noisy_site(number), weight) for number, weight in enumerate(draw.moments.weights)
        )
        return assess_cut(
            average.spectrum,
            settings.n_components,
            sites,
            intermediate_dim=settings.intermediate_dim,
            sigma_left=average.sigma_left,
        )


def whole_matrix_bytes(draw: Draw) -> IntArray:
    """(S,) bytes of each site's message when it sends its whole noisy matrix as it is."""
    n_features, itemsize = draw.moments.n_features, draw.moments.dtype.itemsize
    length = message_length(n_features, n_features, itemsize, whole=True)
    return np.full(draw.moments.n_sites, length + traffic_of_means(draw)[0])


def raw_row_bytes(draw: Draw) -> IntArray:
    """(S,) bytes of each site's rows, sent as they are."""
    return draw.moments.n_samples * draw.moments.n_features * draw.moments.dtype.itemsize


def traffic_of_means(draw: Draw, *, come_back: bool = False) -> tuple[int, int]:
    """Bytes that a site's private mean takes, and messages that go before the site's own.

    The average of all means comes back to where it is needed for what is sent next: to sites
    that cut their matrix, and on the sphere to all.
    """
    if draw.of_sites.mean_share == 0:
        return 0, 0
    one_way = draw.moments.n_features * draw.moments.dtype.itemsize
    return (2 * one_way, 2) if come_back or draw.settings.on_sphere else (one_way, 0)
