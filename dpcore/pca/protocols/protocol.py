"""Entry of a protocol in the register, and the guarantees of the entries.

The adversaries of each protocol are defined in this module. A person's own site holds the person's
row and is not an adversary; "a site" is another one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.pca.aggregator import NoisyAverage, Subspace
from dpcore.pca.assessment import Assessment, NoisyPart, assess_by_probes
from dpcore.pca.centre_rule import N_COUNTS
from dpcore.pca.draw import Draw
from dpcore.pca.messages import message_length
from dpcore.pca.settings import ReleaseSettings, rounding_step
from dpcore.pca.site import NoiseScales
from dpcore.privacy import (
    Adversary,
    Against,
    Assumption,
    Guarantee,
    PrivacyBudget,
    gaussian_epsilon,
)
from dpcore.streams import Purpose

# (settings, samples at each site, n_features) -> Guarantee, without reading rows.
GuaranteeFunction = Callable[[ReleaseSettings, Sequence[int], int], Guarantee]

_ALWAYS_ASSUMED = (
    Assumption.ONE_ROW_A_PERSON,
    Assumption.ROW_OF_ONE_PERSON,
    Assumption.PUBLIC_BOUND,
    Assumption.PUBLIC_COUNTS,
    Assumption.SECRET_SEED,
    Assumption.FLOAT_ARITHMETIC,
)
AT_ONE_SITE = (*_ALWAYS_ASSUMED, Assumption.HONEST_SITES)
AT_SITES = (*AT_ONE_SITE, Assumption.DISJOINT_SITES)
UNDER_MASKS = (*AT_SITES, Assumption.ENOUGH_HONEST_SITES, Assumption.JOINT_MASKS)
AT_AGGREGATOR = (*_ALWAYS_ASSUMED, Assumption.TRUSTED_HOLDER)


@dataclass(frozen=True)
class Trust:
    """The source of the noise, what each adversary reads, and who is trusted.

    noise_added_by: Text that fits after "Noise is added by".
    sees: Text for each adversary that fits after "sees".
    trusted: Parties without a guarantee against them.
    """

    noise_added_by: str
    assumptions: tuple[Assumption, ...]
    sees: Mapping[Adversary, str]
    trusted: frozenset[Adversary] = frozenset()

    def against(self, epsilons: Mapping[Adversary, float]) -> tuple[Against, ...]:
        """Return an entry for each adversary that has an epsilon, or is trusted."""
        return tuple(
            Against(who, sees, math.inf, is_trusted=True)
            if who in self.trusted
            else Against(who, sees, epsilons[who])
            for who, sees in self.sees.items()
            if who in self.trusted or who in epsilons
        )


_RESULT = "the result"
# A message is protected by its own site's noise, so no coalition of others sees more than this.
EVERY_SITE = Trust(
    "every site, to its own second moment, before anything is sent",
    AT_SITES,
    {
        Adversary.AGGREGATOR: "every site's message, even in collusion with other sites",
        Adversary.SITE: "the result, what is sent back to the sites, and its own rows and noise, "
        "even in collusion with other sites",
        Adversary.OUTSIDER: _RESULT,
    },
)
FIRST_SITE = Trust(
    "the first site, which uses no other data",
    AT_ONE_SITE,
    {
        Adversary.SITE: "the result, which is all that leaves the first site",
        Adversary.OUTSIDER: _RESULT,
    },
)
HOLDER = Trust(
    "the aggregator, once, after pooling the raw rows of all sites",
    AT_AGGREGATOR,
    {
        Adversary.AGGREGATOR: "the raw rows of all sites",
        Adversary.SITE: "the result and its own rows, even in collusion with other sites",
        Adversary.OUTSIDER: _RESULT,
    },
    trusted=frozenset({Adversary.AGGREGATOR}),
)
MASKED_SITES = Trust(
    "every site, part of it in masks that cancel between the sites",
    UNDER_MASKS,
    {
        Adversary.AGGREGATOR: "every site's message, and the masks and noise of all sites but "
        "those counted on",
        Adversary.SITE: "the result, its own rows, masks and noise, and those of all sites but "
        "the ones counted on",
        Adversary.OUTSIDER: _RESULT,
    },
)


def noise_guarantee(
    settings: ReleaseSettings, trust: Trust, noise: Sequence[NoiseScales]
) -> Guarantee:
    """Return the guarantee of noisy second moments, for the person at the least protective site.

    Sensitivity and noise are both proportional to 1 / n_s, so all sites have the same guarantee;
    sigma and sensitivity are those of the smallest site. The private mean, if any, is included
    (`dpcore.pca.site.noise_scales`).
    """
    weakest = max(noise, key=lambda scales: scales.l2_sensitivity)
    return gaussian_guarantee(
        settings.budget,
        trust,
        l2_sensitivity=weakest.l2_sensitivity,
        sigma=weakest.moment,
        mu=weakest.mu,
        is_calibrated=settings.calibration != "published",
    )


def gaussian_guarantee(
    budget: PrivacyBudget,
    trust: Trust,
    *,
    l2_sensitivity: float,
    sigma: float,
    is_calibrated: bool,
    mu: Mapping[Adversary, float] | None = None,
) -> Guarantee:
    """Return the guarantee of Gaussian noise against each adversary, from its exact profile.

    budget: Requested budget.
    sigma: Standard deviation of the noise.
    is_calibrated: Whether the noise was solved for the budget. The solver rounds towards privacy;
        an excess over the requested value is its tolerance.
    mu: Parameter of the Gaussian mechanism that each adversary faces, if sigma is not the noise
        that hides a row. l2_sensitivity / sigma for all adversaries by default.
    """

    def epsilon_at(noise: float) -> float:
        epsilon = gaussian_epsilon(budget.delta, noise, l2_sensitivity)
        return min(epsilon, budget.epsilon) if is_calibrated else epsilon

    hidden_by = dict.fromkeys(trust.sees, float(sigma))
    if mu is not None:
        hidden_by = {who: l2_sensitivity / ratio for who, ratio in mu.items()}
    weakest = min(hidden_by.values())
    return Guarantee(
        requested=budget,
        epsilon=epsilon_at(weakest),
        delta=budget.delta,
        mechanism="gaussian" if weakest > 0 else "none",
        noise_added_by=trust.noise_added_by,
        l2_sensitivity=float(l2_sensitivity),
        sigma=float(sigma),
        mu=l2_sensitivity / weakest if weakest > 0 else math.inf,
        assumptions=trust.assumptions,
        against=trust.against({who: epsilon_at(noise) for who, noise in hidden_by.items()}),
    )


def no_guarantee(*_: object) -> Guarantee:
    """Return the guarantee of exact PCA, which is none."""
    return Guarantee(None, math.inf, 0.0, "none", "no one")


def data_independent_guarantee(*_: object) -> Guarantee:
    """Return the guarantee of a release that does not depend on the data."""
    return Guarantee(None, 0.0, 0.0, "data-independent", "no one: the data are not used")


class Kind(StrEnum):
    """Kind of guarantee of a protocol."""

    PURE = "pure ε"
    APPROXIMATE = "(ε, δ)"
    NONE = "none"


class Where(StrEnum):
    """Place where the noise is added, and therefore which rows are read by which party."""

    EVERY_SITE = "at every site"
    FIRST_SITE = "at the first site, the only one that takes part"
    AFTER_POOLING = "at an aggregator who was sent the sites' rows"
    HOLDER = "at a holder of all rows; there are no sites"


@dataclass(frozen=True)
class NoiseIdentity:
    """Identity of the noisy array that a protocol reads.

    Protocols with one identity read one draw: the accountant counts them as one release, and
    estimators with one seed draw it once.

    name: Part of the root of a release's streams: never renamed.
    words: Description; "{sites}" is replaced by the number of sites.
    settings: Fields of a row that shape the noise in addition to the samples and epsilon.
    on_sphere: Identity for rows at length 1 around a mean, if it differs.
    """

    name: str
    words: str
    settings: tuple[str, ...]
    on_sphere: NoiseIdentity | None = None

    def of(self, sites: int) -> str:
        """Return the description with the number of sites, as in "5 sites"."""
        return self.words.format(sites="1 site" if sites == 1 else f"{sites:,} sites")


@dataclass(frozen=True)
class Look:
    """Colour, marker and dash of a protocol in figures, distinguishable without colour."""

    colour: str
    symbol: str
    dash: str = "solid"
    label: str = ""


@dataclass(frozen=True)
class Neighbours:
    """Number of sites and settings with which an audit attacks a protocol.

    epsilon: Requested epsilon, if an attack at the audit's usual one could not find anything.
    settings: tuple of (name, value). Fields of `ReleaseSettings` that differ from the audit's.
    noisy_mean: Draw -> private mean that is released in addition to the matrix, if there is one.
    message: (Draw, site) -> matrix that the site's message decodes to, if it is neither its noisy
        matrix nor its proxy.
    step: Step of the rounding of this message with a dither that is known, in standard deviations
        of the noise off the diagonal.
    has_own_cases: Whether sites and aggregators attack in cases written for this protocol.
    """

    n_sites: int = 1
    epsilon: float | None = None
    settings: tuple[tuple[str, Any], ...] = ()
    noisy_mean: Callable[[Draw], FloatArray] | None = None
    message: Callable[[Draw, int], FloatArray] | None = None
    step: float = 0.0
    has_own_cases: bool = False


@dataclass(frozen=True)
class Protocol:
    """Protocol: a function from a draw to a subspace, with its description and guarantee.

    key, title: Name in specs, addresses and on the command line; name on a page.
    summary: One sentence: who adds noise where, and what is sent.
    release: Draw -> Subspace.
    guarantee: (ReleaseSettings, samples at each site, n_features) -> Guarantee of `release`.
        Reads no rows. Raises `ParameterError` if the protocol cannot run.
    noise: Identity of the noise that it reads; None without noise.
    shape: Shape of its noise, as in `dpcore.pca.assessment.noise_edge`, if no setting decides.
    average: Draw -> NoisyAverage, the noisy second moment of which `release` returns the leading
        directions. `assess` uses it; None if there is none.
    silent_because: Reason for a missing `average`, as half a sentence.
    wants_proxies, wants_average: Which messages of the sites `release` reads.
    is_chain: Whether sites send messages to the next site, without an aggregator.
    look: Colour, marker and dash in figures; None for the next unused ones.
    neighbours: Parameters of the audit.
    """

    key: str
    title: str
    summary: str
    release: Callable[[Draw], Subspace]
    guarantee: GuaranteeFunction
    kind: Kind
    where: Where
    noise: NoiseIdentity | None = None
    average: Callable[[Draw], NoisyAverage] | None = None
    silent_because: str = "it releases no noisy second moment"
    wants_proxies: bool = False
    wants_average: bool = False
    is_chain: bool = False
    shape: str | None = None
    look: Look | None = None
    neighbours: Neighbours = Neighbours()

    def reads(self, *, on_sphere: bool) -> NoiseIdentity:
        """Return the identity of the noise that it reads; its own key if it reads none."""
        noise = self.noise or NoiseIdentity(self.key, self.key, ())
        return (noise.on_sphere or noise) if on_sphere else noise

    @property
    def is_distributed(self) -> bool:
        """Return whether each site adds noise to its own data."""
        return self.where in (Where.EVERY_SITE, Where.FIRST_SITE)

    @property
    def reads_first_site_only(self) -> bool:
        """Return whether only rows of the first site are read."""
        return self.where is Where.FIRST_SITE

    @property
    def has_sites(self) -> bool:
        """Return whether rows are spread over sites, also if the noise is added elsewhere."""
        return self.where is not Where.HOLDER

    def why_silent(self, settings: ReleaseSettings) -> str:
        """Return the reason, as half a sentence, why `assess` returns None."""
        if self.average is None:
            return self.silent_because
        if rounding_step(settings.encoding) is not None:
            return "the error of rounded messages is not Gaussian"
        if settings.bases and settings.ranking != "value":
            return "denoised directions can be assessed only if they are ranked by value"
        return (
            "cut messages can be assessed only with isometric noise, ranking by value and no "
            "subtracted mean"
        )

    def assess(self, draw: Draw) -> Assessment | None:
        """Return the assessment of this draw's release, or None if the protocol has none.

        Rounded messages carry an error that is not Gaussian, and cannot be assessed. Sites that cut
        take part in one more round.
        """
        settings = draw.settings
        if self.average is None or rounding_step(settings.encoding) is not None:
            return None
        average = self.average(draw)
        if not average.from_proxies:
            return average.assessment(settings, rng=draw.repetition.rng(Purpose.ASSESSMENT))
        # Triangle noise, ranking by magnitude and noise in a subtracted mean have other formulas.
        if (settings.noise, settings.ranking) != ("isometric", "value") or average.mean_sigma > 0:
            return None
        return assess_by_probes(
            average.decompose(settings),
            settings.n_components,
            (_part_and_rng(draw, site) for site in range(draw.moments.n_sites)),
            sigma=average.remaining_sigma,
            bases=draw.bases_at_sites,
            intermediate_dim=settings.intermediate_dim,
            n_parts=draw.moments.n_sites,
            diagonal_of_average=draw.diagonal_of_average,
            known_total=average.total,
        )


def _part_and_rng(draw: Draw, site: int) -> tuple[NoisyPart, np.random.Generator]:
    """Return the part of a site that cut its message, and the generator of its probes."""
    noisy = draw.noisy_site(site)
    part = NoisyPart(noisy.noisy, noisy.sigma, float(draw.moments.weights[site]))
    return part, draw.repetition.rng(Purpose.ASSESSMENT, draw.sites[site])


def whole_matrix_bytes(draw: Draw) -> IntArray:
    """Return the bytes of each site's message if it sends its whole noisy matrix, shape (S,)."""
    n_features, itemsize = draw.moments.n_features, draw.moments.dtype.itemsize
    length = message_length(n_features, n_features, itemsize, whole=True)
    return np.full(draw.moments.n_sites, length + traffic_of_means(draw)[0])


