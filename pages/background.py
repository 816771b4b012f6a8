"""Long computations in the background: one executor, progress with a count, cancel.

A job is identified by its key, so that two visitors who ask for the same result share one
computation, and a page that is reloaded finds its job again. Jobs on an uploaded table are stored
with the table and deleted with it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any
from uuid import uuid4

import streamlit as st

from dpcore.data.dataset import holder_of
from dpcore.errors import DataUnavailable, ParameterError
from pages.components.notices import escape_markdown

# BLAS uses one thread per job, so two jobs use both processors of a small server.
_WORKERS = 2
_MAX_FINISHED = 32
# Time between two looks at a job, and at least this time per session that watches the job.
_POLL_SECONDS, _POLL_SECONDS_PER_SESSION = 0.5, 0.05
_LOOK_SECONDS = 0.02
_SECONDS_UNSEEN = 10.0
# Jobs take turns, so that a new one gets its first results while long ones are running.
_SLICE_SECONDS = 0.3
# Longest pause of a job for page runs. It then works for a short slice, so that the job still ends
# while a class moves its sliders.
_PAUSE_SECONDS = 1.0
# Pause after the run of a page, while the server sends it and browsers draw it.
_SENDING_SECONDS = 0.15
_SHORT_SLICE_SECONDS = 0.1
# Rest after a slice during page runs, in units of its duration, and the longest rest. One result
# may take longer than a slice.
_REST_PER_WORK = 9
_MAX_REST_SECONDS = 5.0
_SWITCH_SECONDS = 0.001
_NICENESS = 15


class Job:
    """Computation whose results arrive one by one.

    key: Identity of the computation.
    make: Returns an iterable of the results.
    total: Number of results that will arrive; None if it is not known.
    seconds_unseen: Time after which the job ends if no session looks at it.
    """

    def __init__(
        self,
        key: Hashable,
        make: Callable[[], Iterable[Any]],
        total: int | None,
        seconds_unseen: float,
    ):
        self.key = key
        self.total = total
        self.results: list[Any] = []
        self.cancelled = threading.Event()
        self.is_complete = False
        self.watchers: set[str] = set()
        self.last_look = time.monotonic()
        self.seconds_unseen = seconds_unseen
        self._n_waiting = 0
        self._rest_until = 0.0
        self._make = make
        self._iterator: Iterator[Any] | None = None
        self._future = _executor.submit(self._advance)

    @property
    def is_running(self) -> bool:
        """True until the last result has arrived, an error occurred, or the job was cancelled."""
        future = self._future
        return not future.done() or future is not self._future

    @property
    def has_ended_early(self) -> bool:
        """True if the job ended without its last result."""
        return not self.is_running and not self.is_complete

    @property
    def error(self) -> BaseException | None:
        """Exception that ended the job, or None."""
        return None if self.is_running else self._future.exception()

    def wait(self, seconds: float) -> None:
        """Wait until the job has ended, for a few moments at most."""
        deadline = time.monotonic() + seconds
        self._n_waiting += 1
        try:
            while self.is_running and time.monotonic() < deadline:
                time.sleep(_LOOK_SECONDS)
        finally:
            self._n_waiting -= 1

    def touch(self) -> None:
        """Note that a session looks at the job; jobs that no session looks at end."""
        self.last_look = time.monotonic()

    def _advance(self) -> None:
        """Collect results for a moment, then queue again behind the other jobs."""
        unseen = time.monotonic() - self.last_look
        if self.cancelled.is_set() or unseen > max(self.seconds_unseen, _SECONDS_UNSEEN):
            # All visitors left while the job waited for its turn.
            self._iterator = None
            return
        if self._iterator is None:
            self._iterator = iter(self._make())
        may_pause = self._pause()
        started = time.monotonic()
        if not may_pause and started < self._rest_until:
            self._future = _executor.submit(self._advance)
            return
        until = started + (_SLICE_SECONDS if may_pause else _SHORT_SLICE_SECONDS)
        for result in self._iterator:
            self.results.append(result)
            now = time.monotonic()
            if self.cancelled.is_set() or now - self.last_look > self.seconds_unseen:
                # Dropping the generator closes it: its data sets are freed and its threads end.
                self._iterator = None
                return
            if now > until or (may_pause and self._has_to_pause):
                rest = min(_REST_PER_WORK * (now - started), _MAX_REST_SECONDS)
                self._rest_until = now + rest
                self._future = _executor.submit(self._advance)
                return
        self._iterator = None
        self.is_complete = True

    @property
    def _has_to_pause(self) -> bool:
        # A job must not pause for a page run that waits for the job, nor before its first result.
        if self.cancelled.is_set() or self._n_waiting or not self.results:
            return False
        return _page_runs.are_any

    def _pause(self) -> bool:
        """Wait for the end of page runs, and return whether the job may pause again soon."""
        deadline = time.monotonic() + _PAUSE_SECONDS
        while self._has_to_pause:
            if time.monotonic() > deadline:
                return False
            time.sleep(_LOOK_SECONDS)
        return True


class _PageRuns:
    """Thread-safe count of the page runs in progress."""

    def __init__(self) -> None:
        self._n = 0
        self._sent_at = 0.0
        self._lock = threading.Lock()

    @property
    def are_any(self) -> bool:
        """True during page runs, and until the last page has probably been sent and drawn."""
        return self._n > 0 or time.monotonic() < self._sent_at

    @contextmanager
    def count(self, sending_seconds: float) -> Iterator[None]:
        """Count a page run, and the time that sending its page takes."""
        with self._lock:
            self._n += 1
        try:
            yield
        finally:
            with self._lock:
                self._n -= 1
                self._sent_at = max(self._sent_at, time.monotonic() + sending_seconds)


_page_runs = _PageRuns()


def _lower_priority() -> None:
    """Let page runs and other programs have the processor before a job's thread."""
    # A page run waits for Python's lock dozens of times, for up to this interval while a job runs.
    sys.setswitchinterval(_SWITCH_SECONDS)
    if sys.platform == "linux":  # elsewhere a priority is one of the whole process
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


