"""Canonical pairs from the joint second moment that sites release.

Sites release the joint second moment of rows z = [x y] with the protocols of distributed PCA
(`dpcore.pca.protocols`). The canonical pairs of the noisy average are post-processing. The poster
(Imtiaz & Sarwate) has one data holder ("pooled"); the other protocols follow by the same argument.

Guarantee: a release A + E of A = Z^T Z / N, with rows bounded by c, is the Gaussian mechanism under
replace-one with l2-sensitivity sqrt(2) c^2 / N (attained by two orthogonal rows of length c). A
private mean of both views is released as in PCA, at the joint sensitivity of moment and mean
(`dpcore.pca.site.noise_scales`); centring by it is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.cca.canonical import canonical_pairs, noise_floor
from dpcore.errors import ParameterError
from dpcore.pca import Draw, ReleaseSettings
from dpcore.pca.aggregator import NoisyAverage
from dpcore.pca.assessment import noise_edge
from dpcore.pca.protocols.register import PROTOCOLS as REGISTERED
from dpcore.pca.site import NoiseScales, noise_scales
from dpcore.privacy import Guarantee, PrivacyBudget, second_moment_sigma
from dpcore.spectra import SiteMoments, SiteRows, noise_edge_left
from dpcore.streams import Repetition

# Protocols of PCA that release a noisy average of joint moments.
PROTOCOLS = ("dpdis", "full", "local", "pooled", "cape")
# The poster's tau starts from the replace-one sensitivity sqrt(2) / N, the DPdisPCA paper from
# 1 / N; both then use the classic formula at every epsilon.
_POSTER_SENSITIVITY_RATIO = math.sqrt(2.0)


@dataclass(frozen=True, eq=False)
class CanonicalPairs:
    """Private canonical pairs with their guarantee and the bytes sent.

    Attributes
    ----------
    x_rotations : ndarray of shape (n_x, n_components)
    y_rotations : ndarray of shape (n_y, n_components)
    correlations : ndarray of shape (n_components,)
        Private estimate, of the noisy moment after its repair; in [0, 1].
    joint_moment : ndarray of shape (n_x + n_y, n_x + n_y)
        Noisy joint moment from which the pairs are computed, centred if there is a private mean.
    mean : ndarray of shape (n_x + n_y,)
        Centre of the rows: a private mean, or zero without one.
    floor : float
        Eigenvalue floor that was used, in units of the joint moment.
    sigma_of_average : float
        Remaining noise standard deviation of an entry of the average, before any cut.
    guarantee : Guarantee
        Guarantee of all attributes together.
    sigma : ndarray of shape (n_sites,)
        Noise standard deviation each site added to an entry of its joint moment, without masks
        that cancel.
    bytes_sent : ndarray of shape (n_sites,)
    """

    x_rotations: FloatArray
    y_rotations: FloatArray
    correlations: FloatArray
    joint_moment: FloatArray
    mean: FloatArray
    floor: float
    sigma_of_average: float
    guarantee: Guarantee
    sigma: FloatArray
    bytes_sent: IntArray


def distributed_cca(
    moments: SiteMoments | SiteRows,
    n_x: int,
    settings: ReleaseSettings,
    *,
    protocol: str = "dpdis",
    floor: float | str = "auto",
    repetition: Repetition,
) -> CanonicalPairs:
    """Compute canonical pairs of two views from the sites' joint second moments.

    Parameters
    ----------
    moments : SiteMoments or SiteRows
        Moments of rows [x y] with norm at most `settings.row_norm_bound`, at each site; on the
        sphere the rows, whose parts are the two views (`BoundedViews.parts`).
    n_x : int
        Number of columns of the first view.
    settings : ReleaseSettings
        `calibration` "published" is the poster's (`joint_moment_sigma`).
    protocol : {"dpdis", "full", "local", "pooled", "cape"}
    floor : "auto" or float
        Eigenvalue floor of `canonical_pairs`; "auto" is `noise_floor` for the remaining noise of
        the average, multiplied by `dpcore.spectra.noise_edge_left` if the average is denoised. An
        average of proxies has no bulk of small eigenvalues; its floor is half the noise edge, the
        root mean square eigenvalue of the noise.
    repetition : Repetition
        Source of the noise, with a separate stream for each site.

    Raises
    ------
    ParameterError
        If a parameter is unknown or outside its range.
    """
    release = noisy_joint_moment(moments, settings, protocol=protocol, repetition=repetition)
    joint: FloatArray = release.decompose(settings).matrix.astype(np.float64)
    mean = np.zeros(moments.n_features) if release.centre is None else release.centre
    if floor == "auto":
        floor = _automatic_floor(release, settings)
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
        release.remaining_sigma,
        release.guarantee,
        release.sigma,
        release.bytes_sent,
    )


def noisy_joint_moment(
    moments: SiteMoments | SiteRows,
    settings: ReleaseSettings,
    *,
    protocol: str,
    repetition: Repetition,
) -> NoisyAverage:
    """Release the noisy joint moment; `distributed_cca` post-processes it.

    Raises `ParameterError` if the protocol is unknown or a setting is outside its range.
    """
    average = REGISTERED[protocol].average if protocol in PROTOCOLS else None
    if average is None:
        raise ParameterError("protocol", f"one of {', '.join(PROTOCOLS)}", protocol)
    entry = REGISTERED[protocol]
    draw = Draw(
        moments,
        settings,
        repetition,
        proxies=entry.wants_proxies,
        average=entry.wants_average,
        calibrate=joint_noise,
        precision=np.float64,
    )
    return average(draw)


def joint_moment_sigma(
    budget: PrivacyBudget, n_samples: float, *, calibration: str, row_norm_bound: float = 1.0
) -> float:
    """Compute the noise of the joint second moment of one site.

    "published" is the poster's tau = sqrt(2) c^2 / (N epsilon) sqrt(2 ln(1.25 / delta)), the
    classic formula at the correct sensitivity. The formula is proven for epsilon <= 1 only; above,
    `gaussian_epsilon` gives its guarantee. "classic" is refused above 1, and "analytic" is exact at
    every epsilon.

    Parameters
    ----------
    budget : PrivacyBudget
    n_samples : float
        Number of people at the site.
    calibration : {"analytic", "classic", "published"}
    row_norm_bound : float
        Bound c on the length of a joined row.
    """
    sigma = second_moment_sigma(
        budget, n_samples, calibration=calibration, row_norm_bound=row_norm_bound
    )
    return sigma * _POSTER_SENSITIVITY_RATIO if calibration == "published" else sigma


def joint_noise(n_samples: float, settings: ReleaseSettings) -> NoiseScales:
    """Return the noise scales of the joint moment and mean of `n_samples` people."""
    scales = noise_scales(n_samples, settings)
    if settings.calibration != "published":
        return scales
    moment, mean = (
        _POSTER_SENSITIVITY_RATIO * scales.moment,
        _POSTER_SENSITIVITY_RATIO * scales.mean,
    )
    return replace(scales, moment=moment, mean=mean)


def _automatic_floor(release: NoisyAverage, settings: ReleaseSettings) -> float:
    sigma, noise = release.remaining_sigma, settings.noise
    noisy: FloatArray = release.spectrum.matrix.astype(np.float64)
    if release.from_proxies:
        return noise_edge(np.array([sigma]), np.ones(1), len(noisy), noise=noise) / 2
    floor = noise_floor(noisy, sigma, noise=noise)
    for basis in release.bases(settings):
        floor *= noise_edge_left(noisy, sigma, basis=basis, noise=noise)
    return floor
