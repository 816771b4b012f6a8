"""PCA as a family of the experiment engine: specs, draws and tidy rows."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Integral
from typing import Any, Self

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.data import DatasetStatus, dataset_status, split_sites
from dpcore.data.catalog import CATALOG, entry_of
from dpcore.data.dataset import is_held, read_limits
from dpcore.data.splits import MOST_SITES
from dpcore.errors import ParameterError
from dpcore.experiments.engine.blas_threads import one_blas_thread
from dpcore.experiments.engine.charge_keys import COMPONENTS, make_charge
from dpcore.experiments.engine.fields import (
    REFERENCES,
    ProblemKey,
    ReleaseRow,
    ReleaseSpec,
    release_settings,
)
from dpcore.experiments.engine.knowledge import (
    CHOICES,
    NO_KNOWLEDGE,
    check_knowledge,
    count_directions,
    describe_knowledge,
)
from dpcore.experiments.engine.spec import PlannedSpec, Row, row_from
from dpcore.experiments.engine.store import versions
from dpcore.experiments.pca.draws import draw_releases
from dpcore.experiments.pca.problem import Problem, ProblemSource, local_problem
from dpcore.params import Axis, after_noise, param
from dpcore.pca import Draw, ReleaseSettings, Subspace
from dpcore.pca.centre_rule import ACCURATE_MEAN, centre_rule
from dpcore.pca.messages import check_encoding
from dpcore.pca.protocols.protocol import raw_row_bytes, whole_matrix_bytes
from dpcore.pca.protocols.register import protocol
from dpcore.pca.settings import NATIVE, PRECISIONS, ROUNDED, sites_that_answer
from dpcore.pca.site import SiteAtWork
from dpcore.picture_kinds import FULL
from dpcore.privacy import Charge, Guarantee
from dpcore.spectra import captured_energy, public_energy
from dpcore.streams import Purpose, Repetition, stream

# R is at most the number of features, which is in the thousands.
_LARGEST_RATIO = 100_000
# Seconds of a draw at each site, and of the moments of each row. Measured on one core of 2.8 GHz
# from digits (D = 64) to MNIST (D = 784), within a factor of two.
_A_DRAW, _A_DRAW_OF_SQUARED_FEATURES = 5e-4, 4.5e-8
_SECONDS_PER_SQUARED_FEATURE = 3e-11


@dataclass(frozen=True)
class RunSpec(ReleaseSpec, PlannedSpec):
    """Cell of a PCA experiment; `published` and `improved` return the two standard settings.

    protocols: Keys of `dpcore.pca.protocols.register.PROTOCOLS`.
    denoise: Public bases in which noise is removed from a noisy matrix before its decomposition
        (`dpcore.pca.settings.bases_to_denoise_in`).
    preparation: Energy is measured on the centred second moment of the rows; on the sphere, of the
        rows before they are clipped and scaled to length 1.
    limits: Energy is measured on rows within these limits.
    knowledge: Energy is measured against the exact optimum without public knowledge.
    """

    experiment = "pca"
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
        note="Write 'pixels=0:16', or name a TOML file in the format of 'release'",
    )
    knowledge: str = param(
        NO_KNOWLEDGE,
        "Public knowledge",
        "Images are projected onto a public subspace before noise is added. It contains the "
        "lowest frequencies (dct) or the leading directions of another data set. "
        "The projection loses the rest of the image at every ε.",
        note="none, dct:P (the lowest P percent of frequencies) or DATASET:P",
        control="selectbox",
        offered=CHOICES,
        label=describe_knowledge,
    )
    encoding: str = param(
        NATIVE,
        "Encoding of messages",
        note=f"{', '.join((NATIVE, *PRECISIONS))}, or for whole matrices {ROUNDED}K with a step "
        "of K sigma",
        after_noise=True,
    )
    dropped_sites: int = param(
        0,
        "Sites that drop out",
        "Number of randomly drawn sites that never answer. A chain loses the messages sent to "
        "them. A secure sum tolerates this number with more noise.",
        low=0,
        control="number_input",
        up_to=MOST_SITES - 1,
        axis=Axis(
            "sites that drop out", "sites that never answer", "{:g} sites dropped out",
            "0, 1, 2, 3, 4", whole=True, logarithmic=False, grows=False, least=0
        ),
    )  # fmt: skip
    reference: str = param(
        "sites",
        "Rows on which captured energy is measured",
        "The rows at the sites, or the whole data set, as in the DPdisPCA paper.",
        choices=REFERENCES,
    )
    resample: bool = param(False, "Draw new rows in every repetition")

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
        same = {field.name: getattr(self, field.name) for field in fields(ProblemKey)[:-1]}
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

    def rows(self, problem: Problem, repetition: int) -> Sequence[Row]:
        return self.run([self], problem, repetition)[0]

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
        """Return the spec with these values; R = ratio K and N = people S are derived last."""
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
        features = count_directions(self.knowledge, dataset_status(self.dataset).n_features)
        at_a_site = _A_DRAW + _A_DRAW_OF_SQUARED_FEATURES * features**2
        # Sites decompose their own matrix only if they send proxies; otherwise they add noise.
        sites = sum(
            self.sites if protocol(key).wants_proxies else 1 + self.sites / 12
            for key in self.protocols
        )
        return sites * at_a_site

    @classmethod
    def problem_seconds(cls, key: ProblemKey) -> float:
        status = dataset_status(key.dataset)
        people = status.n_samples if key.samples is None else key.samples
        return _SECONDS_PER_SQUARED_FEATURE * people * status.n_features**2

    def settings(self, n_features: int, default_components: int | None) -> ReleaseSettings:
        """Return the release settings, with K and R filled in and limited to the public subspace.

        Raises `ParameterError` if K or R is not in [1, n_features], or if K is None and the data
            set has no default.
        """
        n_features = count_directions(self.knowledge, n_features)
        components = default_components if self.components is None else self.components
        if components is None:
            raise ParameterError("components", f"given for {self.dataset}", None)
        intermediate = self.intermediate_dim
        if intermediate is None:
            intermediate = min(2 * components, n_features)
        for name, value in (("components", components), ("intermediate_dim", intermediate)):
            if not isinstance(value, Integral) or not 1 <= value <= n_features:
                raise ParameterError(name, f"a whole number in [1, n_features={n_features}]", value)
        return release_settings(
            self,
            components,
            intermediate,
            self._image_shape,
            self._picture,
            encoding=self.encoding,
            dropped_sites=self.dropped_sites,
            centred_by=(
                centre_rule(self._image_shape, self._picture) if self.on_sphere else ACCURATE_MEAN
            ),
        )

    def guarantee(self, key: str, dataset: DatasetStatus | None = None) -> Guarantee:
        """Return the guarantee of a protocol's first draw, without reading rows.

        dataset: Status of the data set, if the caller has it.
        Raises `ParameterError` if the spec cannot run.
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
        n_features = count_directions(self.knowledge, dataset.n_features)
        return protocol(key).guarantee(settings, n_there, n_features)

    def guarantees(self) -> Mapping[str, Guarantee]:
        dataset = dataset_status(self.dataset)
        return {key: self.guarantee(key, dataset) for key in self.protocols}

    def charges(
        self,
        guarantees: Mapping[str, Guarantee],
        draws: int | None = None,
        quantities: tuple[str, ...] = (COMPONENTS,),
    ) -> list[Charge]:
        """Return one charge for each noise; `quantities` names the released quantities."""
        number = self.repetitions if draws is None else draws
        return [
            replace(charge, quantities=quantities) for charge in super().charges(guarantees, number)
        ]

    def charge(self, name: str, guarantee: Guarantee, draws: frozenset[int]) -> Charge:
        return make_charge(self.charge_cell(), name, guarantee, draws)

    def charge_cell(self) -> dict[str, Any]:
        """Return the fields by which a charge is identified, with N and K filled in."""
        status = dataset_status(self.dataset)
        return vars(self) | {
            "samples": status.n_samples if self.samples is None else self.samples,
            "components": self.components or status.default_components,
        }

    @property
    def _picture(self) -> str:
        """Return the kind of picture; without pictures it has no effect."""
        return FULL if self._image_shape is None else entry_of(self.dataset).picture

    @property
    def _image_shape(self) -> tuple[int, int] | None:
        # Projected rows are coordinates, not images.
        is_known = self.dataset in CATALOG or is_held(self.dataset)
        if self.knowledge != NO_KNOWLEDGE or not is_known:
            return None
        return entry_of(self.dataset).image_shape


