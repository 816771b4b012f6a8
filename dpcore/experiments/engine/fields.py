"""Fields and settings that the specs and rows of all families share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, TypedDict, TypeVar

from dpcore.data.catalog import CATALOG
from dpcore.data.row_bounds import MODES
from dpcore.data.splits import MOST_SITES
from dpcore.errors import require_one_of
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
    usual_delta,
)
from dpcore.pca import MASKS, TRUNCATIONS, ReleaseSettings
from dpcore.pca.settings import DENOISING, bases_to_denoise_in
from dpcore.picture_kinds import FULL
from dpcore.privacy import CALIBRATIONS, PrivacyBudget

# Preparations that centre by a private mean.
PRIVATE_MEAN_MODES = ("sphere", "bounded")
# Split by the table's own site column, which no data set of the catalogue has.
GIVEN = "given"
SPLITS = ("equal", "random", "dirichlet", GIVEN)
REFERENCES = ("sites", "all")
# Algorithm 1 as printed, whose guarantee does not always hold (see the documentation), and choices
# with a valid guarantee, less noise and no spurious directions.
PUBLISHED: dict[str, Any] = {
    "calibration": "published",
    "noise": "triangle",
    "truncation": "svd",
    "denoise": "none",
}
IMPROVED: dict[str, Any] = {
    "calibration": "analytic",
    "noise": "isometric",
    "truncation": "psd",
    "denoise": "auto",
}
# The two versions of every protocol: with the rows prepared as printed, or privately.
VERSIONS: dict[str, dict[str, Any]] = {
    "published": PUBLISHED | {"preparation": "published"},
    "improved": IMPROVED | {"preparation": "sphere"},
}
CUSTOM = "custom"
PUBLISHED_DELTA = 0.01


class Prepares:
    """Mixin with properties that follow from the field `preparation`."""

    preparation: str

    @property
    def reads_rows_first(self) -> bool:
        """Return whether centring and scaling read every row before any guarantee applies."""
        return self.preparation == "published"

    @property
    def on_sphere(self) -> bool:
        """Return whether every row is scaled to length 1 around a centre."""
        return self.preparation == "sphere"

    @property
    def may_buy_mean(self) -> bool:
        """Return whether rows may be centred by a private mean; a rule decides whether it pays."""
        return self.preparation in PRIVATE_MEAN_MODES

    @property
    def data_preparation(self) -> str:
        """Return the preparation of the data side.

        "none" is prepared and measured like "bounded".
        """
        return "bounded" if self.preparation == "none" else self.preparation


@dataclass(frozen=True)
class ProblemKey(Prepares):
    """Key of the data side: rows, sites and preparation.

    Specs with the same key share their site moments at every budget.
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
        """Return the fields that determine the prepared rows, before rows are drawn."""
        return self.dataset, self.preparation, self.norm_bound, self.limits


