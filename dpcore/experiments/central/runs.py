"""Algorithms that hold all rows in one place, many draws at a time.

What `dpcore.experiments.pca.runs` gives one repetition after the other, and PPCA in a form that a
page can wait for: the last states of many Markov chains on one law are as many draws, while a call
of its own for each would pay for its warm-up and its diagnosis every time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.data import Prepared
from dpcore.experiments.engine.experiment import Experiment, each_alone
from dpcore.experiments.engine.once_cache import OnceCache
from dpcore.experiments.engine.work_units import one_blas_thread
from dpcore.experiments.pca.experiment import PCA
from dpcore.experiments.pca.problem import (
    About,
    Problem,
    SiteData,
    build_problem,
    local_problem,
    problem_of,
    require_variance,
    sites_of,
)
from dpcore.experiments.pca.public_knowledge import NO_KNOWLEDGE
from dpcore.experiments.pca.runs import PcaRow, draw_subspaces, row_of
from dpcore.experiments.pca.spec import ProblemKey, RunSpec
from dpcore.pca import Subspace
from dpcore.pca.protocols.central import draw_ppca
from dpcore.spectra import SiteRows, captured_energy, site_moments
from dpcore.streams import Purpose, Repetition

# Of the SUBSPACE streams; lower numbers are the random floor's and the protocol `ppca`'s.
_MANY_CHAINS = 2
_FEWEST_CHAINS = 4
# As in `sample_matrix_bingham`, whose 50 are for four chains.
_ESS_A_CHAIN = 12.5


R = TypeVar("R", bound=RunSpec)


@dataclass(frozen=True)
class Variant:
    """An algorithm with the choices that make its noise."""

    key: str
    protocol: str
    label: str
    calibration: str = "published"
    noise: str = "triangle"

    def of(self, spec: R) -> R:
        """The spec for this variant alone."""
        return replace(
            spec, protocols=(self.protocol,), calibration=self.calibration, noise=self.noise
        )


VARIANTS: dict[str, Variant] = {
    variant.key: variant
    for variant in (
        Variant("ppca", "ppca", "PPCA"),
        Variant("wishart", "wishart", "Wishart difference"),
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
    """Draws of one algorithm that holds all rows, made together: `repetitions` of them."""

    experiment = "dpcore.experiments.central.runs:CENTRAL"
    batches = 1


class BatchRow(PcaRow):
    """A row of PCA, and how many chains ran together for it: other draws in other company."""

    chains: int


class CentralRow(BatchRow):
    """The same with the key and label of its variant."""

    variant: str
    label: str


@dataclass(frozen=True)
class Batch:
    """Many draws of one algorithm: a row and a subspace each."""

    rows: tuple[BatchRow, ...]
    subspaces: tuple[Subspace, ...]


def central_spec(spec: RunSpec) -> CentralSpec:
    """The spec with everybody in one place, and nothing spent on a private mean."""
    alone = {
        "sites": 1, "dropped_sites": 0, "split": "equal", "mean_share": 0.0, "honest_sites": None,
        "intermediate_dim": None, "knowledge": NO_KNOWLEDGE,
    }  # fmt: skip
    return CentralSpec(**vars(spec) | alone)


def central_problem(
    key: ProblemKey, prepared: Prepared, whole: Callable[[], FloatArray] | None = None
) -> Problem:
    """The data side of a central run.

    Under the published preparation as everywhere else. Under the others the second moment is
    taken around zero, as the 2012 paper has it: its algorithms release nothing but a subspace, so
    there is no mean to centre with, and energy is measured on the same uncentred second moment.
    On the sphere rows have length 1 around zero, and it is measured on the rows before that.

    key: With one site.
    whole: Gives the second moment of all prepared rows, for keys that measure on everybody.
    """
    if key.preparation == "published":
        return build_problem(key, prepared, whole)
    require_variance(prepared)
    sites, on_sphere = sites_of(key, prepared), key.preparation == "sphere"
    # On the sphere nothing is released of these.
    products = prepared.X.dtype if on_sphere else np.float64
    moments = site_moments(prepared.X, sites, products=products)
    pooled = moments.pooled()
    if on_sphere:
        moments = SiteRows.of(prepared.X, sites).around_public_middle()
    reference = pooled
    if key.reference == "all":
        reference = whole() if whole is not None else raw_second_moment(prepared)
    data = SiteData(moments, np.zeros(len(pooled)), About.of(prepared))
    return problem_of(data, pooled, reference)


def raw_second_moment(prepared: Prepared) -> FloatArray:
    """Second moment around zero of every prepared row, float64."""
    everybody = (np.arange(len(prepared.X)),)
    return site_moments(prepared.X, everybody, products=prepared.X.dtype).pooled()


def nearest_basis(components: FloatArray, exact: FloatArray) -> FloatArray:
    """The basis of the components' span that lies closest to the exact components.

    PPCA's components are uniform within their span, so that only this makes them comparable one
    by one. It reads the exact components: not for release.

    components: shape (n_components, n_features), orthonormal rows
    exact: shape (at least n_components, n_features), orthonormal rows
    """
    left, _, right = np.linalg.svd(components @ exact[: len(components)].T)
    turned: FloatArray = (left @ right).T @ components
    return turned


def run_batch(spec: RunSpec, problem: Problem, *, first: int = 0) -> Batch:
    """Rows of `spec.repetitions` draws of the spec's one protocol.

    spec: From `central_spec`, with one protocol.
    problem: From `central_problem`.
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


def variant_of(spec: RunSpec) -> Variant:
    """The one of `VARIANTS` that the spec is of."""
    return next(each for each in VARIANTS.values() if each.of(spec) == spec)


def central_rows(spec: CentralSpec, batch: Batch) -> list[CentralRow]:
    """Rows of a batch with the variant that gave them."""
    variant = variant_of(spec)
    return [CentralRow(**row, variant=variant.key, label=variant.label) for row in batch.rows]


def _ppca_draws(spec: RunSpec, problem: Problem, first: int) -> list[Subspace]:
    settings = spec.settings(problem.n_features, problem.default_components)
    n_chains = max(spec.repetitions, _FEWEST_CHAINS)
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
        # One component needs no chains, and a call gives one draw.
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
    # Whoever draws holds everybody's rows.
    rows = problem.moments.n_samples * problem.n_features
    sent = rows * problem.moments.dtype.itemsize
    return [
        Subspace(state, unknown, release.guarantee, bytes_sent=sent, diagnostics=diagnostics)
        for state in draw.states[: spec.repetitions]
    ]


def _problem(key: ProblemKey) -> Problem:
    return central_problem(key, local_problem.prepared(*key.data))


_problems: OnceCache[Problem] = OnceCache(_problem, keep=2)

CENTRAL: Experiment[RunSpec, ProblemKey, Problem] = replace(
    PCA,
    row=CentralRow,
    outline=lambda spec: [
        {"protocol": spec.protocols[0], "repetition": number} for number in range(spec.repetitions)
    ],
    run=each_alone(lambda spec, problem, _: central_rows(spec, run_batch(spec, problem))),
    problem=_problems,
    after_draw=(),
    repetitions="batches",
)
