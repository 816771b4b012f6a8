"""CAPE: zero-sum masks at the sites, and what they promise against who reads every message.

Site s sends A_s + e_s + g_s. The masks e_s sum to zero over all S sites with
var(e_s) = (1 - 1/S) a^2; the private parts g_s are independent with variance b^2. The average of
the messages carries b^2 / S alone. CAPE is Imtiaz & Sarwate's successor of DPdisPCA (capePCA).

An adversary who reads every message and colludes with S - H sites knows their masks, hence the
sum of the honest ones. Given that sum, the honest noise has covariance
a^2 (I - 1 1^T / H) + b^2 I: eigenvalue b^2 along the all-ones direction, a^2 + b^2 across it.
One person moves one honest site's message, whose unit vector has a share 1 / H along all-ones, so

    mu^2 = Delta^2 [ 1 / (H b^2) + (1 - 1/H) / (a^2 + b^2) ].

Delta is the same at every site: 1/N-weighted sums have it whatever the sites' sizes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpcore.errors import ParameterError

MASKS = ("published", "compensated", "wide")


@dataclass(frozen=True)
class CapeScales:
    """Noise scales of one CAPE site.

    Parameters
    ----------
    mask_sigma : float
        a, where a mask has variance (1 - 1/S) a^2; ``inf`` stands for the limit in which the
        messages reveal their sum and nothing else (wide masks, secure aggregation).
    noise_sigma : float
        b, the standard deviation of the part that stays in the sum.
    """

    mask_sigma: float
    noise_sigma: float


def cape_scales(
    local_sigma: float, n_sites: int, *, n_honest: int | None = None, masks: str = "published"
) -> CapeScales:
    """Scales of mask and noise, from the noise tau that would protect a site sending alone.

    Parameters
    ----------
    local_sigma : float
        tau, for instance from `second_moment_sigma`; at least 0.
    n_sites : int
        S, at least 1.
    n_honest : int, optional
        H, sites that do not share their masks with the adversary, the person's own included;
        all of them unless told otherwise.
    masks : {"published", "compensated", "wide"}
        "published": a = tau, b = tau / sqrt(S). Its mu^2 is 2S / (S + 1) times that of a local
        release at H = S, and more for fewer. "compensated": the same shape with tau grown until
        mu is that of a local release. "wide": a infinite and b = tau / sqrt(H), the same mu.

    Raises
    ------
    ParameterError
        If an argument is outside its range.
    """
    n_honest = n_sites if n_honest is None else n_honest
    if not n_sites >= 1:
        raise ParameterError("n_sites", "at least 1", n_sites)
    if not 1 <= n_honest <= n_sites:
        raise ParameterError("n_honest", f"in [1, n_sites={n_sites}]", n_honest)
    if not local_sigma >= 0:
        raise ParameterError("local_sigma", "at least 0", local_sigma)
    if masks not in MASKS:
        raise ParameterError("masks", f"one of {', '.join(MASKS)}", masks)
    if masks == "wide":
        return CapeScales(math.inf, local_sigma / math.sqrt(n_honest))
    tau = local_sigma
    if masks == "compensated":
        share = 1 / n_honest
        tau *= math.sqrt(n_sites * share + (1 - share) * n_sites / (n_sites + 1))
    return CapeScales(tau, tau / math.sqrt(n_sites))


def cape_mu(l2_sensitivity: float, scales: CapeScales, n_honest: int) -> float:
    """mu of the Gaussian mechanism that CAPE amounts to; l2_sensitivity / mu is its sigma.

    Parameters
    ----------
    l2_sensitivity : float
        Delta of one site's statistic, under replace-one; positive.
    scales : CapeScales
    n_honest : int
        H, at least 1.

    Raises
    ------
    ParameterError
        If the sensitivity is not positive or `n_honest` below 1.
    """
    if not 0 < l2_sensitivity < math.inf:
        raise ParameterError("l2_sensitivity", "a positive finite number", l2_sensitivity)
    if not n_honest >= 1:
        raise ParameterError("n_honest", "at least 1", n_honest)
    if scales.noise_sigma == 0:
        return math.inf
    share = 1 / n_honest
    across = math.hypot(scales.mask_sigma, scales.noise_sigma)
    return l2_sensitivity * math.hypot(
        math.sqrt(share) / scales.noise_sigma, math.sqrt(1 - share) / across
    )
