"""Experiments with private PCA: public knowledge, spec, data side, rows, moments on disk.

What is known of pictures in general is not about the people in a table: the lowest frequencies of
the discrete cosine transform, or the leading directions of another data set, which is public.
Projected rows are no longer than they were, so every promise for them is one for the rows, and
noise is added in fewer dimensions. Whether the subspace holds the signal nobody promises: what it
leaves of the energy is the most there is behind any noise.

Site moments between two starts of a server: in the folder of finished rows.

Reading MNIST and its second moments takes a second or two, reading them back a tenth of that. An
entry is found by the SHA-256 of the files that hold the rows, read anew each time, so that another
file under the same name and date is another entry. On the sphere rows have no moments before a
private mean is drawn: those around the mean of a draw are entries of their own, found by that mean
to the bit and by who is at the site. The moments are exact: whoever may read the folder reads what
no noise covers, as in the data home.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache, partial
from io import BytesIO
from numbers import Integral
from pathlib import Path
from typing import Any, Self, TypedDict, TypeVar

import numpy as np

from dpcore.arrays import AnyArray, BoolArray, FloatArray, IntArray, executor
from dpcore.data import DatasetStatus, Prepared, dataset_status, prepare, split_sites
from dpcore.data.dataset import is_held, read_limits
from dpcore.data.loading import CATALOG, dataset_files, entry_of, load_dataset
from dpcore.data.row_bounds import MODES, RENAMED, shorten
from dpcore.data.splits import MOST_SITES
from dpcore.errors import DataUnavailable, ParameterError
from dpcore.experiments.engine import (
    Row,
    Spec,
    is_charged,
    joined,
    merged,
    one_blas_thread,
    row_from,
)
from dpcore.experiments.once_cache import OnceCache
from dpcore.experiments.store import Store, versions
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
    after_noise,
    check_params,
    param,
    params,
)
from dpcore.pca import MASKS, TRUNCATIONS, Draw, ReleaseSettings, Subspace
from dpcore.pca.aggregator import NoisyAverage
from dpcore.pca.assessment import Assessment
from dpcore.pca.draw import THREADED_FROM_FEATURES
from dpcore.pca.messages import check_encoding
from dpcore.pca.protocols.protocol import (
    Kind,
    NoiseIdentity,
    Protocol,
    raw_row_bytes,
    whole_matrix_bytes,
)
from dpcore.pca.protocols.register import protocol
from dpcore.pca.settings import (
    DENOISING,
    NATIVE,
    PRECISIONS,
    ROUNDED,
    bases_to_denoise_in,
    sites_that_answer,
)
from dpcore.pca.site import SiteAtWork
from dpcore.privacy import CALIBRATIONS, EVERYONE, Charge, Guarantee, PrivacyBudget, Release
from dpcore.spectra import (
    SiteMoments,
    SiteRows,
    captured_energy,
    cumulative_energy,
    leading_eigenpairs,
    site_moments,
)
from dpcore.streams import Purpose, Repetition, stream

# What is released, as a charge says it.
COMPONENTS = "components"

# Public subspaces that a holder may project rows onto, before anything is made private.

NO_KNOWLEDGE, FREQUENCIES = "none", "dct"
SHARES = (5, 10, 20, 40, 60)
_FORM = "none, dct:P or DATASET:P, the percentage P of its directions from 1 to 100"


# What a control offers: of each source that says something of some data set, some shares.
CHOICES = (
    NO_KNOWLEDGE,
    *(
        f"{source}:{percent}"
        for source in (FREQUENCIES, "mnist", "fashion-mnist", "patches")
        for percent in SHARES
    ),
)


@dataclass(frozen=True)
class Knowledge:
    """A public subspace by its name: where it is from, and which share of D it keeps.

    source: "dct", or the name of a public data set of pictures of the same shape.
    percent: Of all D directions, the lowest frequencies or the leading ones; rounded up.
    """

    source: str
    percent: int

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """None for "none".

        Raises `ParameterError` if the name has another form.
        """
        if name == NO_KNOWLEDGE:
            return None
        source, _, percent = name.partition(":")
        known = source == FREQUENCIES or source in CATALOG
        if not (known and percent.isascii() and percent.isdigit() and 1 <= int(percent) <= 100):
            raise ParameterError("knowledge", _FORM, name)
        return cls(source, int(percent))

    def n_directions(self, n_features: int) -> int:
        """d, of D features."""
        return math.ceil(self.percent * n_features / 100)

    def picture_shape(self, dataset: str) -> tuple[int, int]:
        """Of this data set's rows, which the subspace has to be of.

        Raises `ParameterError` if its rows are no pictures, are of another shape, or are the
            source's own.
        """
        shape, own = entry_of(dataset).image_shape, f"{self.source}:{self.percent}"
        if shape is None:
            raise ParameterError("knowledge", f"none, for {dataset} has no pictures", own)
        if self.source == dataset:
            raise ParameterError("knowledge", f"of other people than those of {dataset}", own)
        if self.source != FREQUENCIES and CATALOG[self.source].image_shape != shape:
            size = f"{shape[0]} × {shape[1]}"
            raise ParameterError("knowledge", f"of pictures of {size}, as {dataset}'s are", own)
        return shape


def say_knowledge(name: str) -> str:
    """A choice as a control shows it."""
    knowledge = Knowledge.parse(name)
    if knowledge is None:
        return NO_KNOWLEDGE
    if knowledge.source == FREQUENCIES:
        return f"lowest {knowledge.percent} % of frequencies"
    return f"{CATALOG[knowledge.source].title}, leading {knowledge.percent} %"


def kept_features(name: str, n_features: int) -> int:
    """How many dimensions are left of D, and get noise."""
    knowledge = Knowledge.parse(name)
    return n_features if knowledge is None else knowledge.n_directions(n_features)


def check_knowledge(name: str, dataset: str) -> None:
    """Refuse a subspace that says nothing about a data set's rows.

    Raises `ParameterError` as `Knowledge.parse` and `Knowledge.picture_shape`.
    """
    if (knowledge := Knowledge.parse(name)) is not None:
        knowledge.picture_shape(dataset)


def public_basis(knowledge: Knowledge, dataset: str) -> FloatArray:
    """The subspace, for the rows of a data set.

    Returns: shape (d, n_features), orthonormal rows, read-only
    Raises `ParameterError` if it says nothing about these rows (`Knowledge.picture_shape`).
    Raises `DataUnavailable` if the source's files are not there.
    """
    shape = knowledge.picture_shape(dataset)
    is_transform = knowledge.source == FREQUENCIES
    directions = lowest_frequencies(shape) if is_transform else _read_knowledge(knowledge.source)
    return directions[: knowledge.n_directions(len(directions))]


@lru_cache(maxsize=4)
def lowest_frequencies(shape: tuple[int, int]) -> FloatArray:
    """The 2-D discrete cosine transform (DCT-II, orthonormal), lowest frequencies first.

    Returns: shape (height * width, height * width), orthonormal rows, read-only
    """
    height, width = shape
    rows, columns = (_cosines(size) for size in shape)
    squares = np.add.outer((np.arange(height) / height) ** 2, (np.arange(width) / width) ** 2)
    basis: FloatArray = np.kron(rows, columns)[np.argsort(squares.ravel(), kind="stable")]
    basis.flags.writeable = False
    return basis


def _cosines(size: int) -> FloatArray:
    """c_k(t) = sqrt(2 / n) cos(pi k (t + 1/2) / n), and sqrt(1 / n) for k = 0."""
    frequency, place = np.arange(size)[:, None], np.arange(size) + 0.5
    cosines: FloatArray = np.sqrt(2 / size) * np.cos(np.pi * frequency * place / size)
    cosines[0] /= math.sqrt(2)
    return cosines


@lru_cache(maxsize=2)
def _read_knowledge(source: str) -> FloatArray:
    """All principal directions of a public data set, leading first."""
    X = load_dataset(source, download=False).X
    moment = site_moments(X, (np.arange(len(X)),)).centred().pooled()
    directions = leading_eigenpairs(moment, len(moment))[1]
    directions.flags.writeable = False
    return directions


class KnowledgeRow(TypedDict):
    """A subspace, and the share of the exact optimum that its best K directions capture."""

    source: str
    percent: int
    energy_ratio: float


def sources_for(dataset: str) -> tuple[str, ...]:
    """Where public subspaces of pictures like these come from; nowhere for what has none."""
    shape = entry_of(dataset).image_shape
    if shape is None:
        return ()
    others = (
        name
        for name, entry in CATALOG.items()
        if name != dataset and entry.image_shape == shape and dataset_status(name).ready
    )
    return (FREQUENCIES, *others)


def knowledge_cost(problem: Problem, dataset: str, n_components: int) -> list[KnowledgeRow]:
    """Energy of the exact optimum within each subspace, over its share of the directions.

    problem: Of the data set; its reference is what is measured on.
    n_components: K; shares that leave fewer directions are left out.
    """
    optimum, reference = float(problem.optimum[n_components - 1]), problem.reference
    rows: list[KnowledgeRow] = []
    for source in sources_for(dataset):
        basis = public_basis(Knowledge(source, 100), dataset)
        within = basis @ reference @ basis.T
        for percent in (*SHARES, 80, 100):
            left = Knowledge(source, percent).n_directions(len(basis))
            if left >= n_components:
                leading = np.linalg.eigvalsh(within[:left, :left])[-n_components:]
                ratio = float(leading.sum()) / optimum
                rows.append({"source": source, "percent": percent, "energy_ratio": ratio})
    return rows


# What is run: a frozen specification, complete enough to run again elsewhere.

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
        return self.preparation in BUYING

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


@dataclass(frozen=True)
class RunSpec(ReleaseSpec, Spec):
    """One cell of an experiment; `published` and `recommended` name the two worlds.

    protocols: Keys of `dpcore.pca.protocols.register.PROTOCOLS`.
    denoise: Public bases in which noise is taken out of a noisy matrix before it is decomposed
        (`dpcore.pca.settings.bases_to_denoise_in`).
    preparation: Energy is measured on the centred second moment of the rows: on the sphere of
        those that are neither clipped nor at length 1 yet.
    limits: Energy is that of rows within them.
    knowledge: Energy is measured against the exact optimum without it.
    The other fields say of themselves what they are, and so do these.
    """

    derived_fields = ("intermediate_ratio", "people_per_site")

    dataset: str = "digits"
    protocols: tuple[str, ...] = ("dpdis", "full", "local", "pooled")
    norm_bound: float | None = param(
        None,
        "Public bound on a row's length, in the units of the raw rows",
        note="Default: the data set's own",
        low=math.ulp(0.0),
        high=sys.float_info.max,
        constraint="a positive finite number",
    )
    limits: str = param(
        "",
        "Limits of columns",
        "Public limits in place of the catalogue's.",
        note="As in 'pixels=0:16', or in a TOML file as for 'release'",
    )
    knowledge: str = param(
        NO_KNOWLEDGE,
        "Public knowledge",
        "A public subspace that pictures are projected onto before noise is added: the lowest "
        "frequencies (dct), or the leading directions of another data set, with their share. What "
        "it leaves out is lost at every ε.",
        note="As none, dct:P (the lowest P percent of frequencies) or DATASET:P",
        place="advanced",
        control="selectbox",
        offered=CHOICES,
        label=say_knowledge,
    )
    encoding: str = param(
        NATIVE,
        "How messages travel",
        note=f"As {', '.join((NATIVE, *PRECISIONS))}, or for whole matrices {ROUNDED}K with a step "
        "of K sigma",
        after_noise=True,
    )
    dropped_sites: int = param(
        0,
        "Sites that drop out",
        "So many never answer; which ones is drawn. A chain loses what they were handed; "
        "a secure sum allows for so many with more noise.",
        low=0,
        place="advanced",
        control="number_input",
        up_to=MOST_SITES - 1,
        axis=Axis(
            "sites that drop out", "sites that never answer", "{:g} sites dropped out",
            "0, 1, 2, 3, 4", whole=True, logarithmic=False, grows=False, least=0
        ),
    )  # fmt: skip
    reference: str = param(
        "sites",
        "Whose second moment the energy is measured on",
        "The people at the sites, or the whole data set they were drawn from, as the DPdisPCA "
        "authors do.",
        choices=REFERENCES,
    )
    resample: bool = param(False, "Draw the people anew in every repetition")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_knowledge(self.knowledge, self.dataset)
        read_limits(self.limits, CATALOG[self.dataset].ranges if self.dataset in CATALOG else ())
        if not self.protocols:
            raise ParameterError("protocols", "at least one", self.protocols)
        if self.dropped_sites >= self.sites:
            raise ParameterError(
                "dropped_sites", f"fewer than the {self.sites} there are", self.dropped_sites
            )
        if self.samples is not None and self.samples < 2 * self.sites:
            raise ParameterError(
                "samples", f"at least 2 people at each of the {self.sites} sites", self.samples
            )

    def problem_key(self, repetition: int = 0) -> ProblemKey:
        same = {each.name: getattr(self, each.name) for each in fields(ProblemKey)[:-1]}
        same["preparation"] = self.data_preparation
        if self.split != "dirichlet":
            same["concentration"] = 1.0
        if self.reads_rows_first:
            same |= {"norm_bound": None, "limits": ""}
        return ProblemKey(**same, drawing=repetition if self.resample else 0)

    @classmethod
    def row_type(cls) -> type:
        return PcaRow

    def outline(self) -> Sequence[Row]:
        return [{"protocol": key} for key in dict.fromkeys(self.protocols)]

    @classmethod
    def load(cls, key: ProblemKey) -> Problem:
        return local_problem(key)

    @classmethod
    def data_of(cls, key: ProblemKey) -> Hashable:
        return key.data

    def check(self) -> None:
        check_feasible(self)

    @classmethod
    def after_draw(cls) -> tuple[str, ...]:
        return after_noise(cls)

    @classmethod
    def run(
        cls,
        specs: Sequence[Any],
        problem: Problem,
        repetition: int,
        *,
        threads: int = 1,
        checkpoint: Callable[[], None] = lambda: None,
    ) -> Sequence[Sequence[Row]]:
        return run_repetitions(specs, problem, repetition, threads=threads, checkpoint=checkpoint)

    def with_values(self, values: dict[str, Any]) -> Self:
        """Fields that a person thinks in, R = ratio K and N = people S, come after the others."""
        ratio = values.pop("intermediate_ratio", None)
        people = values.pop("people_per_site", None)
        if people is not None:
            values["samples"] = people * values.get("sites", self.sites)
        if ratio is not None:
            if not 0 < ratio <= _LARGEST_RATIO:
                constraint = f"greater than 0 and at most {_LARGEST_RATIO:,}"
                raise ParameterError("intermediate_ratio", constraint, ratio)
            components = values.get("components", self.components)
            if components is None:
                dataset = values.get("dataset", self.dataset)
                components = dataset_status(dataset).default_components
                if components is None:
                    raise ParameterError("components", f"given for {dataset}", None)
            values["intermediate_dim"] = round(ratio * components)
        return replace(self, **values)

    def draw_seconds(self) -> float:
        features = kept_features(self.knowledge, dataset_status(self.dataset).n_features)
        at_a_site = _A_DRAW + _A_DRAW_OF_SQUARED_FEATURES * features**2
        # Every site decomposes its own matrix where it sends proxies; elsewhere it adds noise.
        sites = sum(
            self.sites if protocol(key).wants_proxies else 1 + self.sites / 12
            for key in self.protocols
        )
        return sites * at_a_site

    @classmethod
    def problem_seconds(cls, key: ProblemKey) -> float:
        status = dataset_status(key.dataset)
        people = status.n_samples if key.samples is None else key.samples
        return _A_MOMENT_OF_SQUARED_FEATURES * people * status.n_features**2

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

    def promise(self, key: str, dataset: DatasetStatus | None = None) -> Guarantee:
        """The guarantee that a protocol's first draw would come with, no row being read.

        dataset: What is known of the data set, where it is at hand.
        Raises `ParameterError` if it cannot run.
        """
        dataset = dataset or dataset_status(self.dataset)
        n_samples = dataset.n_samples if self.samples is None else self.samples
        sizes = dataset.site_sizes
        # Sites skewed by label have equal sizes.
        sites = split_sites(
            n_samples,
            self.sites,
            how="equal" if self.split == "dirichlet" else self.split,
            labels=np.repeat(np.arange(len(sizes)), sizes) if sizes else None,
            rng=stream(self.seed, Purpose.SPLIT, 0),
        )
        components = self.components or dataset.default_components
        if components is None:
            raise ParameterError("components", f"given for {self.dataset}", None)
        settings = self.settings(dataset.n_features, components)
        there = sites_that_answer(settings, self.sites, Repetition(self.seed))
        n_there = [len(sites[number]) for number in there]
        n_features = kept_features(self.knowledge, dataset.n_features)
        return protocol(key).promise(settings, n_there, n_features)

    def guarantees(self) -> Mapping[str, Guarantee]:
        dataset = dataset_status(self.dataset)
        return {key: self.promise(key, dataset) for key in self.protocols}

    def charges(
        self,
        guarantees: Mapping[str, Guarantee] | None = None,
        draws: int | None = None,
        what: tuple[str, ...] = (COMPONENTS,),
    ) -> list[Charge]:
        """As of every family; `what` says what was released."""
        status = dataset_status(self.dataset)
        cell = vars(self) | {
            "samples": status.n_samples if self.samples is None else self.samples,
            "components": self.components or status.default_components,
        }
        numbers = frozenset(range(self.repetitions if draws is None else draws))
        return merged(
            _charge(cell, key, guarantee, numbers, what)
            for key, guarantee in (self.guarantees() if guarantees is None else guarantees).items()
            if is_charged(guarantee)
        )

    @property
    def _image_shape(self) -> tuple[int, int] | None:
        # Rows that were projected are coordinates, and no pictures any more.
        is_known = self.dataset in CATALOG or is_held(self.dataset)
        if self.knowledge != NO_KNOWLEDGE or not is_known:
            return None
        return entry_of(self.dataset).image_shape


S = TypeVar("S", bound=PrivateSpec)


def as_published(spec: S) -> S:
    """The same question with the noise and truncation of Algorithm 1 as printed."""
    return replace(spec, **PUBLISHED)


# What noise a run reads: by what its charges are told apart.

# The unit is a draw of noise, not a picture: whatever is computed from one noisy matrix is
# post-processing and free. Protocols whose entries name the same noise read the same draw of it,
# and K, R and the message only cut it differently, so all of those share a charge. A key names the
# people, the settings of the noise and the seed, and nothing that is chosen afterwards.

# A spec or a row: the settings of a release by the names of their fields.
Cell = Mapping[str, Any]


def charges_of_rows(rows: Iterable[Cell], what: tuple[str, ...] = (COMPONENTS,)) -> list[Charge]:
    """What the runs behind some tidy rows cost, over all their data sets."""
    numbers: dict[tuple[object, ...], set[int]] = {}
    examples: dict[tuple[object, ...], Cell] = {}
    for row in rows:
        # Settings after the noise differ from row to row of a sweep; one of each will do.
        same = (row["protocol"], row["dataset"], row["exact_epsilon"],
                *noise_key(row, row["protocol"]))  # fmt: skip
        numbers.setdefault(same, set()).add(row["repetition"])
        examples.setdefault(same, row)
    return merged(
        _charge(row, row["protocol"], guarantee, frozenset(numbers[same]), what)
        for same, row in examples.items()
        if is_charged(guarantee := _guarantee_of(row))
    )


def noise_key(cell: Cell, key: str) -> tuple[object, ...]:
    """What tells this noise on these people from any other."""
    preparation, as_published = cell["preparation"], reads_rows_first(cell)
    buys_mean = preparation in BUYING
    knowledge = cell.get("knowledge", NO_KNOWLEDGE)
    reads = (
        cell.get(name) if buys_mean or name != "mean_share" else 0.0
        for name in noise_of(cell, key).settings
    )
    return (
        matrix_of(cell, key),
        cell.get("task"),
        preparation,
        None if as_published else cell["norm_bound"],
        *([] if knowledge == NO_KNOWLEDGE else [knowledge]),
        *filter(None, [None if as_published else cell.get("limits")]),
        cell["epsilon"],
        *reads,
        *(people_of(cell) if protocol(key).is_distributed else people_of(cell)[:3]),
    )


def reads_rows_first(cell: Cell) -> bool:
    """Whether centring and scaling read every row before any promise starts."""
    return bool(cell["preparation"] == "published")


def noise_of(cell: Cell, key: str) -> NoiseIdentity:
    """What a protocol reads under a cell's preparation."""
    return protocol(key).reads(on_sphere=cell.get("preparation") == "sphere")


