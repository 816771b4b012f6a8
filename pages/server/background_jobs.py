"""Background jobs: a queue that is fair to visitors, and what they see of it.

Whose turn it is among the jobs beside the pages, for whom they run, and when they end.

Jobs are known by what they compute, so that two visitors who ask for the same get one, and whoever
reloads a page finds it again. They belong to the server's process: no page and no session owns one.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from dpcore.data.dataset import is_held, names_one_gone
from dpcore.errors import ParameterError
from dpcore.experiments.engine import Finished, ProblemSource, Row
from dpcore.experiments.once_cache import OnceCache
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.problem import Problem, Problems
from dpcore.experiments.spec import ProblemKey
from dpcore.experiments.store import Store, cache_folder
from dpcore.experiments.sweep import (
    Grid,
    Points,
    RunCost,
    Sweep,
    SweepEvent,
    cost_of_sweeps,
    in_order,
    run_sweep,
)
from pages.server import caches
from pages.server.process import ON_TIDYING

# Work that goes on beside the pages, and what a visitor sees of it.

_POLL_SECONDS = 0.25
ShouldStop = Callable[[], bool]
Parts = Mapping[str, Callable[[ShouldStop], Iterator[object]]]


@dataclass(frozen=True)
class Progress:
    """A job at one moment.

    arrived: What each part that has begun has given.
    state: {"waiting", "running", "finished", "cancelled", "unseen", "failed"}. "unseen": ended
        because nobody had looked for two minutes.
    sentence: What went wrong, where a person can put it right.
    """

    arrived: dict[str, tuple[Any, ...]]
    state: str
    sentence: str = ""

    # How much of it is done, where that can be said.
    share: ClassVar[float | None] = None

    @property
    def goes_on(self) -> bool:
        return self.state in ("waiting", "running")

    def rows_of(self, part: str) -> tuple[Row, ...]:
        """Rows of a part that is a sweep, in the order of its grid."""
        events: tuple[SweepEvent, ...] = self.arrived.get(part, ())
        return in_order([one for event in events for one in event.finished])

    def skipped_of(self, part: str) -> tuple[Row, ...]:
        """Cells of a sweep that cannot run, with their reasons."""
        return tuple(row for event in self.arrived.get(part, ()) for row in event.skipped)


class Job:
    """Parts run one after the other; `Jobs` sees to whose turn it is."""

    def __init__(self, key: Hashable, parts: Parts, viewers: dict[str, float]):
        self.key = key
        self.parts = parts
        self.viewers = viewers  # when each visitor looked last
        self.left: set[str] = set()  # visitors who cancelled what others look at
        self.state = "waiting"
        self.arrived: dict[str, list[Any]] = {}
        self.error: BaseException | None = None
        self.place = 0  # in the queue
        self.began = 0.0
        self.turns = 0
        # What becomes of it once its parts have stopped; None while nothing stops them.
        self.becomes: str | None = None
        self.has_rows = threading.Event()
        self.n_rows = 0  # once it has ended

    @property
    def goes_on(self) -> bool:
        return self.state in ("waiting", "running")

    @property
    def n_items(self) -> int:
        return sum(map(len, self.arrived.values()))

    def rows(self) -> list[Row]:
        return [row for items in self.arrived.values() for item in items for row in rows_of(item)]


class JobView:
    """A job as one visitor sees it; looking keeps it going.

    every: Seconds between looks.
    """

    every = _POLL_SECONDS

    def __init__(self, jobs: Jobs, job: Job, visitor: str):
        self.jobs, self.job, self.visitor = jobs, job, visitor

    def progress(self) -> Progress:
        """What there is at this moment.

        Raises `BaseException`: what ended the job, unless it is something a person can put right.
        """
        return self.jobs.progress(self.job, self.visitor)

    def cancel(self) -> None:
        """Look no more; the job ends within a moment unless others look at it. Rows stay."""
        self.jobs.leave(self.job, self.visitor)

    def wait_for_rows(self, seconds: float) -> None:
        """Wait for the first rows, or for the end, but no longer than this."""
        self.job.has_rows.wait(seconds)

    def rows_so_far(self) -> tuple[list[Row], bool]:
        """Rows that arrived, in no order, and whether more will; this is not looking."""
        return self.jobs.rows_so_far(self.job, self.visitor)


def rows_of(item: object) -> tuple[Row, ...]:
    """Rows in what a part gives: a row, or something that has rows."""
    return (item,) if isinstance(item, dict) else getattr(item, "rows", ())


# Whose turn it is among the jobs beside the pages, for whom they run, and when they end.

# Pages look several times a second; browsers let a tab in the background look once a minute.
_LOOKING_SECONDS = 5.0
_UNSEEN_SECONDS = 120.0
# How long a job keeps its place while others that are looked at wait; longer each time it has
# given way, so that it ends even where no rows could be kept.
_TURN_SECONDS = 20.0
# The figures of a page that fill in by themselves, and as many runs beside them.
MOST_OF_A_VISITOR = 6
MOST_GOING_ON = 100
_MOST_ENDED = 24
_KEPT_SECONDS = 60.0
# About 12 MB; those of others are on disk, and come back in a moment.
_MOST_ENDED_ROWS = 4_000


class Jobs:
    """All jobs of a server, and whose turn it is.

    A few at a time run; of those that wait, the ones that somebody looks at come first, in the
    order they came. A job that nobody looks at, or that has had its turn, gives its place to one
    that is looked at, and goes on later from the rows it kept on disk.

    places: How many run at the same time.
    clock: Seconds.
    """

    def __init__(self, places: int, clock: Callable[[], float] = time.monotonic):
        self._places = places
        self._clock = clock
        self._jobs: dict[Hashable, Job] = {}  # in the order they were started
        self._last_place = 0
        self._lock = threading.RLock()

    def start(
        self,
        visitor: str,
        key: Hashable,
        parts: Callable[[], Parts],
        instead_of: Callable[[Hashable], bool] = lambda _: False,
    ) -> JobView:
        """Compute, or join in where this is computed already.

        key: hashable. What is computed.
        parts: Gives functions that take should_stop and give an iterator, to be run one after the
            other.
        instead_of: Which of the visitor's other jobs (by key) give way to this one.
        Raises `ParameterError` if too many of this visitor, or of all together, go on.
        """
        with self._lock:
            for other in list(self._jobs.values()):
                if other.key != key and visitor in other.viewers and instead_of(other.key):
                    self.leave(other, visitor)
            job = self._jobs.get(key)
            if job is None or not (
                job.goes_on or (job.state == "finished" and visitor not in job.viewers)
            ):
                self._check_room(visitor)
                # Those who look at the one before it, which has ended, look at this one.
                job = Job(key, parts(), {} if job is None else job.viewers)
                self._jobs.pop(key, None)
                self._jobs[key] = job
                self._queue(job)
            job.viewers[visitor] = self._clock()
            job.left.discard(visitor)
            if job.becomes is not None:
                job.becomes = "waiting"  # it was just about to end
            self._forget_ended()
            self._admit()
            return JobView(self, job, visitor)

    def find(self, visitor: str, key: Hashable) -> JobView | None:
        """This visitor's view of a job, going on or ended; None without `start`."""
        with self._lock:
            job = self._jobs.get(key)
            if job is None or visitor not in {*job.viewers, *job.left}:
                return None
            return JobView(self, job, visitor)

    def goes_on(self, key: Hashable) -> bool:
        """Whether this is being computed, whoever looks at it."""
        with self._lock:
            return key in self._jobs and self._jobs[key].goes_on

    def forget(self, which: Callable[[Hashable], bool]) -> None:
        """End jobs by their keys, and keep nothing of what they gave."""
        with self._lock:
            for job in [job for job in self._jobs.values() if which(job.key)]:
                self._stop(job, "cancelled")
                del self._jobs[job.key]
            self._admit()

    def progress(self, job: Job, visitor: str) -> Progress:
        with self._lock:
            if visitor not in job.left:
                job.viewers[visitor] = self._clock()
            if not isinstance(job.error, ParameterError | OSError | None):
                # Without the frames of earlier looks, which would pile up.
                raise job.error.with_traceback(None)
            arrived = {name: tuple(items) for name, items in job.arrived.items()}
            # Whoever cancels is told so at once, though a draw takes a while to end.
            has_left = visitor in job.left or job.becomes == "cancelled"
            state = "cancelled" if has_left and job.goes_on else job.state
            return Progress(arrived, state, "" if job.error is None else str(job.error))

    def rows_so_far(self, job: Job, visitor: str) -> tuple[list[Row], bool]:
        with self._lock:
            return job.rows(), job.goes_on and visitor not in job.left

    def leave(self, job: Job, visitor: str) -> None:
        with self._lock:
            if not job.goes_on or visitor not in job.viewers:
                return
            # A page that was left or reloaded looks no more, and keeps nothing going.
            if any(
                self._clock() - seen <= _LOOKING_SECONDS
                for who, seen in job.viewers.items()
                if who != visitor
            ):
                del job.viewers[visitor]
                job.left.add(visitor)
            else:
                self._stop(job, "cancelled")
                self._admit()

    def _check_room(self, visitor: str) -> None:
        going_on = [job for job in self._jobs.values() if job.goes_on]
        own = sum(visitor in job.viewers for job in going_on)
        if own >= MOST_OF_A_VISITOR:
            raise ParameterError(
                "runs at once",
                f"at most {MOST_OF_A_VISITOR} of one visitor: cancel one, or wait until one ends",
                own + 1,
            )
        if len(going_on) >= MOST_GOING_ON:
            longest = min(going_on, key=self._seen)
            if self._is_looked_at(longest):
                raise ParameterError(
                    "runs at once",
                    f"at most {MOST_GOING_ON} of all visitors: try again in a minute",
                    len(going_on) + 1,
                )
            self._stop(longest, "unseen")

    def _seen(self, job: Job) -> float:
        return max(job.viewers.values())

    def _is_looked_at(self, job: Job) -> bool:
        return self._clock() - self._seen(job) <= _LOOKING_SECONDS

    def _is_unseen(self, job: Job) -> bool:
        return self._clock() - self._seen(job) > _UNSEEN_SECONDS

    def _queue(self, job: Job) -> None:
        self._last_place += 1
        job.state, job.becomes, job.place = "waiting", None, self._last_place

    def _stop(self, job: Job, becomes: str) -> None:
        job.becomes = becomes
        if job.state == "waiting":
            self._end(job, becomes)

    def _end(self, job: Job, state: str) -> None:
        job.state, job.becomes, job.parts = state, None, {}
        job.n_rows = len(job.rows())
        job.has_rows.set()

    def _forget_ended(self) -> None:
        """Keep those that ended and were looked at last; what goes on is never forgotten."""
        ended = [job for job in self._jobs.values() if not job.goes_on]
        ended.sort(key=self._seen, reverse=True)
        n_rows = 0
        for number, job in enumerate(ended):
            n_rows += job.n_rows
            too_many = number >= _MOST_ENDED or (number and n_rows > _MOST_ENDED_ROWS)
            # A page that waits for its turn on a busy server may be a while in coming back.
            if too_many and self._clock() - self._seen(job) > _KEPT_SECONDS:
                del self._jobs[job.key]

    def _waiting(self) -> list[Job]:
        return [job for job in self._jobs.values() if job.state == "waiting"]

    def _admit(self) -> None:
        for job in self._waiting():
            if self._is_unseen(job):
                self._stop(job, "unseen")
        running = sum(job.state == "running" for job in self._jobs.values())
        waiting = sorted(self._waiting(), key=lambda job: (not self._is_looked_at(job), job.place))
        for job in waiting[: max(self._places - running, 0)]:
            job.state, job.began = "running", self._clock()
            job.turns += 1
            try:
                threading.Thread(target=self._run, args=(job,), daemon=True).start()
            except RuntimeError as error:  # no more threads: its place is for another
                job.error = error
                self._end(job, "failed")

    def _should_stop(self, job: Job) -> bool:
        with self._lock:
            if job.becomes is None:
                if self._is_unseen(job):
                    job.becomes = "unseen"
                elif self._gives_way(job):
                    job.becomes = "waiting"
            return job.becomes is not None

    def _gives_way(self, job: Job) -> bool:
        has_had_its_turn = self._clock() - job.began > _TURN_SECONDS * job.turns
        if self._is_looked_at(job) and not has_had_its_turn:
            return False
        giving_way = sum(other.becomes == "waiting" for other in self._jobs.values())
        return sum(map(self._is_looked_at, self._waiting())) > giving_way

    def _run(self, job: Job) -> None:
        error = None
        try:
            self._run_parts(job)
        except BaseException as raised:  # raised again, or said, in the thread that draws the page
            error = raised
        with self._lock:
            job.error = error
            if error is not None:
                self._end(job, "failed")
            elif job.becomes == "waiting":
                self._queue(job)
            else:
                self._end(job, job.becomes or "finished")
            self._forget_ended()
            self._admit()

    def _run_parts(self, job: Job) -> None:
        arrived: dict[str, list[Any]] = {}
        n_items = 0
        for name, begin in job.parts.items():
            items = arrived[name] = []
            for item in begin(lambda: self._should_stop(job)):
                if self._should_stop(job):
                    return
                with self._lock:
                    items.append(item)
                    n_items += 1
                    # A job that goes on after a pause first comes to what was there before.
                    if n_items >= job.n_items:
                        job.arrived = arrived
                if rows_of(item):
                    job.has_rows.set()
            if job.becomes is not None:
                return


