"""The same sweep on a Dask cluster of two worker processes."""

from __future__ import annotations

import os
import signal
import socket
import threading

import pytest

from dpcore import cluster as cluster_module
from dpcore.errors import ParameterError
from dpcore.experiments.engine.grid import Sweep
from dpcore.experiments.engine.store import Store
from dpcore.experiments.engine.sweep import collect, in_order, run_sweep
from dpcore.experiments.pca import RunSpec

distributed = pytest.importorskip("distributed", reason="dask[distributed] is not installed")

# The library's own housekeeping at the end of a cluster is not what is tested here.
pytestmark = pytest.mark.filterwarnings("default")

SWEEP = Sweep(
    RunSpec(repetitions=8, sites=20, components=10),
    (("epsilon", (0.5, 1.0, 2.0)), ("intermediate_ratio", (1, 2))),
)
# Without a port, Dask uses its default one, which another process may use.
ANY_PORT = "127.0.0.1:0"


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=ANY_PORT, silence_logs=50
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def local_rows():
    """Return the rows as this process computes them."""
    return numbers(collect(SWEEP).rows)


def numbers(rows):
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def test_with_a_worker_killed_nothing_is_lost_and_nothing_twice(cluster, local_rows, tmp_path):
    store = Store(tmp_path)
    killed, finished = None, []
    for event in run_sweep(SWEEP, scheduler=cluster.scheduler_address, store=store):
        finished.extend(event.finished)
        if killed is None and event.done >= event.total // 4:
            killed = next(iter(cluster.workers.values())).process.process.pid
            os.kill(killed, signal.SIGKILL)
    assert killed is not None
    assert numbers(in_order(finished)) == local_rows
    assert len({(one.cell, one.repetition) for one in finished}) == len(finished)
    assert store.summary().entries == 24


def test_stopping_answers_while_the_cluster_works(cluster):
    stop = threading.Event()
    seen = 0
    for event in run_sweep(SWEEP, scheduler=cluster.scheduler_address, should_stop=stop.is_set):
        seen = event.done
        if event.done:
            stop.set()
    assert 0 < seen < 48


@pytest.mark.parametrize(
    "address", ["nonsense", "tcp://", "tcp://host", ":8786", "tcp://host:99999", "tcp://[::1]:x"]
)
def test_what_is_no_address_is_one_sentence(address):
    with pytest.raises(ParameterError, match="must be an address such as tcp://host:8786"):
        collect(SWEEP, scheduler=address)


def test_no_scheduler_there_is_one_sentence_and_soon(monkeypatch):
    """Dask itself is not asked, because it takes long to detect this."""
    monkeypatch.setattr("dask.distributed.Client", pytest.fail)
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # closed at once, so no process listens
        address = f"tcp://127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(ParameterError, match="the address of a running Dask scheduler"):
            collect(SWEEP, scheduler=address)


def test_a_scheduler_without_workers_is_said(monkeypatch):
    monkeypatch.setattr(cluster_module, "_WORKERS_TIMEOUT", 0.3)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=ANY_PORT, silence_logs=50) as empty,
        pytest.raises(ParameterError, match="one with workers; none appeared within"),
    ):
        collect(SWEEP, scheduler=empty.scheduler_address)