def people_of(cell: Cell) -> tuple[object, ...]:
    """Who takes part, and, from the fourth on, who is where."""
    skew = cell["concentration"] if cell["split"] == "dirichlet" else None
    who = (cell["samples"], cell["seed"], cell["resample"])
    return (*who, cell["sites"], cell["split"], skew)


def matrix_of(cell: Cell, key: str) -> str:
    """What a protocol adds its noise to, in words that tell its noise from that of others."""
    return noise_of(cell, key).of(cell["sites"])


def label_of(cell: Cell, key: str, matrix: str) -> str:
    """What a person would call draws of one noise; the usual preparation goes without saying."""
    reads = noise_of(cell, key).settings
    settings = [cell[name] for name in ("calibration", "noise") if name in reads]
    prepared = [
        said
        for name, usual in (("preparation", "sphere"), ("knowledge", NO_KNOWLEDGE), ("limits", ""))
        if (said := cell.get(name, usual)) != usual
    ]
    told = ", ".join([*settings, *prepared, f"seed {cell['seed']}"])
    return f"{matrix}, {cell['samples']:,} rows, ε = {cell['epsilon']:g}, {told}"


def held_stream(cell: Cell, key: str) -> str:
    """The unit noise that repetitions of a seed scale, whatever people and settings it is for."""
    return joined(noise_of(cell, key).words, cell["seed"])


