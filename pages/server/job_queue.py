"""Whose turn it is among the jobs beside the pages, for whom they run, and when they end.

Jobs are known by what they compute, so that two visitors who ask for the same get one, and whoever
reloads a page finds it again. They belong to the server's process: no page and no session owns one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Any

from dpcore.errors import ParameterError
from dpcore.experiments.engine.experiment import Row
from pages.server.background_jobs import Job, Parts, Progress, View, rows_of

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
    ) -> View:
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
            return View(self, job, visitor)

    def find(self, visitor: str, key: Hashable) -> View | None:
        """This visitor's view of a job, going on or ended; None without `start`."""
        with self._lock:
            job = self._jobs.get(key)
            if job is None or visitor not in {*job.viewers, *job.left}:
                return None
            return View(self, job, visitor)

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
