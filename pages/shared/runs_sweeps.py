"""Sweeps that run beside the pages: each in a thread of its own, its rows there for the asking."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import streamlit as st

from dpcore.errors import ParameterError
from dpcore.experiments.problem import Problems
from dpcore.experiments.run import Row
from dpcore.experiments.spec import ProblemKey
from dpcore.experiments.store import Store
from dpcore.experiments.sweep import Finished, Sweep, in_order, run_sweep
from pages.shared import runs

Sweeps = tuple[Sweep, ...]
SCHEDULER_VARIABLE = "DPCORE_SCHEDULER"
_MOST_JOBS = 24


@dataclass(frozen=True)
class Progress:
    """A job at one moment.

    Parameters
    ----------
    rows : tuple of tuple of dict
        Those that arrived, one tuple a sweep, in the order of its grid.
    skipped : tuple of dict
        Cells that cannot run, with their reasons.
    done, total : int
        Draws.
    stored : int
        How many of those done were in the store.
    seconds_left : float or None
        None before the first draw was computed.
    state : {"waiting", "running", "finished", "cancelled", "failed"}
    sentence : str
        What went wrong, where a person can put it right.
    """

    rows: tuple[tuple[Row, ...], ...]
    skipped: tuple[Row, ...]
    done: int
    total: int
    stored: int
    seconds_left: float | None
    state: str
    sentence: str = ""

    @property
    def goes_on(self) -> bool:
        return self.state in ("waiting", "running")


class Job:
    """Sweeps run one after the other in a background thread.

    Parameters
    ----------
    sweeps : tuple of Sweep
    store : Store or None
        Where rows are kept on disk; two jobs that share a draw compute it once.
    """

    def __init__(self, sweeps: Sweeps, store: Store | None):
        self.sweeps = sweeps
        # Here and not in the thread: what pages share is looked up where a page runs.
        self._options = run_options() | {"store": store}
        self._turns = runs.turns()
        self._finished: tuple[list[Finished], ...] = tuple([] for _ in sweeps)
        self._skipped: list[Row] = []
        self._total = sum(
            cell.spec.repetitions
            for sweep in sweeps
            for cell in sweep.cells()
            if cell.spec is not None
        )
        self._done = self._stored = 0
        self._started = time.monotonic()
        self._state = "waiting"
        self._error: BaseException | None = None
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._begun = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    @property
    def scheduler(self) -> str | None:
        """Address of the cluster that computes; None for this server's own processors."""
        return self._options["scheduler"]

    def cancel(self) -> None:
        """End within a moment; what arrived stays."""
        self._cancelled.set()

    def wait_for_rows(self, seconds: float) -> None:
        """Wait for the first rows, or for the end, but no longer than this."""
        self._begun.wait(seconds)

    def rows_so_far(self) -> tuple[list[Row], bool]:
        """Rows that arrived, in no order, and whether more will."""
        with self._lock:
            arrived = [row for side in self._finished for one in side for row in one.rows]
            return arrived, self._state in ("waiting", "running")

    def progress(self) -> Progress:
        """What there is at this moment.

        Raises
        ------
        BaseException
            What ended the job, unless it is something a person can put right.
        """
        with self._lock:
            expected = self._error is None or isinstance(self._error, ParameterError | OSError)
            if not expected:
                raise self._error
            computed = self._done - self._stored
            seconds = time.monotonic() - self._started
            return Progress(
                rows=tuple(in_order(finished) for finished in self._finished),
                skipped=tuple(self._skipped),
                done=self._done,
                total=self._total,
                stored=self._stored,
                seconds_left=seconds / computed * (self._total - self._done) if computed else None,
                state=self._state,
                sentence="" if self._error is None else str(self._error),
            )

    def _run(self) -> None:
        try:
            with self._turns.taken(self._cancelled.is_set) as is_mine:
                if is_mine:
                    self._run_sweeps()
        except BaseException as error:  # raised again, or said, in the thread that draws the page
            self._end("failed", error)
        else:
            complete = self._done == self._total
            self._end("finished" if complete else "cancelled")

    def _run_sweeps(self) -> None:
        with self._lock:
            self._state, self._started = "running", time.monotonic()
        for sweep, finished in zip(self.sweeps, self._finished, strict=True):
            stored_before, done_before = self._stored, self._done
            for event in run_sweep(sweep, should_stop=self._cancelled.is_set, **self._options):
                with self._lock:
                    finished.extend(event.finished)
                    self._skipped.extend(event.skipped)
                    self._done = done_before + event.done
                    self._stored = stored_before + event.stored
                if event.finished:
                    self._begun.set()

    def _end(self, state: str, error: BaseException | None = None) -> None:
        with self._lock:
            self._state, self._error = state, error
        self._begun.set()


class Jobs:
    """The latest jobs of all visitors, a bounded number of them."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[tuple[str, Sweeps], Job] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, visitor: str, sweeps: Sweeps) -> Job:
        """Run these; a visitor's run that still goes on gives way to it."""
        job = Job(sweeps, Store())
        with self._lock:
            for (owner, _), earlier in self._jobs.items():
                if owner == visitor:
                    earlier.cancel()
            self._jobs[visitor, sweeps] = job
            self._jobs.move_to_end((visitor, sweeps))
            while len(self._jobs) > _MOST_JOBS:
                self._jobs.popitem(last=False)[1].cancel()
        return job

    def find(self, visitor: str, sweeps: Sweeps) -> Job | None:
        with self._lock:
            return self._jobs.get((visitor, sweeps))


def scheduler() -> str | None:
    """Address of the Dask cluster that computes sweeps; None for this server's processors.

    A setting of the server and not a control on a page: an address that visitors choose is one
    that they make this server call.
    """
    return os.environ.get(SCHEDULER_VARIABLE) or None


def run_options() -> dict[str, object]:
    """Where jobs of this server run and keep their rows, as `run_sweep` takes it."""
    return {
        "workers": os.cpu_count() or 1,
        "store": Store(),
        "scheduler": scheduler(),
        "problems": runs.problems_of_jobs(),
    }


@st.cache_resource
def _jobs() -> Jobs:
    return Jobs()


class ReadingAhead:
    """Reads what a sweep begins with while somebody still looks at its controls."""

    def __init__(self, problems: Problems):
        self._problems = problems
        self._pool = ThreadPoolExecutor(1)
        self._latest: Future | None = None

    def begin(self, key: ProblemKey) -> None:
        """Read, unless something is being read: controls move faster than data sets load."""
        idle = self._latest is None or self._latest.done()
        if idle and self._problems.peek(key) is None:
            self._latest = self._pool.submit(self._problems, key)


@st.cache_resource
def _reading_ahead() -> ReadingAhead:
    return ReadingAhead(runs.problems())


def read_ahead(sweeps: Sweeps) -> None:
    """Have the data of the first cell that can run in memory by the time Run is pressed."""
    specs = (cell.spec for sweep in sweeps for cell in sweep.cells() if cell.spec is not None)
    first = next(specs, None)
    if first is not None and scheduler() is None:
        _reading_ahead().begin(first.problem_key())


# A job is a visitor's own, so that nobody cancels somebody else's; the store on disk sees to it
# that what two of them ask for is computed once.
def start(sweeps: Sweeps) -> None:
    """Run these sweeps for this visitor."""
    _jobs().start(runs.visitor(), sweeps)


def find(sweeps: Sweeps) -> Job | None:
    """This visitor's run of these sweeps, going on or ended."""
    return _jobs().find(runs.visitor(), sweeps)
