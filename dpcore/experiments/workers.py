"""Who computes the units of a sweep: threads of this process, or a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dpcore.experiments.problem import ProblemSource
from dpcore.experiments.store import Store
from dpcore.experiments.units import Finished, Unit, run_unit


def results(
    units: Sequence[Unit],
    *,
    workers: int,
    store: Store | None,
    scheduler: str | None,
    should_stop: Callable[[], bool],
    problems: ProblemSource,
) -> Iterator[tuple[tuple[Finished, ...], bool]]:
    """Finished units as they come, and whether they were in the store."""
    for unit in units:
        if should_stop():
            return
        yield run_unit(unit, problems), False
