"""What a study is: everything that all sites and the hub agree on before a row is read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

from dpcore.errors import ParameterError
from dpcore.privacy import Adversary, gaussian_epsilon
from dpcore.releases.calibration import Scales, calibrated, delta_of_distance
from dpcore.releases.dictionary import Dictionary, dictionary_from
from dpcore.releases.exact.rounded_normal import DISTANCE
from dpcore.releases.measurement import PREPARATIONS

FORM = "dp-pca-lab/study/1"
PROTOCOLS = ("securesum", "full", "dpdis")
MOST_SITES, MOST_FEATURES = 200, 4096
_LONGEST = 7 * 86_400
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]{0,31}")


@dataclass(frozen=True)
class Spent:
    """What an attempt costs a site's people, as a ledger counts it."""

    mu: float
    distance: float


@dataclass(frozen=True)
class StudyPlan:
    """A study, as every party holds it; its digest is in every request.

    Parameters
    ----------
    name : str
        Up to 32 letters, digits and _.
    dictionary : Dictionary
        What is public about the columns, the same at every site.
    sites : tuple of str
        Names of all sites, in order.
    epsilon, delta : float
        Promised to every person, against everybody who is not trusted.
    n_components : int
        K.
    intermediate_dim : int or None
        R of `dpdis`; 2 K unless told otherwise, at most the number of features.
    protocol : {"securesum", "full", "dpdis"}
    preparation : {"sphere", "bounded"}
    mean_share : float
        Part of mu squared for the private centre and count.
    fewest : int or None
        How many sites have to answer, at least 2; all but one unless told otherwise.
    honest : int or None
        H of a secure sum: so many sites keep their masks and noise to themselves; all but one
        unless told otherwise.
    round_seconds, join_seconds : float
        How long the hub waits for a message, and for sites to join.

    Raises
    ------
    ParameterError
        If a value is out of range.
    """

    name: str
    dictionary: Dictionary
    sites: tuple[str, ...]
    epsilon: float
    delta: float
    n_components: int
    intermediate_dim: int | None = None
    protocol: str = "securesum"
    preparation: str = "sphere"
    mean_share: float = 0.1
    fewest: int | None = None
    honest: int | None = None
    round_seconds: float = 60.0
    join_seconds: float = 600.0

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
        _ = self.scales  # a budget that cannot be kept is refused here

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
        for name, choices in (("protocol", PROTOCOLS), ("preparation", PREPARATIONS)):
            if getattr(self, name) not in choices:
                raise ParameterError(name, f"one of {', '.join(choices)}", getattr(self, name))
        for name in ("round_seconds", "join_seconds"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 < value <= _LONGEST:
                raise ParameterError(name, "above 0 and at most a week of seconds", value)

    @property
    def n_features(self) -> int:
        return self.dictionary.n_features

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the plan: two parties with one digest hold the same plan."""
        return sha256(self.json().encode()).hexdigest()

    def unknown(self, adversary: Adversary) -> int:
        """How many sites' noises hide a person's message from an adversary, at the fewest."""
        if self.protocol != "securesum":
            return 1
        fewest, honest = int(self.fewest or 0), int(self.honest or 0)
        counted_on = max(1, honest - (len(self.sites) - fewest))
        return {
            Adversary.OUTSIDER: fewest,
            Adversary.AGGREGATOR: counted_on,
            Adversary.SITE: min(counted_on, fewest - 1),
        }[adversary]

    @cached_property
    def scales(self) -> Scales:
        """Of the noise that one site adds, in whole numbers.

        Against the adversary who does not know h noises they are worth one of root h times the
        scale, and that one is calibrated for the promise.
        """
        whole = calibrated(
            self.dictionary,
            epsilon=self.epsilon,
            # Each site's sampler takes its part of delta; one part is in the calibration.
            delta=self.delta - self._delta_of_others,
            mean_share=self.mean_share,
        )
        h = min(self.unknown(adversary) for adversary in Adversary)
        return replace(
            whole,
            sum_sigma=_over_root(whole.sum_sigma, h),
            moment_sigma=_over_root(whole.moment_sigma, h),
        )

    @property
    def _delta_of_others(self) -> float:
        """What the samplers of all other sites take of delta."""
        n_features = self.n_features
        one = (n_features + 1 + n_features * (n_features + 1) // 2) * DISTANCE
        return delta_of_distance((self._n_samplers - 1) * one, self.epsilon)

    @property
    def _n_samplers(self) -> int:
        return len(self.sites) if self.protocol == "securesum" else 1

    def hiding(self, adversary: Adversary) -> Scales:
        """The noise that hides a person's message from an adversary, as if one had added it."""
        h = self.unknown(adversary)
        return replace(
            self.scales,
            sum_sigma=math.isqrt(h * self.scales.sum_sigma**2),
            moment_sigma=math.isqrt(h * self.scales.moment_sigma**2),
        )

    @property
    def worst(self) -> Scales:
        """`hiding` from whoever knows most: what a site's ledger is charged for."""
        return self.hiding(min(Adversary, key=self.unknown))

    @property
    def distance(self) -> float:
        """Total variation of all that was drawn from its law, over all sites that add up."""
        return self._n_samplers * self.scales.distance

    def epsilon_against(self, adversary: Adversary) -> float:
        """What holds at the plan's delta, the samplers' distance included."""
        left = self.delta - delta_of_distance(self.distance, self.epsilon)
        return gaussian_epsilon(left, 1.0, self.hiding(adversary).mu) if left > 0 else math.inf

    def json(self) -> str:
        """The text of a file that `plan_from` reads as this plan."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        content = values | {"form": FORM, "dictionary": self.dictionary.as_dict()}
        return json.dumps(content, indent=1, ensure_ascii=False)


def plan_from(text: str | bytes) -> StudyPlan:
    """The plan in the text of a file.

    Raises
    ------
    ParameterError
        If it is none, or of another form, or a value is out of range.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParameterError("study", f"a JSON file ({error})", "another") from error
    if not isinstance(content, Mapping) or content.get("form") != FORM:
        raise ParameterError("study", f"a plan of the form {FORM}", "another")
    known = {each.name for each in fields(StudyPlan)}
    values: dict[str, Any] = {key: content[key] for key in content if key != "form"}
    if unknown := sorted(values.keys() ^ known):
        raise ParameterError("study", f"made of {', '.join(sorted(known))}", unknown[0])
    return StudyPlan(
        **values
        | {"dictionary": dictionary_from(values["dictionary"]), "sites": tuple(values["sites"])}
    )


def _over_root(sigma: int, h: int) -> int:
    """The least whole number with at least sigma / root h."""
    return math.isqrt((sigma * sigma - 1) // h) + 1
