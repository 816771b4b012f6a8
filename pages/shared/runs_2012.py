"""Figures of the 2012 paper that run beside the page: each in a thread of its own."""

from __future__ import annotations

import threading
from collections import OrderedDict
from uuid import uuid4

import streamlit as st

from dpcore.errors import DataUnavailable, ParameterError
from dpcore.experiments.papers2012 import FIGURES_2012, LiveFigure
from dpcore.experiments.run import Row

_MOST_JOBS = 8
# A figure takes every processor, so a second one would only slow the first.
_turn = threading.Lock()


class LiveJob:
    """A figure that is being run: its rows so far, and whether more are to come.

    Parameters
    ----------
    figure : LiveFigure
    repetitions : int or None
        Instead of the paper's own number.
    """

    def __init__(self, figure: LiveFigure, repetitions: int | None):
        self.rows: list[Row] = []
        self.total = figure.total(repetitions)
        self.sentence = ""
        self.goes_on = True
        self.cancelled = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(figure, repetitions), daemon=True)
        self._thread.start()

    def rows_so_far(self) -> tuple[list[Row], bool]:
        """Rows that arrived, and whether more will."""
        goes_on = self.goes_on
        return list(self.rows), goes_on

    def _run(self, figure: LiveFigure, repetitions: int | None) -> None:
        try:
            with _turn:
                for row in figure.rows(repetitions=repetitions):
                    if self.cancelled.is_set():
                        break
                    self.rows.append(row)
        except (ParameterError, DataUnavailable) as error:
            self.sentence = str(error)
        finally:
            self.goes_on = False


@st.cache_resource
def _jobs() -> OrderedDict[tuple, LiveJob]:
    return OrderedDict()


def start(name: str, repetitions: int | None) -> None:
    """Start a figure for this visitor; jobs that fall out of the register are ended."""
    jobs = _jobs()
    jobs[_visitor(), name, repetitions] = LiveJob(FIGURES_2012[name], repetitions)
    while len(jobs) > _MOST_JOBS:
        jobs.popitem(last=False)[1].cancelled.set()


def find(name: str, repetitions: int | None) -> LiveJob | None:
    """This visitor's job for the figure, running or ended."""
    return _jobs().get((_visitor(), name, repetitions))


def _visitor() -> str:
    return st.session_state.setdefault("_visitor_2012", uuid4().hex)
