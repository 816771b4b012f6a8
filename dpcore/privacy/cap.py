"""Privacy filter: a cap, fixed beforehand, on the total charge to a person.

A cap holds if every release is chosen after seeing all earlier ones. A running total does not hold
if it influences the decision to continue (Rogers, Roth, Ullman & Vadhan 2016).

Each person counts the releases that read their own row. With a bound that holds for all of them,
such as `Accountant.bound_under_cap`, the claim holds for every person at once.

References
----------
Rogers, Roth, Ullman & Vadhan (2016), "Privacy odometers and filters: pay-as-you-go composition".
Smith & Thakurta (2022), "Fully adaptive composition for Gaussian differential privacy".
Whitehouse, Ramdas, Rogers & Wu (2023), "Fully adaptive composition in differential privacy".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context

from dpcore.errors import ParameterError
from dpcore.privacy.budget import PrivacyBudget
from dpcore.privacy.charges import Bound
from dpcore.privacy.gaussian import gaussian_epsilon, gaussian_mu
from dpcore.privacy.guarantee_in_words import say_delta, say_number

# Tolerance as in `Guarantee.keeps_requested`: mu is a root, and a release that exactly fills the
# cap must be admitted.
_ROUNDING = 1 + 1e-9


class BeyondCap(Exception):
    """Error for charges that would exceed a cap; its message is one sentence for users."""


class BeyondReserve(BeyondCap):
    """Error for charges that would exceed the reserve of a cap's delta."""


