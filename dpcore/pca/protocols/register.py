"""The register of protocols: all that anything else in the house knows about one of them.

A new protocol is one function from a `Draw` to a `Subspace` and one entry here. Promises, charges,
controls, addresses, estimators, titles, looks, sweeps, the command line and the audit read the
register whenever they are asked, so that a protocol registered while they run is everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from dpcore.errors import ParameterError
from dpcore.pca.central import modsulq_sigma, noisy_moment_guarantee, sulq_sigma
from dpcore.pca.draw import Draw
from dpcore.pca.exponential import ppca_guarantee
from dpcore.pca.protocols.cape import cape, cape_guarantee, noisy_mean_of_messages
from dpcore.pca.protocols.distributed import (
    dpdis,
    exact,
    full,
    local,
    noisy_mean_of_holder,
    pooled,
    random,
)
from dpcore.pca.protocols.guarantees import (
    data_independent_guarantee,
    no_guarantee,
    promised_by_first_site,
    promised_by_holder,
    promised_by_sites,
)
from dpcore.pca.protocols.sequential import promised_in_a_chain, sequential
from dpcore.pca.protocols.trusted import modsulq, ppca, sulq
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.subspace import Subspace
from dpcore.privacy import Guarantee, PrivacyBudget

Promise = Callable[[ReleaseSettings, Sequence[int], int], Guarantee]


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

    Parameters
    ----------
    name : str
        Part of the root of a release's streams: never renamed.
    words : str
        What it is; "{sites}" stands for their number.
    settings : tuple of str
        Fields of a row that shape the noise besides the people and epsilon.
    """

    name: str
    words: str
    settings: tuple[str, ...]

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

    Parameters
    ----------
    n_sites : int
    epsilon : float, optional
        Asked, where the audit's own would leave nothing to be found.
    settings : tuple of (name, value)
        Fields of `ReleaseSettings` that differ from the audit's.
    noisy_mean : callable, optional
        Draw -> the private mean that is seen beside the matrix, for protocols that buy one.
    has_own_cases : bool
        Whether sites and aggregators attack in cases written for this protocol.
    """

    n_sites: int = 1
    epsilon: float | None = None
    settings: tuple[tuple[str, object], ...] = ()
    noisy_mean: Callable[[Draw], np.ndarray] | None = None
    has_own_cases: bool = False


@dataclass(frozen=True)
class Protocol:
    """A protocol: a draw in, a subspace out, and what everybody has to know about it.

    Parameters
    ----------
    key, title : str
        The name in specs, addresses and on the command line; the name on a page.
    summary : str
        One sentence: who adds noise where, and what is sent.
    release : callable
        Draw -> Subspace.
    promise : callable
        (ReleaseSettings, people at each site, n_features) -> the Guarantee that `release` comes
        with, no row being read. Raises `ParameterError` where the protocol cannot run.
    kind : Kind
    where : Where
    noise : NoiseIdentity or None
        None where nothing noisy is read.
    wants_proxies, wants_average : bool
        Which products of the sites `release` reads.
    look : Look, optional
        The next free one where there is none.
    neighbours : Neighbours
        Of the audit.
    """

    key: str
    title: str
    summary: str
    release: Callable[[Draw], Subspace]
    promise: Promise
    kind: Kind
    where: Where
    noise: NoiseIdentity | None = None
    wants_proxies: bool = False
    wants_average: bool = False
    look: Look | None = None
    neighbours: Neighbours = Neighbours()

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


PROTOCOLS: dict[str, Protocol] = {}


def register(protocol: Protocol) -> Protocol:
    """Enter a protocol; from now on it is everywhere.

    Raises
    ------
    ParameterError
        If its key or its title is taken.
    """
    for known in PROTOCOLS.values():
        for name in ("key", "title"):
            if getattr(known, name).casefold() == getattr(protocol, name).casefold():
                raise ParameterError(name, "one that no protocol has", getattr(protocol, name))
    PROTOCOLS[protocol.key] = protocol
    return protocol


def protocol(key: str) -> Protocol:
    """The registered protocol of this name.

    Raises
    ------
    ParameterError
        Naming the known ones.
    """
    if key not in PROTOCOLS:
        raise ParameterError("protocol", f"one of {', '.join(PROTOCOLS)}", key)
    return PROTOCOLS[key]


# What shapes the noise of most; others have formulas of their own.
GAUSSIAN = ("delta", "calibration", "noise", "mean_share")
# Each site's noise is its own, whoever else answers.
SITES_MOMENTS = NoiseIdentity("sites", "the moments of {sites}", GAUSSIAN)
POOLED_MOMENT = NoiseIdentity("pooled", "the pooled moment", (*GAUSSIAN, "dropped_sites"))


def first_noisy_mean(draw: Draw) -> np.ndarray:
    """(D,) mean that the first site releases."""
    return draw.noisy_means[0]


def _promised_by_first(
    settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
) -> Guarantee:
    return promised_by_first_site(settings, n_samples)


def _promised_by_sites(
    settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
) -> Guarantee:
    return promised_by_sites(settings, n_samples)


def _promised_by_holder(
    settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
) -> Guarantee:
    return promised_by_holder(settings, n_samples)


def _promised_by_cape(
    settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
) -> Guarantee:
    return cape_guarantee(settings, len(n_samples), int(sum(n_samples)))


def _promised_with(sigma_of: Callable[..., float]) -> Promise:
    def promise(settings: ReleaseSettings, n_samples: Sequence[int], n_features: int) -> Guarantee:
        budget, people = settings.budget, int(sum(n_samples))
        bound = settings.row_norm_bound
        sigma = sigma_of(n_features, people, budget, row_norm_bound=bound)
        return noisy_moment_guarantee(budget, sigma, people, bound)

    return promise


def _promised_by_ppca(
    settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
) -> Guarantee:
    # One component, or all but one, is drawn exactly; anything between takes chains.
    is_chain = settings.n_components not in (1, n_features - 1, n_features)
    return ppca_guarantee(PrivacyBudget(settings.budget.epsilon), is_chain=is_chain)


for _entry in (
    Protocol(
        "dpdis",
        "DPdisPCA",
        "Each site adds noise to its second moment and sends its top R directions.",
        dpdis,
        _promised_by_sites,
        Kind.APPROXIMATE,
        Where.EVERY_SITE,
        SITES_MOMENTS,
        wants_proxies=True,
        look=Look("#D55E00", "circle"),
        neighbours=Neighbours(noisy_mean=first_noisy_mean),
    ),
    Protocol(
        "full",
        "Full matrices",
        "Each site sends its whole noisy second moment: nothing is cut, more is sent.",
        full,
        _promised_by_sites,
        Kind.APPROXIMATE,
        Where.EVERY_SITE,
        SITES_MOMENTS,
        wants_average=True,
        look=Look("#009E73", "diamond"),
        neighbours=Neighbours(noisy_mean=first_noisy_mean),
    ),
    Protocol(
        "local",
        "One site alone",
        "The first site runs private PCA on its own people and sends nothing.",
        local,
        _promised_by_first,
        Kind.APPROXIMATE,
        Where.FIRST_SITE,
        SITES_MOMENTS,
        look=Look("#E69F00", "triangle-up"),
        neighbours=Neighbours(n_sites=2, noisy_mean=first_noisy_mean),
    ),
    Protocol(
        "pooled",
        "Pooled, trusted",
        "A trusted aggregator holds all rows and adds noise once.",
        pooled,
        _promised_by_holder,
        Kind.APPROXIMATE,
        Where.AFTER_POOLING,
        POOLED_MOMENT,
        look=Look("#0072B2", "square"),
        neighbours=Neighbours(n_sites=2, noisy_mean=noisy_mean_of_holder),
    ),
    Protocol(
        "cape",
        "CAPE",
        "Sites send whole matrices under masks that cancel: almost the noise of pooled rows.",
        cape,
        _promised_by_cape,
        Kind.APPROXIMATE,
        Where.EVERY_SITE,
        NoiseIdentity(
            "cape", "the average moment of {sites}", (*GAUSSIAN, "masks", "honest_sites")
        ),
        look=Look("#CC79A7", "pentagon"),
        neighbours=Neighbours(
            n_sites=4,
            settings=(("masks", "wide"),),
            noisy_mean=noisy_mean_of_messages,
            has_own_cases=True,
        ),
    ),
    Protocol(
        "sequential",
        "Chain of sites",
        "Sites in random order hand on the top R directions of their noisy moments so far.",
        sequential,
        promised_in_a_chain,
        Kind.APPROXIMATE,
        Where.EVERY_SITE,
        SITES_MOMENTS,
        wants_proxies=True,
        look=Look("#882255", "bowtie", "dashdot"),
        neighbours=Neighbours(noisy_mean=first_noisy_mean),
    ),
    Protocol(
        "exact",
        "Exact PCA",
        "No noise and no promise: the optimum the others are measured against.",
        exact,
        lambda *_: no_guarantee(),
        Kind.NONE,
        Where.HOLDER,
        look=Look("#1a1a1a", "line-ew-open", "dash"),
    ),
    Protocol(
        "random",
        "Random subspace",
        "Never looks at the data: the floor.",
        random,
        lambda *_: data_independent_guarantee(),
        Kind.PURE,
        Where.HOLDER,
        look=Look("#8a8a8a", "x-thin-open", "dot"),
    ),
    Protocol(
        "ag",
        "Analyze Gauss",
        "Central: Gaussian noise on everybody's second moment.",
        pooled,
        _promised_by_holder,
        Kind.APPROXIMATE,
        Where.HOLDER,
        POOLED_MOMENT,
        look=Look("#0072B2", "square-open"),
        neighbours=Neighbours(noisy_mean=noisy_mean_of_holder),
    ),
    Protocol(
        "sulq",
        "SuLQ",
        "Central: noise on every entry, scaled by a bound that grows with the dimension.",
        sulq,
        _promised_with(sulq_sigma),
        Kind.APPROXIMATE,
        Where.HOLDER,
        NoiseIdentity("sulq", "the pooled moment, by SuLQ", ("delta", "dropped_sites")),
        look=Look("#999933", "hourglass"),
        # Its noise is far above what it promises: of this, about 1 is left.
        neighbours=Neighbours(epsilon=15.0),
    ),
    Protocol(
        "modsulq",
        "MOD-SuLQ",
        "Central: the same idea with symmetric noise and a smaller bound.",
        modsulq,
        _promised_with(modsulq_sigma),
        Kind.APPROXIMATE,
        Where.HOLDER,
        NoiseIdentity("modsulq", "the pooled moment, by MOD-SuLQ", ("delta", "dropped_sites")),
        look=Look("#56B4E9", "triangle-down"),
        neighbours=Neighbours(epsilon=5.0),
    ),
    Protocol(
        "ppca",
        "PPCA",
        "Central: draws a subspace at random, likelier the more energy it captures.",
        ppca,
        _promised_by_ppca,
        Kind.PURE,
        Where.HOLDER,
        # Chains that ran together are another draw in other company.
        NoiseIdentity(
            "ppca", "the choice of a subspace", ("components", "chains", "dropped_sites")
        ),
        look=Look("#AA4499", "star"),
    ),
):
    register(_entry)
