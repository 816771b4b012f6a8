"""CCA of two views held by several sites, in the protocols of the distributed PCA.

Every site adds noise to its own joint second moment and sends all of it ("full") or its R leading
directions ("dpdis"); the aggregator averages and takes the canonical pairs of the average. The
poster has one holder of the data ("pooled"); the rest follows from the same argument, all that
comes after the noise being post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dpcore.cca.canonical import canonical_pairs, noise_floor
from dpcore.cca.release import (
    constant_coordinate,
    joint_moment_sigma,
    with_constant,
    without_constant,
)
from dpcore.errors import ParameterError
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.pca.cape import HONEST_BUT_CURIOUS, MASKS_DRAWN
from dpcore.pca.guarantees import (
    DISJOINT_SITES,
    FLOATING_POINT,
    PUBLIC_BOUND,
    PUBLIC_COUNTS,
    TRUSTED_AGGREGATOR,
)
from dpcore.pca.messages import message_length
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import noisy_second_moment, proxy_of
from dpcore.privacy import (
    Guarantee,
    cape_mu,
    cape_scales,
    gaussian_epsilon,
    l2_sensitivity_of_second_moment,
)
from dpcore.spectra import SiteMoments
from dpcore.streams import Purpose, Repetition

AT_SITES = "every site, to its own joint second moment, before anything is sent"


@dataclass(frozen=True, eq=False)
class CanonicalPairs:
    """Private canonical pairs, what they promise and what they cost to send.

    Attributes
    ----------
    x_rotations : ndarray of shape (n_x, n_components)
    y_rotations : ndarray of shape (n_y, n_components)
    correlations : ndarray of shape (n_components,)
        Private estimate, of the noisy moment after its repair; in [0, 1].
    joint_moment : ndarray of shape (n_x + n_y, n_x + n_y)
        The noisy joint moment behind them, centred where a private mean was bought.
    mean : ndarray of shape (n_x + n_y,)
        Private mean; zero where rows are taken as centred.
    floor : float
        Eigenvalue floor that was used, in units of the joint moment.
    guarantee : Guarantee
        Covers everything here.
    sigma : ndarray of shape (n_sites,)
        Noise standard deviation each site added to an entry of its joint moment.
    bytes_sent : ndarray of shape (n_sites,)
    """

    x_rotations: np.ndarray
    y_rotations: np.ndarray
    correlations: np.ndarray
    joint_moment: np.ndarray
    mean: np.ndarray
    floor: float
    guarantee: Guarantee
    sigma: np.ndarray
    bytes_sent: np.ndarray


@dataclass(frozen=True, eq=False)
class _Release:
    """A noisy average, the noise scale that is left in it, and the facts of its making."""

    average: np.ndarray
    sigma_of_average: float
    guarantee: Guarantee
    sigma: np.ndarray
    bytes_sent: np.ndarray


def distributed_cca(
    moments: SiteMoments,
    n_x: int,
    settings: ReleaseSettings,
    *,
    protocol: str = "dpdis",
    floor: float | str = "auto",
    repetition: Repetition,
) -> CanonicalPairs:
    """Canonical pairs of two views from the sites' joint second moments.

    Parameters
    ----------
    moments : SiteMoments
        Of rows [x y] with norm at most `settings.row_norm_bound`, at each of S sites.
    n_x : int
        Number of columns of the first view.
    settings : ReleaseSettings
        `calibration` "published" is the poster's (`joint_moment_sigma`). `mean_share` > 0 buys a
        private mean for centring; 0 takes the rows as centred.
    protocol : {"dpdis", "full", "local", "pooled", "cape"}
    floor : "auto" or float
        Eigenvalue floor of `canonical_pairs`; "auto" is `noise_floor` of the noise that is left
        in the average.
    repetition : Repetition
        Source of the noise; site s reads a stream of its own.

    Raises
    ------
    ParameterError
        If a parameter is unknown or outside its range.
    """
    if protocol not in PROTOCOLS:
        raise ParameterError("protocol", f"one of {', '.join(PROTOCOLS)}", protocol)
    constant = constant_coordinate(settings.mean_share, settings.row_norm_bound)
    rows = replace(
        settings, mean_share=0.0, row_norm_bound=math.hypot(settings.row_norm_bound, constant)
    )
    lifted = with_constant(moments, constant) if constant > 0 else moments
    rows.check_features(lifted.n_features)
    release = PROTOCOLS[protocol](lifted, rows, repetition)
    if constant > 0:
        joint, mean = without_constant(release.average, constant)
    else:
        joint, mean = release.average, np.zeros(moments.n_features)
    if floor == "auto":
        floor = noise_floor(release.sigma_of_average, moments.n_features, noise=settings.noise)
    elif isinstance(floor, str):
        raise ParameterError("floor", "'auto' or a number", floor)
    x_rotations, y_rotations, correlations = canonical_pairs(
        joint, n_x, settings.n_components, floor=floor
    )
    return CanonicalPairs(
        x_rotations,
        y_rotations,
        correlations,
        joint,
        mean,
        floor,
        release.guarantee,
        release.sigma,
        release.bytes_sent,
    )


def _full(moments: SiteMoments, settings: ReleaseSettings, repetition: Repetition) -> _Release:
    """Every site sends its whole noisy joint moment."""
    length = message_length(
        moments.n_features, moments.n_features, moments.second_moments.itemsize, whole=True
    )
    return _average_of_sites(moments, settings, repetition, length, lambda noisy: noisy)


def _dpdis(moments: SiteMoments, settings: ReleaseSettings, repetition: Repetition) -> _Release:
    """Every site sends the D x R proxy of its noisy joint moment, Algorithm 1 of DPdisPCA."""

    def rebuilt(noisy: np.ndarray) -> np.ndarray:
        proxy = proxy_of(noisy, settings.intermediate_dim, settings.ranking)
        return proxy @ proxy.T

    length = message_length(
        moments.n_features,
        settings.intermediate_dim,
        moments.second_moments.itemsize,
        whole=False,
    )
    return _average_of_sites(moments, settings, repetition, length, rebuilt)


def _local(moments: SiteMoments, settings: ReleaseSettings, repetition: Repetition) -> _Release:
    """The first site on its own; nothing travels."""
    alone = SiteMoments(moments.second_moments[:1], moments.means[:1], moments.n_samples[:1])
    release = _average_of_sites(alone, settings, repetition, 0, lambda noisy: noisy)
    assumptions = (PUBLIC_BOUND, PUBLIC_COUNTS, FLOATING_POINT)
    guarantee = replace(
        release.guarantee,
        noise_added_by="the first site, which uses nobody else's data",
        assumptions=assumptions,
    )
    return replace(release, guarantee=guarantee)


def _pooled(moments: SiteMoments, settings: ReleaseSettings, repetition: Repetition) -> _Release:
    """The poster's algorithm at a trusted aggregator who holds everybody's rows."""
    n_samples = int(moments.n_samples.sum())
    sigma = _site_sigma(settings, n_samples)
    return _Release(
        average=noisy_second_moment(
            moments.pooled(),
            sigma,
            noise=settings.noise,
            rng=repetition.rng(Purpose.POOLED_NOISE),
        ),
        sigma_of_average=sigma,
        guarantee=_guarantee(
            settings,
            sigma,
            _site_sensitivity(settings, n_samples),
            "the aggregator, once, after pooling everybody's raw rows",
            (PUBLIC_BOUND, PUBLIC_COUNTS, TRUSTED_AGGREGATOR, FLOATING_POINT),
        ),
        sigma=np.array([sigma]),
        bytes_sent=moments.n_samples * moments.n_features * moments.second_moments.itemsize,
    )


def _cape(moments: SiteMoments, settings: ReleaseSettings, repetition: Repetition) -> _Release:
    """Masks that sum to zero over the sites leave the pooled noise only (`dpcore.privacy.cape`).

    Site s sends S n_s / N times its moment, so that every site has the same sensitivity and the
    plain average is the pooled moment. Masks are "compensated" where a guarantee is promised.
    """
    n_sites, n_samples = moments.n_sites, int(moments.n_samples.sum())
    n_honest = n_sites if settings.honest_sites is None else settings.honest_sites
    masks = settings.masks
    if masks == "published" and settings.calibration != "published":
        masks = "compensated"
    scales = cape_scales(
        _site_sigma(settings, n_samples / n_sites), n_sites, n_honest=n_honest, masks=masks
    )
    sensitivity = _site_sensitivity(settings, n_samples / n_sites)
    left = scales.noise_sigma / math.sqrt(n_sites)
    noise = symmetric_gaussian_noise(
        moments.n_features, left, shape=settings.noise, rng=repetition.rng(Purpose.MASK)
    )
    length = message_length(
        moments.n_features, moments.n_features, moments.second_moments.itemsize, whole=True
    )
    masked = math.hypot(scales.noise_sigma, math.sqrt(1 - 1 / n_sites) * scales.mask_sigma)
    return _Release(
        average=moments.pooled() + noise,
        sigma_of_average=left,
        guarantee=_guarantee(
            settings,
            sensitivity / cape_mu(sensitivity, scales, n_honest),
            sensitivity,
            "every site, part of it in masks that cancel between the sites",
            (
                PUBLIC_BOUND,
                PUBLIC_COUNTS,
                DISJOINT_SITES,
                HONEST_BUT_CURIOUS,
                MASKS_DRAWN,
                FLOATING_POINT,
            ),
        ),
        sigma=np.full(n_sites, masked),
        bytes_sent=np.full(n_sites, length),
    )


PROTOCOLS: dict[str, Callable[[SiteMoments, ReleaseSettings, Repetition], _Release]] = {
    "dpdis": _dpdis,
    "full": _full,
    "local": _local,
    "pooled": _pooled,
    "cape": _cape,
}


def _average_of_sites(
    moments: SiteMoments,
    settings: ReleaseSettings,
    repetition: Repetition,
    message_bytes: int,
    received: Callable[[np.ndarray], np.ndarray],
) -> _Release:
    """Weighted average of what the aggregator makes of each site's noisy joint moment."""
    sigma = np.array([_site_sigma(settings, int(n)) for n in moments.n_samples])
    average = np.zeros(moments.second_moments.shape[1:])
    for site, weight in enumerate(moments.weights):
        noisy = noisy_second_moment(
            moments.second_moments[site],
            sigma[site],
            noise=settings.noise,
            rng=repetition.rng(Purpose.SITE_NOISE, site),
        )
        average += weight * received(noisy)
    sensitivity = np.array([_site_sensitivity(settings, int(n)) for n in moments.n_samples])
    weakest = int(np.argmin(sigma / sensitivity))
    return _Release(
        average=average,
        sigma_of_average=float(np.linalg.norm(moments.weights * sigma)),
        guarantee=_guarantee(
            settings,
            sigma[weakest],
            sensitivity[weakest],
            AT_SITES,
            (PUBLIC_BOUND, PUBLIC_COUNTS, DISJOINT_SITES, FLOATING_POINT),
        ),
        sigma=sigma,
        bytes_sent=np.full(moments.n_sites, message_bytes),
    )


def _site_sigma(settings: ReleaseSettings, n_samples: float) -> float:
    return joint_moment_sigma(
        settings.budget,
        n_samples,
        calibration=settings.calibration,
        row_norm_bound=settings.row_norm_bound,
    )


def _site_sensitivity(settings: ReleaseSettings, n_samples: float) -> float:
    return l2_sensitivity_of_second_moment(n_samples, settings.row_norm_bound)


def _guarantee(
    settings: ReleaseSettings,
    sigma: float,
    l2_sensitivity: float,
    noise_added_by: str,
    assumptions: tuple[str, ...],
) -> Guarantee:
    budget = settings.budget
    epsilon = gaussian_epsilon(budget.delta, float(sigma), float(l2_sensitivity))
    if settings.calibration != "published":
        # The solver rounds towards privacy; what is above the asked value is its tolerance.
        epsilon = min(epsilon, budget.epsilon)
    return Guarantee(
        asked=budget,
        epsilon=epsilon,
        delta=budget.delta,
        mechanism="none" if math.isinf(epsilon) else "gaussian",
        noise_added_by=noise_added_by,
        l2_sensitivity=float(l2_sensitivity),
        sigma=float(sigma),
        assumptions=assumptions,
    )
