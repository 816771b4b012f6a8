"""Results of a session's table are deleted with it, and none of them is written to disk."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest

from dpcore.data import Dataset, dataset_status, load_dataset
from dpcore.data.dataset import HeldTable, held_name
from dpcore.errors import ParameterError
from dpcore.experiments.engine.cache import OnceCache
from dpcore.experiments.engine.grid import Sweep
from dpcore.experiments.engine.store import Store
from dpcore.experiments.engine.sweep import collect
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.pca.problem import Problems, load_prepared
from dpcore.experiments.statistics import ErrorsSpec, StatisticSpec


def held() -> HeldTable:
    rows = np.random.default_rng().uniform(-1, 1, (60, 4))
    return HeldTable(
        Dataset(
            name="", title="your table", X=rows, feature_names=("a", "b", "c", "d"),
            default_components=2, provenance="", public_norm_bound=2.0,
        )
    )  # fmt: skip


def test_is_a_data_set_for_as_long_as_it_is_held():
    table = held()
    name = table.name
    assert load_dataset(name).name == dataset_status(name).name == name
    del table
    gc.collect()
    for ask in (load_dataset, dataset_status):
        with pytest.raises(ParameterError, match="still holds"):
            ask(name)


def test_its_rows_stay_as_they_are_however_often_they_are_prepared():
    table = held()
    rows = table.dataset.X.copy()
    once, other, again = (
        load_prepared(table.name, how).X for how in ("sphere", "bounded", "sphere")
    )
    np.testing.assert_array_equal(table.dataset.X, rows)
    np.testing.assert_array_equal(once, again)
    assert not np.shares_memory(once, other)


def test_caches_that_all_share_keep_nothing_of_it():
    table = held()
    problems, shared = Problems(), OnceCache(lambda *key: np.ones(3), keep=9)
    spec = RunSpec(dataset=table.name, sites=2)
    key, origin = spec.problem_key(), ErrorsSpec(StatisticSpec(), (table.name, 0), 2)
    problem = weakref.ref(problems(key))
    made = [weakref.ref(shared(part)) for part in (spec, ("curve", (spec, spec)), origin)]
    assert problems.peek(key) is problem() and (spec,) in shared
    assert not shared._results and not problems._problems._results
    assert not problems.prepared._results and not shared._n_bytes
    del table
    gc.collect()
    assert [result() for result in (problem, *made)] == [None] * 4
    # A later call does not store results of the deleted table.
    for ask in (problems, problems.peek, shared, shared.peek):
        with pytest.raises(ParameterError, match="still holds"):
            ask(key)


def test_others_are_kept_as_ever():
    table = held()
    shared = OnceCache(lambda *key: np.ones(3), keep=9)
    assert shared(RunSpec()) is shared(RunSpec()) and (RunSpec(),) in shared._results
    assert held_name(("digits", RunSpec())) is None
    assert held_name(("x", [RunSpec(dataset=table.name)])) == table.name


def test_two_tables_share_no_result():
    table = held()
    other = HeldTable(replace(table.dataset, X=table.dataset.X + 1))
    shared = OnceCache(lambda name: load_dataset(name).X.mean(), keep=9)
    assert other.name != table.name
    assert shared(other.name) == pytest.approx(shared(table.name) + 1)


def test_a_sweep_writes_none_of_its_rows_and_leaves_this_machine_for_none(tmp_path):
    table = held()
    sweep = Sweep(RunSpec(dataset=table.name, sites=2, repetitions=1), (("epsilon", (1.0, 2.0)),))
    result = collect(sweep, store=Store(tmp_path / "cache"), scheduler="tcp://nowhere.example:1")
    assert {row["epsilon"] for row in result.rows} == {1.0, 2.0}
    assert list(tmp_path.rglob("*")) == []