def _charge(
    cell: Cell, key: str, guarantee: Guarantee, drawn: frozenset[int], what: tuple[str, ...]
) -> Charge:
    entry = protocol(key)
    # Where every site releases, everybody pays through one; only a site alone spares the others,
    # unless who is there, or which site is the first to be there, is drawn anew each time.
    alone = entry.is_alone and not cell["resample"] and not cell["dropped_sites"]
    release = Release.of(
        guarantee,
        key=joined(*noise_key(cell, key)),
        label=label_of(cell, key, matrix_of(cell, key)),
        dataset=cell["dataset"],
        partition=joined(*people_of(cell)) if alone else EVERYONE,
        sites=(0,) if alone else None,
    )
    stream_held = held_stream(cell, key)
    return Charge(release, drawn, what, (entry.title,), entry.is_distributed, stream_held)


def _guarantee_of(row: Cell) -> Guarantee:
    if protocol(row["protocol"]).kind is Kind.PURE:
        mechanism = "exponential" if row["sigma"] is None else "laplace"
        return Guarantee(None, row["exact_epsilon"], 0.0, mechanism, "")
    return Guarantee(None, row["exact_epsilon"], row["delta"], "gaussian", "", mu=row["mu"])


# The data side of a run: who takes part, at which site, and the exact answer to compare with.

