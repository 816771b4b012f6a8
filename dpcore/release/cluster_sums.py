"""Exact sums of a table's parts on a Dask cluster of the data holder.

Public numbers and the private centre are sent to the workers, and exact sums come back, so the
workers and their network must be as trusted as the table. Noise is drawn by the calling process.
Sums of integers do not depend on their order: any number of workers gives the same result to the
bit.
"""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

import dpcore
from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.release.dictionary import Dictionary
from dpcore.release.encoding import Reading
from dpcore.release.exact_sums import Watch, moment_of_rows, sum_rows
from dpcore.release.integer_moments import add_row_counts
from dpcore.release.scales import Scales
from dpcore.release.tables import Table

if TYPE_CHECKING:
    from dask.distributed import Client
    from dask.distributed import Future as DaskFuture

T = TypeVar("T")


def sum_rows_on_cluster(
    table: Table,
    dictionary: Dictionary,
    scales: Scales,
    reading: Reading,
    watch: Watch,
    scheduler: str,
) -> tuple[IntArray, int]:
    """Return the result of `sum_rows`, summed by the workers of a Dask cluster.

    Raises `ParameterError` if the scheduler is lost.
    """
    total, n_rows = np.zeros(dictionary.n_features, dtype=np.int64), 0
    parts = _parts_of(table, dictionary)
    for _, (part_sum, n_part_rows, part_reading) in _run_on_workers(
        _sum_part, parts, watch, scheduler, dictionary, scales
    ):
        n_rows = add_row_counts(n_part_rows, n_rows)
        total += part_sum
        reading.add(part_reading)
    return total, n_rows


def moment_on_cluster(
    table: Table,
    dictionary: Dictionary,
    scales: Scales,
    centre: FloatArray,
    watch: Watch,
    *,
    on_sphere: bool,
    scheduler: str,
) -> IntArray:
    """Return the result of `moment_of_rows`, summed by the workers of a Dask cluster.

    If the scheduler is lost, this process sums the remaining parts, with a `RuntimeWarning`: the
    release is charged by then, and starting again would be charged again.
    """
    moment = np.zeros((dictionary.n_features, dictionary.n_features), dtype=np.int64)
    parts, public = _parts_of(table, dictionary), (dictionary, scales, centre, on_sphere)
    remaining = dict(enumerate(parts))
    try:
        for number, part_moment in _run_on_workers(_moment_of_part, parts, watch, scheduler,
                                                   *public):  # fmt: skip
            moment += part_moment
            del remaining[number]
    except ParameterError as error:
        if error.parameter != "scheduler":
            raise
        warnings.warn(
            f"{error}. The release stays charged once; this process reads the other "
            f"{len(remaining)} of {len(parts)} parts",
            RuntimeWarning,
            stacklevel=2,
        )
    n_all = sum(n for _, n in parts)
    for number in sorted(remaining):
        part, _ = remaining.pop(number)
        part = part.compute() if hasattr(part, "compute") else part
        moment += _moment_of_part(part, *public)
        watch(1 - sum(n for _, n in remaining.values()) / max(1, n_all))
    return moment


def _parts_of(table: Table, dictionary: Dictionary) -> list[tuple[Any, int]]:
    if dictionary.person is not None:
        raise ParameterError(
            "scheduler",
            "left out if the dictionary has a person column, since each person's first rows are "
            "selected in one process",
            dictionary.person,
        )
    return table.parts()


def _sum_part(part: Any, dictionary: Dictionary, scales: Scales) -> tuple[IntArray, int, Reading]:
    reading = Reading()
    total, n_rows = sum_rows(_table_of_part(part, dictionary), dictionary, scales, reading)
    return total, n_rows, reading


def _moment_of_part(
    part: Any, dictionary: Dictionary, scales: Scales, centre: FloatArray, on_sphere: bool
) -> IntArray:
    table = _table_of_part(part, dictionary)
    return moment_of_rows(table, dictionary, scales, centre, on_sphere=on_sphere)


def _table_of_part(part: Any, dictionary: Dictionary) -> Table:
    table = Table(part, dictionary.keys, dictionary.n_features)
    # A Dask worker already runs one task per thread.
    table.n_threads = 1
    return table


def _run_on_workers(
    task: Callable[..., T],
    parts: Sequence[tuple[Any, int]],
    watch: Watch,
    scheduler: str,
    *arguments: Any,
) -> Iterator[tuple[int, T]]:
    """Yield the number of each part and the task's result for it, as they finish."""
    from dpcore.cluster import results_on_cluster

    # Unique per call, so that a worker never returns a cached result of another release.
    name, n_all, n_done = secrets.token_hex(8), max(1, sum(n for _, n in parts)), 0

    def submit(client: Client, number: int) -> DaskFuture[Any]:
        part, key = parts[number][0], f"dpcore-{task.__name__}-{name}-{number}"
        if not hasattr(part, "dask"):
            return client.submit(
                _run_same_version, dpcore.__version__, task, part, *arguments, key=key, pure=False
            )
        from dask.delayed import delayed

        whole = delayed(_run_same_version, pure=False)(
            dpcore.__version__, task, part, *arguments, dask_key_name=key
        )
        future: DaskFuture[Any] = client.compute(whole)
        return future

    for number, result in results_on_cluster(range(len(parts)), submit, scheduler=scheduler):
        n_done += parts[number][1]
        yield number, result
        watch(n_done / n_all)


def _run_same_version(version: str, task: Callable[..., T], *arguments: Any) -> T:
    if version != dpcore.__version__:
        raise ParameterError(
            "scheduler", f"one whose workers have dpcore {version}", dpcore.__version__
        )
    return task(*arguments)
