"""A killed sweep of every family continues where it ended, and a cluster gives the same rows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dpcore.experiments.cca import CcaSpec
from dpcore.experiments.central import VARIANTS, central_spec
from dpcore.experiments.central.sample_sizes import ComplexitySpec
from dpcore.experiments.classification import ClassificationSpec
from dpcore.experiments.engine.grid import Grid, Points, Sweep
from dpcore.experiments.engine.store import Store
from dpcore.experiments.engine.sweep import collect, run_sweep
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.statistics import ErrorsSpec, StatisticSpec
from dpcore.papers.nips2012 import FIGURES_2012

REPOSITORY = Path(__file__).resolve().parents[3]

# A small sweep of each family, of at least four units.
COLUMN = ErrorsSpec(StatisticSpec(low=0, high=16, column="digits/20"), ("digits", 20), draws=5)
CLASSIFIED = ClassificationSpec(classes=(0, 1), samples=60, repetitions=2)
FAMILIES: dict[str, Grid] = {
    "classification": Sweep(CLASSIFIED, (("pipeline", ("private", "random")),)),
    "statistics": Sweep(COLUMN, (("epsilon", (0.1, 1.0)), ("kind", ("mean", "histogram")))),
    "sample complexity": Sweep(
        ComplexitySpec(epsilon=2.0, correlation=0.5, repetitions=20),
        (("n_features", (5, 10)), ("mechanism", ("ppca", "modsulq"))),
    ),
    "2012 figures": FIGURES_2012["2012-fig2"].with_changes(repetitions=2).sweep,
    "central": Sweep(
        replace(VARIANTS["modsulq"].of(central_spec(RunSpec())), repetitions=2),
        (("epsilon", (0.5, 1.0)), ("components", (2, 4))),
    ),
    "cca": Sweep(
        CcaSpec(protocols=("pooled", "dpdis"), sites=3, repetitions=2, samples=400),
        (("epsilon", (0.5, 1.0)),),
    ),
    "pca": Sweep(RunSpec(repetitions=3, protocols=("dpdis", "pooled")), (("epsilon", (0.5, 1)),)),
}

# Imports once, then is a process of its own for each family.
_ENDLESS = """
import os, sys, time
from pathlib import Path
from dpcore.experiments.engine.store import Store
from dpcore.experiments.engine.sweep import (run_sweep)
from tests.experiments.engine.test_every_family_resumes import FAMILIES

for family, grid in FAMILIES.items():
    if os.fork():
        continue
    for event in run_sweep(grid, store=Store(Path(sys.argv[1]) / family)):
        if event.done >= 2:
            print(family, os.getpid(), sep="\\t", flush=True)
            time.sleep(60)
    break
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory) -> Path:
    """Return the folder of each family's rows, whose sweep was killed after two units or more."""
    folder = tmp_path_factory.mktemp("killed")
    sweeps = subprocess.Popen(
        [sys.executable, "-c", _ENDLESS, str(folder)],
        cwd=REPOSITORY,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY), "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    with sweeps:
        for _ in FAMILIES:
            _, process = sweeps.stdout.readline().split("\t")
            os.kill(int(process), signal.SIGKILL)
    return folder


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="dask[distributed] is not installed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
    ) as cluster:
        yield cluster.scheduler_address


def without_time(rows) -> list:
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_killed_sweep_goes_on_from_its_rows(family, killed):
    grid, store = FAMILIES[family], Store(killed / family)
    *_, last = run_sweep(grid, store=store)
    assert 2 <= last.stored
    assert last.done == last.total >= 4
    result = collect(grid, store=store)
    assert without_time(result.rows) == without_time(collect(grid).rows)


# The library's own housekeeping at the end of a cluster is not what is tested here.
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_cluster_gives_the_same_rows(family, cluster):
    grid = FAMILIES[family]
    result = collect(grid, scheduler=cluster)
    assert without_time(result.rows) == without_time(collect(grid).rows)


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_have_the_fields_and_types_of_their_family(family):
    grid = FAMILIES[family]
    rows = collect(grid).rows
    spec = next(cell.spec for cell in grid.cells() if cell.spec is not None)
    n_rows = len(spec.outline())
    assert spec.are_rows([dict(row) for row in rows[:n_rows]])
    assert set(rows[0]) == set(spec.row_type().__annotations__)
    assert not spec.are_rows([{**rows[0], "seconds": "long"}, *rows[1:n_rows]])


@pytest.mark.parametrize("family", FAMILIES)
def test_points_give_the_rows_of_the_grid(family):
    grid = FAMILIES[family]
    specs = tuple(cell.spec for cell in grid.cells() if cell.spec is not None)
    assert without_time(collect(Points(specs)).rows) == without_time(collect(grid).rows)
