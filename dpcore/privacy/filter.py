"""A cap fixed beforehand, which refuses what would exceed it: a privacy filter.

A running total is what a plan of exactly these releases, fixed beforehand, would have cost. It
promises nothing to somebody who looks at it, or at the releases, while deciding whether to go on
(Rogers, Roth, Ullman & Vadhan 2016). A cap does.

**Claim.** Fix epsilon, delta and a reserve in [0, delta) beforehand. Let every release, its
mechanism and its parameters be chosen after seeing all earlier ones, as long as at every step
the sum of mu_i^2 is at most M^2, with M = gaussian_mu(epsilon, delta - reserve), and the sum of
delta_j is at most the reserve. Or let every release be pure, and the
sum of epsilon_j at most epsilon. Then everything released together, whenever one stops, is
(epsilon, delta)-DP. mu_i is that of a mu_i-GDP release; an epsilon_j-DP release has mu_j =
`pure_mu`(epsilon_j), and an (epsilon_j, delta_j) one has that mu_j and its delta_j.

**Proof,** for one pair of neighbours.

1. *Gaussian.* Given the past, a mu_i-GDP release is a post-processing of one draw of N(b mu_i, 1),
   b = 0 or 1 telling the neighbours apart (Dong, Roth & Su 2022, theorem 2.10), or, times mu_i, of
   N(b mu_i^2, mu_i^2). That is the law of the increment of W, a Brownian motion with drift b, over
   a time of length mu_i^2, and independent of the past. mu_i is known when the increment begins,
   so the times at which increments begin and end are stopping times and the whole interaction has
   the law of a post-processing of W up to time M^2. There the likelihood ratio depends on W(M^2)
   alone, which is N(b M^2, M^2): everything together is M-GDP, that is (epsilon, delta - reserve).
2. *Pure.* An epsilon-DP release tells the neighbours apart no better than its trade-off function
   max(0, 1 - e^epsilon a, e^-epsilon (1 - a)), two lines that meet at a = 1 / (1 + e^epsilon) at
   the height a. G_mu with mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)) goes through that point and
   through both ends of the lines, and is convex: it lies below. So the release is mu-GDP.
3. *Approximate.* Two laws that are (epsilon_j, delta_j)-indistinguishable are mixtures with equal
   weights 1 - delta_j of an epsilon_j-indistinguishable pair, and delta_j of any other (Kairouz,
   Oh & Viswanath 2015). The chance that any release comes from its second part is at most the
   reserve, under both neighbours. Restricted to no such case, the interaction has the law of one
   of mu_j-GDP releases times the weight of its path, a function of the outcome in [0, 1] that is
   equal for both neighbours, and (epsilon, delta - reserve) holds for such functions as for
   events. Together: P(S) <= e^epsilon Q(S) + (delta - reserve) + reserve.

4. *Nothing but pure.* Outcomes with releases beyond M^2 are among those with pure releases alone,
   whose epsilon_j add up to epsilon at most: there P <= e^epsilon Q. All others are outcomes of
   the interaction that ends before it would exceed M^2, too, and 1 to 3 hold for them.

The reserve has to be fixed as well: if what Gaussians left of delta could be spent on delta_j as
it suits, somebody would do so just where the Gaussians had told them nothing.

Each person counts the releases that read their own row. At a bound that holds for all of them,
as `Ledger.bound_by_person` is, the claim holds for every person at once.

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
from dpcore.privacy.card import say_delta, say_number
from dpcore.privacy.gaussian import gaussian_epsilon, gaussian_mu
from dpcore.privacy.ledger import Bound

# As in `Guarantee.keeps_asked`: mu is a root, and what was asked to fill the cap shall fit.
_ROUNDING = 1 + 1e-9


class BeyondCap(Exception):
    """What was asked for would exceed a cap; the message is one sentence for whoever asked."""


@dataclass(frozen=True)
class Cap:
    """The most that may be spent on a person, whenever one stops.

    Parameters
    ----------
    epsilon, delta : float
        What holds of everything released under the cap; both positive, epsilon finite.
    reserve : float
        In [0, delta): the part of delta for releases that are approximate without being Gaussian.

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
        """The largest root of a sum of mu squared that the cap admits."""
        return gaussian_mu(PrivacyBudget(self.epsilon, self.delta - self.reserve))

    def admits(self, spent: Bound) -> bool:
        """Whether all of this may have been spent."""
        return self.share(spent) <= _ROUNDING and spent.delta <= self.reserve

    def share(self, spent: Bound) -> float:
        """What part of the cap is spent: in mu squared, or in epsilon while all is pure."""
        return min((spent.mu / self.mu) ** 2, spent.epsilon / self.epsilon)

    def left(self, spent: Bound) -> float:
        """The largest epsilon, at the cap's delta, that one more Gaussian release may have."""
        return self.epsilon_of(math.sqrt(max(0.0, self.mu**2 - spent.mu**2)))

    def left_pure(self, spent: Bound) -> float:
        """The largest epsilon that one more pure release may have as long as all are pure."""
        return max(0.0, self.epsilon - spent.epsilon)

    def epsilon_of(self, mu: float) -> float:
        """Epsilon of a Gaussian release, at the cap's delta without its reserve."""
        if mu == 0 or math.isinf(mu):
            return mu
        return gaussian_epsilon(self.delta - self.reserve, 1.0, mu)

    def require(self, before: Bound, after: Bound, asked: Bound) -> None:
        """Refuse to go from what was spent before to what would be spent after.

        Parameters
        ----------
        before, after : Bound
        asked : Bound
            Of the new releases alone, for the sentence.

        Raises
        ------
        BeyondCap
            If the cap does not admit it.
        """
        if self.admits(after):
            return
        cap = f"the cap of ε = {say_delta(self.epsilon)} at δ = {say_delta(self.delta)}"
        if after.delta > self.reserve:
            raise BeyondCap(
                f"This asks for δ = {say_number(asked.delta)} without being Gaussian, and {cap} "
                f"keeps {say_number(self.reserve)} for that."
            )
        counted = say_number(self.epsilon_of(asked.mu))
        if math.isinf(asked.epsilon):
            raise BeyondCap(
                f"This asks for ε = {counted}, and ε = {spoken_down(self.left(before))} is left of "
                f"{cap}."
            )
        pure = self.left_pure(before)
        left = f"{spoken_down(self.left(before))} of such" if pure == 0 else spoken_down(pure)
        raise BeyondCap(
            f"This asks for a pure ε = {say_number(asked.epsilon)}, which counts as ε = {counted} "
            f"beside Gaussian noise, and ε = {left} is left of {cap}."
        )


def spoken_down(epsilon: float) -> str:
    """What is left, in three significant digits, never more than it is."""
    if epsilon == 0:
        return "0"
    # The margin keeps 1 - 0.4 = 0.59999… from becoming 0.599.
    digits = Context(prec=3, rounding=ROUND_FLOOR).create_decimal(epsilon * _ROUNDING)
    return f"{digits.normalize():f}"
