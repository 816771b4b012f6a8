"""The noisy joint second moment of two views: how much noise.

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
from dataclasses import replace

from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import NoiseScales, noise_scales
from dpcore.privacy import PrivacyBudget, second_moment_sigma

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
    """What is added to joint moment and mean of so many people, whoever holds their rows."""
    scales = noise_scales(n_samples, settings)
    if settings.calibration != "published":
        return scales
    moment, mean = _POSTER_OVER_PAPER * scales.moment, _POSTER_OVER_PAPER * scales.mean
    return replace(scales, moment=moment, mean=mean)
