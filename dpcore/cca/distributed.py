"""CCA of two views held by several sites, in the protocols of the distributed PCA.

The joint second moment of rows [x y] is a second moment, so it is released as PCA releases one
(`dpcore.pca.protocols`): every site adds noise to its own and sends all of it ("full") or its R
leading directions ("dpdis"). Here the canonical pairs of the noisy average are taken. The poster
has one holder of the data ("pooled"); the rest follows from the same argument, all that comes
after the noise being post-processing.

Promise: a release A + E of the joint second moment A = Z^T Z / N, rows z = [x y] bounded by c,
is the Gaussian mechanism under replace-one with l2-sensitivity sqrt(2) c^2 / N (attained by two
orthogonal rows of length c). Canonical pairs are post-processing of it, and so is centring by a
private mean, which is released as PCA releases one: both views' means in one vector, at the joint
sensitivity of moment and mean (`dpcore.pca.site.noise_scales`).

On the sphere x gets the length sqrt(w) around its mean and y the length sqrt(1 - w), w the share
of the first view: every joined row has length 1, and the sensitivities are those of PCA's rows on
the sphere, the joint moment's sqrt(2) / N being attained by a person of whom one view turns around
while the other stays, where w = 1/2.
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
from dpcore.pca.noise_field import noise_edge
from dpcore.pca.protocols.register import PROTOCOLS as REGISTERED
from dpcore.pca.site import NoiseScales, noise_scales
from dpcore.privacy import Guarantee, PrivacyBudget, second_moment_sigma
from dpcore.spectra import SiteMoments, SiteRows
from dpcore.streams import Repetition

# Of the register of PCA, those of which a noisy average of joint moments is left.
PROTOCOLS = ("dpdis", "full", "local", "pooled", "cape")
# The poster's tau starts from the replace-one sensitivity sqrt(2) / N, the DPdisPCA paper from
# 1 / N; both then use the classic formula at every epsilon.
_POSTER_OVER_PAPER = math.sqrt(2.0)


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
        What rows are centred by: a private mean, or zero where none was bought.
    floor : float
        Eigenvalue floor that was used, in units of the joint moment.
    sigma_of_average : float
        Noise standard deviation left in an entry of the average, before any truncation.
    guarantee : Guarantee
        Covers everything here.
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
    """Canonical pairs of two views from the sites' joint second moments.

    Parameters
    ----------
    moments : SiteMoments or SiteRows
        Of rows [x y] with norm at most `settings.row_norm_bound`, at each of S sites; on the
        sphere the rows, whose parts are the two views (`BoundedViews.parts`).
    n_x : int
        Number of columns of the first view.
    settings : ReleaseSettings
        `calibration` "published" is the poster's (`joint_moment_sigma`).
    protocol : {"dpdis", "full", "local", "pooled", "cape"}
    floor : "auto" or float
        Eigenvalue floor of `canonical_pairs`; "auto" is `noise_floor` at the noise left in the
        average. An average of proxies has no bulk of noise to read; there it is half the noise
        edge, the root mean square eigenvalue of the noise.
    repetition : Repetition
        Source of the noise; site s reads a stream of its own.

    Raises
    ------
    ParameterError
        If a parameter is unknown or outside its range.
    """
    release = noisy_joint_moment(moments, settings, protocol=protocol, repetition=repetition)
    joint: FloatArray = release.decomposed(settings).matrix.astype(np.float64)
    mean = np.zeros(moments.n_features) if release.centre is None else release.centre
    if floor == "auto":
        floor = _automatic_floor(joint, release, settings.noise)
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
        release.sigma_left,
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
    """All that `distributed_cca` reads of the data, with its guarantee; the rest follows from it.

    Raises `ParameterError` if the protocol is unknown or a setting outside its range.
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
    """Noise for the joint second moment of one site.

    "published" is the poster's tau = sqrt(2) c^2 / (N epsilon) sqrt(2 ln(1.25 / delta)), the
    classic formula at the right sensitivity. That is proven for epsilon <= 1 only; above, what
    it promises is `gaussian_epsilon`. "classic" refuses there, "analytic" is exact everywhere.

    Parameters
    ----------
    budget : PrivacyBudget
    n_samples : float
        People at the site.
    calibration : {"analytic", "classic", "published"}
    row_norm_bound : float
        c, on a joined row.
    """
    sigma = second_moment_sigma(
        budget, n_samples, calibration=calibration, row_norm_bound=row_norm_bound
    )
    return sigma * _POSTER_OVER_PAPER if calibration == "published" else sigma


def joint_noise(n_samples: float, settings: ReleaseSettings) -> NoiseScales:
    """What is added to joint moment and mean of so many people, whoever holds their rows."""
    scales = noise_scales(n_samples, settings)
    if settings.calibration != "published":
        return scales
    moment, mean = _POSTER_OVER_PAPER * scales.moment, _POSTER_OVER_PAPER * scales.mean
    return replace(scales, moment=moment, mean=mean)


def _automatic_floor(joint: FloatArray, release: NoisyAverage, noise: str) -> float:
    if release.of_proxies:
        sigma = np.array([release.sigma_left])
        return noise_edge(sigma, np.ones(1), len(joint), noise=noise) / 2
    return noise_floor(joint, release.sigma_left, noise=noise)
