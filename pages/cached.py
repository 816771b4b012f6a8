"""Cached computations that pages show, shared by all sessions.

Keys are names and numbers, never arrays, and every cache is bounded. Streamlit's own caches are not
used for shared results, because one browser message empties them for all visitors.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial, wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

import numpy as np
import streamlit as st

from dpcore.arrays import FloatArray, largest_entries
from dpcore.data import DatasetStatus, Prepared, list_datasets
from dpcore.data.catalog import CATALOG, entry_of
from dpcore.data.dataset import limits_of, read_limits
from dpcore.experiments.engine.blas_threads import one_blas_thread
from dpcore.experiments.engine.cache import OnceCache
from dpcore.experiments.engine.fields import ProblemKey
from dpcore.experiments.pca import (
    PcaRow,
    RunSpec,
    draw_subspaces,
    floor_of,
    run_repetitions,
)
from dpcore.experiments.pca.assessments import AssessedRelease, assess_releases
from dpcore.experiments.pca.problem import Problem, Problems, load_prepared
from dpcore.experiments.pca.rebuilt_rows import (
    ExampleRows,
    rebuild_rows,
    select_example_rows,
)
from dpcore.experiments.pca.stored_moments import load_or_compute
from dpcore.pca import Subspace
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.settings import sites_that_answer
from dpcore.privacy import Guarantee
from dpcore.spectra import align_signs
from dpcore.streams import Repetition

P = ParamSpec("P")
T = TypeVar("T")
_MEGABYTE = 1024**2
_N_COMPONENTS = 10  # components that are pictured
_N_TABLE_ROWS, _N_TABLE_COLUMNS = 4, 8


def cached(
    keep: int, megabytes: int = 24, message: str = ""
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Cache a function of hashable arguments for all sessions; concurrent callers share a call.

    keep: Maximum number of results.
    megabytes: Maximum size of all results together.
    message: Text next to a spinner while a visitor waits; empty for quick functions and for
        functions that run in background jobs.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        cache: OnceCache[T] = OnceCache(function, keep, megabytes * _MEGABYTE)
        bind = signature(function).bind

        @wraps(function)
        def call(*args: P.args, **named: P.kwargs) -> T:
            bound = bind(*args, **named)
            bound.apply_defaults()
            if message and cache.peek(*bound.args) is None:
                with st.spinner(message):
                    return cache(*bound.args)
            return cache(*bound.args)

        call.peek = cache.peek  # type: ignore[attr-defined]
        return call

    return decorate


_encoded: OnceCache[bytes] = OnceCache(None, keep=512, most_bytes=16 * _MEGABYTE)


def encode(*key: Hashable, make: Callable[[], dict[str, Any]]) -> bytes:
    """Return the JSON of make(), encoded once per key for all sessions."""
    return _encoded(*key, make=lambda: json.dumps(make()).encode())


# Steps of an axis of the start page, by all settings but the one on the axis.
axis_steps: OnceCache[tuple[Any, ...]] = OnceCache(None, keep=64)

# ---- data sets and moments

problems = Problems(
    partial(load_prepared, download=False),
    keep_data=2,
    # One problem of MNIST has 50 MB. A class may have one seed, and so one problem, per visitor.
    keep=64,
    most_bytes=96 * _MEGABYTE,
    source=load_or_compute,
)


def prepared(*data: str | float | None) -> Prepared:
    """Return a prepared data set, by `ProblemKey.data`."""
    if problems.prepared.peek(*data) is not None:
        return problems.prepared(*data)
    with st.spinner("Reading the data set"):
        return problems.prepared(*data)


def problem_of(key: ProblemKey) -> Problem:
    """Return the sites' moments and the exact answer for one key."""
    if problems.peek(key) is not None:
        return problems(key)
    with st.spinner("Computing the second moments of the sites"):
        return problems(key)


def owner(spec: RunSpec) -> str:
    """Return the session that owns the data set of a specification, empty for the catalogue's."""
    return "" if spec.dataset in CATALOG else spec.dataset


def feature_names(spec: RunSpec) -> tuple[str, ...]:
    """Return the column names of the data set of a specification."""
    return problem_of(spec.problem_key()).about.feature_names