class PcaRow(ReleaseRow):
    """Row of one protocol in one repetition: the spec, the measured values and the guarantee.

    centre: Centre of the rows, chosen by noisy votes if there was a choice: "mean", "differences"
        or "none".
    energy: Captured energy of the components on the reference.
    energy_ratio: `energy` divided by the captured energy of exact PCA.
    random_ratio: Expected ratio of a uniformly random subspace.
    floor: Ratio without any data (`floor_of`).
    seconds: Duration of the draw of all protocols, divided by the number of specs that shared it.
    """

    encoding: str
    masks: str
    honest_sites: int | None
    dropped_sites: int
    preparation: str
    norm_bound: float | None
    limits: str
    mean_share: float | None
    centre: str
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
    floor: float
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
    """Draw the subspaces of several specs with the same noise.

    Each spec gets the same subspaces as in a draw of its own.

    specs: Specs that differ only in K, R, truncation, encoding and denoising.
    threads: Number of sites, and of protocols, processed concurrently; one per processor by
        default.
    checkpoint: Called before each site and each block of rows; an exception ends the draw.
    each_site: Called with each finished site, in the thread that processed it.
    """
    return draw_releases(
        [protocol(key) for key in specs[0].protocols],
        [spec.settings(problem.n_features, problem.default_components) for spec in specs],
        problem,
        Repetition(specs[0].seed, repetition),
        threads=threads,
        checkpoint=checkpoint,
        each_site=each_site,
    )


