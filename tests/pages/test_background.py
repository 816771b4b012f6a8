"""Background jobs: one computation for all who ask, cancel, turns, bounded memory."""

from __future__ import annotations

import gc
import itertools
import os
import sys
import threading
import time
import weakref
from collections.abc import Iterator

import pytest

from dpcore.data import load_dataset
from dpcore.data.dataset import HeldTable
from dpcore.errors import ParameterError
from dpcore.experiments.pca import RunSpec
from pages import background


@pytest.fixture
def sessions(monkeypatch):
    """Return a function that switches between sessions."""
    monkeypatch.setattr(background, "session_name", lambda: "first")

    def switch(name: str) -> None:
        monkeypatch.setattr(background, "session_name", lambda: name)

    return switch


def wait_for(condition) -> None:
    deadline = time.monotonic() + 300  # for a job that never ends
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def endless(started: threading.Event | None = None) -> Iterator[int]:
    number = 0
    while True:
        if started is not None:
            started.set()
        yield number
        number += 1
        time.sleep(0.01)


def test_two_sessions_that_ask_for_the_same_share_one_computation(sessions):
    calls = []

    def make() -> Iterator[int]:
        calls.append(1)
        yield from range(3)

    first = background.start("shared", make, 3)
    sessions("second")
    second = background.start("shared", make, 3)
    wait_for(lambda: second.is_complete)
    assert first is second and calls == [1] and first.results == [0, 1, 2]


def test_a_finished_job_is_found_again_with_its_results(sessions):
    job = background.start("finished", lambda: range(4), 4)
    wait_for(lambda: job.is_complete)
    assert background.start("finished", lambda: range(4), 4) is job
    assert background.find("finished").results == [0, 1, 2, 3]


def test_a_finished_job_that_all_sessions_left_is_found_again(sessions):
    job = background.start("left", lambda: range(4), 4)
    wait_for(lambda: not job.is_running)
    background.cancel("left")
    assert background.start("left", lambda: range(4), 4) is job


def test_a_job_ends_only_when_its_last_watcher_cancels(sessions):
    job = background.start("cancelled", endless)
    sessions("second")
    background.start("cancelled", endless)
    background.cancel("cancelled")
    assert not job.cancelled.is_set()
    sessions("first")
    background.cancel("cancelled")
    wait_for(lambda: not job.is_running)
    assert not job.is_complete and job.error is None


def test_a_cancelled_job_is_replaced_and_not_joined(sessions):
    job = background.start("again", endless)
    background.cancel("again")
    fresh = background.start("again", lambda: range(2), 2)
    wait_for(lambda: fresh.is_complete)
    assert fresh is not job and fresh.results == [0, 1]


def test_an_error_is_kept_and_the_next_start_tries_again(sessions):
    def fail() -> Iterator[int]:
        yield 1
        raise ParameterError("epsilon", "greater than 0", -1)

    job = background.start("failed", fail, 2)
    wait_for(lambda: not job.is_running)
    assert isinstance(job.error, ParameterError) and job.results == [1]
    assert background.start("failed", lambda: range(2), 2) is not job


def test_a_new_job_gets_results_while_long_jobs_run(sessions):
    long = [background.start(("long", number), endless) for number in range(4)]
    wait_for(lambda: all(job.results for job in long))
    job = background.start("short", lambda: range(2), 2)
    wait_for(lambda: job.is_complete)
    for job in long:
        job.cancelled.set()


def test_a_job_pauses_while_a_page_is_drawn(sessions, monkeypatch):
    monkeypatch.setattr(background, "_PAUSE_SECONDS", 60.0)
    job = background.start("pausing", endless)
    wait_for(lambda: job.results)
    with background.page_run(), background.page_run():
        time.sleep(0.1)  # the result that was being computed arrives
        n_results = len(job.results)
        time.sleep(0.2)
        assert len(job.results) <= n_results + 1
    wait_for(lambda: len(job.results) > n_results + 1)
    job.cancelled.set()


def test_a_job_pauses_until_a_drawn_page_has_been_sent(sessions, monkeypatch):
    """Before, a job used the processors again while the server sent the page."""
    monkeypatch.setattr(background, "_PAUSE_SECONDS", 60.0)
    monkeypatch.setattr(background, "_SENDING_SECONDS", 60.0)
    monkeypatch.setattr(background, "_page_runs", background._PageRuns())
    job = background.start("while sending", endless)
    wait_for(lambda: job.results)
    with background.page_run():
        time.sleep(0.1)  # the result that was being computed arrives
    n_results = len(job.results)
    time.sleep(0.2)
    assert len(job.results) <= n_results + 1
    job.cancelled.set()


def test_the_first_result_does_not_wait_for_page_runs(sessions, monkeypatch):
    monkeypatch.setattr(background, "_PAUSE_SECONDS", 60.0)
    with background.page_run():
        job = background.start("first result", endless)
        wait_for(lambda: job.results)
        background.cancel("first result")


def test_a_cancelled_job_does_not_wait_for_the_end_of_a_page_run(sessions, monkeypatch):
    monkeypatch.setattr(background, "_PAUSE_SECONDS", 60.0)
    job = background.start("cancelled in a pause", endless)
    wait_for(lambda: job.results)
    with background.page_run():
        time.sleep(0.1)
        background.cancel("cancelled in a pause")
        wait_for(lambda: not job.is_running)