# What kept data sets and site moments may take: two of the larger data sets, or one and its
# moments at sixty sites.
_MOST_BYTES = 1024**3


@dataclass(frozen=True)
class About:
    """What a page says of the rows; as in `Prepared`."""

    default_components: int | None
    feature_names: tuple[str, ...]
    statement: str
    n_clipped: int = 0

    @classmethod
    def of(cls, prepared: Prepared) -> About:
        return cls(**{field.name: getattr(prepared, field.name) for field in fields(cls)})


@dataclass(frozen=True, eq=False)
class SiteData:
    """All that a problem needs of the rows; as in `Problem`."""

    moments: SiteMoments | SiteRows
    centre: FloatArray
    about: About


# From a key, and what reads its rows, to its site data: where they are kept between two starts.
Shelf = Callable[[ProblemKey, Callable[[], Prepared]], SiteData]


@dataclass(frozen=True, eq=False)
class Problem:
    """What sites hold and what the exact answer captures; but for rows nothing grows with N.

    moments: Of the people at the sites. Centred if the preparation was "published"; their rows,
        which wait for a centre, if it was "sphere".
    reference: shape (n_features, n_features), float64. The second moment that captured energy is
        measured on.
    exact_components: shape (n_features, n_features). All eigenvectors of the pooled second moment
        of the people at the sites.
    exact_eigenvalues: shape (n_features,)
    optimum: shape (n_features,). Energy of `reference` captured by the first k exact components,
        for k = 1 to D.
    centre: shape (n_features,). Mean of the prepared rows of the people at the sites.
    basis: shape (d, n_features), orthonormal rows, or None. The public subspace that the rows
        behind `moments` were projected onto; nothing else was.
    """

    moments: SiteMoments | SiteRows
    reference: FloatArray
    exact_components: FloatArray
    exact_eigenvalues: FloatArray
    optimum: FloatArray
    centre: FloatArray
    about: About
    basis: FloatArray | None = None

    @property
    def default_components(self) -> int | None:
        return self.about.default_components

    def lifted(self, subspace: Subspace) -> Subspace:
        """A subspace drawn from the moments, in the D dimensions that energy is measured in."""
        if self.basis is None:
            return subspace
        return replace(subspace, components=subspace.components @ self.basis)

    @property
    def n_features(self) -> int:
        return len(self.reference)

    @property
    def holders_moment(self) -> FloatArray:
        """Everybody's second moment as an algorithm reads it that buys no mean: on the sphere
        around the public middle."""
        rows = self.moments
        moments = rows.around_public_middle() if isinstance(rows, SiteRows) else rows
        return moments.pooled()

    def eigenvalues_before_noise(self) -> FloatArray:
        """Eigenvalues, descending, of the matrix that noise is added to: on the sphere of rows at
        length 1, seen from the exact mean. `exact_eigenvalues` are of rows as they are."""
        if not isinstance(self.moments, SiteRows):
            return self.exact_eigenvalues
        centre = self.centre if self.basis is None else self.basis @ self.centre
        return np.asarray(np.linalg.eigvalsh(self.moments.around(centre))[::-1])

    @property
    def n_samples(self) -> int:
        return int(self.moments.n_samples.sum())


def load_prepared(
    name: str,
    preparation: str,
    norm_bound: float | None = None,
    limits: str = "",
    *,
    download: bool = True,
) -> Prepared:
    """A data set ready for a private algorithm; the slow and large part of a problem."""
    dataset = load_dataset(name, limits=limits, download=download)
    # The rows of a table in somebody's hands are its holder's, and are prepared again and again.
    in_place = not is_held(name)
    return prepare(dataset, mode=preparation, norm_bound=norm_bound, in_place=in_place)