# The jobs of this server, as its visitors start and find them.

Sweeps = tuple[Grid, ...]
SCHEDULER_VARIABLE = "DPCORE_SCHEDULER"
# Pages whose questions are sweeps show the same ones.
SWEEPS = "sweeps"
# Before the name of a figure that fills in without being asked.
_FIGURE = "figure: "
# What jobs compute on, in this server's memory; of a family that is not here, what it gives.
PROBLEMS: dict[str, ProblemSource] = {RunSpec.experiment: caches.problems_of_jobs}

JOBS = Jobs(caches.JOBS_AT_ONCE)
_now: OnceCache[tuple[Row, ...]] = OnceCache(None, keep=256)


def start(page: str, question: Hashable, parts: Callable[[], Parts]) -> JobView:
    """Begin a page's question for this visitor, or join those who look at it already.

    What the visitor asked the same page before gives way.

    Raises `ParameterError` if too many jobs go on.
    """

    def gives_way(key: Hashable) -> bool:
        other = str(key[0]) if isinstance(key, tuple) else ""
        figures = page.startswith(_FIGURE) and other.startswith(_FIGURE)
        return other == page or (figures and other.partition("_")[0] != page.partition("_")[0])

    return JOBS.start(caches.visitor(), _key(page, question), parts, gives_way)