def test_a_job_continues_in_a_page_run_that_does_not_end(sessions, monkeypatch):
    monkeypatch.setattr(background, "_PAUSE_SECONDS", 0.05)
    with background.page_run():
        job = background.start("slow page", endless)
        wait_for(lambda: len(job.results) > 20)
    job.cancelled.set()


def test_long_results_take_a_tenth_of_the_time_of_page_runs(sessions, monkeypatch):
    """A job paused for a second at most, however long it had worked."""
    monkeypatch.setattr(background, "_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(background, "_SHORT_SLICE_SECONDS", 0.0)
    work = []

    def slow() -> Iterator[int]:
        while True:
            started = time.monotonic()
            time.sleep(0.02)
            work.append((started, time.monotonic()))
            yield len(work)

    with background.page_run():
        job = background.start("slow results", slow)
        wait_for(lambda: len(work) > 4)
    job.cancelled.set()
    for (started, ended), (following, _) in itertools.pairwise(work[:5]):
        assert following - ended >= 9 * (ended - started)


@pytest.mark.skipif(sys.platform != "linux", reason="threads have priorities on Linux only")
def test_a_job_has_a_lower_priority_than_page_runs(sessions):
    def priority() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    job = background.start("priority", lambda: [priority()])
    wait_for(lambda: job.is_complete)
    assert job.results[0] > priority()


def test_a_job_pauses_while_its_results_are_drawn(sessions, monkeypatch):
    monkeypatch.setattr(background, "_PAUSE_SECONDS", 60.0)
    monkeypatch.setattr(background.st, "fragment", lambda part, **_: part)
    job = background.start("drawn", endless)
    wait_for(lambda: job.results)
    n_results = []

    def draw() -> None:
        for _ in range(2):
            time.sleep(0.1)
            n_results.append(len(job.results))

    background.poll(job, draw)
    assert n_results[1] <= n_results[0] + 1
    job.cancelled.set()


def test_a_job_does_not_pause_for_a_page_run_that_waits_for_it(sessions, monkeypatch):
    monkeypatch.setattr(background, "_PAUSE_SECONDS", 60.0)
    with background.page_run():
        job = background.start("awaited", lambda: range(3), 3)
        job.wait(300)
        assert job.is_complete


def test_a_job_that_no_session_looks_at_ends(sessions):
    job = background.start("unseen", endless, seconds_unseen=0.1)
    wait_for(lambda: not job.is_running)
    assert not job.is_complete


def test_a_job_that_ends_early_closes_its_computation(sessions):
    closed = threading.Event()

    def computation() -> Iterator[int]:
        try:
            yield from endless()
        finally:
            closed.set()

    job = background.start("closed", computation, seconds_unseen=0.1)
    assert closed.wait(300)
    wait_for(lambda: not job.is_running)


def test_a_job_without_visitors_does_not_compute_when_its_turn_comes(sessions, monkeypatch):
    monkeypatch.setattr(background, "_SECONDS_UNSEEN", 0.1)
    may_end, calls = threading.Event(), []

    def blocking() -> Iterator[int]:
        may_end.wait(300)
        yield 1

    for number in range(background._WORKERS):
        background.start(("blocking", number), blocking)
    job = background.start("waiting", lambda: iter(calls.append(1) or [1]), seconds_unseen=0.1)
    time.sleep(0.2)
    may_end.set()
    wait_for(lambda: not job.is_running)
    assert not calls and job.has_ended_early


def test_a_job_on_a_table_is_deleted_with_the_table(sessions):
    """Finished jobs kept the results of a visitor's table after the session."""
    table = HeldTable(load_dataset("digits"))
    key = ("page", (RunSpec(dataset=table.name),))
    job = background.start(key, lambda: range(4), 4)
    wait_for(lambda: not background.find(key).is_running)
    assert background.find(key) is job and background.start(key, lambda: range(4), 4) is job
    gone = weakref.ref(job)
    del table, job
    # A thread keeps its last call until the next one.
    wait_for(lambda: background._executor.submit(gc.collect).result() is None or gone() is None)
    assert gone() is None
    with pytest.raises(ParameterError, match="its session still holds"):
        background.find(key)
    background.cancel(key)


def test_finished_jobs_are_bounded(sessions):
    for number in range(background._MAX_FINISHED + 10):
        job = background.start(("bounded", number), lambda: range(1), 1)
        wait_for(lambda job=job: job.is_complete)
    background.start("last", lambda: range(1), 1)
    finished = [job for job in background._jobs.values() if not job.is_running]
    assert len(finished) <= background._MAX_FINISHED + 1


def test_polling_stops_also_if_the_job_ends_between_two_polls(sessions, monkeypatch):
    parts, reruns = [], []
    monkeypatch.setattr(background.st, "rerun", lambda: reruns.append(1))
    monkeypatch.setattr(background.st, "fragment", lambda part, **_: parts.append(part) or part)
    job = background.start("polled", endless)
    background.poll(job, lambda: None)
    assert len(parts) == 1 and not reruns
    job.cancelled.set()
    wait_for(lambda: not job.is_running)
    parts[0]()
    assert reruns == [1]
