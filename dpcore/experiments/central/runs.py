"""Central algorithms as a family of the experiment engine: variants, batches of draws, tidy rows.

A batch makes many draws together. For PPCA, the last states of many Markov chains on one
distribution are the draws; a separate call for each draw would repeat the warm-up and the
diagnostics.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.data import Prepared
from dpcore.experiments.engine.blas_threads import one_blas_thread
from dpcore.experiments.engine.cache import OnceCache
from dpcore.experiments.engine.fields import ProblemKey
from dpcore.experiments.engine.knowledge import NO_KNOWLEDGE
from dpcore.experiments.engine.spec import Row
from dpcore.experiments.pca import PcaRow, RunSpec, draw_subspaces, is_denoised, row_of
from dpcore.experiments.pca.problem import (
    DataDescription,
    Problem,
    SiteData,
    build_problem,
    local_problem,
    problem_of,
    require_variance,
    sites_of,
)
from dpcore.pca import Subspace
from dpcore.pca.protocols.ppca import draw_ppca
from dpcore.pca.protocols.protocol import Kind
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.spectra import SiteRows, captured_energy, site_moments
from dpcore.streams import Purpose, Repetition

# Number of the SUBSPACE stream; the random floor and the protocol `ppca` use lower numbers.
_MANY_CHAINS = 2
_FEWEST_CHAINS = 4
# Effective sample size per chain, as in `sample_matrix_bingham`, where four chains need 50.
_ESS_A_CHAIN = 12.5
R = TypeVar("R", bound=RunSpec)


@dataclass(frozen=True)
class Variant:
    """Algorithm with the choices that determine its noise."""

    key: str
    protocol: str
    label: str
    calibration: str = "published"
    noise: str = "triangle"

    def of(self, spec: R) -> R:
        """Return the spec with only this variant."""
        return replace(
            spec, protocols=(self.protocol,), calibration=self.calibration, noise=self.noise
        )


# Protocols with pure ε, PPCA first.
PURE = tuple(
    sorted(
        (
            k
            for k, entry in PROTOCOLS.items()
            if entry.kind is Kind.PURE and entry.noise is not None
        ),
        key=lambda k: PROTOCOLS[k].has_sites,
    )
)
VARIANTS: dict[str, Variant] = {
    variant.key: variant
    for variant in (
        *(Variant(key, key, PROTOCOLS[key].title) for key in PURE),
        *(
            Variant(f"ag-{scale}-{noise}", "ag", f"Analyze Gauss, {scale}, {noise}", scale, noise)
            for scale in ("analytic", "classic", "published")
            for noise in ("isometric", "triangle")
        ),
        Variant("modsulq", "modsulq", "MOD-SuLQ"),
        Variant("sulq", "sulq", "SuLQ"),
    )
}


@dataclass(frozen=True)
class CentralSpec(RunSpec):
    """Spec of `repetitions` draws of one central algorithm, made in one batch."""

    experiment = "central"
    counted = "batches"
    batches = 1

    @classmethod
    def row_type(cls) -> type:
        return CentralRow

    def outline(self) -> Sequence[Row]:
        key = self.protocols[0]
        return [{"protocol": key, "repetition": number} for number in range(self.repetitions)]

    @classmethod
    def load(cls, key: ProblemKey) -> Problem:
        return _problems(key)

    @classmethod
    def after_draw(cls) -> tuple[str, ...]:
        return ()

    def rows(self, problem: Problem, repetition: int) -> Sequence[Row]:  # noqa: ARG002
        return central_rows(self, run_batch(self, problem))

    @classmethod
    def run(
        cls, specs: Sequence[Any], problem: Problem, repetition: int, **_: Any
    ) -> Sequence[Sequence[Row]]:
        return [spec.rows(problem, repetition) for spec in specs]


class BatchRow(PcaRow):
    """PCA row with the number of chains of its batch, which affects the draws."""

    chains: int


class CentralRow(BatchRow):
    """Batch row with the key and label of its variant."""

    variant: str
    label: str


@dataclass(frozen=True)
class Batch:
    """Rows and subspaces of many draws of one algorithm."""

    rows: tuple[BatchRow, ...]
    subspaces: tuple[Subspace, ...]


def central_spec(spec: RunSpec) -> CentralSpec:
    """Return the spec with one site and no private mean."""
    central = {
        "sites": 1, "dropped_sites": 0, "split": "equal", "mean_share": 0.0, "honest_sites": None,
        "intermediate_dim": None, "knowledge": NO_KNOWLEDGE,
    }  # fmt: skip
    return CentralSpec(**vars(spec) | central)


def central_problem(
    key: ProblemKey, prepared: Prepared, whole: Callable[[], FloatArray] | None = None
) -> Problem:
    """Build the data side of a central run.

    Rows prepared as published are handled as in `build_problem`. Otherwise the second moment is
    taken around zero, as in the 2012 paper: its algorithms release only a subspace, so there is no
    mean for centring, and energy is measured on the same uncentred second moment. On the sphere,
    rows have length 1 around zero, and energy is measured on the rows before scaling.

    key: Key with one site.
    whole: Function that returns the second moment of all prepared rows, for keys that measure on
        them.
    """
    if key.reads_rows_first:
        return build_problem(key, prepared, whole)
    require_variance(prepared)
    sites, on_sphere = sites_of(key, prepared), key.on_sphere
    # On the sphere these moments are not released.
    products = prepared.X.dtype if on_sphere else np.float64
    moments = site_moments(prepared.X, sites, products=products)
    pooled = moments.pooled()
    if on_sphere:
        moments = SiteRows.of(prepared.X, sites).around_public_middle()
    reference = pooled
    if key.reference == "all":
        reference = whole() if whole is not None else raw_second_moment(prepared)
    data = SiteData(moments, np.zeros(len(pooled)), DataDescription.of(prepared))
    return problem_of(data, pooled, reference)


def raw_second_moment(prepared: Prepared) -> FloatArray:
    """Return the second moment around zero of every prepared row, float64."""
    all_rows = (np.arange(len(prepared.X)),)
    return site_moments(prepared.X, all_rows, products=prepared.X.dtype).pooled()


def nearest_basis(components: FloatArray, exact: FloatArray) -> FloatArray:
    """Return the basis of the components' span that is closest to the exact components.

    PPCA's components are uniform within their span, so that only this basis makes them comparable
    one by one. The result depends on the exact components and must not be released.

    components: shape (n_components, n_features), orthonormal rows
    exact: shape (at least n_components, n_features), orthonormal rows
    """
    u, _, vt = np.linalg.svd(components @ exact[: len(components)].T)
    rotated: FloatArray = (u @ vt).T @ components
    return rotated


def run_batch(spec: RunSpec, problem: Problem, *, first: int = 0) -> Batch:
    """Run `spec.repetitions` draws of the spec's one protocol.

    spec: Result of `central_spec`, with one protocol.
    problem: Result of `central_problem`.
    first: Number of the first repetition.
    Raises `ParameterError` if the protocol cannot run with these settings.
    """
    (protocol,) = spec.protocols
    started = time.perf_counter()
    with one_blas_thread():
        if protocol == "ppca":
            subspaces = _ppca_draws(spec, problem, first)
        else:
            subspaces = [
                draw_subspaces([spec], problem, first + number)[0][protocol]
                for number in range(spec.repetitions)
            ]
        energies = [captured_energy(s.components, problem.reference) for s in subspaces]
        seconds = (time.perf_counter() - started) / spec.repetitions
    rows = tuple(
        BatchRow(
            **row_of(spec, problem, first + number, protocol, subspace, energy, seconds),
            chains=subspace.diagnostics.get("chains", 0),
        )
        for number, (subspace, energy) in enumerate(zip(subspaces, energies, strict=True))
    )
    return Batch(rows, tuple(subspaces))


def central_rows(spec: CentralSpec, batch: Batch) -> list[CentralRow]:
    """Return the rows of a batch with their variant."""
    variant = next(variant for variant in VARIANTS.values() if variant.of(spec) == spec)
    n_components, n_features = batch.subspaces[0].components.shape
    # Algorithms with pure epsilon decompose no matrix.
    is_changed = is_denoised(spec, n_features, n_components)
    label = f"{variant.label}, denoised" if is_changed else variant.label
    return [CentralRow(**row, variant=variant.key, label=label) for row in batch.rows]


def count_chains(n_draws: int) -> int:
    """Return the number of Markov chains of a batch of PPCA draws with several components."""
    return max(n_draws, _FEWEST_CHAINS)


def _ppca_draws(spec: RunSpec, problem: Problem, first: int) -> list[Subspace]:
    settings = spec.settings(problem.n_features, problem.default_components)
    n_chains = count_chains(spec.repetitions)
    release = draw_ppca(
        problem.holders_moment,
        problem.n_samples,
        spec.epsilon,
        settings.n_components,
        rng=Repetition(spec.seed, first).rng(Purpose.SUBSPACE, _MANY_CHAINS),
        n_chains=n_chains,
        min_ess=_ESS_A_CHAIN * n_chains,
    )
    draw = release.draw
    if draw.method == "exact":
        # One component is drawn without chains, one draw per call.
        return [
            draw_subspaces([spec], problem, first + number)[0]["ppca"]
            for number in range(spec.repetitions)
        ]
    diagnostics = {
        "method": draw.method,
        "converged": draw.converged,
        "r_hat": draw.r_hat,
        "ess_bulk": draw.ess_bulk,
        "ess_tail": draw.ess_tail,
        "sweeps": draw.n_sweeps,
        "chains": n_chains,
        "seconds": draw.seconds,
    }
    unknown = np.full(settings.n_components, np.nan)
    # The curator who draws receives all rows.
    rows = problem.moments.n_samples * problem.n_features
    n_bytes = rows * problem.moments.dtype.itemsize
    return [
        Subspace(state, unknown, release.guarantee, bytes_sent=n_bytes, diagnostics=diagnostics)
        for state in draw.states[: spec.repetitions]
    ]


_problems: OnceCache[Problem] = OnceCache(
    lambda key: central_problem(key, local_problem.prepared(*key.data)), keep=2
)
