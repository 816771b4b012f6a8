"""The noisy joint second moment of two views: how much noise, and how it is centred.

Promise: a release A + E of the joint second moment A = Z^T Z / N, rows z = [x y] bounded by c,
is the Gaussian mechanism under replace-one with l2-sensitivity sqrt(2) c^2 / N (attained by two
orthogonal rows of length c). Canonical pairs are post-processing of it.

Centring. Rows may carry a constant coordinate kappa behind [x y]. The second moment of such rows
holds A, kappa times the mean, and kappa^2: one release gives both, and the centred joint moment
is A - m m^T afterwards. The rows are bounded by sqrt(c^2 + kappa^2), so the private mean costs
the factor 1 + kappa^2 / c^2 in sigma. Released side by side, the second moment (sqrt(2) c^2 / N)
and the mean (2 c / N) cost more, because no pair of rows attains both sensitivities: the first
wants orthogonal rows, the second opposite ones.
"""

from __future__ import annotations

import math

import numpy as np

from dpcore.errors import ParameterError
from dpcore.privacy import PrivacyBudget, second_moment_sigma
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
    """
    sigma = second_moment_sigma(
        budget, n_samples, calibration=calibration, row_norm_bound=row_norm_bound
    )
    return sigma * _POSTER_OVER_PAPER if calibration == "published" else sigma


def constant_coordinate(mean_share: float, row_norm_bound: float = 1.0) -> float:
    """kappa for which the private mean takes the share `mean_share` of mu squared.

    The joint moment gets sigma (1 + kappa^2 / c^2) instead of sigma, hence mu^2 / (1 +
    kappa^2 / c^2)^2, which is to be (1 - mean_share) mu^2.
    """
    if not 0 <= mean_share < 1:
        raise ParameterError("mean_share", "in [0, 1)", mean_share)
    return row_norm_bound * math.sqrt(1 / math.sqrt(1 - mean_share) - 1)


def with_constant(moments: SiteMoments, constant: float) -> SiteMoments:
    """Moments of the rows [z, constant], from the moments of the rows z."""
    n_sites, n_features = moments.means.shape
    lifted = np.empty((n_sites, n_features + 1, n_features + 1), dtype=moments.second_moments.dtype)
    lifted[:, :-1, :-1] = moments.second_moments
    lifted[:, :-1, -1] = lifted[:, -1, :-1] = constant * moments.means
    lifted[:, -1, -1] = constant**2
    means = np.column_stack([moments.means, np.full(n_sites, constant)])
    return SiteMoments(lifted, means, moments.n_samples)


def without_constant(lifted: np.ndarray, constant: float) -> tuple[np.ndarray, np.ndarray]:
    """The centred joint moment and the mean, from a (noisy) moment of rows [z, constant].

    Returns
    -------
    centred : ndarray of shape (n_features, n_features)
    mean : ndarray of shape (n_features,)
    """
    mean = lifted[:-1, -1] / constant
    return lifted[:-1, :-1] - np.outer(mean, mean), mean