@dataclass(frozen=True)
class PrivateSpec(Prepares):
    """Fields of all private specs: the budget, the rows and the noise.

    epsilon, delta: Requested budget of each protocol, under replace-one.
    """

    epsilon: float = param(
        1.0, "Privacy parameter ε (smaller is more private)", note="inf adds no noise",
        steps=EPSILONS,
        axis=Axis(
            "ε", "← more private     requested ε     less private →", "ε = {:g}",
            "0.01, 0.05, 0.1, 0.5, 1, 5, 10"
        ),
    )  # fmt: skip
    delta: float = param(
        PUBLISHED_DELTA,
        "δ (failure probability; keep it below 1 / number of rows)",
        "One row can raise the probability of a conclusion by a factor of e^ε, plus δ. "
        "Under Gaussian noise, a privacy loss above ε is more frequent than δ.",
        usual=USUAL_DELTA,
        steps=DELTAS,
        axis=Axis(
            "δ", "← more private     requested δ     less private →", "δ = {:g}",
            "0.000001, 0.00001, 0.0001, 0.001, 0.01, 0.1"
        ),
    )  # fmt: skip
    sites: int = param(
        5, "Sites S", low=1, up_to=MOST_SITES,
        axis=Axis(
            "sites S", "sites S, total number of rows fixed", "{:g} sites",
            "1, 2, 4, 8, 16, 32", whole=True, grows=False
        ),
    )  # fmt: skip
    samples: int | None = param(
        None, "Rows in all sites together, N", note="Default: all rows",
        low=1, address="people",
        axis=Axis(
            "rows per site", "rows at each site", "{:,g} rows per site",
            "20, 50, 100, 200, 350", "people_per_site", whole=True
        ),
    )  # fmt: skip
    components: int | None = param(
        None, "Components K", note="Default: the data set's own",
        low=1, up_to=100,
        axis=Axis(
            "components K", "components K", "K = {:g}", "1, 2, 5, 10, 15, 20",
            whole=True, logarithmic=False, grows=False
        ),
        after_noise=True,
    )  # fmt: skip
    calibration: str = param(
        IMPROVED["calibration"],
        "Noise calibration",
        "Analytic calibration meets the requested ε exactly. Classic is proven up to ε = 1. "
        "Published is the paper's formula. It adds too much noise at small ε. "
        "Its guarantee fails above about ε = 2.",
        choices=CALIBRATIONS[::-1],
    )
    noise: str = param(
        IMPROVED["noise"],
        "Noise shape",
        "Triangle is the published shape. Isometric has the same guarantee with less noise.",
        choices=NOISE_SHAPES[::-1],
    )
    truncation: str = param(
        IMPROVED["truncation"],
        "Truncation",
        "svd is the published truncation and keeps strongly negative noise. psd removes it.",
        choices=TRUNCATIONS[::-1],
        after_noise=True,
    )
    denoise: str = param(
        IMPROVED["denoise"],
        "Denoising",
        "Auto removes noise from a noisy matrix before the decomposition. It uses cosines for "
        "images and columns for tables, and costs no ε. None does not change the matrix. The "
        "private mean of images is denoised with both. Rows prepared as published are never "
        "denoised.",
        choices=DENOISING,
        offered=("auto", "none"),
        after_noise=True,
    )
    preparation: str = param(
        "sphere",
        "Preparation",
        "Sphere scales every row to length 1 around a private mean. Noisy votes may choose "
        "differences of pairs of rows, or no centre, for a table. Bounded clips rows to a "
        "public bound and centres by a private mean. None only clips. Published centring and "
        "scaling read all rows and are not private.",
        choices=MODES,
    )
    repetitions: int = param(10, "Runs", low=1, up_to=MOST_REPETITIONS)
    seed: int = param(0, "Seed", low=0, high=2**63 - 1, control="number_input", up_to=LARGEST_SEED)

    def __post_init__(self) -> None:
        PrivacyBudget(self.epsilon, self.delta)
        check_params(self)

    @classmethod
    def bounded(cls, **fields: Any) -> Self:
        """Return a spec with rows clipped to the public bound and centred by a private mean."""
        return cls(**{"preparation": "bounded"} | fields)

    @classmethod
    def published(cls, **fields: Any) -> Self:
        """Return a spec with the paper's noise, truncation and preparation.

        The version reproduces the paper's numbers; its guarantee does not always hold.
        """
        return cls(**VERSIONS["published"] | fields)

    @classmethod
    def improved(cls, **fields: Any) -> Self:
        """Return a spec with the defaults, whose guarantee holds at every epsilon."""
        return cls(**fields)


