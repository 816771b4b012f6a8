"""A dashboard whose server has a Dask cluster: its sweeps run there, and give the same rows."""

from __future__ import annotations

import time

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.experiments.sweep import collect
from pages.server import background_jobs

distributed = pytest.importorskip("distributed", reason="dask[distributed] is not installed")

# The library's own housekeeping at the end of a cluster is not what is tested here.
pytestmark = pytest.mark.filterwarnings("default")

QUICK = {"repetitions": "2", "components": "5", "tradeoffs_values_epsilon": "0.1, 1"}


@pytest.fixture
def open_page(open_on_digits):
    return open_on_digits


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
    ) as cluster:
        yield cluster


def run_to_the_end(at: AppTest) -> AppTest:
    next(each for each in at.button if each.label == "Run").click().run()
    latest = time.monotonic() + 300
    while any(each.label == "Stop" for each in at.button):
        assert time.monotonic() < latest, "the sweep did not end"
        time.sleep(0.1)
        at.run()
    return at


def captions(at: AppTest) -> str:
    return "\n".join(element.value for element in at.caption)


def numbers(rows):
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


@pytest.fixture
def found(monkeypatch) -> list[background_jobs.SweepsView]:
    """What the page looked at."""
    views, find = [], background_jobs.find_sweeps
    monkeypatch.setattr(
        background_jobs, "find_sweeps", lambda sweeps: views.append(find(sweeps)) or views[-1]
    )
    return views


def test_the_app_runs_its_sweeps_on_the_cluster(open_page, cluster, found, monkeypatch):
    monkeypatch.setenv("DPCORE_SCHEDULER", cluster.scheduler_address)
    computed_here = []
    monkeypatch.setattr(
        "dpcore.experiments.sweep._in_threads",
        lambda *units, **_: computed_here.append(units) or iter(()),
    )
    at = run_to_the_end(open_page("explore/tradeoffs", **QUICK))
    assert not at.exception and not at.error and not computed_here
    assert f"computed on the Dask cluster at {cluster.scheduler_address}" in captions(at)
    monkeypatch.undo()
    job = found[-1]
    [rows] = job.progress().rows
    assert len(rows) == 2 * 2 * 3
    assert numbers(rows) == numbers(collect(job.sweeps[0]).rows)


def test_a_scheduler_out_of_reach_is_one_sentence_and_what_there_was_is_kept(
    open_page, monkeypatch
):
    at = run_to_the_end(open_page("explore/tradeoffs", **QUICK))
    assert "computed on this server's" in captions(at)
    monkeypatch.setattr("dpcore.cluster._PATIENCE", 0.5)
    monkeypatch.setenv("DPCORE_SCHEDULER", "tcp://127.0.0.1:9")
    # Everything asked for is in the store: the cluster need not be there.
    at.run()
    run_to_the_end(at)
    assert not at.error and "4 runs, kept on disk from earlier runs." in captions(at)
    box = next(each for each in at.text_input if each.key == "tradeoffs_values_epsilon")
    box.set_value("0.1, 1, 10").run()
    run_to_the_end(at)
    assert not at.exception
    [error] = at.error
    assert error.value.startswith(
        "scheduler must be the address of a running Dask scheduler, got `'tcp://127.0.0.1:9'`. "
    )
    kept = " of 6 runs) is kept; Run goes on from there."
    assert error.value.endswith(kept)
    assert at.get("plotly_chart")