def sites_of(key: ProblemKey, prepared: Prepared) -> tuple[IntArray, ...]:
    """Row numbers of each site's people."""
    n_rows = len(prepared.X)
    n_samples = n_rows if key.samples is None else key.samples
    if n_samples > n_rows:
        raise ParameterError("samples", f"at most the {n_rows} people of {key.dataset}", n_samples)
    if n_samples < 2 * key.sites:
        raise ParameterError(
            "sites", f"at most {n_samples // 2}, for 2 of {n_samples} people each", key.sites
        )
    people = np.arange(n_rows)
    if n_samples < n_rows:
        if key.split == GIVEN:
            raise ParameterError("samples", "everybody, as the table says who is where", n_samples)
        rng = stream(key.seed, Purpose.SAMPLE, key.drawing)
        # A prefix of one permutation, so that a larger sample contains the smaller one.
        people = rng.permutation(n_rows)[:n_samples]
    labels = prepared.sites if key.split == GIVEN else prepared.labels
    members = split_sites(
        n_samples,
        key.sites,
        how=key.split,
        labels=None if labels is None else labels[people],
        concentration=key.concentration if key.split == "dirichlet" else None,
        rng=stream(key.seed, Purpose.SPLIT, key.drawing),
    )
    return tuple(people[rows] for rows in members)


def site_data(key: ProblemKey, read: Callable[[], Prepared]) -> SiteData:
    """What the sites of a key hold; the part of a problem that reads rows."""
    prepared = read()
    require_variance(prepared)
    sites = sites_of(key, prepared)
    if key.on_sphere:
        shape = prepared.image_shape
        rows = SiteRows.of(prepared.X, sites, prepared.half_widths, image_shape=shape)
        return SiteData(rows, rows.as_they_are.means[0], About.of(prepared))
    moments = site_moments(prepared.X, sites)
    centre = moments.weights @ moments.means
    if key.reads_rows_first:
        # The authors centre the people drawn once more, with their own mean.
        moments = moments.centred(centre, in_place=True)
    return SiteData(moments, centre, About.of(prepared))


def build_problem(
    key: ProblemKey, prepared: Prepared, whole: Callable[[], FloatArray] | None = None
) -> Problem:
    """Site moments and exact answer for one key.

    prepared: What `load_prepared` gives for the key's data set and preparation.
    whole: Gives the second moment of all prepared rows, for keys that measure on everybody; it is
        worked out here when absent.
    """
    if (knowledge := Knowledge.parse(key.knowledge)) is not None:
        basis = public_basis(knowledge, key.dataset)
        return _within_public_subspace(replace(key, knowledge=NO_KNOWLEDGE), basis, prepared, whole)
    data = site_data(key, lambda: prepared)
    return _problem_on(key, data, whole or (lambda: whole_second_moment(prepared)))


def _problem_on(key: ProblemKey, data: SiteData, whole: Callable[[], FloatArray]) -> Problem:
    if isinstance(data.moments, SiteRows):
        # Rows that wait for a centre, measured on what they were before any of it.
        pooled = data.moments.as_they_are.centred().pooled()
    else:
        pooled = data.moments.pooled()
        if not key.reads_rows_first:
            pooled -= np.outer(data.centre, data.centre)
    return problem_of(data, pooled, whole() if key.reference == "all" else pooled)


def _within_public_subspace(
    key: ProblemKey,
    basis: FloatArray,
    prepared: Prepared,
    whole: Callable[[], FloatArray] | None,
) -> Problem:
    """Moments of projected rows, measured against what there is without the projection."""
    without = build_problem(key, prepared, whole)
    basis = basis.astype(prepared.X.dtype)
    rows: FloatArray = prepared.X @ basis.T
    if not key.on_sphere:
        # A projection lengthens no row, but its rounding may.
        rows, _ = shorten(rows, 1.0)
    # What was between limits is turned, and coordinates are no pixels.
    projected = replace(prepared, X=rows, half_widths=None, image_shape=None)
    within = build_problem(replace(key, reference="sites"), projected)
    return replace(without, moments=within.moments, basis=basis)


def _no_variance() -> ParameterError:
    return ParameterError(
        "data",
        "of at least two different rows: equal ones have no variance to capture a share of",
        "equal rows",
    )


def require_variance(prepared: Prepared) -> None:
    """Refuse rows that are all equal, where what is left of them is rounding.

    Raises `ParameterError`.
    """
    X = prepared.X
    # Nearly always the first two differ, and nothing else is read.
    if (X[:2] == X[0]).all() and (X == X[0]).all():
        raise _no_variance()


def problem_of(data: SiteData, pooled: FloatArray, reference: FloatArray) -> Problem:
    """The problem with the exact answer for `pooled`, which is measured on `reference`."""
    eigenvalues, components = leading_eigenpairs(pooled, len(pooled))
    optimum = cumulative_energy(components, reference)
    if not optimum[-1] > 0:
        raise _no_variance()
    return Problem(
        moments=data.moments,
        reference=reference,
        exact_components=components,
        exact_eigenvalues=eigenvalues,
        optimum=optimum,
        centre=data.centre,
        about=data.about,
    )


def whole_second_moment(prepared: Prepared) -> FloatArray:
    """Centred second moment of every prepared row, float64."""
    everybody = site_moments(prepared.X, (np.arange(len(prepared.X)),), products=prepared.X.dtype)
    return everybody.centred().pooled()


ProblemSource = Callable[[ProblemKey], Problem]


class Problems:
    """Problems by their keys; each made once, however many threads ask.

    load: (name, preparation, norm_bound, limits) -> Prepared.
    keep_data, keep: How many data sets and how many problems are kept, the latest asked for. A
        sweep comes to its problems one after the other; more than one would take the memory of
        many.
    most_bytes: What the kept problems may take together; the latest stays whatever it takes.
    shelf: Not asked for the problems of sweeps.
    prepared: The data sets: called as `load`.
    """

    def __init__(
        self,
        load: Callable[..., Prepared] = load_prepared,
        *,
        keep_data: int = 1,
        keep: int = 1,
        most_bytes: int = _MOST_BYTES,
        shelf: Shelf = site_data,
    ):
        self.prepared: OnceCache[Prepared] = OnceCache(load, keep_data, _MOST_BYTES)
        self._whole = OnceCache(lambda *data: whole_second_moment(self.prepared(*data)), keep_data)
        self._problems: OnceCache[Problem] = OnceCache(
            lambda key: self._build(key, shelf), keep, most_bytes
        )

    def __call__(self, key: ProblemKey) -> Problem:
        return self._problems(key)

    def peek(self, key: ProblemKey) -> Problem | None:
        """The problem if it is there; None where one would have to wait for it."""
        return self._problems.peek(key)

    def beside(self, keep: int = 1) -> ProblemSource:
        """A source for sweeps: on the same data, and with a few problems of its own.

        The many problems of a sweep then push out none of these.
        """
        own = OnceCache(lambda key: self._build(key, site_data), keep, _MOST_BYTES)
        return lambda key: self(key) if (key,) in self._problems else own(key)

    def _build(self, key: ProblemKey, shelf: Shelf) -> Problem:
        read, whole = partial(self.prepared, *key.data), partial(self._whole, *key.data)
        with one_blas_thread():
            if key.knowledge != NO_KNOWLEDGE:
                return build_problem(key, read(), whole)
            return _problem_on(key, shelf(key, read), whole)


local_problem = Problems()


# Running a spec: tidy rows, one a (protocol, repetition).


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


class AskedRow(PrivateRow):
    """What rows of private releases at sites begin with."""

    intermediate_dim: int