def raw_row_bytes(draw: Draw) -> IntArray:
    """Return the bytes of each site's rows, shape (S,)."""
    return draw.moments.n_samples * draw.moments.n_features * draw.moments.dtype.itemsize


def traffic_of_diagonals(draw: Draw) -> tuple[int, int]:
    """Return the bytes per site, and the rounds, of sharing the sites' noisy diagonals.

    Each site sends its diagonal and its sum of squares off the diagonal, and the averages come
    back.
    """
    if not draw.shares_diagonal:
        return 0, 0
    return 2 * (draw.moments.n_features + 1) * draw.moments.dtype.itemsize, 2


def traffic_of_means(draw: Draw, *, come_back: bool = False) -> tuple[int, int]:
    """Return the bytes per site, and the additional rounds, of the sites' private means and votes.

    The average of all means is sent back to the sites that need it: to sites that cut their matrix,
    and on the sphere to all.
    """
    settings, itemsize = draw.of_sites, draw.moments.dtype.itemsize
    n_bytes, rounds = (2 * N_COUNTS * itemsize, 2) if settings.test_share else (0, 0)
    if settings.mean_share == 0:
        return n_bytes, rounds
    one_way = draw.moments.n_features * itemsize
    if come_back or settings.on_sphere:
        return n_bytes + 2 * one_way, rounds + 2
    return n_bytes + one_way, rounds