def find(page: str, question: Hashable) -> JobView | None:
    """This visitor's view of a page's question, going on or ended."""
    return JOBS.find(caches.visitor(), _key(page, question))


def goes_on(page: str, question: Hashable) -> bool:
    """Whether anybody's job is at this question."""
    return JOBS.goes_on(_key(page, question))


def _key(page: str, question: Hashable) -> tuple[Hashable, ...]:
    # The same question computed elsewhere, or kept elsewhere, is another job.
    return page, question, scheduler(), cache_folder()


def forget_gone() -> None:
    """Keep nothing of jobs on tables whose sessions have ended."""
    JOBS.forget(names_one_gone)


ON_TIDYING.append(forget_gone)


def scheduler() -> str | None:
    """Address of the Dask cluster that computes sweeps; None for this server's processors.

    A setting of the server and not a control on a page: an address that visitors choose is one
    that they make this server call.
    """
    return os.environ.get(SCHEDULER_VARIABLE) or None


def run_options(family: str = RunSpec.experiment) -> dict[str, Any]:
    """Where jobs of this server run and keep their rows, as `run_sweep` takes it."""
    return {
        "workers": os.cpu_count() or 1,
        "store": Store(),
        "scheduler": scheduler(),
        "problems": PROBLEMS.get(family),
    }