def random_ratio(problem: Problem, n_components: int) -> float:
    """Return the expected captured energy of a uniformly random subspace, relative to exact PCA."""
    share = n_components / problem.n_features
    return share * float(problem.reference.trace()) / float(problem.optimum[n_components - 1])


def is_denoised(spec: RunSpec, n_features: int, default_components: int | None) -> bool:
    """Return whether releases of the first protocol are denoised."""
    bases = spec.settings(n_features, default_components).bases
    return protocol(spec.protocols[0]).average is not None and bool(bases)


def floor_of(spec: RunSpec, problem: Problem) -> float:
    """Return the captured energy without any data, relative to exact PCA.

    This is the energy of the public constant of pictures (`dpcore.spectra.public_constant`), and
    of random directions for tables and for specs without denoising, which use no prior knowledge.
    The floor is the same for all protocols.
    """
    settings = spec.settings(problem.n_features, problem.default_components)
    n_components = settings.n_components
    is_known = spec.dataset in CATALOG or is_held(spec.dataset)
    entry = entry_of(spec.dataset) if is_known else None
    if entry is None or entry.image_shape is None or not settings.bases:
        return random_ratio(problem, n_components)
    energy = public_energy(problem.reference, entry.image_shape, entry.picture, n_components)
    return energy / float(problem.optimum[n_components - 1])


def run_repetitions(
    specs: Sequence[RunSpec],
    problem: Problem,
    repetition: int,
    *,
    watch: Callable[[list[dict[str, Subspace]]], object] = lambda _: None,
    **options: Any,
) -> list[list[PcaRow]]:
    """Run one repetition of several specs, as accepted by `draw_subspaces`, and return its rows.

    watch: Called with the drawn subspaces.
    """
    started = time.perf_counter()
    with one_blas_thread():
        outcomes = draw_subspaces(specs, problem, repetition, **options)
        watch(outcomes)
        seconds = (time.perf_counter() - started) / len(specs)
        energies = _Energies(problem.reference)
        return [
            [
                row_of(
                    spec,
                    problem,
                    repetition,
                    key,
                    subspace,
                    energies.of(subspace),
                    seconds,
                )
                for key, subspace in subspaces.items()
            ]
            for spec, subspaces in zip(specs, outcomes, strict=True)
        ]


class _Energies:
    """Cache of captured energies for specs that share the memory of their components."""

    def __init__(self, reference: FloatArray):
        self._reference = reference
        self._by_memory: dict[Hashable, tuple[float, Subspace]] = {}

    def of(self, subspace: Subspace) -> float:
        components = subspace.components
        key = components.ctypes.data, components.shape, components.strides
        if key not in self._by_memory:
            # The reference to the subspace prevents the reuse of its memory, and so of the key.
            self._by_memory[key] = captured_energy(components, self._reference), subspace
        return self._by_memory[key][0]


def row_of(
    spec: RunSpec,
    problem: Problem,
    repetition: int,
    key: str,
    subspace: Subspace,
    energy: float,
    seconds: float,
) -> PcaRow:
    """Return the tidy row of one protocol's subspace."""
    settings = spec.settings(problem.n_features, problem.default_components)
    guarantee, optimum = subspace.guarantee, float(problem.optimum[settings.n_components - 1])
    return row_from(
        PcaRow,
        spec,
        protocol=key,
        samples=problem.n_samples,
        components=settings.n_components,
        intermediate_dim=settings.intermediate_dim,
        mean_share=settings.mean_share,
        centre=subspace.centre_choice,
        repetition=repetition,
        energy_ratio=energy / optimum,
        energy=energy,
        random_ratio=random_ratio(problem, settings.n_components),
        floor=floor_of(spec, problem),
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
    """Return the bytes of all whole matrices and of all raw rows, without drawing noise."""
    settings = spec.settings(problem.n_features, problem.default_components)
    draw = Draw(problem.moments, settings, Repetition(spec.seed))
    return int(whole_matrix_bytes(draw).sum()), int(raw_row_bytes(draw).sum())


def run(spec: RunSpec, problems: ProblemSource = local_problem) -> Iterator[PcaRow]:
    """Yield the rows of a spec as they are finished.

    Raises `ParameterError` before any draw if the spec cannot run on its data set.
    Raises `DataUnavailable` if the data set's files are absent.
    """
    for repetition in range(spec.repetitions):
        problem = problems(spec.problem_key(repetition))
        yield from run_repetitions([spec], problem, repetition)[0]


def check_feasible(spec: RunSpec) -> None:
    """Validate a spec against its data set without reading rows.

    Raises `ParameterError` naming the invalid parameter.
    """
    status = dataset_status(spec.dataset)
    if spec.samples is not None and spec.samples > status.n_samples:
        part = " in the part that is here" if status.is_part else ""
        most = f"at most the {status.n_samples:,} people of {spec.dataset}{part}"
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
    n_features = count_directions(spec.knowledge, status.n_features)
    for entry in entries:
        entry.guarantee(settings, sites, n_features)


VARIABLE_FIELDS = RunSpec().variable_fields()
