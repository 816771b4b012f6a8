"""The noisy joint second moment of two views: how much noise, and how it is centred.

Promise: a release A + E of the joint second moment A = Z^T Z / N, rows z = [x y] bounded by c,
is the Gaussian mechanism under replace-one with l2-sensitivity sqrt(2) c^2 / N (attained by two
orthogonal rows of length c). Canonical pairs are post-processing of it.

Centring. Rows may carry a constant coordinate kappa behind [x y]. The second moment of such rows
holds A, kappa times the mean, and kappa^2: one release gives both, and the centred joint moment
is A - m m^T afterwards. The constant is nobody's, so what one person moves is A and the mean, the
latter with the weight w = kappa under triangle noise, where the border is read once, and
sqrt(2) kappa under isometric noise, which has less of it there. The private mean costs sigma the
factor by which `l2_sensitivity_of_moment_and_mean` exceeds sqrt(2) c^2 / N.
"""

from __future__ import annotations

import math

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import NoiseScales
from dpcore.privacy import PrivacyBudget, l2_sensitivity_of_second_moment, second_moment_sigma
from dpcore.spectra import SiteMoments

# The poster's tau starts from the replace-one sensitivity sqrt(2) / N, the DPdisPCA paper from
# 1 / N; both then use the classic formula at every epsilon.
_POSTER_OVER_PAPER = math.sqrt(2.0)


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
    """What is added to the joint second moment of so many people, whoever holds their rows."""
    bound = settings.row_norm_bound
    sigma = joint_moment_sigma(
        settings.budget, n_samples, calibration=settings.calibration, row_norm_bound=bound
    )
    return NoiseScales(sigma, 0.0, l2_sensitivity_of_second_moment(n_samples, bound))


def constant_coordinate(
    mean_share: float, row_norm_bound: float = 1.0, *, noise: str = "isometric"
) -> float:
    """kappa for which the private mean takes the share `mean_share` of mu squared.

    The joint moment gets `with_mean_bound`'s noise, hence (1 - mean_share) of the mu squared it
    would have alone. The weight w that costs just that follows from the joint sensitivity:
    (1 + w^2 / 2 c^2)^2 or 2 w^2 / c^2, the latter above a share of 3/4, is 1 / (1 - mean_share).
    """
    if not 0 <= mean_share < 1:
        raise ParameterError("mean_share", "in [0, 1)", mean_share)
    cost = 1 / math.sqrt(1 - mean_share)
    relative = 2 * (cost - 1) if cost <= 2 else cost**2 / 2
    border = 2 if noise == "isometric" else 1
    return row_norm_bound * math.sqrt(relative / border)


def with_mean_bound(mean_share: float, row_norm_bound: float = 1.0) -> float:
    """The norm bound whose sqrt(2) c^2 / N is the sensitivity of moment and mean together."""
    return row_norm_bound / math.pow(1 - mean_share, 0.25)


def with_constant(moments: SiteMoments, constant: float) -> SiteMoments:
    """Moments of the rows [z, constant], from the moments of the rows z."""
    n_sites, n_features = moments.means.shape
    lifted = np.empty((n_sites, n_features + 1, n_features + 1), dtype=moments.second_moments.dtype)
    lifted[:, :-1, :-1] = moments.second_moments
    lifted[:, :-1, -1] = lifted[:, -1, :-1] = constant * moments.means
    lifted[:, -1, -1] = constant**2
    means = np.column_stack([moments.means, np.full(n_sites, constant)])
    return SiteMoments(lifted, means, moments.n_samples)


def without_constant(lifted: FloatArray, constant: float) -> tuple[FloatArray, FloatArray]:
    """The centred joint moment and the mean, from a (noisy) moment of rows [z, constant].

    Returns
    -------
    centred : ndarray of shape (n_features, n_features)
    mean : ndarray of shape (n_features,)
    """
    mean = lifted[:-1, -1] / constant
    return lifted[:-1, :-1] - np.outer(mean, mean), mean
