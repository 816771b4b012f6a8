"""Jobs beside the pages: whose turn it is, who looks, what ends and what is never lost."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator

import pytest

from dpcore.errors import ParameterError
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.problem import Problems
from dpcore.experiments.sweep import Sweep
from pages.server import background_jobs
from pages.server.background_jobs import (
    MOST_OF_A_VISITOR,
    Jobs,
    Parts,
    ReadingAhead,
    ShouldStop,
    parts_of_sweeps,
)

LONG = Sweep(RunSpec(repetitions=5000), (("epsilon", (0.1, 1.0)),))


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))


def wait_until(condition, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Work:
    """Gives one row for each `step`, and ends when told; begins anew after a pause."""

    def __init__(self):
        self.begun = 0
        self._steps: queue.SimpleQueue[bool] = queue.SimpleQueue()

    def parts(self) -> Parts:
        return {"part": self._rows}

    def step(self) -> None:
        self._steps.put(True)

    def end(self) -> None:
        self._steps.put(False)

    def _rows(self, should_stop: ShouldStop) -> Iterator[dict]:
        self.begun += 1
        number = 0
        while not should_stop():
            try:
                if not self._steps.get(timeout=0.001):
                    return
            except queue.Empty:
                continue
            yield {"number": number}
            number += 1


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def jobs(clock) -> Iterator[Jobs]:
    """One at a time."""
    jobs = Jobs(1, clock)
    yield jobs
    for job in list(jobs._jobs.values()):
        for visitor in list(job.viewers):
            jobs.leave(job, visitor)
    wait_until(lambda: not any(job.goes_on for job in jobs._jobs.values()))


def state(jobs: Jobs, key: str) -> str:
    """Without looking."""
    return jobs._jobs[key].state


def test_first_come_first_served(jobs):
    works = {key: Work() for key in "abc"}
    views = {key: jobs.start(key, key, work.parts) for key, work in works.items()}
    for key, work in works.items():
        wait_until(lambda work=work: work.begun)
        later = [other for other in works if other > key]
        assert [state(jobs, other) for other in later] == ["waiting"] * len(later)
        work.end()
        wait_until(lambda key=key: views[key].progress().state == "finished")


def test_a_run_that_waits_for_its_turn_is_still_to_be_paid(jobs):
    first = Work()
    jobs.start("you", "first", first.parts)
    wait_until(lambda: first.begun)
    second = jobs.start("me", "second", Work().parts)
    assert second.progress().state == "waiting"
    assert second.rows_so_far() == ([], True)


def test_who_asks_for_the_same_joins_in_and_nobody_cancels_anothers(jobs):
    work = Work()
    mine = jobs.start("me", "same", work.parts)
    theirs = jobs.start("you", "same", Work().parts)
    mine.cancel()
    work.step()
    wait_until(lambda: theirs.progress().arrived.get("part"))
    assert mine.progress().state == "cancelled" and mine.rows_so_far()[1] is False
    assert theirs.progress().goes_on and work.begun == 1
    assert jobs.find("me", "same") is not None and jobs.find("somebody", "same") is None
    theirs.cancel()
    wait_until(lambda: theirs.progress().state == "cancelled")
    assert theirs.progress().arrived["part"] == ({"number": 0},)


def test_whoever_cancels_is_told_at_once_though_a_draw_takes_a_while(jobs):
    begun, drawn = threading.Event(), threading.Event()

    def draws(should_stop: ShouldStop) -> Iterator[dict]:
        begun.set()
        drawn.wait(20)
        yield {"number": 0}

    view = jobs.start("me", "slow", lambda: {"part": draws})
    begun.wait(20)
    view.cancel()
    assert view.progress().state == "cancelled" and state(jobs, "slow") == "running"
    drawn.set()
    wait_until(lambda: state(jobs, "slow") == "cancelled")


def test_after_a_reload_a_job_is_found_by_what_it_computes(jobs, clock):
    work = Work()
    jobs.start("me", "same", work.parts)
    clock.now += 10
    assert jobs.goes_on("same")
    again = jobs.start("me after a reload", "same", Work().parts)
    work.end()
    wait_until(lambda: again.progress().state == "finished")
    assert work.begun == 1


def test_runs_that_ended_push_out_no_run_that_goes_on(jobs, monkeypatch):
    monkeypatch.setattr(jobs, "_places", 2)
    long = Work()
    view = jobs.start("me", "long", long.parts)
    step = 0.8
    for number in range(6 * background_jobs._MOST_ENDED):
        jobs._clock.now += step  # the long one is looked at no more; nobody waits for its place
        short = Work()
        short.end()
        other = jobs.start("you", number, short.parts)
        wait_until(lambda other=other: other.progress().state == "finished")
    assert jobs.find("me", "long") is not None and view.progress().state == "running"
    assert len(jobs._jobs) <= background_jobs._MOST_ENDED + background_jobs._KEPT_SECONDS / step + 2


def test_a_long_run_that_just_ended_outlives_short_ones_that_began_later(jobs, clock, monkeypatch):
    """It was the first to be forgotten: those kept were the latest to begin."""
    monkeypatch.setattr(jobs, "_places", 2)
    long = Work()
    view = jobs.start("me", "long", long.parts)
    for number in range(2 * background_jobs._MOST_ENDED):
        clock.now += 1
        view.progress()
        short = Work()
        short.end()
        other = jobs.start("you", number, short.parts)
        wait_until(lambda other=other: other.progress().state == "finished")
    long.end()
    wait_until(lambda: state(jobs, "long") == "finished")
    clock.now += background_jobs._KEPT_SECONDS + 1
    last = Work()
    last.end()
    jobs.start("you", "last", last.parts)
    wait_until(lambda: state(jobs, "last") == "finished")
    assert jobs.find("me", "long").progress().state == "finished"


def test_what_nobody_looks_at_for_two_minutes_ends_and_keeps_its_rows(jobs, clock):
    work = Work()
    view = jobs.start("me", "key", work.parts)
    work.step()
    wait_until(lambda: view.rows_so_far()[0])
    clock.now += 119
    view.progress()
    clock.now += 119
    assert state(jobs, "key") == "running"
    clock.now += 2
    wait_until(lambda: state(jobs, "key") == "unseen")
    assert view.progress().arrived["part"] == ({"number": 0},)


def test_the_ledger_is_not_a_look(jobs, clock):
    view = jobs.start("me", "key", Work().parts)
    clock.now += 121
    view.rows_so_far()
    wait_until(lambda: state(jobs, "key") == "unseen")


def test_pages_that_were_left_hold_up_nobody(jobs, clock):
    left = {number: Work() for number in range(12)}
    for number, work in left.items():
        jobs.start(f"gone {number}", number, work.parts)
    wait_until(lambda: left[0].begun)
    clock.now += 6
    mine = Work()
    view = jobs.start("me", "mine", mine.parts)
    wait_until(lambda: mine.begun)
    assert all(state(jobs, number) == "waiting" for number in left)
    assert not any(left[number].begun for number in range(1, 12))
    mine.end()
    wait_until(lambda: view.progress().state == "finished")
    wait_until(lambda: sum(state(jobs, number) == "running" for number in left) == 1)
    clock.now += 121
    jobs.start("me", "again", Work().parts)
    wait_until(lambda: all(state(jobs, number) == "unseen" for number in left))


def test_long_runs_take_turns_and_lose_no_row(jobs, clock):
    long, other = Work(), Work()
    first = jobs.start("me", "long", long.parts)
    long.step()
    wait_until(lambda: first.progress().arrived.get("part"))
    second = jobs.start("you", "other", other.parts)
    assert second.progress().state == "waiting"
    clock.now += 21
    second.progress()
    wait_until(lambda: other.begun)
    assert first.progress().state == "waiting" and first.progress().arrived["part"]
    other.end()
    wait_until(lambda: long.begun == 2)
    assert first.progress().arrived["part"] == ({"number": 0},)
    long.step()
    long.step()
    wait_until(lambda: len(first.progress().arrived["part"]) == 2)
    long.end()
    wait_until(lambda: first.progress().state == "finished")


def test_a_visitor_has_a_few_runs_at_once_and_is_told(jobs):
    for number in range(MOST_OF_A_VISITOR):
        jobs.start("me", number, Work().parts)
    with pytest.raises(
        ParameterError,
        match=f"at most {MOST_OF_A_VISITOR} of one visitor.*got {MOST_OF_A_VISITOR + 1}",
    ):
        jobs.start("me", "one more", Work().parts)
    assert jobs.start("you", "one more", Work().parts).progress().state == "waiting"


def test_the_server_has_many_runs_at_once_and_the_unseen_go_first(jobs, clock, monkeypatch):
    monkeypatch.setattr(background_jobs, "MOST_GOING_ON", 2)
    jobs.start("gone", "left", Work().parts)
    wait_until(lambda: state(jobs, "left") == "running")
    clock.now += 6
    jobs.start("you", "looked at", Work().parts)
    jobs.start("me", "mine", Work().parts)
    wait_until(lambda: state(jobs, "left") == "unseen")
    with pytest.raises(ParameterError, match="at most 2 of all visitors"):
        jobs.start("one more", "theirs", Work().parts)


def test_what_a_page_asked_before_gives_way_to_what_it_asks_now(jobs):
    old = jobs.start("me", ("page", 1), Work().parts)
    elsewhere = jobs.start("me", ("other page", 1), Work().parts)
    jobs.start("me", ("page", 2), Work().parts, instead_of=lambda key: key[0] == "page")
    wait_until(lambda: old.progress().state == "cancelled")
    assert elsewhere.progress().goes_on


def test_a_run_asked_for_again_keeps_those_who_look_at_it(jobs):
    works = [Work(), Work()]
    works[0].end()
    first = jobs.start("me", "key", works[0].parts)
    wait_until(lambda: first.progress().state == "finished")
    assert jobs.start("you", "key", works[1].parts).progress().state == "finished"
    jobs.start("me", "key", works[1].parts)
    wait_until(lambda: works[1].begun)
    assert jobs.find("you", "key").progress().state == "running"


def test_whoever_comes_back_while_a_job_is_ending_gets_it_whole(jobs, clock):
    work = Work()
    view = jobs.start("me", "key", work.parts)
    wait_until(lambda: work.begun)
    with jobs._lock:
        view.cancel()
        jobs.start("you", "key", Work().parts)
    wait_until(lambda: work.begun == 2)
    work.end()
    wait_until(lambda: view.progress().state == "finished")


def test_what_went_wrong_is_said_or_raised_where_the_page_is_drawn(jobs):
    def wrong(error):
        def rows(_):
            raise error
            yield

        return lambda: {"part": rows}

    said = jobs.start("me", "said", wrong(OSError("no such file")))
    raised = jobs.start("me", "raised", wrong(ZeroDivisionError()))
    wait_until(lambda: state(jobs, "raised") == "failed")
    assert said.progress().state == "failed" and said.progress().sentence == "no such file"
    with pytest.raises(ZeroDivisionError):
        raised.progress()


def test_the_first_rows_end_the_wait_for_them_and_so_does_a_failure():
    jobs = Jobs(1)
    job = jobs.start("me", "long", lambda: parts_of_sweeps((LONG,)))
    started = time.monotonic()
    job.wait_for_rows(20)
    assert job.rows_so_far()[0] and time.monotonic() - started < 10
    job.cancel()
    wrong = Sweep(RunSpec(dataset="mnist", protocols=("no such",)))
    failed = jobs.start("me", "wrong", lambda: parts_of_sweeps((wrong,)))
    failed.wait_for_rows(20)
    assert time.monotonic() - started < 10


def test_jobs_need_no_page_and_no_streamlit():
    """Streamlit's own caches can be emptied by any visitor, for everybody."""
    names = vars(background_jobs) | vars(background_jobs)
    assert not [name for name, value in names.items() if "streamlit" in repr(value)]


def test_data_are_read_ahead_once_and_errors_wait_for_whoever_needs_them(monkeypatch, tmp_path):
    problems = Problems(keep=2)
    ahead = ReadingAhead(problems)
    key = RunSpec(protocols=("pooled",), repetitions=2).problem_key()
    ahead.begin(key)
    wait_until(lambda: problems.peek(key) is not None)
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))
    monkeypatch.setenv("DPCORE_MIRROR", tmp_path.as_uri())
    ahead.begin(RunSpec(dataset="mnist").problem_key())
    wait_until(lambda: ahead._latest.done())
    assert isinstance(ahead._latest.exception(), OSError)
