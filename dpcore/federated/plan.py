"""The plan of a federated analysis: the settings that all sites and the aggregator agree on."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from typing import Any

from dpcore.errors import ParameterError, require_one_of
from dpcore.params import check_params, redeclare
from dpcore.privacy import (
    Adversary,
    PrivacyBudget,
    delta_of_distance,
    gaussian_epsilon,
    gaussian_mu,
)
from dpcore.release.dictionary import Dictionary
from dpcore.release.dictionary_file import dictionary_from
from dpcore.release.measurement import bases_of, vote_share
from dpcore.release.normal_sampler import DISTANCE
from dpcore.release.scales import VOTE, Scales, calibrated, for_gaussian, split_budget
from dpcore.release.settings import PublicationSettings
from dpcore.spectra import PublicBasis

FORM = "dp-pca-lab/federated-plan/1"
PROTOCOLS = ("securesum", "full", "dpdis")
MOST_SITES, MOST_FEATURES = 200, 4096
# Cells along an axis of a score plot. The number of rows, which a better choice needs, is not known
# when the plan is made.
SCORE_CELLS = 16
_LONGEST = 7 * 86_400
_SIGMAS = ("sum_sigma", "moment_sigma", "vote_sigma")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]{0,31}")


@dataclass(frozen=True)
class AttemptCost:
    """Privacy cost of one attempt for the people of a site, in the form a ledger takes.

    mu: Ratio of sensitivity and noise scale against the strongest adversary.
    distance: Total variation distance of all samplers from the ideal noise.
    """

    mu: float
    distance: float


@dataclass(frozen=True)
class FederatedPlan:
    """Settings of a federated analysis. Every request carries the SHA-256 of the plan.

    name: Up to 32 letters, digits and _. Identifies the analysis in each site's ledger.
    dictionary: Public limits of the columns, the same at every site.
    sites: Names of all sites, in order.
    epsilon, delta: Guarantee of one attempt for every person, against the strongest adversary.
    n_components: K.
    intermediate_dim: R of `dpdis`; by default 2 K, at most the number of features.
    protocol: {"securesum", "full", "dpdis"}
    preparation: {"sphere", "bounded"}
    mean_share: Share of mu squared spent on the private centre and count.
    denoise: {"auto", "none"}. Shrink noisy moments in the basis of the columns: at the sites
        before a cut to R, otherwise at the aggregator. Unused for two views.
    scores_share: Share of mu squared for a score plot on the first two components; 0 for none.
    fewest: Number of sites that have to answer, at least 2; all but one by default.
    honest: Number H of sites that keep their masks and noise secret; all but one by default.
    first_view: Number of leading features in the first view of canonical correlation analysis;
        None for principal components.
    round_seconds, join_seconds: Longest wait for the messages of a round, and for sites to join.

    Raises `ParameterError` if a value is out of range.
    """

    name: str
    dictionary: Dictionary
    sites: tuple[str, ...]
    epsilon: float
    delta: float
    n_components: int
    intermediate_dim: int | None = None
    protocol: str = "securesum"
    preparation: str = redeclare(PublicationSettings, "preparation")
    mean_share: float = redeclare(PublicationSettings, "mean_share")
    denoise: str = redeclare(PublicationSettings, "denoise")
    scores_share: float = redeclare(PublicationSettings, "scores_share")
    fewest: int | None = None
    honest: int | None = None
    round_seconds: float = 60.0
    join_seconds: float = 600.0
    first_view: int | None = None

    def __post_init__(self) -> None:
        self._check_names()
        n_features, n_sites = self.dictionary.n_features, len(self.sites)
        if n_features > MOST_FEATURES:
            raise ParameterError("columns", f"at most {MOST_FEATURES} features", n_features)
        counts = {
            "n_components": (self.n_components, 1, n_features),
            "intermediate_dim": (min(2 * self.n_components, n_features), 1, n_features),
            "fewest": (max(2, n_sites - 1), 2, n_sites),
            "honest": (n_sites - 1, 1, n_sites),
        }
        for name, (usual, low, high) in counts.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, usual)
            if type(value := getattr(self, name)) is not int or not low <= value <= high:
                raise ParameterError(name, f"a whole number from {low} to {high}", value)
        if self.first_view is not None:
            self._check_views(self.first_view, n_features)
        if self.scores_share and (self.n_components < 2 or self.first_view is not None):
            raise ParameterError(
                "scores_share", "0 for one component or two views", self.scores_share
            )
        _ = self.scales  # raises if the noise cannot reach epsilon

    def _check_views(self, first: int, n_features: int) -> None:
        if type(first) is not int or not 1 <= first < n_features:
            raise ParameterError("first_view", f"a whole number from 1 to {n_features - 1}", first)
        if self.is_cut:
            raise ParameterError("protocol", "of whole matrices for two views", self.protocol)
        smaller = min(first, n_features - first)
        if self.n_components > smaller:
            raise ParameterError("n_components", f"at most {smaller} pairs", self.n_components)

    def _check_names(self) -> None:
        for name in (self.name, *self.sites):
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise ParameterError(
                    "name", "up to 32 letters, digits and _, a letter or digit first", name
                )
        if not 2 <= len(self.sites) <= MOST_SITES:
            raise ParameterError("sites", f"from 2 to {MOST_SITES}", len(self.sites))
        if len({site.lower() for site in self.sites}) < len(self.sites):
            raise ParameterError("sites", "all of different names", list(self.sites))
        require_one_of("protocol", self.protocol, PROTOCOLS)
        check_params(self)
        for name in ("round_seconds", "join_seconds"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 < value <= _LONGEST:
                raise ParameterError(name, "above 0 and at most a week of seconds", value)

    @property
    def n_features(self) -> int:
        return self.dictionary.n_features

    @property
    def on_sphere(self) -> bool:
        """Return whether rows are scaled to length 1 around the private centre."""
        return self.preparation == "sphere"

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 of the plan's JSON text."""
        return sha256(self.json().encode()).hexdigest()

    def charge_name(self, attempt: int) -> str:
        """Return the ledger name of an attempt, which no release can have."""
        return f"{self.name}-{attempt}-{self.digest[:12]}"

    @property
    def is_masked(self) -> bool:
        """Return whether only the sum of all messages of a round is readable."""
        return self.protocol == "securesum"

    @property
    def is_cut(self) -> bool:
        """Return whether sites send R directions, each times the root of its eigenvalue."""
        return self.protocol == "dpdis"

    @property
    def bases(self) -> tuple[PublicBasis, ...]:
        """Return the public bases in which noisy moments may be denoised."""
        if self.first_view is not None:
            return ()
        dictionary = self.dictionary
        return bases_of(
            self.denoise, self.n_features, self.n_components, dictionary.image, dictionary.picture
        )

    def unknown_noises(self, adversary: Adversary) -> int:
        """Return the smallest number of sites' noises that an adversary cannot subtract."""
        if not self.is_masked:
            return 1
        fewest, honest = int(self.fewest or 0), int(self.honest or 0)
        # The sites that drop out may be honest ones.
        counted_on = max(1, honest - (len(self.sites) - fewest))
        return {
            Adversary.OUTSIDER: fewest,
            Adversary.AGGREGATOR: counted_on,
            Adversary.SITE: min(counted_on, fewest - 1),
        }[adversary]

    @cached_property
    def scales(self) -> Scales:
        """Return the integer noise scales of one site.

        The noises that the strongest adversary cannot subtract together reach epsilon.
        """
        budget = self._budget
        if self.scores_share:
            budget, _ = split_budget(budget, self.scores_share)
        pooled = calibrated(
            self.dictionary,
            epsilon=budget.epsilon,
            delta=budget.delta,
            mean_share=self.mean_share,
            vote_share=self._vote_share,
        )
        fewest = self._fewest_noises
        sigmas: dict[str, Any] = {
            name: _root_above(Fraction(getattr(pooled, name) ** 2, fewest))
            for name in _SIGMAS
            if getattr(pooled, name)
        }
        return replace(pooled, **sigmas)

    @cached_property
    def score_sigma(self) -> int:
        """Return the noise of one site in a cell of the score plot, in units of 1 / VOTE.

        The scale is 0 without a plot. In units of rows it would be too small for the sum of rounded
        noises to be as private as rounded noise of the sum (`docs/federated.md`).
        """
        if not self.scores_share:
            return 0
        _, budget = split_budget(self._budget, self.scores_share)
        pooled = math.floor(self._change_of_scores / gaussian_mu(for_gaussian(budget))) + 1
        return _root_above(Fraction(pooled**2, self._fewest_noises))

    @property
    def _change_of_scores(self) -> float:
        return math.sqrt(2) * self.dictionary.at_most * VOTE

    @property
    def _budget(self) -> PrivacyBudget:
        # `calibrated` subtracts the distance of one site's sampler from delta.
        return PrivacyBudget(self.epsilon, self.delta - self._delta_of_others)

    @property
    def _fewest_noises(self) -> int:
        return min(self.unknown_noises(adversary) for adversary in Adversary)

    @property
    def _vote_share(self) -> float:
        if self.first_view is not None:
            return 0.0
        image = self.dictionary.image
        return vote_share(self.n_features, self.n_components, image, on_sphere=self.on_sphere)

    @property
    def has_votes(self) -> bool:
        """Return whether pairs of rows at the sites may vote on the centre."""
        return self.scales.vote_sigma > 0

    @property
    def _delta_of_others(self) -> float:
        """Return the part of delta for the samplers of all other sites, and of score plots."""
        n_features = self.n_features
        n_votes = 4 if self._vote_share else 0
        of_one_sampler = (n_features + 1 + n_votes + n_features * (n_features + 1) // 2) * DISTANCE
        others = (
            self._n_samplers - 1
        ) * of_one_sampler + self._n_samplers * self._distance_of_scores
        return delta_of_distance(others, self.epsilon)

    @property
    def _distance_of_scores(self) -> float:
        return SCORE_CELLS**2 * DISTANCE if self.scores_share else 0.0

    @property
    def _n_samplers(self) -> int:
        return len(self.sites) if self.is_masked else 1

    def scales_against(self, adversary: Adversary) -> Scales:
        """Return the scales of the noise that an adversary cannot subtract from a message."""
        return self.scales_of_sum(self.unknown_noises(adversary))

    def scales_of_sum(self, n_noises: int) -> Scales:
        """Return the scales of a sum of the noises of a number of sites, rounded down."""
        scales = self.scales
        sums: dict[str, Any] = {
            name: math.isqrt(getattr(scales, name) ** 2 * n_noises) for name in _SIGMAS
        }
        return replace(scales, **sums)

    @property
    def distance(self) -> float:
        """Return the total variation distance of all samplers of a sum from the ideal noise."""
        return self._n_samplers * (self.scales.distance + self._distance_of_scores)

    def epsilon_against(self, adversary: Adversary) -> float:
        """Return the exact epsilon of one attempt at the plan's delta, sampling errors included."""
        return self._epsilon(self.mu_against(adversary))

    @property
    def epsilon_unmasked(self) -> float:
        """Return the exact epsilon against an aggregator that replaced the sites' public keys."""
        return self._epsilon(self._mu_of(self.scales, 1))

    def mu_against(self, adversary: Adversary) -> float:
        """Return mu of one attempt, score plot included."""
        unknown = self.unknown_noises(adversary)
        return self._mu_of(self.scales_of_sum(unknown), unknown)

    @property
    def worst_mu(self) -> float:
        """Return mu against the strongest adversary, which a ledger is charged for."""
        return self.mu_against(min(Adversary, key=self.unknown_noises))

    def _mu_of(self, scales: Scales, n_noises: int) -> float:
        if not self.scores_share:
            return scales.mu
        sigma = math.isqrt(self.score_sigma**2 * n_noises)
        mu = math.hypot(scales.mu, self._change_of_scores / sigma)
        return math.nextafter(mu, math.inf) * (1 + 2.0**-50)

    def _epsilon(self, mu: float) -> float:
        delta = self.delta - delta_of_distance(self.distance, self.epsilon)
        return gaussian_epsilon(delta, 1.0, mu) if delta > 0 else math.inf

    def json(self) -> str:
        """Return the text of a file that `plan_from` reads as this plan."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        content = values | {"form": FORM, "dictionary": self.dictionary.as_dict()}
        return json.dumps(content, indent=1, ensure_ascii=False)


def plan_from(text: str | bytes) -> FederatedPlan:
    """Return the plan in the text of a file.

    Raises `ParameterError` if the text is not a plan of this form or a value is out of range.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParameterError("plan", "a JSON file", "text that is not JSON") from error
    if not isinstance(content, Mapping) or content.get("form") != FORM:
        raise ParameterError("plan", f"of the form {FORM}", "another")
    names = {field.name for field in fields(FederatedPlan)}
    values: dict[str, Any] = {key: content[key] for key in content if key != "form"}
    if unknown := sorted(values.keys() ^ names):
        raise ParameterError("plan", f"made of {', '.join(sorted(names))}", unknown[0])
    return FederatedPlan(
        **values
        | {"dictionary": dictionary_from(values["dictionary"]), "sites": tuple(values["sites"])}
    )


def nodes_from(text: str, sites: Collection[str]) -> dict[str, int]:
    """Return the node identifiers in a text of the form "site=number,site=number".

    Raises `ParameterError` if a pair has another form or names none of the sites.
    """
    nodes = {}
    for pair in filter(None, text.split(",")):
        site, _, number = (part.strip() for part in pair.partition("="))
        if site not in sites or not number.isdecimal():
            raise ParameterError("nodes", f"SITE=NUMBER, with a site of {', '.join(sites)}", pair)
        nodes[site] = int(number)
    return nodes


def _root_above(squared: Fraction) -> int:
    """Return the smallest integer that is at least the square root."""
    return math.isqrt(math.ceil(squared) - 1) + 1
