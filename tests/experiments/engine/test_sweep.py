"""Sweeps: equal rows on one or more workers, reasons for skipped cells, stopping."""

from __future__ import annotations

import itertools
import threading
from dataclasses import replace

import numpy as np
import pytest

from dpcore.errors import DataUnavailable, ParameterError
from dpcore.experiments.engine.blas_threads import one_blas_thread
from dpcore.experiments.engine.cache import OnceCache
from dpcore.experiments.engine.grid import Cell, Sweep
from dpcore.experiments.engine.sweep import collect, run_sweep
from dpcore.experiments.engine.units import run_unit, units_of
from dpcore.experiments.pca import RunSpec, run
from dpcore.experiments.pca.problem import build_problem, local_problem

SPEC = RunSpec(repetitions=2)
GRID = Sweep(
    SPEC,
    (
        ("epsilon", (0.5, 2.0)),
        ("truncation", ("svd", "psd")),
        ("intermediate_ratio", (0.5, 1, 3)),
        ("components", (5, 10)),
    ),
)


def numbers(rows):
    """Return all values of a row except its duration."""
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def alone(sweep: Sweep):
    return [row for cell in sweep.cells() if cell.spec for row in run(cell.spec)]


def test_a_cell_gives_the_same_rows_alone_and_in_a_sweep():
    result = collect(GRID)
    assert len(result.rows) == 2 * 2 * 3 * 2 * 2 * 4
    assert numbers(result.rows) == numbers(alone(GRID))
    assert result.skipped == ()


@pytest.mark.parametrize("workers", [2, 5])
def test_the_number_of_workers_changes_nothing(workers):
    assert numbers(collect(GRID, workers=workers).rows) == numbers(collect(GRID).rows)


def test_large_matrices_agree_to_the_last_digit_too():
    """Above 256 features, runs use threads within a repetition, and eigenpairs come in blocks."""
    spec = RunSpec(dataset="patches", samples=2000, sites=2, repetitions=1, epsilon=5.0)
    sweep = Sweep(spec, (("intermediate_dim", (10, 60, 200, 300, 784)), ("components", (7, 50))))
    assert numbers(collect(sweep, workers=2).rows) == numbers(alone(sweep))


def test_encodings_share_a_draw_without_touching_each_other():
    proxies = Sweep(
        replace(SPEC, protocols=("dpdis", "local")),
        (("encoding", ("native", "float32", "int8")), ("intermediate_dim", (10, 20))),
    )
    whole = Sweep(
        replace(SPEC, protocols=("full",)), (("encoding", ("native", "rounded:1", "rounded:2")),)
    )
    for sweep in (proxies, whole):
        assert numbers(collect(sweep, workers=2).rows) == numbers(alone(sweep))


def test_people_drawn_anew_agree_too():
    sweep = Sweep(replace(SPEC, resample=True, sites=3), (("people_per_site", (50, 100)),))
    rows = collect(sweep, workers=2).rows
    assert numbers(rows) == numbers(alone(sweep))
    assert {row["samples"] for row in rows} == {150, 300}


def test_blas_threads_change_nothing():
    """Rows are equal if this process allows BLAS two threads."""
    from threadpoolctl import threadpool_limits

    spec = RunSpec(dataset="patches", samples=500, sites=2, repetitions=1)
    key = replace(spec, seed=5).problem_key()
    one = local_problem(key).reference
    with threadpool_limits(2, user_api="blas"):
        local = OnceCache(lambda key: _build_fresh(key), keep=1)
        np.testing.assert_array_equal(local(key).reference, one)
        again = numbers(run(spec))
    assert again == numbers(run(spec))


def _build_fresh(key):
    from dpcore.experiments.pca.problem import load_prepared

    with one_blas_thread():
        return build_problem(key, load_prepared(key.dataset, key.preparation))


def test_blas_threads_are_given_back():
    from threadpoolctl import threadpool_info, threadpool_limits

    def allowed():
        return {i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        before = allowed()
        with one_blas_thread(), one_blas_thread():
            assert allowed() == {1}
        assert allowed() == before


INFEASIBLE = [
    ("intermediate_dim", 65, "intermediate_dim must be"),
    ("samples", 5000, "at most the 1,797 people of digits"),
    ("dataset", "digitz", "dataset must be one of"),
    ("encoding", "rounded:1", "for a proxy"),
    ("people_per_site", 1, "samples must be"),
]


@pytest.mark.parametrize(("field", "value", "reason"), INFEASIBLE)
def test_a_cell_that_cannot_run_is_skipped_with_a_reason(field, value, reason):
    good = {"dataset": "digits", "encoding": "native"}.get(field, getattr(SPEC, field, None) or 20)
    result = collect(Sweep(replace(SPEC, repetitions=1), ((field, (good, value)),)))
    assert len(result.rows) == 4
    (skipped,) = result.skipped
    assert skipped[field] == value
    assert reason in skipped["skipped"]


def test_classic_calibration_is_skipped_above_one():
    sweep = Sweep(replace(SPEC, calibration="classic"), (("epsilon", (0.5, 2.0)),))
    result = collect(sweep)
    assert {row["epsilon"] for row in result.rows} == {0.5}
    assert [row["epsilon"] for row in result.skipped] == [2.0]


def test_a_reason_found_only_when_running_takes_no_other_cell_with_it(monkeypatch):
    """Feasibility is checked before data are read; a later error skips only its own cell."""

    run_all = RunSpec.run

    def refuses_five(specs, *arguments, **options):
        if any(spec.components == 5 for spec in specs):
            raise ParameterError("components", "anything else", 5)
        return run_all(specs, *arguments, **options)

    monkeypatch.setattr(RunSpec, "run", refuses_five)
    result = collect(Sweep(SPEC, (("components", (5, 10)),)))
    assert {row["components"] for row in result.rows} == {10}
    assert [row["components"] for row in result.skipped] == [5]


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ((("epsilo", (1.0,)),), "vary must be one of epsilon, delta"),
        ((("repetitions", (1,)),), "vary must be one of"),
        ((("epsilon", (1.0,)), ("epsilon", (2.0,))), "a field at most once"),
        ((("epsilon", ()),), "given values for epsilon"),
    ],
)
def test_a_sweep_that_makes_no_sense_is_refused(vary, message):
    with pytest.raises(ParameterError, match=message):
        Sweep(SPEC, vary)


