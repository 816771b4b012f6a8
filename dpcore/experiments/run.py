"""Running a spec: tidy rows, one a (protocol, repetition)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache

from dpcore.experiments.methods import method
from dpcore.experiments.problem import (
    Problem,
    ProblemSource,
    build_problem,
    load_prepared,
    whole_second_moment,
)
from dpcore.experiments.spec import ProblemKey, RunSpec
from dpcore.pca import Draw, Subspace
from dpcore.pca.rounds import THREADED_FROM_FEATURES
from dpcore.spectra import captured_energy
from dpcore.streams import Repetition

Row = dict[str, object]


@lru_cache(maxsize=1)
def _prepared(name: str, preparation: str, norm_bound: float | None):
    return load_prepared(name, preparation, norm_bound)


@lru_cache(maxsize=1)
def _whole(name: str, preparation: str, norm_bound: float | None):
    return whole_second_moment(_prepared(name, preparation, norm_bound))


@lru_cache(maxsize=16)
def local_problem(key: ProblemKey) -> Problem:
    """Problems of this process, with the latest data set and problems kept."""
    data = (key.dataset, key.preparation, key.norm_bound)
    return build_problem(key, _prepared(*data), lambda: _whole(*data))


def draw_subspaces(spec: RunSpec, problem: Problem, repetition: int) -> dict[str, Subspace]:
    """The subspace of each protocol in one repetition; protocols share the sites' noise."""
    methods = [method(key) for key in spec.protocols]
    draw = Draw(
        problem.moments,
        spec.settings(problem.n_features, problem.default_components),
        Repetition(spec.seed, repetition),
        proxies=any(m.wants_proxies for m in methods),
        average=any(m.wants_average for m in methods),
    )
    if problem.n_features < THREADED_FROM_FEATURES:
        return {m.key: m.release(draw) for m in methods}
    # One thread a protocol: most wait for the sites, while those that need none of them go ahead.
    with ThreadPoolExecutor(len(methods)) as pool:
        subspaces = pool.map(lambda m: m.release(draw), methods)
        return {m.key: subspace for m, subspace in zip(methods, subspaces, strict=True)}


def run_repetition(spec: RunSpec, problem: Problem, repetition: int) -> list[Row]:
    """Rows of one repetition, one a protocol."""
    started = time.perf_counter()
    subspaces = draw_subspaces(spec, problem, repetition)
    seconds = time.perf_counter() - started
    return [
        row_of(spec, problem, repetition, key, subspace, seconds)
        for key, subspace in subspaces.items()
    ]


def row_of(
    spec: RunSpec,
    problem: Problem,
    repetition: int,
    key: str,
    subspace: Subspace,
    seconds: float,
) -> Row:
    """One tidy row: the whole spec, what came out, and what it promises.

    `seconds` is what the repetition took, all its protocols together: they share most of it.
    """
    settings = spec.settings(problem.n_features, problem.default_components)
    energy = captured_energy(subspace.components, problem.reference)
    guarantee = subspace.guarantee
    return {
        "dataset": spec.dataset,
        "protocol": key,
        "epsilon": spec.epsilon,
        "delta": spec.delta,
        "sites": spec.sites,
        "samples": problem.n_samples,
        "components": settings.n_components,
        "intermediate_dim": settings.intermediate_dim,
        "calibration": spec.calibration,
        "noise": spec.noise,
        "truncation": spec.truncation,
        "masks": spec.masks,
        "honest_sites": spec.honest_sites,
        "preparation": spec.preparation,
        "norm_bound": spec.norm_bound,
        "mean_share": settings.mean_share,
        "split": spec.split,
        "concentration": spec.concentration,
        "reference": spec.reference,
        "resample": spec.resample,
        "repetition": repetition,
        "seed": spec.seed,
        "energy_ratio": energy / float(problem.optimum[settings.n_components - 1]),
        "energy": energy,
        "random_ratio": settings.n_components
        / problem.n_features
        * float(problem.reference.trace())
        / float(problem.optimum[settings.n_components - 1]),
        "sigma": guarantee.sigma,
        "exact_epsilon": guarantee.epsilon,
        "bytes_sent": int(subspace.bytes_sent.sum()),
        "bytes_per_site": int(subspace.bytes_sent.max(initial=0)),
        "seconds": seconds,
    }


def run(spec: RunSpec, problems: ProblemSource = local_problem) -> Iterator[Row]:
    """Rows of a spec, as they are finished.

    Raises
    ------
    ParameterError
        If the spec cannot run on its data set; before anything is drawn.
    DataUnavailable
        If the data set's files are not there.
    """
    for repetition in range(spec.repetitions):
        problem = problems(spec.problem_key(repetition))
        yield from run_repetition(spec, problem, repetition)


def vary(spec: RunSpec, **changes: object) -> RunSpec:
    """The spec with some fields changed."""
    return replace(spec, **changes)
