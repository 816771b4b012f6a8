"""Fields and settings that the specs and rows of all families have in common."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, TypedDict, TypeVar

from dpcore.data.loading import CATALOG
from dpcore.data.row_bounds import MODES, RENAMED
from dpcore.data.splits import MOST_SITES
from dpcore.mechanisms import NOISE_SHAPES
from dpcore.params import (
    DELTAS,
    EPSILONS,
    LARGEST_CONCENTRATION,
    LARGEST_SEED,
    MOST_REPETITIONS,
    SMALLEST_CONCENTRATION,
    USUAL_DELTA,
    Axis,
    check_params,
    param,
    params,
)
from dpcore.pca import MASKS, TRUNCATIONS, ReleaseSettings
from dpcore.pca.settings import DENOISING, bases_to_denoise_in
from dpcore.privacy import CALIBRATIONS, PrivacyBudget

# Those that centre by a private mean.
PRIVATE_MEAN_MODES = ("sphere", "bounded")
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
    "denoise": "auto",
}
# With the rows prepared as printed, or privately.
ALL_PRINTED = PUBLISHED | {"preparation": "published"}
ALL_RECOMMENDED = RECOMMENDED | {"preparation": "sphere"}


class Prepares:
    """What follows from the preparation of a spec or of a key of its data side."""

    preparation: str

    @property
    def reads_rows_first(self) -> bool:
        """Whether centring and scaling read every row before any promise starts."""
        return self.preparation == "published"

    @property
    def on_sphere(self) -> bool:
        """Whether every row is brought to length 1 around a centre."""
        return self.preparation == "sphere"

    @property
    def may_buy_mean(self) -> bool:
        """Whether rows are centred by a private mean, where a rule finds that worth its price."""
        return self.preparation in PRIVATE_MEAN_MODES

    @property
    def data_preparation(self) -> str:
        """As the data side knows it: what is not centred is bounded all the same, and measured as
        if it were."""
        return "bounded" if self.preparation == "none" else self.preparation


@dataclass(frozen=True)
class ProblemKey(Prepares):
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
class PrivateSpec(Prepares):
    """What specs of everything private have in common: the budget, the people, the noise.

    epsilon, delta: Asked of each protocol, under replace-one.
    """

    epsilon: float = param(
        1.0, "Privacy parameter ε (smaller is more private)", note="As inf there is no noise",
        place="first", steps=EPSILONS,
        axis=Axis(
            "ε", "← more private     asked ε     less private →", "ε = {:g}",
            "0.01, 0.05, 0.1, 0.5, 1, 5, 10"
        ),
    )  # fmt: skip
    delta: float = param(
        0.01,
        "δ: how far the promise may fail (keep below 1 in the number of people)",
        "A conclusion may become likelier by a factor of e^ε, plus δ. It is not the chance "
        "that the odds move further: under Gaussian noise they do more often.",
        place="first",
        usual=USUAL_DELTA,
        steps=DELTAS,
        axis=Axis(
            "δ", "← more private     asked δ     less private →", "δ = {:g}",
            "0.000001, 0.00001, 0.0001, 0.001, 0.01, 0.1"
        ),
    )  # fmt: skip
    sites: int = param(
        5, "Sites S", low=1, place="first", up_to=MOST_SITES,
        axis=Axis(
            "sites S", "sites S, with the people in all held", "{:g} sites",
            "1, 2, 4, 8, 16, 32", whole=True, grows=False
        ),
    )  # fmt: skip
    samples: int | None = param(
        None, "People in all sites together, N", note="Default: everybody",
        low=1, place="first", address="people",
        axis=Axis(
            "rows per site", "rows at each site", "{:,g} rows a site",
            "20, 50, 100, 200, 350", "people_per_site", whole=True
        ),
    )  # fmt: skip
    components: int | None = param(
        None, "Components K", note="Default: the data set's own",
        low=1, place="first", up_to=100,
        words="a whole number from 1 to 100 or to the number of features",
        axis=Axis(
            "components K", "components K", "K = {:g}", "1, 2, 5, 10, 15, 20",
            whole=True, logarithmic=False, grows=False
        ),
        after_noise=True,
    )  # fmt: skip
    calibration: str = param(
        RECOMMENDED["calibration"],
        "Noise calibration",
        "Analytic keeps the asked ε exactly. Classic is proven up to ε = 1. Published is the "
        "paper's formula: generous at small ε, broken above about 2.",
        choices=CALIBRATIONS[::-1],
        place="advanced",
        compared="Calibrations",
    )
    noise: str = param(
        RECOMMENDED["noise"],
        "Noise shape",
        "Triangle is as published. Isometric keeps the same promise with less noise.",
        choices=NOISE_SHAPES[::-1],
        place="advanced",
        compared="Noise shapes",
    )
    truncation: str = param(
        RECOMMENDED["truncation"],
        "Truncation",
        "svd is as published and lets strongly negative noise in; psd cuts it.",
        choices=TRUNCATIONS[::-1],
        place="advanced",
        compared="Truncations",
        after_noise=True,
    )
    denoise: str = param(
        RECOMMENDED["denoise"],
        "Denoising",
        "Auto takes noise out of a noisy matrix before it is decomposed: in cosines for "
        "pictures, in columns for tables. It costs no ε. None leaves the matrix as it came; the "
        "private mean of pictures is denoised with either. As printed, nothing is.",
        choices=DENOISING,
        place="advanced",
        offered=("auto", "none"),
        after_noise=True,
    )
    preparation: str = param(
        "sphere",
        "Preparation",
        "Sphere brings every row to length 1 around a private mean. Bounded clips rows to a "
        "public bound and centres by a private mean; none only clips. Published centring and "
        "scaling read everybody's rows and are not private.",
        choices=MODES,
        renamed=RENAMED,
        place="advanced",
    )
    repetitions: int = param(10, "Runs", low=1, place="runs", up_to=MOST_REPETITIONS)
    seed: int = param(
        0, "Seed", low=0, high=2**63 - 1, place="last", control="number_input", up_to=LARGEST_SEED
    )

    def __post_init__(self) -> None:
        PrivacyBudget(self.epsilon, self.delta)
        check_params(self)

    @classmethod
    def bounded(cls, **fields: Any) -> Self:
        """A spec of rows clipped to the public bound and centred by a private mean."""
        return cls(**{"preparation": "bounded"} | fields)

    @classmethod
    def published(cls, **fields: Any) -> Self:
        """A spec with the paper's noise, truncation and preparation: its numbers, not always its
        promise."""
        return cls(**ALL_PRINTED | fields)

    @classmethod
    def recommended(cls, **fields: Any) -> Self:
        """A spec that keeps what it promises, at every epsilon: the default by its name."""
        return cls(**fields)


@dataclass(frozen=True)
class ReleaseSpec(PrivateSpec):
    """What specs of private releases at sites have beside: protocols, splits, masks, the mean."""

    protocols: tuple[str, ...] = ()
    intermediate_dim: int | None = param(
        None,
        "Directions each site sends, R",
        note="Default: 2 K, or the number of features if that is smaller",
        low=1,
        place="first",
        address="intermediate",
        up_to=max(entry.n_features for entry in CATALOG.values()),
        words="a whole number from 1 to the number of features",
        axis=Axis(
            "directions each site sends",
            "directions a site sends for each one wanted, R : K", "R = {:g} K",
            "0.5, 1, 1.5, 2, 3, 4", "intermediate_ratio", logarithmic=False
        ),
        after_noise=True,
    )  # fmt: skip
    split: str = param(
        "equal",
        "People over sites",
        "Dirichlet gives each site its own mix of labels. Given: as the table itself says.",
        choices=SPLITS,
        place="advanced",
    )
    concentration: float = param(
        1.0,
        "Dirichlet concentration (small is skewed)",
        low=SMALLEST_CONCENTRATION,
        high=LARGEST_CONCENTRATION,
        place="advanced",
        steps=(0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0),
    )
    masks: str = param(
        "published",
        "CAPE's masks",
        "Wide ones stand for secure aggregation. All sites but one are counted on.",
        choices=MASKS,
        place="advanced",
    )
    honest_sites: int | None = param(
        None,
        "Sites that CAPE counts on to keep their noise to themselves",
        note="Default: all but one",
    )
    mean_share: float | None = param(
        None,
        "Share of the budget (in mu squared) for the private mean",
        note="Default: a rule that reads public numbers alone finds it",
    )


def same_fields(spec: ReleaseSpec, other: type[PrivateSpec]) -> dict[str, Any]:
    """The values of a spec's fields that another kind of spec declares alike."""
    ours, theirs = type(spec).__dataclass_fields__, other.__dataclass_fields__
    return {
        name: getattr(spec, name)
        for name in params(type(spec))
        if name in theirs and ours[name].metadata == theirs[name].metadata
    }