@dataclass(frozen=True)
class Cap:
    """Largest total charge to a person, valid at any stopping time.

    **Claim.** Fix epsilon, delta and a reserve in [0, delta) beforehand. Let every release, its
    mechanism and its parameters be chosen after seeing all earlier ones, as long as at every step
    the sum of mu_i^2 is at most M^2, with M = gaussian_mu(epsilon, delta - reserve), and the sum of
    delta_j is at most the reserve. Or let every release be pure, and the sum of epsilon_j at most
    epsilon. Then all releases together, for any stopping rule, are (epsilon, delta)-DP. A mu_i-GDP
    release counts with mu_i, an epsilon_j-DP release with mu_j = the `pure_mu` of epsilon_j, and an
    (epsilon_j, delta_j)-DP release with that mu_j and its delta_j.

    **Proof,** for one pair of neighbours.

    1. *Gaussian.* Given the past, a mu_i-GDP release is a post-processing of one draw of N(b mu_i,
       1), where b is 0 for one neighbour and 1 for the other (Dong, Roth & Su 2022, theorem 2.10).
       Multiplied by mu_i this is N(b mu_i^2, mu_i^2), the law of the increment of W, a Brownian
       motion with drift b, over a time of length mu_i^2, independent of the past. mu_i is known
       when the increment begins, so increments begin and end at stopping times, and the whole
       interaction has the law of a post-processing of W up to time M^2. The likelihood ratio there
       depends only on W(M^2), which is N(b M^2, M^2). All releases together are M-GDP, that is
       (epsilon, delta - reserve)-DP.
    2. *Pure.* An epsilon-DP release distinguishes the neighbours at most as well as the trade-off
       function max(0, 1 - e^epsilon a, e^-epsilon (1 - a)), two lines that meet at a = 1 / (1 +
       e^epsilon) at the height a. G_mu with mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)) goes through
       that point and through both ends of the lines, and is convex. It lies below the lines, so the
       release is mu-GDP.
    3. *Approximate.* Two laws that are (epsilon_j, delta_j)-indistinguishable are mixtures of an
       epsilon_j-indistinguishable pair with weight 1 - delta_j and any other pair with weight
       delta_j (Kairouz, Oh & Viswanath 2015). The probability that any release comes from its
       second part is at most the reserve, under both neighbours. Without these cases, the
       interaction has the law of mu_j-GDP releases times the weight of its path, a function of the
       outcome in [0, 1] that is equal for both neighbours, and (epsilon, delta - reserve) holds for
       such functions as for events. Together: P(S) <= e^epsilon Q(S) + (delta - reserve) + reserve.
    4. *Only pure.* Outcomes with releases beyond M^2 are among those with only pure releases, whose
       epsilon_j add up to at most epsilon: there P <= e^epsilon Q. All others are outcomes of the
       interaction that ends before it would exceed M^2, and 1 to 3 hold for them.

    The reserve has to be fixed as well. Otherwise an analyst could spend the remaining delta on
    delta_j exactly where the Gaussian releases gave no information.

    Parameters
    ----------
    epsilon, delta : float
        Guarantee of all releases under the cap together; both positive, epsilon finite.
    reserve : float
        Part of delta, in [0, delta), for approximate releases that are not Gaussian, and for the
        distance of the drawn distribution from the ideal.

    Raises
    ------
    ParameterError
        If a value is outside its range.
    """

    epsilon: float
    delta: float
    reserve: float = 0.0

    def __post_init__(self) -> None:
        PrivacyBudget(self.epsilon, self.delta)
        if math.isinf(self.epsilon):
            raise ParameterError("epsilon", "finite for a cap", self.epsilon)
        if self.delta <= 0:
            raise ParameterError("delta", "greater than 0 for a cap", self.delta)
        if not 0 <= self.reserve < self.delta:
            raise ParameterError("reserve", f"in [0, delta={self.delta:g})", self.reserve)

    @property
    def mu(self) -> float:
        """Return the largest root of a sum of mu squared that the cap admits."""
        return gaussian_mu(PrivacyBudget(self.epsilon, self.delta - self.reserve))

    def admits(self, spent: Bound) -> bool:
        """Return whether the cap admits a total charge."""
        return self.share(spent) <= _ROUNDING and self._reserve_for(spent) <= self.reserve

    def _reserve_for(self, spent: Bound) -> float:
        return spent.delta + delta_of_distance(spent.distance, self.epsilon)

    def share(self, spent: Bound) -> float:
        """Return the used share of the cap.

        The share is in mu squared, or in epsilon while all releases are pure.
        """
        return min((spent.mu / self.mu) ** 2, spent.epsilon / self.epsilon)

    def remaining(self, spent: Bound) -> float:
        """Return the largest epsilon, at the cap's delta, of one more Gaussian release."""
        return self.epsilon_of(math.sqrt(max(0.0, self.mu**2 - spent.mu**2)))

    def remaining_pure(self, spent: Bound) -> float:
        """Return the largest epsilon of one more pure release if all are pure."""
        return max(0.0, self.epsilon - spent.epsilon)

    def epsilon_of(self, mu: float) -> float:
        """Return epsilon of a Gaussian release at the cap's delta without its reserve."""
        if mu == 0 or math.isinf(mu):
            return mu
        return gaussian_epsilon(self.delta - self.reserve, 1.0, mu)

    def require(self, before: Bound, after: Bound, new: Bound) -> None:
        """Raise an error if the cap does not admit the total after new releases.

        Parameters
        ----------
        before, after : Bound
            Totals before and after the new releases.
        new : Bound
            Total of only the new releases, for the message.

        Raises
        ------
        BeyondReserve
            If the reserve does not admit the new releases.
        BeyondCap
            If the cap does not admit the new releases.
        """
        if self.admits(after):
            return
        cap = f"the cap of ε = {say_delta(self.epsilon)} at δ = {say_delta(self.delta)}"
        if self._reserve_for(after) > self.reserve and after.distance > 0:
            raise BeyondReserve(
                f"The sampler's distance would take δ = {say_number(self._reserve_for(after))}, "
                f"and the cap keeps {say_number(self.reserve)} for that: a cap of larger δ, or "
                "smaller ε, keeps more."
            )
        if after.delta > self.reserve:
            raise BeyondReserve(
                f"This asks for δ = {say_number(new.delta)} without being Gaussian, and {cap} "
                f"keeps {say_number(self.reserve)} for that."
            )
        counted = say_number(self.epsilon_of(new.mu))
        gaussian = say_rounded_down(self.remaining(before))
        if math.isinf(new.epsilon):
            raise BeyondCap(f"This asks for ε = {counted}, and ε = {gaussian} is left of {cap}.")
        pure = self.remaining_pure(before)
        remaining = f"{gaussian} of such" if pure == 0 else say_rounded_down(pure)
        raise BeyondCap(
            f"This asks for a pure ε = {say_number(new.epsilon)}, which counts as ε = {counted} "
            f"next to Gaussian noise, and ε = {remaining} is left of {cap}."
        )


def delta_of_distance(distance: float, epsilon: float) -> float:
    """Return (1 + e^epsilon) tau, rounded up: the addition to delta by a total variation of tau.

    distance: tau.
    """
    return (1 + math.exp(min(epsilon, 700))) * distance * (1 + 1e-12)


def say_rounded_down(epsilon: float) -> str:
    """Format an epsilon with three significant digits, rounded down."""
    if epsilon == 0:
        return "0"
    # The margin keeps 1 - 0.4 = 0.59999… from becoming 0.599.
    digits = Context(prec=3, rounding=ROUND_FLOOR).create_decimal(epsilon * _ROUNDING)
    return f"{digits.normalize():f}"