class PcaRow(AskedRow):
    """One protocol in one repetition: the whole spec, what came out, and what it promises.

    `energy_ratio` is `energy`, captured on the reference, over what exact PCA captures of it;
    `random_ratio` what a random subspace does on average. `seconds` is what the draw took, all its
    protocols together, divided among the specs that shared it: protocols and specs have most of
    it in common.
    """

    encoding: str
    masks: str
    honest_sites: int | None
    dropped_sites: int
    preparation: str
    norm_bound: float | None
    limits: str
    mean_share: float | None
    knowledge: str
    split: str
    concentration: float
    reference: str
    resample: bool
    repetition: int
    seed: int
    energy_ratio: float
    energy: float
    random_ratio: float
    sigma: float | None
    mu: float | None
    exact_epsilon: float
    bytes_sent: int
    bytes_per_site: int
    n_rounds: int
    people_per_site: float
    intermediate_ratio: float
    seconds: float
    versions: str


def draw_subspaces(
    specs: Sequence[RunSpec],
    problem: Problem,
    repetition: int,
    *,
    threads: int | None = None,
    checkpoint: Callable[[], None] = lambda: None,
    each_site: Callable[[SiteAtWork], None] = lambda _: None,
) -> list[dict[str, Subspace]]:
    """Subspaces of several specs on one draw of the noise, the same as each alone gives.

    specs: Equal but for K, R, truncation, encoding and denoising.
    threads: Sites worked on at the same time; one a processor by default, and protocols too.
    checkpoint: Called before each site and each block of everybody's rows; what it raises ends the
        draw.
    each_site: Called as each site is done, by the thread that did it.
    """
    protocols = [protocol(key) for key in specs[0].protocols]
    settings = [spec.settings(problem.n_features, problem.default_components) for spec in specs]
    draws = Draw(
        problem.moments,
        settings[0],
        Repetition(specs[0].seed, repetition),
        proxies=any(each.wants_proxies for each in protocols),
        average=any(each.wants_average for each in protocols),
        threads=threads,
        checkpoint=checkpoint,
        watch=each_site,
    ).several(settings)
    if threads == 1 or problem.n_features < THREADED_FROM_FEATURES:
        found: list[dict[str, Subspace]] = [{} for _ in draws]
        for draw, subspaces in zip(draws, found, strict=True):
            for each in protocols:
                subspaces[each.key] = problem.lifted(each.release(draw))
        return found
    # One thread a protocol: most wait for the sites, while those that need none of them go ahead.
    with executor(len(protocols)) as pool:
        pending = [
            {each.key: pool.submit(each.release, draw) for each in protocols} for draw in draws
        ]
        return [{key: problem.lifted(each.result()) for key, each in of.items()} for of in pending]


def run_repetitions(
    specs: Sequence[RunSpec],
    problem: Problem,
    repetition: int,
    *,
    watch: Callable[[list[dict[str, Subspace]]], object] = lambda _: None,
    **options: Any,
) -> list[list[PcaRow]]:
    """Rows of one repetition of several specs, as `draw_subspaces` takes them.

    `watch` is called with the subspaces that the rows are about.
    """
    started = time.perf_counter()
    with one_blas_thread():
        outcomes = draw_subspaces(specs, problem, repetition, **options)
        watch(outcomes)
        seconds = (time.perf_counter() - started) / len(specs)
        energies = _Energies(problem.reference)
        return [
            [
                row_of(spec, problem, repetition, key, subspace, energies.of(subspace), seconds)
                for key, subspace in subspaces.items()
            ]
            for spec, subspaces in zip(specs, outcomes, strict=True)
        ]


class _Energies:
    """Captured energies; specs that share a decomposition share its components in memory."""

    def __init__(self, reference: FloatArray):
        self._reference = reference
        self._known: dict[Hashable, tuple[float, Subspace]] = {}

    def of(self, subspace: Subspace) -> float:
        components = subspace.components
        key = components.ctypes.data, components.shape, components.strides
        if key not in self._known:
            # The subspace is kept, or its memory might come to hold another.
            self._known[key] = captured_energy(components, self._reference), subspace
        return self._known[key][0]


def row_of(
    spec: RunSpec,
    problem: Problem,
    repetition: int,
    key: str,
    subspace: Subspace,
    energy: float,
    seconds: float,
) -> PcaRow:
    """The tidy row of one protocol's subspace."""
    settings = spec.settings(problem.n_features, problem.default_components)
    guarantee, optimum = subspace.guarantee, float(problem.optimum[settings.n_components - 1])
    in_all = float(problem.reference.trace())
    return row_from(
        PcaRow,
        spec,
        protocol=key,
        samples=problem.n_samples,
        components=settings.n_components,
        intermediate_dim=settings.intermediate_dim,
        mean_share=settings.mean_share,
        repetition=repetition,
        energy_ratio=energy / optimum,
        energy=energy,
        random_ratio=settings.n_components / problem.n_features * in_all / optimum,
        sigma=guarantee.sigma,
        mu=guarantee.mu,
        exact_epsilon=guarantee.epsilon,
        bytes_sent=int(subspace.bytes_sent.sum()),
        bytes_per_site=int(subspace.bytes_sent.max(initial=0)),
        n_rounds=subspace.n_rounds,
        people_per_site=problem.n_samples / spec.sites,
        intermediate_ratio=settings.intermediate_dim / settings.n_components,
        seconds=seconds,
        versions=versions(),
    )


def reference_bytes(spec: RunSpec, problem: Problem) -> tuple[int, int]:
    """Bytes of all whole matrices, and of all raw rows, sent as they are; nothing is drawn."""
    settings = spec.settings(problem.n_features, problem.default_components)
    draw = Draw(problem.moments, settings, Repetition(spec.seed))
    return int(whole_matrix_bytes(draw).sum()), int(raw_row_bytes(draw).sum())


def run(spec: RunSpec, problems: ProblemSource = local_problem) -> Iterator[PcaRow]:
    """Rows of a spec, as they are finished.

    Raises `ParameterError` if the spec cannot run on its data set; before anything is drawn.
    Raises `DataUnavailable` if the data set's files are not there.
    """
    for repetition in range(spec.repetitions):
        problem = problems(spec.problem_key(repetition))
        yield from run_repetitions([spec], problem, repetition)[0]


# PCA as a family of the engine: what a sweep of `RunSpec` may vary, cannot run, and takes.

# R is at most the number of features, and that in the thousands.
_LARGEST_RATIO = 100_000
# Seconds, measured on one core of 2.8 GHz from digits (D = 64) to MNIST (D = 784), within a factor
# of two: what a draw takes at each site, and what moments take for each person.
_A_DRAW, _A_DRAW_OF_SQUARED_FEATURES = 5e-4, 4.5e-8
_A_MOMENT_OF_SQUARED_FEATURES = 3e-11