def noise_settings(spec: PrivateSpec, image_shape: tuple[int, int] | None) -> dict[str, Any]:
    """The settings of noise, and of what is done against it."""
    noise = {name: getattr(spec, name) for name in ("calibration", "noise", "truncation")}
    # As printed throughout, where the rows are prepared as printed.
    as_printed = spec.denoise == "auto" and spec.reads_rows_first
    bases = bases_to_denoise_in("none" if as_printed else spec.denoise, image_shape, **noise)
    return noise | {"bases": bases}


def release_settings(
    spec: ReleaseSpec,
    n_components: int,
    intermediate_dim: int,
    image_shape: tuple[int, int] | None = None,
    **more: Any,
) -> ReleaseSettings:
    """The settings that specs of private releases have in common.

    image_shape: Where the columns are the pixels of pictures.
    """
    return ReleaseSettings(
        budget=PrivacyBudget(spec.epsilon, spec.delta),
        n_components=n_components,
        intermediate_dim=intermediate_dim,
        **noise_settings(spec, image_shape),
        mean_share=spec.mean_share if spec.may_buy_mean else 0.0,
        on_sphere=spec.on_sphere,
        masks=spec.masks,
        honest_sites=spec.honest_sites,
        **more,
    )


S = TypeVar("S", bound=PrivateSpec)


def as_published(spec: S) -> S:
    """The same question with the noise and truncation of Algorithm 1 as printed."""
    return replace(spec, **PUBLISHED)


class PrivateRow(TypedDict):
    """What rows of everything private begin with."""

    dataset: str
    protocol: str
    epsilon: float
    delta: float
    sites: int
    samples: int
    components: int
    calibration: str
    noise: str
    truncation: str
    denoise: str


class ReleaseRow(PrivateRow):
    """What rows of private releases at sites begin with."""

    intermediate_dim: int
