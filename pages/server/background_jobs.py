"""Work that goes on beside the pages, and what a visitor sees of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.engine.sweep import Event, in_order

if TYPE_CHECKING:
    from pages.server.job_queue import Jobs

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

    @property
    def goes_on(self) -> bool:
        return self.state in ("waiting", "running")

    def rows(self, part: str) -> tuple[Row, ...]:
        """Rows of a part that is a sweep, in the order of its grid."""
        events: tuple[Event, ...] = self.arrived.get(part, ())
        return in_order([one for event in events for one in event.finished])

    def skipped(self, part: str) -> tuple[Row, ...]:
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


class View:
    """A job as one visitor sees it; looking keeps it going."""

    def __init__(self, jobs: Jobs, job: Job, visitor: str):
        self._jobs, self._job, self._visitor = jobs, job, visitor

    def progress(self) -> Progress:
        """What there is at this moment.

        Raises `BaseException`: what ended the job, unless it is something a person can put right.
        """
        return self._jobs.progress(self._job, self._visitor)

    def cancel(self) -> None:
        """Look no more; the job ends within a moment unless others look at it. Rows stay."""
        self._jobs.leave(self._job, self._visitor)

    def wait_for_rows(self, seconds: float) -> None:
        """Wait for the first rows, or for the end, but no longer than this."""
        self._job.has_rows.wait(seconds)

    def rows_so_far(self) -> tuple[list[Row], bool]:
        """Rows that arrived, in no order, and whether more will; this is not looking."""
        return self._jobs.rows_so_far(self._job, self._visitor)


def rows_of(item: object) -> tuple[Row, ...]:
    """Rows in what a part gives: a row, or something that has rows."""
    return (item,) if isinstance(item, dict) else getattr(item, "rows", ())