def sweep_part(sweep: Grid) -> Callable[[ShouldStop], Iterator[SweepEvent]]:
    """A sweep as a part of a job."""
    options = run_options(sweep.family)
    return lambda stop: run_sweep(sweep, should_stop=stop, **options)


def parts_of_sweeps(sweeps: Sweeps) -> Parts:
    """Sweeps as the parts of a job, one after the other, named by their positions."""
    return {str(number): sweep_part(sweep) for number, sweep in enumerate(sweeps)}


@dataclass(frozen=True)
class SweepProgress(Progress):
    """Sweeps at one moment: parts named by their positions."""

    sweeps: Sweeps = ()

    @cached_property
    def rows(self) -> tuple[tuple[Row, ...], ...]:
        """Those that arrived, one tuple a sweep, in the order of its grid."""
        return tuple(self.rows_of(str(number)) for number in range(len(self.sweeps)))

    @property
    def skipped(self) -> tuple[Row, ...]:
        """Cells that cannot run, with their reasons."""
        return tuple(row for part in self.arrived for row in self.skipped_of(part))

    @property
    def _latest(self) -> list[SweepEvent]:
        return [events[-1] for events in self.arrived.values() if events]

    @property
    def done(self) -> int:
        """Draws, computed or from the store."""
        return sum(event.done for event in self._latest)

    @property
    def stored(self) -> int:
        """How many of those were in the store."""
        return sum(event.stored for event in self._latest)

    @property
    def total(self) -> int:
        """Draws in all."""
        return cost_of(self.sweeps).draws

    @property
    def share(self) -> float:  # type: ignore[override]
        return self.done / max(self.total, 1)

    @property
    def seconds_left(self) -> float | None:
        """None before the first draw was computed."""
        computed, seconds = self.done - self.stored, sum(e.seconds for e in self._latest)
        return seconds / computed * (self.total - self.done) if computed else None


