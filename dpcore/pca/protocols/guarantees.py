"""What each protocol promises, worked out from the noise that was really added, and to whom.

Against whom it holds is said here and nowhere else. A person's own site holds her row and is
nobody's adversary in this; "a site" is another one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import NoiseScales
from dpcore.privacy import (
    Adversary,
    Against,
    Assumption,
    Guarantee,
    PrivacyBudget,
    gaussian_epsilon,
)

# What a protocol promises: settings, people at each site, features; no row is read.
Promise = Callable[[ReleaseSettings, Sequence[int], int], Guarantee]

_EVERYWHERE = (
    Assumption.ONE_ROW_A_PERSON,
    Assumption.ROW_OF_ONE_PERSON,
    Assumption.PUBLIC_BOUND,
    Assumption.PUBLIC_COUNTS,
    Assumption.SECRET_SEED,
    Assumption.FLOAT_ARITHMETIC,
)
AT_ONE_SITE = (*_EVERYWHERE, Assumption.HONEST_SITES)
AT_SITES = (*AT_ONE_SITE, Assumption.DISJOINT_SITES)
UNDER_MASKS = (*AT_SITES, Assumption.ENOUGH_HONEST_SITES, Assumption.JOINT_MASKS)
AT_AGGREGATOR = (*_EVERYWHERE, Assumption.TRUSTED_HOLDER)


@dataclass(frozen=True)
class Trust:
    """Who adds the noise in a setting, and who is trusted with what.

    noise_added_by: In words that fit after "Noise is added by".
    sees: What each adversary there is sees, in words that fit after "sees".
    trusted: Those to whom nothing is promised, nor meant to be.
    """

    noise_added_by: str
    assumptions: tuple[Assumption, ...]
    sees: Mapping[Adversary, str]
    trusted: frozenset[Adversary] = frozenset()

    def against(self, epsilons: Mapping[Adversary, float]) -> tuple[Against, ...]:
        """An entry for each adversary that has an epsilon, or is trusted."""
        return tuple(
            Against(who, sees, math.inf, is_trusted=True)
            if who in self.trusted
            else Against(who, sees, epsilons[who])
            for who, sees in self.sees.items()
            if who in self.trusted or who in epsilons
        )


_RESULT = "the result"
# A message is protected by its own site's noise, so no coalition of others sees more than this.
EVERY_SITE = Trust(
    "every site, to its own second moment, before anything is sent",
    AT_SITES,
    {
        Adversary.AGGREGATOR: "every site's message, alone or with other sites",
        Adversary.SITE: "the result, what comes back to the sites, and its own rows and noise, "
        "alone or with other sites",
        Adversary.OUTSIDER: _RESULT,
    },
)
FIRST_SITE = Trust(
    "the first site, which uses nobody else's data",
    AT_ONE_SITE,
    {
        Adversary.SITE: "the result, which is all that leaves the first site",
        Adversary.OUTSIDER: _RESULT,
    },
)
HOLDER = Trust(
    "the aggregator, once, after pooling everybody's raw rows",
    AT_AGGREGATOR,
    {
        Adversary.AGGREGATOR: "everybody's raw rows",
        Adversary.SITE: "the result and its own rows, alone or with other sites",
        Adversary.OUTSIDER: _RESULT,
    },
    trusted=frozenset({Adversary.AGGREGATOR}),
)
MASKED_SITES = Trust(
    "every site, part of it in masks that cancel between the sites",
    UNDER_MASKS,
    {
        Adversary.AGGREGATOR: "every site's message, and the masks and noise of all sites but "
        "those counted on",
        Adversary.SITE: "the result, its own rows, masks and noise, and those of all sites but "
        "the ones counted on",
        Adversary.OUTSIDER: _RESULT,
    },
)


def noise_guarantee(
    settings: ReleaseSettings, trust: Trust, noise: Sequence[NoiseScales]
) -> Guarantee:
    """Guarantee of noisy second moments, for the person at the site that protects least.

    Sensitivity and noise both go with 1 / n_s, so all sites promise the same; sigma and
    sensitivity are those of the smallest. The private mean, where there is one, is included
    (`dpcore.pca.site.noise_scales`).
    """
    weakest = max(noise, key=lambda scales: scales.l2_sensitivity)
    return gaussian_guarantee(
        settings.budget,
        trust,
        l2_sensitivity=weakest.l2_sensitivity,
        sigma=weakest.moment,
        mu=weakest.mu,
        is_calibrated=settings.calibration != "published",
    )


def gaussian_guarantee(
    budget: PrivacyBudget,
    trust: Trust,
    *,
    l2_sensitivity: float,
    sigma: float,
    is_calibrated: bool,
    mu: Mapping[Adversary, float] | None = None,
) -> Guarantee:
    """What Gaussian noise promises against each adversary, by its exact profile.

    budget: What was asked.
    sigma: Of the noise that was, or will be, drawn.
    is_calibrated: Whether the noise was solved for the budget. The solver rounds towards privacy;
        what comes out above the asked value is its tolerance.
    mu: Where sigma is not what hides a person's change: of the Gaussian mechanism that the release
        is to each adversary who is there. l2_sensitivity / sigma to everybody by default.
    """

    def epsilon_at(noise: float) -> float:
        epsilon = gaussian_epsilon(budget.delta, noise, l2_sensitivity)
        return min(epsilon, budget.epsilon) if is_calibrated else epsilon

    hidden_by = dict.fromkeys(trust.sees, float(sigma))
    if mu is not None:
        hidden_by = {who: l2_sensitivity / each for who, each in mu.items()}
    weakest = min(hidden_by.values())
    return Guarantee(
        asked=budget,
        epsilon=epsilon_at(weakest),
        delta=budget.delta,
        mechanism="gaussian" if weakest > 0 else "none",
        noise_added_by=trust.noise_added_by,
        l2_sensitivity=float(l2_sensitivity),
        sigma=float(sigma),
        mu=l2_sensitivity / weakest if weakest > 0 else math.inf,
        assumptions=trust.assumptions,
        against=trust.against({who: epsilon_at(each) for who, each in hidden_by.items()}),
    )


def no_guarantee(*_: object) -> Guarantee:
    """Exact PCA: nothing is promised, whatever is asked."""
    return Guarantee(None, math.inf, 0.0, "none", "nobody")


def data_independent_guarantee(*_: object) -> Guarantee:
    """A release that never looked at the data, whatever is asked."""
    return Guarantee(None, 0.0, 0.0, "data-independent", "nobody: the data are not used")
