"""What is run: a frozen specification, complete enough to run again elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from numbers import Integral
from typing import Any, Self, TypeVar

from dpcore.data.dataset import is_held, read_limits
from dpcore.data.loading import CATALOG, entry_of
from dpcore.data.preparation import MODES, RENAMED
from dpcore.errors import ParameterError, require_one_of
from dpcore.experiments.engine.control_ranges import (
    LARGEST_CONCENTRATION,
    SMALLEST_CONCENTRATION,
    require_counts,
)
from dpcore.experiments.pca.public_knowledge import NO_KNOWLEDGE, check_knowledge, kept_features
from dpcore.pca import ReleaseSettings
from dpcore.pca.settings import DENOISING, bases_to_denoise_in
from dpcore.privacy import PrivacyBudget

PREPARATIONS = MODES
# Those that centre by a private mean.
BUYING = ("sphere", "bounded")
# As the table's own site column says: of the catalogue's data sets none has one.
GIVEN = "given"
SPLITS = ("equal", "random", "dirichlet", GIVEN)
REFERENCES = ("sites", "all")
# Algorithm 1 as printed, whose noise does not keep every promise (docs), and the choices that keep
# it, with less noise and no mistaken directions.
PUBLISHED: dict[str, Any] = {
    "calibration": "published",
    "noise": "triangle",
    "truncation": "svd",
    "denoise": "none",
}
RECOMMENDED: dict[str, Any] = {
    "calibration": "analytic",
    "noise": "isometric",
    "truncation": "psd",
    "denoise": "none",
}


@dataclass(frozen=True)
class ProblemKey:
    """Everything that fixes the data side: which people, at which sites, prepared how.

    Two specs with the same key share their site moments whatever their budget.
    """

    dataset: str
    samples: int | None
    sites: int
    split: str
    concentration: float
    preparation: str
    norm_bound: float | None
    limits: str
    knowledge: str
    reference: str
    seed: int
    drawing: int

    @property
    def data(self) -> tuple[str, str, float | None, str]:
        """What fixes the prepared rows, whoever of them takes part."""
        return self.dataset, self.preparation, self.norm_bound, self.limits


@dataclass(frozen=True)
class TwoWorlds:
    """What a spec of private releases has beside its fields."""

    @classmethod
    def published(cls, **fields: Any) -> Self:
        """A spec with the paper's noise, truncation and preparation: its numbers, not always its
        promise."""
        return cls(**PUBLISHED | {"preparation": "published"} | fields)

    @classmethod
    def recommended(cls, **fields: Any) -> Self:
        """A spec that keeps what it promises, at every epsilon: the default by its name."""
        return cls(**RECOMMENDED | fields)


def check_asked(spec: Any, **choices: Sequence[str]) -> None:
    """Refuse a budget, a preparation or another choice that there is none of.

    A preparation under a former name gets its present one.
    Raises `ParameterError` naming the first of them.
    """
    PrivacyBudget(spec.epsilon, spec.delta)
    object.__setattr__(spec, "preparation", RENAMED.get(spec.preparation, spec.preparation))
    for name, offered in {"preparation": PREPARATIONS, **choices}.items():
        require_one_of(name, getattr(spec, name), offered)


def release_settings(
    spec: Any,
    n_components: int,
    intermediate_dim: int,
    image_shape: tuple[int, int] | None = None,
    **more: Any,
) -> ReleaseSettings:
    """The settings that specs of private releases have in common.

    image_shape: Where the columns are the pixels of pictures.
    """
    buys_mean = spec.preparation in BUYING
    noise = {name: getattr(spec, name) for name in ("calibration", "noise", "truncation")}
    # As printed throughout, where the rows are prepared as printed.
    as_printed = spec.denoise == "auto" and spec.preparation == "published"
    denoise = bases_to_denoise_in("none" if as_printed else spec.denoise, image_shape, **noise)
    return ReleaseSettings(
        budget=PrivacyBudget(spec.epsilon, spec.delta),
        n_components=n_components,
        intermediate_dim=intermediate_dim,
        **noise,
        denoise=denoise,
        mean_share=spec.mean_share if buys_mean else 0.0,
        on_sphere=spec.preparation == "sphere",
        masks=spec.masks,
        honest_sites=spec.honest_sites,
        **more,
    )


@dataclass(frozen=True)
class RunSpec(TwoWorlds):
    """One cell of an experiment; `published` and `recommended` name the two worlds.

    protocols: Keys of `dpcore.pca.protocols.register.PROTOCOLS`.
    epsilon, delta: Asked of each protocol, under replace-one.
    sites: S.
    samples: N, people in all; None takes everybody.
    components: K; None takes the data set's default.
    intermediate_dim: R; None takes 2 K, or the number of features if that is smaller.
    calibration, noise, truncation, masks, honest_sites, encoding, dropped_sites: As in
        `dpcore.pca.ReleaseSettings`.
    denoise: {"auto", "columns", "cosines", "none"}. Public bases in which noise is taken out of a
        noisy matrix before it is decomposed (`dpcore.pca.settings.bases_to_denoise_in`).
    preparation: {"sphere", "bounded", "none", "published"}. Sphere brings every row to length 1
        around a private mean. Bounded clips rows to a public bound and centres by a private mean,
        none clips them and centres by nothing. Published centring and scaling read the rows and are
        not private. Energy is measured on the centred second moment of the rows: on the sphere of
        those that are neither clipped nor at length 1 yet.
    norm_bound: The public bound on a row's length, in the units of the raw rows; None takes the
        data set's.
    limits: Public limits of columns in place of the catalogue's (`dpcore.data.dataset`);
        empty takes these. Energy is that of rows within them.
    mean_share: Share of the budget (in mu squared) for the private mean; None leaves it to a rule
        that reads public numbers alone (`dpcore.pca.settings`).
    knowledge: Public subspace that rows are projected onto first: "none", "dct:20" (the lowest 20 %
        of frequencies) or "fashion-mnist:20" (leading directions of another data set). Energy is
        measured against the exact optimum without it.
    split: {"equal", "random", "dirichlet", "given"}. Given: by the table's own site column;
        everybody takes part.
    concentration: Of the Dirichlet split: small is skewed.
    reference: {"sites", "all"}. Whose second moment the captured energy is measured on: the people
        at the sites, or the whole data set they were drawn from, as the DPdisPCA authors do.
    resample: Draw the people anew in every repetition.
    """

    experiment = "dpcore.experiments.pca.experiment:PCA"

    dataset: str = "digits"
    protocols: tuple[str, ...] = ("dpdis", "full", "local", "pooled")
    epsilon: float = 1.0
    delta: float = 0.01
    sites: int = 5
    samples: int | None = None
    components: int | None = None
    intermediate_dim: int | None = None
    calibration: str = RECOMMENDED["calibration"]
    noise: str = RECOMMENDED["noise"]
    truncation: str = RECOMMENDED["truncation"]
    denoise: str = RECOMMENDED["denoise"]
    preparation: str = "sphere"
    norm_bound: float | None = None
    limits: str = ""
    mean_share: float | None = None
    knowledge: str = NO_KNOWLEDGE
    split: str = "equal"
    concentration: float = 1.0
    masks: str = "published"
    honest_sites: int | None = None
    encoding: str = "native"
    dropped_sites: int = 0
    reference: str = "sites"
    resample: bool = False
    repetitions: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        check_asked(self, split=SPLITS, reference=REFERENCES, denoise=DENOISING)
        check_knowledge(self.knowledge, self.dataset)
        read_limits(self.limits, CATALOG[self.dataset].ranges if self.dataset in CATALOG else ())
        if not self.protocols:
            raise ParameterError("protocols", "at least one", self.protocols)
        require_counts(self, sites=1, repetitions=1, seed=0, dropped_sites=0)
        if self.dropped_sites >= self.sites:
            raise ParameterError(
                "dropped_sites", f"fewer than the {self.sites} there are", self.dropped_sites
            )
        if self.samples is not None:
            if self.samples < 2 * self.sites:
                raise ParameterError(
                    "samples", f"at least 2 people at each of the {self.sites} sites", self.samples
                )
            require_counts(self, samples=1)
        if not self.concentration > 0:
            raise ParameterError("concentration", "greater than 0", self.concentration)
        if not SMALLEST_CONCENTRATION <= self.concentration <= LARGEST_CONCENTRATION:
            reach = f"from {SMALLEST_CONCENTRATION:g} to {LARGEST_CONCENTRATION:g}"
            raise ParameterError("concentration", reach, self.concentration)
        if self.norm_bound is not None and not 0 < self.norm_bound < math.inf:
            raise ParameterError("norm_bound", "a positive finite number", self.norm_bound)

    def problem_key(self, repetition: int = 0) -> ProblemKey:
        same = {each.name: getattr(self, each.name) for each in fields(ProblemKey)[:-1]}
        # What is not centred is bounded all the same, and measured as if it were.
        same["preparation"] = "bounded" if self.preparation == "none" else self.preparation
        if self.split != "dirichlet":
            same["concentration"] = 1.0
        if self.preparation == "published":
            same |= {"norm_bound": None, "limits": ""}
        return ProblemKey(**same, drawing=repetition if self.resample else 0)

    def settings(self, n_features: int, default_components: int | None) -> ReleaseSettings:
        """The release settings, with K and R filled in for this many features, and no more of
        either than the public subspace has dimensions.

        Raises `ParameterError` if K or R is not in [1, n_features], or K is left to a data set that
            has no default.
        """
        n_features = kept_features(self.knowledge, n_features)
        components = default_components if self.components is None else self.components
        if components is None:
            raise ParameterError("components", f"given for {self.dataset}", None)
        intermediate = self.intermediate_dim
        if intermediate is None:
            intermediate = min(2 * components, n_features)
        for name, value in (("components", components), ("intermediate_dim", intermediate)):
            if not isinstance(value, Integral) or not 1 <= value <= n_features:
                raise ParameterError(name, f"a whole number in [1, n_features={n_features}]", value)
        more = {"encoding": self.encoding, "dropped_sites": self.dropped_sites}
        return release_settings(self, components, intermediate, self._image_shape, **more)

    @property
    def _image_shape(self) -> tuple[int, int] | None:
        # Rows that were projected are coordinates, and no pictures any more.
        is_known = self.dataset in CATALOG or is_held(self.dataset)
        if self.knowledge != NO_KNOWLEDGE or not is_known:
            return None
        return entry_of(self.dataset).image_shape


S = TypeVar("S", bound=TwoWorlds)


def as_published(spec: S) -> S:
    """The same question with the noise and truncation of Algorithm 1 as printed."""
    return replace(spec, **PUBLISHED)