def dataset_statuses() -> tuple[DatasetStatus, ...]:
    """Return the catalogue's data sets with their state, read at most every other second."""
    return _statuses(int(time.monotonic() // 2))


@cached(1)
def _statuses(_: int) -> tuple[DatasetStatus, ...]:
    return list_datasets()


# ---- private PCA


def rows(spec: RunSpec) -> list[PcaRow]:
    """Return all rows of a specification, one per protocol and repetition."""
    problem_of(spec.problem_key())
    with st.spinner("Running", show_time=True):
        return [
            row
            for repetition in range(spec.repetitions)
            for key in spec.protocols
            for row in rows_of_run(one_run(spec, key), repetition)
        ]


def single(spec: RunSpec) -> RunSpec:
    """Return the specification with one repetition."""
    return replace(spec, repetitions=1)


def one_run(spec: RunSpec, protocol: str) -> RunSpec:
    """Return the specification of one run of one protocol: the key of the caches of runs.

    A protocol draws the same noise whether it runs with others or not.
    """
    return replace(spec, protocols=(protocol,), repetitions=1)


# ---- one cache for each kind of result of a run: its rows, its subspaces, its pictures


@cached(20_000)
def rows_of_run(spec: RunSpec, repetition: int) -> list[PcaRow]:
    """Run one repetition; its subspaces are kept for the pictures."""

    def keep(drawn: list[dict[str, Subspace]]) -> None:
        _subspaces(spec, repetition, make=lambda: drawn[0])

    problem = problems(spec.problem_key(repetition))
    return run_repetitions([spec], problem, repetition, watch=keep)[0]


def subspaces(spec: RunSpec, repetition: int = 0) -> dict[str, Subspace]:
    """Return the subspace of each protocol in one repetition."""
    runs = (_subspaces(one_run(spec, key), repetition) for key in spec.protocols)
    return {key: subspace for by_protocol in runs for key, subspace in by_protocol.items()}


def _draw(spec: RunSpec, repetition: int) -> dict[str, Subspace]:
    problem = problems(spec.problem_key(repetition))
    with one_blas_thread():
        return draw_subspaces([spec], problem, repetition)[0]


_subspaces = OnceCache(_draw, keep=256, most_bytes=24 * _MEGABYTE)


@cached(256, message="Estimating the captured energy from the release")
def self_assessed(spec: RunSpec) -> dict[str, AssessedRelease]:
    """Return the self-assessment of each release of the first run."""
    return assess_releases(single(spec), problem_of(spec.problem_key()))


# ---- pictures


def shown_rows(spec: RunSpec) -> ExampleRows:
    """Return the rows that pages rebuild from components: ten pictures, or four rows of a table."""
    return _shown_rows(spec.problem_key(), spec.limits)


@cached(64, megabytes=8)
def _shown_rows(key: ProblemKey, limits_in_words: str) -> ExampleRows:
    limits = limits_of(read_limits(limits_in_words, entry_of(key.dataset).ranges))
    data, variances = problems.prepared(*key.data), np.diag(problems(key).reference)
    examples = select_example_rows(data, limits, variances)
    if data.image_shape is not None or len(examples.rows) <= _N_TABLE_ROWS:
        return examples
    half = _N_TABLE_ROWS // 2
    chosen = [*range(half), *range(len(examples.rows) - half, len(examples.rows))]
    strongest = largest_entries(variances[examples.columns], _N_TABLE_COLUMNS)
    return replace(
        examples,
        rows=examples.rows[chosen],
        columns=examples.columns[np.sort(strongest)],
        names=tuple(examples.names[row] for row in chosen),
    )


@dataclass(frozen=True)
class PrivatePictures:
    """Pictures of one private run, one byte per pixel.

    rows: Ten rows rebuilt from the components.
    components: The leading components with the signs of the exact ones; 128 is 0.
    cosines: |cosine| of each component and the exact one.
    """

    rows: bytes
    components: bytes
    cosines: tuple[float | None, ...]

    def padded(self, n_components: int) -> PrivatePictures:
        """Return the pictures with blank components after those that were released."""
        missing = n_components - len(self.cosines)
        if missing <= 0:
            return self
        size = len(self.components) // len(self.cosines)
        blank = bytes([128]) * (missing * size)
        return replace(
            self, components=self.components + blank, cosines=(*self.cosines, *([None] * missing))
        )


@dataclass(frozen=True)
class ExactPictures:
    """Pictures without privacy, as `PrivatePictures` has them.

    names: Labels of the ten rows.
    columns: Names of the columns that are drawn of a table.
    """

    rows: bytes
    components: bytes
    names: tuple[str, ...]
    columns: tuple[str, ...]
    n_components: int


@dataclass(frozen=True)
class Measured:
    """Result of one run of one protocol at one ε, small enough to keep many.

    bytes_per_site: Bytes that the site with the longest message sends.
    pictures: Pictures of the run; None for runs without pictures.
    """

    epsilon: float
    protocol: str
    run: int
    energy: float
    exact_epsilon: float
    bytes_per_site: int
    pictures: PrivatePictures | None


def measure(spec: RunSpec, protocol: str, run: int, *, pictured: bool) -> Measured:
    """Run one protocol once. Draws nothing, so that background jobs can call it."""
    run_spec = one_run(spec, protocol)
    (row,) = rows_of_run(run_spec, run)
    return Measured(
        epsilon=spec.epsilon,
        protocol=protocol,
        run=run,
        energy=row["energy_ratio"],
        exact_epsilon=row["exact_epsilon"],
        bytes_per_site=row["bytes_per_site"],
        pictures=_private_pictures(run_spec, run) if pictured else None,
    )


@cached(512)
def floor(spec: RunSpec) -> float:
    """Return the captured energy without any data (`dpcore.experiments.pca.floor_of`)."""
    return floor_of(spec, problems(spec.problem_key()))


@cached(512)
def guarantees(spec: RunSpec) -> dict[str, Guarantee]:
    """Return the guarantee of each protocol's first run, without drawing noise."""
    problem = problems(spec.problem_key())
    settings = spec.settings(problem.n_features, problem.default_components)
    sites = sites_that_answer(settings, spec.sites, Repetition(spec.seed))
    n_samples = problem.moments.n_samples[list(sites)].tolist()
    n_features = problem.moments.n_features
    return {
        key: PROTOCOLS[key].guarantee(settings, n_samples, n_features) for key in spec.protocols
    }


@cached(2000, megabytes=32)
def _private_pictures(spec: RunSpec, run: int) -> PrivatePictures:
    examples, problem = shown_rows(spec), problems(spec.problem_key())
    subspace = subspaces(spec, run)[spec.protocols[0]]
    private = subspace.components[:_N_COMPONENTS]
    exact = problem.exact_components[: len(private)]
    aligned = align_signs(private, exact)
    cosines = np.abs(np.einsum("kd,kd->k", aligned, exact))
    return PrivatePictures(
        examples.levels(rebuild_rows(examples.rows, subspace, problem)).tobytes(),
        _levels(aligned, examples),
        tuple(round(float(cosine), 3) for cosine in cosines),
    )


@cached(64, megabytes=8)
def exact_pictures(spec: RunSpec) -> ExactPictures:
    """Return the ten original rows and the exact components that pages show."""
    examples, problem = shown_rows(spec), problems(spec.problem_key())
    k = spec.settings(problem.n_features, problem.default_components).n_components
    exact = problem.exact_components[: min(k, _N_COMPONENTS)]
    names = problem.about.feature_names
    return ExactPictures(
        examples.levels(examples.rows).tobytes(),
        _levels(exact, examples),
        examples.names,
        tuple(names[column] for column in examples.columns),
        len(exact),
    )


def _levels(components: FloatArray, examples: ExampleRows) -> bytes:
    """Return components as bytes around 128, each scaled by its largest entry."""
    drawn = components[:, examples.columns]
    largest = np.abs(drawn).max(axis=1, keepdims=True)
    shares = np.divide(drawn, largest, out=np.zeros_like(drawn), where=largest > 0)
    levels: bytes = np.rint(128 + 127 * shares).astype(np.uint8).tobytes()
    return levels