class SweepsView(JobView):
    """A visitor's view of sweeps.

    scheduler: Where they are computed.
    """

    def __init__(self, view: JobView, sweeps: Sweeps):
        super().__init__(view.jobs, view.job, view.visitor)
        self.sweeps = sweeps
        self.scheduler = scheduler()
        # Large figures are drawn less often: everybody's pages share one interpreter.
        self.every = max(_POLL_SECONDS, cost_of(sweeps).rows / 20_000)

    def progress(self) -> SweepProgress:
        found = super().progress()
        return SweepProgress(found.arrived, found.state, found.sentence, self.sweeps)


def find_sweeps(sweeps: Sweeps, page: str = SWEEPS) -> SweepsView | None:
    """This visitor's view of these sweeps, as a page asked for them."""
    view = find(page, sweeps)
    return None if view is None else SweepsView(view, sweeps)


def live(name: str, sweeps: Sweeps, *, anew: bool = False) -> SweepsView:
    """This visitor's view of a figure's sweeps, which begin by themselves, but for one stopped.

    Figures that another page was filling in give way; those of a page begin with one word.

    anew: Go on with what was stopped.
    Raises `ParameterError` if too many jobs go on.
    """
    page = _FIGURE + name
    view = find(page, sweeps)
    if view is None or anew or view.progress().state == "unseen":
        view = start(page, sweeps, lambda: parts_of_sweeps(sweeps))
    return SweepsView(view, sweeps)


def rows_now(grid: Sweep | Points, *, keep: bool = True) -> tuple[Row, ...]:
    """Rows that a page cannot go on without; a counting bar appears if they take a moment.

    keep: On disk; what visitors type in is not.
    Raises `ParameterError` if one of its settings cannot run.
    """
    if (found := _now.peek(grid)) is not None:
        return found
    options = run_options(grid.family) | {"workers": 1, "scheduler": None}
    finished: list[Finished] = []
    with caches.Counting("runs") as bar:
        for event in run_sweep(grid, **options | ({} if keep else {"store": None})):
            if event.skipped:
                raise ParameterError("settings", "such that they can run", event.skipped[0])
            finished += event.finished
            bar.count(event.done, event.total)
    return _now(grid, make=lambda: in_order(finished))


@caches.cached(64)
def cost_of(sweeps: Sweeps) -> RunCost:
    """What these sweeps take."""
    return cost_of_sweeps(sweeps)


class ReadingAhead:
    """Reads what a sweep begins with while somebody still looks at its controls."""

    def __init__(self, problems: Problems):
        self._problems = problems
        self._pool = ThreadPoolExecutor(1)
        self._latest: Future[Problem] | None = None

    def begin(self, key: ProblemKey) -> None:
        """Read, unless something is being read: controls move faster than data sets load."""
        idle = self._latest is None or self._latest.done()
        if idle and self._problems.peek(key) is None:
            self._latest = self._pool.submit(self._problems, key)


_READING_AHEAD = ReadingAhead(caches.problems)


def read_ahead(sweeps: Sweeps) -> None:
    """Have the data of the first cell that can run in memory by the time Run is pressed."""
    specs = (cell.spec for sweep in sweeps for cell in sweep.cells() if cell.spec is not None)
    first = next(specs, None)
    # What was read last is kept, whoever it was for.
    if isinstance(first, RunSpec) and scheduler() is None and not is_held(first.dataset):
        _READING_AHEAD.begin(first.problem_key())
