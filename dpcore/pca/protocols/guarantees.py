"""What each protocol promises, worked out from the noise that was really added, and to whom.

Against whom it holds is said here and nowhere else. A person's own site holds her row and is
nobody's adversary in this; "a site" is another one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import noise_scales, site_sensitivity
from dpcore.privacy import (
    Adversary,
    Against,
    Assumption,
    Guarantee,
    PrivacyBudget,
    gaussian_epsilon,
)

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

    Parameters
    ----------
    noise_added_by : str
        In words that fit after "Noise is added by".
    assumptions : tuple of Assumption
    sees : mapping of Adversary to str
        What each adversary there is sees, in words that fit after "sees".
    trusted : frozenset of Adversary
        Those to whom nothing is promised, nor meant to be.
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


def promised_by_sites(settings: ReleaseSettings, n_samples: Sequence[int]) -> Guarantee:
    """Every site of so many people releases its own noisy second moment."""
    return second_moment_guarantee(settings, n_samples, EVERY_SITE)


def promised_by_first_site(settings: ReleaseSettings, n_samples: Sequence[int]) -> Guarantee:
    """The first site alone; nobody else's people are read."""
    return second_moment_guarantee(settings, n_samples[:1], FIRST_SITE)


def promised_by_holder(settings: ReleaseSettings, n_samples: Sequence[int]) -> Guarantee:
    """Somebody who holds the rows of all sites adds noise once."""
    return second_moment_guarantee(settings, [int(sum(n_samples))], HOLDER)


def second_moment_guarantee(
    settings: ReleaseSettings, n_samples: Sequence[int], trust: Trust
) -> Guarantee:
    """Guarantee of a noisy second moment, for the person at the site that protects least.

    Sensitivity and noise both go with 1 / n_s, so all sites promise the same; sigma and
    sensitivity are those of the smallest. The private mean, where there is one, is included
    (`dpcore.pca.site.noise_scales`).
    """
    smallest = int(min(n_samples))
    return gaussian_guarantee(
        settings.budget,
        trust,
        l2_sensitivity=site_sensitivity(smallest, settings),
        sigma=noise_scales(smallest, settings).moment,
        is_calibrated=settings.calibration != "published",
    )


def gaussian_guarantee(
    budget: PrivacyBudget,
    trust: Trust,
    *,
    l2_sensitivity: float,
    sigma: float | Mapping[Adversary, float],
    is_calibrated: bool,
) -> Guarantee:
    """What Gaussian noise promises against each adversary, by its exact profile.

    Parameters
    ----------
    budget : PrivacyBudget
        What was asked.
    trust : Trust
    l2_sensitivity : float
    sigma : float or mapping of Adversary to float
        The noise that hides one person's change; a mapping where adversaries know different
        parts of it, without those that are not there.
    is_calibrated : bool
        Whether the noise was solved for the budget. The solver rounds towards privacy; what
        comes out above the asked value is its tolerance.
    """

    def epsilon_at(noise: float) -> float:
        epsilon = gaussian_epsilon(budget.delta, float(noise), float(l2_sensitivity))
        return min(epsilon, budget.epsilon) if is_calibrated else epsilon

    by_adversary = sigma if isinstance(sigma, Mapping) else dict.fromkeys(trust.sees, sigma)
    weakest = float(min(by_adversary.values()))
    return Guarantee(
        asked=budget,
        epsilon=epsilon_at(weakest),
        delta=budget.delta,
        mechanism="gaussian" if weakest > 0 else "none",
        noise_added_by=trust.noise_added_by,
        l2_sensitivity=float(l2_sensitivity),
        sigma=weakest,
        assumptions=trust.assumptions,
        against=trust.against({who: epsilon_at(each) for who, each in by_adversary.items()}),
    )


def no_guarantee() -> Guarantee:
    """Exact PCA: nothing is promised."""
    return Guarantee(None, math.inf, 0.0, "none", "nobody")


def data_independent_guarantee() -> Guarantee:
    """A release that never looked at the data."""
    return Guarantee(None, 0.0, 0.0, "data-independent", "nobody: the data are not used")
