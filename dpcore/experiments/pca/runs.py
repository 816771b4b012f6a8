"""Running a spec: tidy rows, one a (protocol, repetition)."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypedDict

from dpcore.arrays import FloatArray
from dpcore.experiments.engine.experiment import row_from
from dpcore.experiments.engine.result_store import versions
from dpcore.experiments.engine.work_units import one_blas_thread
from dpcore.experiments.pca.problem import Problem, ProblemSource, local_problem
from dpcore.experiments.pca.spec import RunSpec
from dpcore.pca import Draw, Subspace
from dpcore.pca.draw import THREADED_FROM_FEATURES
from dpcore.pca.protocols.protocol import raw_row_bytes, whole_matrix_bytes
from dpcore.pca.protocols.register import protocol
from dpcore.pca.site import SiteAtWork
from dpcore.spectra import captured_energy
from dpcore.streams import Repetition


class AskedRow(TypedDict):
    """What rows of private releases at sites begin with."""

    dataset: str
    protocol: str
    epsilon: float
    delta: float
    sites: int
    samples: int
    components: int
    intermediate_dim: int
    calibration: str
    noise: str
    truncation: str
    denoise: str


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
    with ThreadPoolExecutor(len(protocols)) as pool:
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
