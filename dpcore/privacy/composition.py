"""Composition of guarantees that are fixed beforehand.

Gaussian releases compose exactly: their mu^2 add up. Others are composed by the privacy loss
distributions of Google's `dp-accounting`, rounded upwards.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest

from dpcore.errors import ParameterError
from dpcore.privacy.gaussian import composed_mu, gaussian_epsilon
from dpcore.privacy.interpretation import odds_factor

# Buckets of the discretised privacy loss, over its whole range: losses are rounded up by at most
# a hundred-thousandth of it each, which costs well under 1 % of epsilon for a hundred releases.
_PLD_BUCKETS = 100_000


@dataclass(frozen=True)
class Composition:
    """Composed guarantees: mu of all Gaussian releases, and (epsilon, delta) of all others."""

    mu: float = 0.0
    others: tuple[tuple[float, float], ...] = ()

    @property
    def is_mixed(self) -> bool:
        """Return whether `epsilon` needs a numerical convolution.

        Only Gaussian releases, or one other release, do not need it.
        """
        return len(self.others) > (self.mu == 0)

    def and_then(self, other: Composition) -> Composition:
        """Return the composition of both for the same people."""
        others = sorted(self.others + other.others, reverse=True)
        return Composition(composed_mu(self.mu, other.mu), tuple(others))

    def or_else(self, other: Composition) -> Composition:
        """Return an upper bound on both for disjoint people, exact if one dominates."""
        pairs = zip_longest(self.others, other.others, fillvalue=(0.0, 0.0))
        others = ((max(a[0], b[0]), max(a[1], b[1])) for a, b in pairs)
        return Composition(max(self.mu, other.mu), tuple(others))

    def epsilon(self, delta: float) -> float:
        """Return the smallest epsilon known to hold for the composition at this delta."""
        if not 0 <= delta < 1:
            raise ParameterError("delta", "in [0, 1)", delta)
        if math.isinf(self.mu) or any(math.isinf(epsilon) for epsilon, _ in self.others):
            return math.inf
        gaussian = gaussian_epsilon(delta, 1.0, self.mu) if self.mu > 0 else 0.0
        if not self.others:
            return gaussian
        if self.mu == 0 and len(self.others) == 1:
            return _epsilon_of_one(*self.others[0], delta)
        return min(self.basic_bound(delta), _epsilon_by_pld(self.mu, self.others, delta))

    def basic_bound(self, delta: float) -> float:
        """Return a fast bound by basic composition; the Gaussian part gets the remaining delta.

        The value is never below `epsilon`, and equal to it if all releases are Gaussian.
        """
        rest = delta - math.fsum(part for _, part in self.others)
        if rest < 0:
            return math.inf
        gaussian = gaussian_epsilon(rest, 1.0, self.mu) if self.mu > 0 else 0.0
        return gaussian + math.fsum(epsilon for epsilon, _ in self.others)


def _epsilon_of_one(epsilon: float, own_delta: float, delta: float) -> float:
    """Return the smallest x such that every (epsilon, own_delta)-DP release is (x, delta)-DP.

    The worst such release is (x, d)-DP for d = own_delta + (1 - own_delta) (e^epsilon - e^x) / (1 +
    e^epsilon) and no smaller d (Kairouz, Oh & Viswanath 2015).
    """
    if delta < own_delta:
        return math.inf
    excess = (delta - own_delta) / (1 - own_delta)
    # e^x / e^epsilon, which does not overflow.
    ratio = 1 - excess * (1 + 1 / odds_factor(epsilon))
    return max(0.0, epsilon + math.log(ratio)) if ratio > 0 else 0.0


@lru_cache(maxsize=256)
def _epsilon_by_pld(mu: float, others: tuple[tuple[float, float], ...], delta: float) -> float:
    # Takes a second to import, and only mixed ledgers need it.
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    losses = math.fsum(epsilon for epsilon, _ in others) + mu * (mu / 2 + 10)
    interval = (losses or 1.0) / _PLD_BUCKETS
    parts = [
        pld.from_privacy_parameters(
            common.DifferentialPrivacyParameters(*part), value_discretization_interval=interval
        ).self_compose(count)
        for part, count in Counter(others).items()
    ]
    if mu > 0:
        parts.append(pld.from_gaussian_mechanism(1 / mu, value_discretization_interval=interval))
    total = parts[0]
    for part in parts[1:]:
        total = total.compose(part)
    return float(total.get_epsilon_for_delta(delta))
