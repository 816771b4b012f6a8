"""Searches and sweeps of the planning pages: each in a thread of its own, kept for who comes back.

Every run they take is looked up in the store on disk first, so that a target moved by a percent
costs the few runs that nobody has made yet.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass

import streamlit as st

from dpcore.errors import ParameterError
from dpcore.experiments.plan import Tried, search
from dpcore.experiments.run import Row
from dpcore.experiments.spec import RunSpec
from dpcore.experiments.sweep import Event, Sweep, in_order, run_sweep
from pages.shared import runs
from pages.shared.runs_sweeps import run_options

ShouldStop = Callable[[], bool]
Parts = Mapping[str, Callable[[ShouldStop], Iterator[object]]]
_MOST_WORKS = 48


@dataclass(frozen=True)
class Progress:
    """A piece of work at one moment.

    Parameters
    ----------
    arrived : dict of str to tuple
        What each part that has begun has given.
    state : {"waiting", "running", "finished", "stopped", "failed"}
    sentence : str
        What went wrong, where a person can put it right.
    """

    arrived: dict[str, tuple]
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


class Work:
    """Iterators run one after the other in a background thread.

    Parameters
    ----------
    parts : mapping of name to a function that takes should_stop and gives an iterator
    """

    def __init__(self, parts: Parts):
        self._parts = parts
        self._arrived: dict[str, list] = {}
        self._state = "waiting"
        self._error: BaseException | None = None
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._turns = runs.turns()
        threading.Thread(target=self._run, daemon=True).start()

    def stop(self) -> None:
        """End within a moment; what arrived stays."""
        self._stopped.set()

    def rows_so_far(self) -> tuple[list[Row], bool]:
        """Rows of all runs that were made, in no order, and whether more will be."""
        with self._lock:
            steps = [step for items in self._arrived.values() for step in items]
            goes_on = self._state in ("waiting", "running")
        runs = (step for step in steps if isinstance(step, Tried | Event))
        return [row for run in runs for row in run.rows], goes_on

    def progress(self) -> Progress:
        """What there is at this moment.

        Raises
        ------
        BaseException
            What ended the work, unless it is something a person can put right.
        """
        with self._lock:
            if not isinstance(self._error, ParameterError | OSError | None):
                raise self._error
            return Progress(
                {name: tuple(items) for name, items in self._arrived.items()},
                self._state,
                "" if self._error is None else str(self._error),
            )

    def _run(self) -> None:
        error = None
        try:
            with self._turns.taken(self._stopped.is_set) as is_mine:
                state = self._run_parts() if is_mine else "stopped"
        except BaseException as raised:  # raised again, or said, in the thread that draws the page
            error, state = raised, "failed"
        with self._lock:
            self._state, self._error = state, error

    def _run_parts(self) -> str:
        with self._lock:
            self._state = "running"
        for name, begin in self._parts.items():
            with self._lock:
                items = self._arrived[name] = []
            for item in begin(self._stopped.is_set):
                with self._lock:
                    items.append(item)
            if self._stopped.is_set():
                return "stopped"
        return "finished"


class Works:
    """The latest works of all visitors, a bounded number of them."""

    def __init__(self) -> None:
        self._works: OrderedDict[tuple[str, str, Hashable], Work] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, visitor: str, page: str, question: Hashable, parts: Parts) -> Work:
        """Begin; what this visitor's page asked before and still runs gives way."""
        with self._lock:
            for (owner, place, _), earlier in self._works.items():
                if (owner, place) == (visitor, page):
                    earlier.stop()
            work = self._works[visitor, page, question] = Work(parts)
            self._works.move_to_end((visitor, page, question))
            while len(self._works) > _MOST_WORKS:
                self._works.popitem(last=False)[1].stop()
        return work

    def find(self, visitor: str, page: str, question: Hashable) -> Work | None:
        with self._lock:
            return self._works.get((visitor, page, question))


@st.cache_resource
def _works() -> Works:
    return Works()


def start(page: str, question: Hashable, parts: Parts) -> Work:
    """Begin this visitor's work on a question."""
    return _works().start(runs.visitor(), page, question, parts)


def find(page: str, question: Hashable) -> Work | None:
    """This visitor's work on a question, going on or ended."""
    return _works().find(runs.visitor(), page, question)


def search_part(
    spec: RunSpec, field: str, target: float, protocol: str
) -> Callable[[ShouldStop], Iterator[object]]:
    """A search as a part of a work: every run tried, then the answer."""
    options = run_options()
    return lambda stop: search(spec, field, target, protocol=protocol, should_stop=stop, **options)


def sweep_part(sweep: Sweep) -> Callable[[ShouldStop], Iterator[Event]]:
    """A sweep as a part of a work."""
    options = run_options()
    return lambda stop: run_sweep(sweep, should_stop=stop, **options)
