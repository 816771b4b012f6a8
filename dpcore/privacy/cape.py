"""CAPE: zero-sum masks at the sites, and what they promise against whom.

Site s sends A_s + e_s + g_s. The masks e_s sum to zero over all S sites with
var(e_s) = (1 - 1/S) a^2; the private parts g_s are independent with variance b^2. The average of
the messages carries b^2 / S alone. CAPE is Imtiaz & Sarwate's successor of DPdisPCA (capePCA).

H sites keep their masks and noises to themselves, the attacked person's among them; an adversary
is in league with the other S - H, and two of them see different things. With h noises unknown to
it, and Delta the same at every site (1/N-weighted sums have it whatever the sites' sizes):

The aggregator reads every message. It knows the masks of its S - H friends, hence the sum of the
others'. Given that sum, the noise of the H has covariance a^2 (I - 1 1^T / H) + b^2 I: eigenvalue
b^2 along the all-ones direction, a^2 + b^2 across it. One person moves one message, whose unit
vector has a share 1 / H along all-ones, so

    mu^2 = Delta^2 [ 1 / (H b^2) + (1 - 1/H) / (a^2 + b^2) ].

A participating site reads the result. It is a coalition even when alone, for it knows its own
noise: h = min(H, S - 1). From the sum it takes off what it knows, the masks included, whose sum
over the h others is minus its friends'; what is left is noise of variance h b^2, so

    mu^2 = Delta^2 / (h b^2).

With H below S the aggregator, who has such a site for a friend, learns at least as much. With
H = S the site may learn more. An outsider has the result alone: Delta^2 / (S b^2).
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
        a, where a mask has variance (1 - 1/S) a^2; ``inf`` stands for the limit in which the
        messages reveal their sum and nothing else (wide masks, secure aggregation).
    noise_sigma : float
        b, the standard deviation of the part that stays in the sum.
    """

    mask_sigma: float
    noise_sigma: float


def default_honest_sites(n_sites: int) -> int:
    """max(1, n_sites - 1): one site may be in league with whoever reads the messages."""
    return max(1, n_sites - 1)


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
        H, sites whose masks and noises no coalition learns, the person's own included;
        `default_honest_sites` unless told otherwise.
    masks : {"published", "compensated", "wide"}
        "published": a = tau, b = tau / sqrt(S), which spends more than a local release.
        "compensated": the same shape with tau grown until the worst adversary's mu is that of a
        local release. "wide": a infinite and b = tau / sqrt(min(H, S - 1)), the same mu; a
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
    """mu of the Gaussian mechanism that CAPE amounts to, against each adversary there is.

    The largest is what is promised; l2_sensitivity / mu is the noise of that mechanism. Among
    one site there is no other that takes part.

    Parameters
    ----------
    l2_sensitivity : float
        Delta of one site's statistic, under replace-one; positive.
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
    across = math.hypot(scales.mask_sigma, scales.noise_sigma)

    def from_the_result(n_unknown: int) -> float:
        return _ratio(l2_sensitivity, math.sqrt(n_unknown) * scales.noise_sigma)

    found = {
        Adversary.OUTSIDER: from_the_result(n_sites),
        Adversary.AGGREGATOR: math.hypot(
            from_the_result(n_honest), math.sqrt(1 - share) * _ratio(l2_sensitivity, across)
        ),
    }
    if n_sites > 1:
        found[Adversary.SITE] = from_the_result(min(n_honest, n_sites - 1))
    return found


def _ratio(sensitivity: float, sigma: float) -> float:
    return sensitivity / sigma if sigma > 0 else math.inf


def _require_honest(n_honest: int, n_sites: int) -> None:
    if not 1 <= n_honest <= n_sites:
        raise ParameterError("n_honest", f"in [1, n_sites={n_sites}]", n_honest)
