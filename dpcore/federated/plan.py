"""What a study is: everything that all sites and the hub agree on before a row is read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from typing import Any

from dpcore.errors import ParameterError, require_one_of
from dpcore.params import again, check_params
from dpcore.privacy import Adversary, delta_of_distance, gaussian_epsilon
from dpcore.release.dictionary import Dictionary, dictionary_from
from dpcore.release.measurement import bases_of
from dpcore.release.normal_sampler import DISTANCE
from dpcore.release.scales import Scales, calibrated
from dpcore.release.settings import PublicationSettings
from dpcore.spectra import PublicBasis

FORM = "dp-pca-lab/study/1"
PROTOCOLS = ("securesum", "cape", "full", "dpdis", "sequential")
# Of these messages the sum alone is of use: every one of the roster has to be there.
MASKED = ("securesum", "cape")
# What is sent of the moment are R directions, each times the root of its eigenvalue.
CUT = ("dpdis", "sequential")
MOST_SITES, MOST_FEATURES = 200, 4096
_LONGEST = 7 * 86_400
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]{0,31}")


@dataclass(frozen=True)
class AttemptCost:
    """What an attempt costs a site's people, as a ledger counts it."""

    mu: float
    distance: float


@dataclass(frozen=True)
class StudyPlan:
    """A study, as every party holds it; its digest is in every request.

    name: Up to 32 letters, digits and _.
    dictionary: What is public about the columns, the same at every site.
    sites: Names of all sites, in order.
    epsilon, delta: Promised to every person, against everybody who is not trusted.
    n_components: K.
    intermediate_dim: R of messages that are cut, at least K in a chain; 2 K unless told otherwise,
        at most the number of features.
    protocol: {"securesum", "cape", "full", "dpdis", "sequential"}
    preparation: {"sphere", "bounded"}
    mean_share: Part of mu squared for the private centre and count.
    denoise: {"auto", "none"}. Take likely noise out of noisy moments, in the basis of the columns:
        each site before it cuts its own, the hub where it holds a whole sum; not for two views.
    fewest: How many sites have to answer, at least 2; all but one unless told otherwise.
    honest: H of masked messages: so many sites keep their masks and noise to themselves; all but
        one unless told otherwise.
    first_view: For canonical correlations: so many of the features, the first, are one view and the
        others the second. None for principal components.
    round_seconds, join_seconds: How long the hub waits for a message, and for sites to join.
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
    preparation: str = again(PublicationSettings, "preparation")
    mean_share: float = again(PublicationSettings, "mean_share")
    denoise: str = again(PublicationSettings, "denoise")
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
        if self.is_chain and int(self.intermediate_dim or 0) < self.n_components:
            raise ParameterError(
                "intermediate_dim", f"at least n_components={self.n_components} in a chain",
                self.intermediate_dim,
            )  # fmt: skip
        if self.first_view is not None:
            self._check_views(self.first_view, n_features)
        _ = self.scales  # a budget that cannot be kept is refused here

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
        """Whether rows get one length around the private centre."""
        return self.preparation == "sphere"

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the plan: two parties with one digest hold the same plan."""
        return sha256(self.json().encode()).hexdigest()

    def charge(self, attempt: int) -> str:
        """What a site's ledger calls an attempt: a name that no release has, whose charge would
        be taken for this one's."""
        return f"{self.name}-{attempt}-{self.digest[:12]}"

    def unknown(self, adversary: Adversary) -> int:
        """How many sites' noises hide a person's message from an adversary, at the fewest."""
        if not self.is_masked:
            return 1
        fewest = int(self.fewest or 0)
        return {
            Adversary.OUTSIDER: fewest,
            Adversary.AGGREGATOR: self._counted_on,
            Adversary.SITE: min(self._counted_on, fewest - 1),
        }[adversary]

    @property
    def is_masked(self) -> bool:
        return self.protocol in MASKED

    @property
    def is_cut(self) -> bool:
        return self.protocol in CUT

    @property
    def bases(self) -> tuple[PublicBasis, ...]:
        """In which noisy moments are denoised, by the sites or by the hub."""
        if self.first_view is not None:
            return ()
        return bases_of(self.denoise, self.n_features, self.n_components)

    @property
    def is_chain(self) -> bool:
        """Whether a site's moment goes on with the next one's, and nobody adds up."""
        return self.protocol == "sequential"

    @property
    def _counted_on(self) -> int:
        """Of the honest sites, how many are left when as many drop out as may."""
        return max(1, int(self.honest or 0) - (len(self.sites) - int(self.fewest or 0)))

    def exposure(self, adversary: Adversary) -> Fraction:
        """mu squared of what an adversary sees, where a site's noise alone would give it 1.

        `dpcore.privacy.cape_mu` with the same numbers of sites: masks of a secure sum are without
        bound, those of CAPE S times the noise's variance, as published.
        """
        seen = Fraction(1, self.unknown(adversary))
        if self.protocol == "cape" and adversary is Adversary.AGGREGATOR:
            seen += (1 - seen) / (len(self.sites) + 1)
        return seen

    def pair_sigma(self, sigma: int) -> int:
        """Of the masks that a pair of CAPE's sites shares, for noise of this scale.

        Among h sites whose masks are unknown they vary by h times their variance in every
        direction but that of the sum.
        """
        return _root_above(Fraction(len(self.sites) * sigma**2, self._counted_on))

    @cached_property
    def scales(self) -> Scales:
        """Of the noise that one site adds, in whole numbers.

        They are worth one of 1 / root `exposure` times the scale to whoever knows most, and that
        one is calibrated for the promise.
        """
        whole = calibrated(
            self.dictionary,
            epsilon=self.epsilon,
            # Each site's sampler takes its part of delta; one part is in the calibration.
            delta=self.delta - self._delta_of_others,
            mean_share=self.mean_share,
        )
        seen = max(self.exposure(adversary) for adversary in Adversary)
        return replace(
            whole,
            sum_sigma=_root_above(whole.sum_sigma**2 * seen),
            moment_sigma=_root_above(whole.moment_sigma**2 * seen),
        )

    @property
    def _delta_of_others(self) -> float:
        """What the samplers of all other sites take of delta."""
        n_features = self.n_features
        one = (n_features + 1 + n_features * (n_features + 1) // 2) * DISTANCE
        return delta_of_distance((self._n_samplers - 1) * one, self.epsilon)

    @property
    def _n_samplers(self) -> int:
        n_sites = len(self.sites)
        pairs = n_sites * (n_sites - 1) // 2 if self.protocol == "cape" else 0
        return n_sites + pairs if self.is_masked else 1

    def hiding(self, adversary: Adversary) -> Scales:
        """The noise that hides a person's message from an adversary, as if one had added it."""
        seen, scales = self.exposure(adversary), self.scales
        return replace(
            scales,
            sum_sigma=math.isqrt(math.floor(scales.sum_sigma**2 / seen)),
            moment_sigma=math.isqrt(math.floor(scales.moment_sigma**2 / seen)),
        )

    @property
    def worst(self) -> Scales:
        """`hiding` from whoever knows most: what a site's ledger is charged for."""
        return self.hiding(max(Adversary, key=self.exposure))

    @property
    def distance(self) -> float:
        """Total variation of all that was drawn from its law, over all sites that add up."""
        return self._n_samplers * self.scales.distance

    def epsilon_against(self, adversary: Adversary) -> float:
        """What holds at the plan's delta, the samplers' distance included."""
        left = self.delta - delta_of_distance(self.distance, self.epsilon)
        return gaussian_epsilon(left, 1.0, self.hiding(adversary).mu) if left > 0 else math.inf

    @property
    def epsilon_unmasked(self) -> float:
        """What holds of one message against who knows all its masks: a hub that handed out keys
        of its own, say."""
        left = self.delta - delta_of_distance(self.distance, self.epsilon)
        return gaussian_epsilon(left, 1.0, self.scales.mu) if left > 0 else math.inf

    def json(self) -> str:
        """The text of a file that `plan_from` reads as this plan."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        content = values | {"form": FORM, "dictionary": self.dictionary.as_dict()}
        return json.dumps(content, indent=1, ensure_ascii=False)


def plan_from(text: str | bytes) -> StudyPlan:
    """The plan in the text of a file.

    Raises `ParameterError` if it is none, or of another form, or a value is out of range.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParameterError("study", f"a JSON file ({error})", "another") from error
    if not isinstance(content, Mapping) or content.get("form") != FORM:
        raise ParameterError("study", f"a plan of the form {FORM}", "another")
    known = {each.name for each in fields(StudyPlan)}
    # Plans of earlier versions denoised nothing, and did not say so.
    values: dict[str, Any] = {"denoise": "none"} | {
        key: content[key] for key in content if key != "form"
    }
    if unknown := sorted(values.keys() ^ known):
        raise ParameterError("study", f"made of {', '.join(sorted(known))}", unknown[0])
    return StudyPlan(
        **values
        | {"dictionary": dictionary_from(values["dictionary"]), "sites": tuple(values["sites"])}
    )


def _root_above(squared: Fraction) -> int:
    """The least whole number that is at least the root."""
    return math.isqrt(math.ceil(squared) - 1) + 1