def check_feasible(spec: RunSpec) -> None:
    """Refuse, without reading any data, a spec that its data set cannot serve.

    Raises `ParameterError`: saying what is wrong with which parameter.
    """
    status = dataset_status(spec.dataset)
    if spec.samples is not None and spec.samples > status.n_samples:
        here = " in the part that is here" if status.is_part else ""
        most = f"at most the {status.n_samples:,} people of {spec.dataset}{here}"
        raise ParameterError("samples", most, spec.samples)
    settings = spec.settings(status.n_features, status.default_components)
    entries = [protocol(key) for key in spec.protocols]
    for entry in entries:
        for whole in (False,) * entry.wants_proxies + (True,) * entry.wants_average:
            check_encoding(spec.encoding, whole=whole)
    n_samples = status.n_samples if spec.samples is None else spec.samples
    if n_samples < 2 * spec.sites:
        raise ParameterError("sites", f"at most half the {n_samples:,} people", spec.sites)
    fewest, more = divmod(n_samples, spec.sites)
    sites = [fewest + 1] * more + [fewest] * (spec.sites - more)
    n_features = kept_features(spec.knowledge, status.n_features)
    for entry in entries:
        entry.promise(settings, sites, n_features)


VARIABLE_FIELDS = RunSpec().variable_fields()


# What releases say of themselves, beside what only a laboratory knows.


@dataclass(frozen=True, eq=False)
class Assessed:
    """One release: its own assessment, and the truth, which is not private.

    own: None where the release cannot tell.
    variances: shape (n_components,). v_i^T A v_i on the second moment of the rows it was made from:
        those of the first site for a site alone, of everybody else.
    total: tr A.
    optimum: Of the best subspace of this dimension.
    """

    own: Assessment | None
    variances: FloatArray
    total: float
    optimum: float

    @property
    def energy(self) -> float:
        return float(self.variances.sum())

    @property
    def energy_ratio(self) -> float:
        return self.energy / self.optimum


def assessed(
    spec: RunSpec,
    problem: Problem,
    repetition: int = 0,
    *,
    checkpoint: Callable[[], None] = lambda: None,
) -> dict[str, Assessed]:
    """What each protocol's release in one repetition says of itself, and the truth.

    The noise is that of `dpcore.experiments.pca.draw_subspaces`, and so is the checkpoint.
    Nothing is drawn but for protocols whose release can tell.
    """
    entries = [protocol(key) for key in spec.protocols]
    settings = spec.settings(problem.n_features, problem.default_components)
    draw = Draw(
        problem.moments,
        settings,
        Repetition(spec.seed, repetition),
        proxies=any(each.wants_proxies for each in entries if each.average is not None),
        average=any(each.wants_average for each in entries),
        checkpoint=checkpoint,
    )
    found = {}
    with one_blas_thread():
        for each in entries:
            if each.average is not None:
                found[each.key] = _assess_one(each, each.average(draw), draw)
    return found


def _assess_one(entry: Protocol, average: NoisyAverage, draw: Draw) -> Assessed:
    exact = _exact(entry, average, draw)
    n_components = draw.settings.n_components
    energies = cumulative_energy(average.subspace(draw.settings).components, exact)
    return Assessed(
        own=entry.assess(draw),
        variances=np.diff(energies, prepend=0.0),
        total=float(exact.trace()),
        optimum=float(leading_eigenpairs(exact, n_components)[0].sum()),
    )


def _exact(entry: Protocol, average: NoisyAverage, draw: Draw) -> FloatArray:
    """What the noise was added to, around what it is centred around."""
    if draw.settings.on_sphere and average.centre is not None:
        exact = draw.moment_around(average.centre, 0 if entry.is_alone else None)
        return exact.astype(np.float64)
    rows = draw.moments
    moments = rows.around_public_middle() if isinstance(rows, SiteRows) else rows
    moments = moments.at((0,)) if entry.is_alone else moments
    mean = moments.weights @ moments.means
    pooled = moments.pooled()
    return pooled if average.centre is None else pooled - np.outer(mean, mean)


# Site moments between two starts of a server: in the folder of finished rows.

_KIND = "site moments in float64"


def kept_or_made(key: ProblemKey, read: Callable[[], Prepared]) -> SiteData:
    """The site data of a key: found in the folder, or made and kept there.

    Only of data sets that are read from files: the others are made in no time. What is damaged is
    made again. Rows that wait for a centre are read when a moment is asked for that is not there.

    read: Reads the rows.
    """
    digests = _digests(key.dataset)
    if not digests:
        return site_data(key, read)
    store = Store()
    identity: list[object] = [_KIND, asdict(key), digests]
    content = store.content(identity)
    rows = _Rows(key.dataset, digests, read)
    if content is None:
        made = site_data(key, read)
        # A file that was exchanged while it was read would be kept under the other one's name.
        rows.are_these = _digests(key.dataset) == digests
        if rows.are_these:
            _keep(store, identity, _packed(made))
    else:
        made = _unpacked(content, rows)
    if not isinstance(made.moments, SiteRows):
        return made
    around = _Centred([f"{_KIND} around a centre", key.data, digests])
    shape = entry_of(key.dataset).image_shape
    known = replace(made.moments, read=rows, shelf=around, image_shape=shape)
    return replace(made, moments=known)


def keeping(problem: Problem) -> Problem:
    """The same, which keeps the moments around the centres that it is asked for.

    What is kept of a draw on MNIST takes 7 MB: not for every draw of every setting.
    """
    rows = problem.moments
    if not isinstance(rows, SiteRows) or not isinstance(rows.shelf, _Centred):
        return problem
    return replace(problem, moments=replace(rows, shelf=replace(rows.shelf, keeps=True)))


@dataclass(frozen=True)
class _Centred:
    """A `Shelf` of moments around centres of the rows that have this identity."""

    identity: list[object]
    keeps: bool = False

    def __call__(
        self, sites: tuple[IntArray, ...], centre: FloatArray, make: Callable[[], FloatArray]
    ) -> FloatArray:
        who = hashlib.sha256(b"".join(np.ascontiguousarray(site).data for site in sites))
        where = hashlib.sha256(centre.tobytes())
        store = Store()
        identity = [*self.identity, [len(site) for site in sites]]
        identity += [who.hexdigest(), where.hexdigest()]
        content = store.content(identity)
        if content is not None:
            return _squared(np.frombuffer(content, np.float64), len(centre))
        made = make()
        if self.keeps and (triangle := _triangle(made)) is not None:
            store.keep_content(identity, triangle.tobytes())
        return made


@dataclass(eq=False)
class _Rows:
    """The rows behind moments that were found in the folder, read when they are needed."""

    dataset: str
    digests: list[str]
    read: Callable[[], Prepared]
    are_these: bool = False

    def __call__(self) -> FloatArray:
        rows = self.read().X
        if not self.are_these and _digests(self.dataset) != self.digests:
            raise DataUnavailable(
                f"The files of {self.dataset} have been exchanged since its second moments were "
                "read: start the server again."
            )
        self.are_these = True
        return rows


