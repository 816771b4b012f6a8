"""Figures of the 2012 paper that run beside the page: each in a thread of its own."""

from __future__ import annotations

import threading
from collections import OrderedDict

import streamlit as st

from dpcore.errors import DataUnavailable, ParameterError
from dpcore.experiments.papers2012 import FIGURES_2012, LiveFigure
from dpcore.experiments.run import Row
from dpcore.experiments.store import Store
from pages.shared import runs

_MOST_JOBS = 8


class LiveJob:
    """A figure that is being run: its rows so far, and whether more are to come.

    At its end `ran_on` says which rows of the data set were on this machine.

    Parameters
    ----------
    figure : LiveFigure
    repetitions : int or None
        Instead of the paper's own number.
    """

    def __init__(self, figure: LiveFigure, repetitions: int | None):
        self.rows: list[Row] = []
        self.total = figure.total(repetitions)
        self.sentence = self.ran_on = ""
        self.goes_on = True
        self.cancelled = threading.Event()
        self._turns = runs.turns()
        self._thread = threading.Thread(target=self._run, args=(figure, repetitions), daemon=True)
        self._thread.start()

    def rows_so_far(self) -> tuple[list[Row], bool]:
        """Rows that arrived, and whether more will."""
        goes_on = self.goes_on
        return list(self.rows), goes_on

    def _run(self, figure: LiveFigure, repetitions: int | None) -> None:
        try:
            with self._turns.taken(self.cancelled.is_set) as is_mine:
                for row in figure.rows(repetitions=repetitions, store=Store()) if is_mine else ():
                    if self.cancelled.is_set():
                        break
                    self.rows.append(row)
                if self.rows:
                    self.ran_on = figure.ran_on
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
    jobs[runs.visitor(), name, repetitions] = LiveJob(FIGURES_2012[name], repetitions)
    while len(jobs) > _MOST_JOBS:
        jobs.popitem(last=False)[1].cancelled.set()


def find(name: str, repetitions: int | None) -> LiveJob | None:
    """This visitor's job for the figure, running or ended."""
    return _jobs().get((runs.visitor(), name, repetitions))
