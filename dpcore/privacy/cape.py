"""CAPE: zero-sum masks at the sites, with the guarantee against each adversary.

CAPE (capePCA, Imtiaz & Sarwate) is the successor of DPdisPCA. Site s sends A_s + e_s + g_s. The
masks e_s sum to zero over all S sites and have variance (1 - 1/S) a^2. The noises g_s are
independent with variance b^2. The average of the messages has only the noise variance b^2 / S.

H sites keep their masks and noises secret, among them the site of the attacked person. An adversary
may collude with the other S - H. Let Delta be the sensitivity of one message; with 1/N weights it
is the same at every site for all site sizes. Each adversary sees a Gaussian mechanism (`cape_mu`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpcore.errors import ParameterError, require_one_of
from dpcore.privacy.budget import Adversary

MASKS = ("published", "compensated", "wide")


@dataclass(frozen=True)
class CapeScales:
    """Noise scales of one CAPE site.

    Parameters
    ----------
    mask_sigma : float
        a, where a mask has variance (1 - 1/S) a^2; ``inf`` is the limit in which the messages
        reveal only their sum (wide masks, secure aggregation).
    noise_sigma : float
        b, the standard deviation of the noise that remains in the sum.
    """

    mask_sigma: float
    noise_sigma: float


def default_honest_sites(n_sites: int) -> int:
    """Return max(1, n_sites - 1): one site may collude with the aggregator."""
    return max(1, n_sites - 1)


def cape_scales(
    local_sigma: float, n_sites: int, *, n_honest: int | None = None, masks: str = "published"
) -> CapeScales:
    """Compute the scales of mask and noise from the noise tau of a local release.

    Parameters
    ----------
    local_sigma : float
        tau, for instance from `second_moment_sigma`; nonnegative.
    n_sites : int
        S >= 1.
    n_honest : int, optional
        H, the number of sites whose masks and noises no coalition learns, including the person's
        own site. Default: `default_honest_sites`.
    masks : {"published", "compensated", "wide"}
        "published": a = tau, b = tau / sqrt(S), which spends more than a local release.
        "compensated": the same ratio with tau increased until the largest mu is that of a local
        release. "wide": a infinite and b = tau / sqrt(min(H, S - 1)), the same mu; a
        single site has b = tau.

    Raises
    ------
    ParameterError
        If an argument is outside its range.
    """
    if not n_sites >= 1:
        raise ParameterError("n_sites", "at least 1", n_sites)
    n_honest = default_honest_sites(n_sites) if n_honest is None else n_honest
    _require_honest(n_honest, n_sites)
    if not local_sigma >= 0:
        raise ParameterError("local_sigma", "at least 0", local_sigma)
    require_one_of("masks", masks, MASKS)
    if masks == "wide":
        return CapeScales(math.inf, local_sigma / math.sqrt(max(1, min(n_honest, n_sites - 1))))
    published = CapeScales(1.0, 1 / math.sqrt(n_sites))
    tau = local_sigma
    if masks == "compensated":
        tau *= max(cape_mu(1.0, published, n_sites, n_honest).values())
    return CapeScales(tau, tau * published.noise_sigma)


def cape_mu(
    l2_sensitivity: float, scales: CapeScales, n_sites: int, n_honest: int
) -> dict[Adversary, float]:
    """Return mu of the equivalent Gaussian mechanism against each adversary.

    The largest mu determines the guarantee; l2_sensitivity / mu is the noise of the equivalent
    mechanism. A single site has no other participating site as an adversary. Proof:

    1. **Aggregator**: reads every message and knows the masks of the S - H colluding sites, hence
       the sum of the other masks. Given that sum, the noise of the H sites has covariance a^2 (I -
       1 1^T / H) + b^2 I, with eigenvalue b^2 along the all-ones direction and a^2 + b^2 orthogonal
       to it. One person changes one message, whose unit vector has squared length 1 / H along the
       all-ones direction. Therefore

           mu^2 = Delta^2 [ 1 / (H b^2) + (1 - 1/H) / (a^2 + b^2) ].

    2. **Participating site**: knows the result and its own mask and noise, so h = min(H, S - 1)
       noises are unknown. The sum of the h unknown masks is determined by the known ones, so noise
       of variance h b^2 remains:

           mu^2 = Delta^2 / (h b^2).

       For H < S, the aggregator learns at least as much, since it colludes with such a site. For H
       = S, the site may learn more.

    3. **Outsider**: knows only the result, mu^2 = Delta^2 / (S b^2).

    Parameters
    ----------
    l2_sensitivity : float
        Delta of one site's statistic for replace-one neighbours; positive.
    scales : CapeScales
    n_sites, n_honest : int
        S and H.

    Raises
    ------
    ParameterError
        If the sensitivity is not positive or `n_honest` not in [1, n_sites].
    """
    if not 0 < l2_sensitivity < math.inf:
        raise ParameterError("l2_sensitivity", "a positive finite number", l2_sensitivity)
    _require_honest(n_honest, n_sites)
    share = 1 / n_honest
    orthogonal_sigma = math.hypot(scales.mask_sigma, scales.noise_sigma)

    def mu_from_result(n_unknown: int) -> float:
        return _ratio(l2_sensitivity, math.sqrt(n_unknown) * scales.noise_sigma)

    mus = {
        Adversary.OUTSIDER: mu_from_result(n_sites),
        Adversary.AGGREGATOR: math.hypot(
            mu_from_result(n_honest),
            math.sqrt(1 - share) * _ratio(l2_sensitivity, orthogonal_sigma),
        ),
    }
    if n_sites > 1:
        mus[Adversary.SITE] = mu_from_result(min(n_honest, n_sites - 1))
    return mus


def _ratio(sensitivity: float, sigma: float) -> float:
    return sensitivity / sigma if sigma > 0 else math.inf


def _require_honest(n_honest: int, n_sites: int) -> None:
    if not 1 <= n_honest <= n_sites:
        raise ParameterError("n_honest", f"in [1, n_sites={n_sites}]", n_honest)