_executor = ThreadPoolExecutor(_WORKERS, "job", initializer=_lower_priority)
_jobs: OrderedDict[Hashable, Job] = OrderedDict()
# Name of the jobs on a table among its results.
_JOBS_OF_TABLE = "background jobs"
_lock = threading.Lock()


def page_run() -> AbstractContextManager[None]:
    """Return a context in which a page is drawn; jobs pause between two results meanwhile.

    A job holds Python's lock for up to 5 ms each time that a page run needs it, which takes as long
    as the page run itself.
    """
    return _page_runs.count(_SENDING_SECONDS)


def start(
    key: Hashable,
    make: Callable[[], Iterable[Any]],
    total: int | None = None,
    seconds_unseen: float = _SECONDS_UNSEEN,
) -> Job:
    """Start a computation, or join one that has the same key.

    key: Identity of the computation: everything that its results depend on.
    make: Returns an iterable of results; it runs in another thread and must not draw.
    total: Number of results, for the progress bar.
    seconds_unseen: Time after which the job ends if no session looks at it.
    """
    with _lock:
        jobs = _jobs_of_table(key)
        job = jobs.get(key)
        if job is None or job.cancelled.is_set() or job.has_ended_early:
            job = jobs[key] = Job(key, make, total, seconds_unseen)
        jobs.move_to_end(key)
        finished = [job for job in jobs.values() if not job.is_running]
        for old in finished[:-_MAX_FINISHED]:
            del jobs[old.key]
        job.watchers.add(session_name())
        job.last_look = time.monotonic()
    _cancelled_keys().discard(key)
    return job


def find(key: Hashable) -> Job | None:
    """Return the job with this key, if this session started or joined it."""
    with _lock:
        job = _jobs_of_table(key).get(key)
        return job if job is not None and session_name() in job.watchers else None


def cancel(key: Hashable) -> None:
    """Stop watching a job; a running job ends when no session watches it."""
    _cancelled_keys().add(key)
    with _lock, suppress(ParameterError):  # the table and its jobs may be deleted
        job = _jobs_of_table(key).get(key)
        if job is None:
            return
        job.watchers.discard(session_name())
        if not job.watchers and job.is_running:
            job.cancelled.set()


def _jobs_of_table(key: Hashable) -> OrderedDict[Hashable, Job]:
    """Return the jobs on the table that the key names; those on shared data if it names none."""
    table = holder_of(key)
    if table is None:
        return _jobs
    jobs: OrderedDict[Hashable, Job] = table.results.setdefault(_JOBS_OF_TABLE, OrderedDict())
    return jobs


def was_cancelled(key: Hashable) -> bool:
    """Return whether this session cancelled the job with this key and has not restarted it."""
    return key in _cancelled_keys()


def _cancelled_keys() -> set[Hashable]:
    keys: set[Hashable] = st.session_state.setdefault("_cancelled_jobs", set())
    return keys


def watch(
    job: Job,
    draw: Callable[[list[Any]], None],
    noun: str,
    count: Callable[[list[Any]], int] = len,
) -> None:
    """Draw the results of a job, again and again while they arrive, with progress and Cancel.

    draw: Draws the results that have arrived; called with an empty list at first.
    noun: Plural name of the counted units, as in "12 of 40 runs".
    count: Number of them in the results that have arrived.
    """
    poll(job, lambda: _watch(job, draw, noun, count))


def poll(job: Job, draw: Callable[[], None]) -> None:
    """Draw a part of the page repeatedly while a job is running, and again at its end.

    A fragment keeps its interval until the whole page is drawn. The page is therefore drawn when
    the job has ended, also if it ended between two polls.
    """

    def draw_and_stop() -> None:
        is_running = job.is_running
        with _page_runs.count(sending_seconds=0.0):
            draw()
        if not is_running:
            st.rerun()

    if job.is_running:
        seconds = max(_POLL_SECONDS, _POLL_SECONDS_PER_SESSION * len(job.watchers))
        st.fragment(draw_and_stop, run_every=seconds)()
    else:
        draw()


def _watch(
    job: Job, draw: Callable[[list[Any]], None], noun: str, count: Callable[[list[Any]], int]
) -> None:
    was_running = job.is_running
    job.touch()
    results = list(job.results)
    n_done = count(results)
    # The bar keeps its place when the job has ended, so that nothing below it moves.
    with st.container(height=42, border=False, horizontal=True, vertical_alignment="center"):
        if was_running:
            total = job.total
            share = min(n_done / total, 1.0) if total else 0.0
            st.progress(share, f"{n_done} of {total or '?'} {noun}")
            st.button("Cancel", key=f"cancel_{hash(job.key)}", on_click=cancel, args=(job.key,))
        elif job.error is not None:
            show_error(job.error)
        elif job.cancelled.is_set():
            st.caption(f"Cancelled after {n_done} {noun}.")
        elif n_done > 1:
            st.caption(f"{n_done:,} {noun}")
    draw(results)


def show_error(error: BaseException) -> None:
    """Show an error of a job that a visitor can correct, and raise any other."""
    if not isinstance(error, ParameterError | DataUnavailable | OSError):
        raise error
    st.error(escape_markdown(str(error)))


def session_name() -> str:
    """Return a random name of this visitor's session."""
    name: str = st.session_state.setdefault("_session_name", uuid4().hex)
    return name