def _digests(dataset: str) -> list[str]:
    """Of the files that the rows are read from; empty where there are none, or they are away."""
    try:
        return [_sha256(path) for path in dataset_files(dataset)]
    except OSError:
        return []


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _packed(data: SiteData) -> dict[str, AnyArray] | None:
    moments = data.moments
    arrays = {"about": np.array(json.dumps(asdict(data.about))), "centre": data.centre}
    arrays |= {"precision": np.array(moments.dtype.name)}
    arrays |= {"means": moments.means, "n_samples": moments.n_samples}
    if isinstance(moments, SiteRows):
        everybody = moments.as_they_are
        arrays |= {"everybodys_mean": everybody.means, "members": np.concatenate(moments.sites)}
        if moments.half_widths is not None:
            arrays["half_widths"] = moments.half_widths
        moments = everybody
    triangles = [_triangle(own) for own in moments.second_moments]
    whole = [each for each in triangles if each is not None]
    return arrays | {"triangles": np.stack(whole)} if len(whole) == len(triangles) else None


def _keep(store: Store, identity: list[object], arrays: dict[str, AnyArray] | None) -> None:
    if arrays is not None:
        np.savez(packed := BytesIO(), allow_pickle=False, **arrays)
        store.keep_content(identity, packed.getvalue())


def _unpacked(content: bytes, read: Callable[[], FloatArray]) -> SiteData:
    """What `_packed` packed; the store has seen that it is whole."""
    with np.load(BytesIO(content)) as packed:
        arrays = dict(packed)
    found = json.loads(str(arrays["about"]))
    about = About(**found | {"feature_names": tuple(found["feature_names"])})
    means, n_samples = arrays["means"], arrays["n_samples"]
    second_moments = np.stack([_squared(own, means.shape[1]) for own in arrays["triangles"]])
    precision = np.dtype(str(arrays["precision"]))
    if "members" not in arrays:
        moments = SiteMoments(second_moments, means, n_samples, precision)
        return SiteData(moments, arrays["centre"], about)
    everybody = SiteMoments(second_moments, arrays["everybodys_mean"], n_samples.sum(keepdims=True))
    members = tuple(np.split(arrays["members"], np.cumsum(n_samples)[:-1]))
    rows = SiteRows(
        read,
        precision,
        members,
        means,
        n_samples,
        arrays.get("half_widths"),
        known=[everybody],
    )
    return SiteData(rows, arrays["centre"], about)


def _triangle(matrix: FloatArray) -> FloatArray | None:
    """Half of a matrix that is symmetric to the bit; None of another."""
    if not np.array_equal(matrix, matrix.T):
        return None
    half: FloatArray = matrix[_upper(len(matrix))]
    return half


def _squared(triangle: FloatArray, n_features: int) -> FloatArray:
    upper = _upper(n_features)
    matrix = np.empty((n_features, n_features), triangle.dtype)
    matrix[upper] = triangle
    matrix.T[upper] = triangle
    return matrix


@lru_cache(maxsize=1)
def _upper(n_features: int) -> BoolArray:
    return np.tri(n_features, dtype=np.bool_).T


# People of a data set, rebuilt from what a run released: from its components, about its centre.

N_SHOWN = 10
# Of each class the third: the first five of MNIST is one that few would read as a five.
_TURN = 2
# Data sets whose pictures are ink on paper; others are photographs.
INK = ("mnist-small", "mnist", "digits")
# Of a table, so many columns are drawn as bars.
MOST_BARS = 12


@dataclass(frozen=True, eq=False)
class ShownPeople:
    """Ten people of a data set, and which of their columns are shown.

    rows: shape (n_people, n_features), float64. Of `Prepared.X`.
    units: scale and mean of `Prepared`.
    ends: shape (2, n_features). Values drawn as nothing and as full: public limits, or where there
        are none the least and the largest of these people.
    columns: Those shown, in the order they are shown in; all of a picture.
    names: Of each person, what the label says, or the number of the row.
    """

    rows: FloatArray
    units: tuple[float, FloatArray]
    ends: FloatArray
    columns: IntArray
    names: tuple[str, ...]

    def levels(self, rows: FloatArray) -> IntArray:
        """Bytes to draw, (n_people, n_columns) uint8, of rows in the units of `rows`."""
        scale, mean = self.units
        low, high = self.ends
        shares = (rows * scale + mean - low) / np.where(high > low, high - low, 1.0)
        drawn: IntArray = np.rint(255 * np.clip(shares[:, self.columns], 0, 1)).astype(np.uint8)
        return drawn


def shown_people(
    prepared: Prepared, limits: FloatArray | None, variances: FloatArray
) -> ShownPeople:
    """Ten people, as evenly of each class as there are classes, always the same.

    limits: shape (n_features, 2), public, or None.
    variances: shape (n_features,). Of a table, columns that vary most are shown.
    """
    chosen = choose_people(prepared.labels, prepared.n_samples)
    rows = np.asarray(prepared.X[chosen], dtype=np.float64)
    units = prepared.scale, prepared.mean
    measured = rows * prepared.scale + prepared.mean
    ends = np.stack([measured.min(axis=0), measured.max(axis=0)]) if limits is None else limits.T
    columns = np.arange(prepared.n_features)
    if prepared.image_shape is None:
        columns = np.sort(np.argsort(-variances, kind="stable")[:MOST_BARS])
    return ShownPeople(rows, units, ends, columns, _names(prepared, chosen))


def choose_people(labels: IntArray | None, n_samples: int) -> IntArray:
    """Row numbers of ten people, or of all where they are fewer, by class.

    Of each class in turn the third in the data set, then the next, until there are ten.
    """
    if labels is None:
        return np.arange(min(N_SHOWN, n_samples))
    members = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    longest = max(map(len, members))
    rounds = [k % longest for k in range(_TURN, _TURN + longest)]
    order = [rows[k] for k in rounds for rows in members if k < len(rows)][:N_SHOWN]
    return np.array(sorted(order, key=lambda row: (labels[row], row)))


def rebuilt(rows: FloatArray, subspace: Subspace, problem: Problem) -> FloatArray:
    """m + V^T V (x - m) of each row x, from released quantities and the row alone.

    m is the centre that the run released, or the origin of the rows, which is public, where it
    bought none: never the rows' own mean.

    rows: shape (n_people, n_features), in the units of the prepared rows.
    """
    centre = subspace.centre
    if centre is None:
        centre = np.zeros(rows.shape[1])
    elif problem.basis is not None:
        centre = centre @ problem.basis
    return rebuilt_about(rows, subspace.components, np.asarray(centre, dtype=np.float64))


def rebuilt_about(rows: FloatArray, components: FloatArray, centre: FloatArray) -> FloatArray:
    """Rows projected onto components about a centre."""
    found: FloatArray = centre + (rows - centre) @ components.T @ components
    return found


def _names(prepared: Prepared, chosen: IntArray) -> tuple[str, ...]:
    if prepared.labels is None or prepared.label_names is None:
        return tuple(f"row {row + 1:,}" for row in chosen)
    return tuple(prepared.label_names[label] for label in prepared.labels[chosen])