def test_cells_are_the_grid_with_the_last_field_fastest():
    sweep = Sweep(SPEC, (("epsilon", (1.0, 2.0)), ("sites", (2, 3))))
    assert [cell.values for cell in sweep.cells()] == [
        (("epsilon", e), ("sites", s)) for e in (1.0, 2.0) for s in (2, 3)
    ]
    assert sweep.cells()[1] == Cell(
        (("epsilon", 1.0), ("sites", 3)), replace(SPEC, epsilon=1.0, sites=3)
    )


def test_derived_fields_follow_the_fields_they_are_made_of():
    sweep = Sweep(
        SPEC,
        (("intermediate_ratio", (2,)), ("people_per_site", (100,)), ("sites", (4,)),
         ("components", (7,))),
    )  # fmt: skip
    (cell,) = sweep.cells()
    assert (cell.spec.intermediate_dim, cell.spec.samples) == (14, 400)


def test_one_draw_serves_what_differs_after_the_noise():
    cells = {i: cell.spec for i, cell in enumerate(GRID.cells())}
    units = units_of(cells)
    assert len(units) == 2 * SPEC.repetitions  # one an epsilon and repetition
    assert all(len(unit.specs) == 12 for unit in units)
    # Every cell has its first repetition before any has its second.
    assert [unit.repetition for unit in units] == [0, 0, 1, 1]


def test_units_on_the_same_people_come_together():
    specs = [
        replace(SPEC, samples=n, epsilon=e, repetitions=2) for e in (1.0, 2.0) for n in (100, 200)
    ]
    units = units_of(dict(enumerate(specs)))
    assert [unit.specs[0].samples for unit in units] == [100] * 4 + [200] * 4


def test_events_count_draws_and_tell_what_is_left():
    events = list(run_sweep(Sweep(SPEC, (("epsilon", (1.0, 2.0, -1.0)),))))
    assert events[0].done == 0
    assert events[0].seconds_left is None
    assert [row["epsilon"] for row in events[0].skipped] == [-1.0]
    assert {event.total for event in events} == {4}
    assert [event.done for event in events] == [0, 1, 2, 3, 4]
    assert events[-1].seconds_left == 0
    assert all(later.seconds >= e.seconds for e, later in itertools.pairwise(events))


def test_a_stop_is_answered_at_once_and_what_arrived_stays(monkeypatch):
    """The stop also works during a step of a unit that cannot be interrupted."""
    release, ended = threading.Event(), threading.Event()

    def slow(unit, problems, checkpoint, **options):
        if unit.repetition > 0:
            release.wait(60)
            ended.set()
        return run_unit(unit, problems)

    monkeypatch.setattr("dpcore.experiments.engine.sweep.run_unit", slow)
    stop = threading.Event()
    arrived = []
    for event in run_sweep(Sweep(replace(SPEC, repetitions=5)), should_stop=stop.is_set):
        arrived.extend(event.rows)
        if event.done == 1:
            stop.set()
    assert not ended.is_set()
    release.set()
    assert numbers(arrived) == numbers(run(replace(SPEC, repetitions=1)))


def test_a_unit_ends_at_its_next_site_when_nobody_waits():
    stop, sites = threading.Event(), []

    class Stopped(Exception):
        pass

    def checkpoint():
        sites.append(1)
        if len(sites) == 2:
            raise Stopped

    (unit, *_) = units_of({0: SPEC})
    with pytest.raises(Stopped):
        run_unit(unit, local_problem, checkpoint)
    assert len(sites) == 2
    assert not stop.is_set()


def test_an_error_of_a_worker_reaches_the_caller():
    def absent(key):
        raise DataUnavailable("no such file")

    with pytest.raises(DataUnavailable, match="no such file"):
        collect(Sweep(SPEC), workers=2, problems=absent)


@pytest.mark.parametrize("workers", [0, -1])
def test_there_has_to_be_a_worker(workers):
    with pytest.raises(ParameterError, match="workers must be in \\[1, 1024\\]"):
        collect(Sweep(SPEC), workers=workers)