@dataclass(frozen=True)
class ReleaseSpec(PrivateSpec):
    """Further fields of private releases at sites: protocols, splits, masks and the mean."""

    protocols: tuple[str, ...] = ()
    intermediate_dim: int | None = param(
        None,
        "Directions each site sends, R",
        note="Default: 2 K, or the number of features if that is smaller",
        low=1,
        address="intermediate",
        up_to=max(entry.n_features for entry in CATALOG.values()),
        axis=Axis(
            "directions each site sends",
            "directions a site sends per component, R : K", "R = {:g} K",
            "0.5, 1, 1.5, 2, 3, 4", "intermediate_ratio", logarithmic=False
        ),
        after_noise=True,
    )  # fmt: skip
    split: str = param(
        "equal",
        "People over sites",
        "Dirichlet gives each site its own mix of labels. Given uses the table's own site column.",
        choices=SPLITS,
    )
    concentration: float = param(
        1.0,
        "Dirichlet concentration (small is skewed)",
        low=SMALLEST_CONCENTRATION,
        high=LARGEST_CONCENTRATION,
        steps=(0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0),
    )
    masks: str = param(
        "published",
        "CAPE's masks",
        "Wide masks model secure aggregation. All sites but one are assumed honest.",
        choices=MASKS,
    )
    honest_sites: int | None = param(
        None,
        "Sites that CAPE assumes to keep their noise secret",
        note="Default: all but one",
    )
    mean_share: float | None = param(
        None,
        "Share of the budget (in mu squared) for the private mean",
        note="Default: chosen by a rule that reads only public numbers",
    )


def same_fields(spec: ReleaseSpec, other: type[PrivateSpec]) -> dict[str, Any]:
    """Return the values of a spec's fields that another kind of spec declares identically."""
    fields, other_fields = type(spec).__dataclass_fields__, other.__dataclass_fields__
    return {
        name: getattr(spec, name)
        for name in params(type(spec))
        if name in other_fields and fields[name].metadata == other_fields[name].metadata
    }


def noise_settings(
    spec: PrivateSpec, image_shape: tuple[int, int] | None, picture: str = FULL
) -> dict[str, Any]:
    """Return the settings of the noise, the truncation and the denoising."""
    noise = {name: getattr(spec, name) for name in ("calibration", "noise", "truncation")}
    # Rows prepared as printed are not denoised, to reproduce the paper.
    as_printed = spec.denoise == "auto" and spec.reads_rows_first
    choice = "none" if as_printed else spec.denoise
    bases = bases_to_denoise_in(choice, image_shape, picture, **noise)
    return noise | {"bases": bases}


def release_settings(
    spec: ReleaseSpec,
    n_components: int,
    intermediate_dim: int,
    image_shape: tuple[int, int] | None = None,
    picture: str = FULL,
    **more: Any,
) -> ReleaseSettings:
    """Return the settings that specs of private releases share.

    image_shape: Height and width of the images whose pixels are the columns, if they are images.
    picture: Whether they fill the frame or show an object in its middle.
    """
    return ReleaseSettings(
        budget=PrivacyBudget(spec.epsilon, spec.delta),
        n_components=n_components,
        intermediate_dim=intermediate_dim,
        **noise_settings(spec, image_shape, picture),
        mean_share=spec.mean_share if spec.may_buy_mean else 0.0,
        on_sphere=spec.on_sphere,
        masks=spec.masks,
        honest_sites=spec.honest_sites,
        **more,
    )


def version_fields(version: str, n_rows: int) -> dict[str, Any]:
    """Return the settings of a version, with its default of delta for a number of rows.

    version: A key of `VERSIONS`.
    Raises `ParameterError` for any other name.
    """
    require_one_of("version", version, VERSIONS)
    delta = PUBLISHED_DELTA if version == "published" else usual_delta(n_rows)
    return VERSIONS[version] | {"delta": delta}


def version_of(values: Mapping[str, Any]) -> str:
    """Return the version with these settings, or `CUSTOM`. Delta belongs to no version."""
    for version, fields in VERSIONS.items():
        if all(values[name] == value for name, value in fields.items()):
            return version
    return CUSTOM


S = TypeVar("S", bound=PrivateSpec)


def as_published(spec: S) -> S:
    """Return the spec with the noise and truncation of Algorithm 1 as printed."""
    return replace(spec, **PUBLISHED)


class PrivateRow(TypedDict):
    """First fields of all private rows."""

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
    """First fields of the rows of private releases at sites."""

    intermediate_dim: int
