"""Jobs that run beside the pages: turns, the first rows, data read ahead."""

from __future__ import annotations

import threading
import time

import pytest

from dpcore.experiments.problem import Problems
from dpcore.experiments.spec import RunSpec
from dpcore.experiments.sweep import Sweep
from pages.shared import runs
from pages.shared.job_turns import Turns
from pages.shared.runs_plans import Work, search_part
from pages.shared.runs_sweeps import Job, ReadingAhead

LONG = Sweep(RunSpec(repetitions=5000), (("epsilon", (0.1, 1.0)),))
SHORT = Sweep(RunSpec(protocols=("pooled",), repetitions=2), (("epsilon", (0.1, 1.0)),))


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def one_at_a_time(monkeypatch):
    turns = Turns(1)
    monkeypatch.setattr(runs, "turns", lambda: turns)


def wait_until(condition, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_turns_are_taken_first_come_first_served():
    turns, order = Turns(2), []
    may_end = threading.Event()

    def take(name: int) -> None:
        with turns.taken(lambda: False) as is_mine:
            order.append(name)
            assert is_mine and may_end.wait(20)

    threads = []
    for name in range(5):
        threads.append(threading.Thread(target=take, args=(name,)))
        threads[-1].start()
        wait_until(lambda name=name: len(turns._queue) == name + 1)
    wait_until(lambda: sorted(order) == [0, 1])
    may_end.set()
    for thread in threads:
        thread.join()
    assert sorted(order[:2]) == [0, 1] and sorted(order) == list(range(5))


def test_who_no_longer_wants_a_turn_does_not_hold_up_the_queue():
    turns = Turns(1)
    with turns.taken(lambda: False):
        with turns.taken(lambda: True) as is_mine:
            assert not is_mine
    with turns.taken(lambda: True) as is_mine:
        assert is_mine


def test_a_sweep_and_a_search_wait_for_each_other(one_at_a_time):
    sweep = Job((LONG,), None)
    wait_until(lambda: sweep.progress().done)
    work = Work({"search": search_part(SHORT.base, "epsilon", 0.5, "pooled")})
    time.sleep(0.2)
    assert work.progress().state == "waiting" and work.progress().goes_on
    sweep.cancel()
    wait_until(lambda: not work.progress().goes_on)
    assert work.progress().state == "finished" and sweep.progress().state == "cancelled"


def test_a_search_that_waits_can_be_stopped(one_at_a_time):
    sweep = Job((LONG,), None)
    wait_until(lambda: sweep.progress().done)
    work = Work({"search": search_part(SHORT.base, "epsilon", 0.5, "pooled")})
    work.stop()
    wait_until(lambda: work.progress().state == "stopped", seconds=2)
    sweep.cancel()


def test_the_first_rows_end_the_wait_for_them():
    job = Job((LONG,), None)
    started = time.monotonic()
    job.wait_for_rows(20)
    assert job.progress().done and time.monotonic() - started < 10
    job.cancel()


def test_nobody_waits_for_the_rows_of_a_job_that_failed():
    job = Job((Sweep(RunSpec(dataset="mnist", protocols=("no such",))),), None)
    started = time.monotonic()
    job.wait_for_rows(20)
    assert time.monotonic() - started < 10


def test_data_are_read_ahead_once_and_errors_wait_for_whoever_needs_them(monkeypatch, tmp_path):
    problems = Problems(keep=2)
    ahead = ReadingAhead(problems)
    ahead.begin(SHORT.base.problem_key())
    wait_until(lambda: problems.peek(SHORT.base.problem_key()) is not None)
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))
    monkeypatch.setenv("DPCORE_MIRROR", tmp_path.as_uri())
    ahead.begin(RunSpec(dataset="mnist").problem_key())
    wait_until(lambda: ahead._latest.done())
    assert isinstance(ahead._latest.exception(), OSError)
