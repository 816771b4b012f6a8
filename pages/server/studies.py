"""One study at a time on this server: a hub and its guards, which are processes of their own.

It belongs to nobody, for it takes as much of the machine as several sweeps: whoever opens the page
sees the same one, and another begins when it has ended.
"""

from __future__ import annotations

import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpcore.arrays import AnyArray
from dpcore.errors import ParameterError
from dpcore.study.demo import Demo, demo_study
from dpcore.study.hub import RESULT, HubState
from dpcore.study.plan import StudyPlan

# A study that has not ended by then is ended.
_LONGEST_SECONDS, _LOOK = 180.0, 0.05


@dataclass(frozen=True, eq=False)
class Shown:
    """A study as it stands.

    silent: Name of a site that was switched off after it had joined, or nothing.
    state: None before the hub is there.
    result: Empty before the end.
    trouble: Why it ended before its time.
    """

    plan: StudyPlan
    silent: str
    state: HubState | None = None
    result: dict[str, AnyArray] | None = None
    trouble: str = ""

    @property
    def goes_on(self) -> bool:
        return self.result is None and not self.trouble


_BEGINS = threading.Lock()
_LAST: list[_Study] = []


def shown() -> Shown | None:
    """The study on this server, or the last one."""
    return _LAST[0].shown() if _LAST else None


def begin(plan: StudyPlan, silent: str = "") -> None:
    """Begin a study beside the pages.

    Raises `ParameterError` if one goes on.
    """
    with _BEGINS:
        last = shown()
        if last is not None and last.goes_on:
            raise ParameterError("study", "begun when no other goes on", last.plan.name)
        study = _Study(plan, silent)
        _LAST[:] = [study]
    threading.Thread(target=study.run, daemon=True).start()


class _Study:
    def __init__(self, plan: StudyPlan, silent: str) -> None:
        self._last = Shown(plan, silent)
        self._demo: Demo | None = None

    def shown(self) -> Shown:
        last, demo = self._last, self._demo
        if demo is None or not last.goes_on:
            return last
        return Shown(last.plan, last.silent, demo.hub.state)

    def run(self) -> None:
        plan, silent = self._last.plan, self._last.silent
        try:
            with (
                tempfile.TemporaryDirectory() as folder,
                demo_study(plan, Path(folder) / "study") as demo,
            ):
                self._demo = demo
                self._wait(demo)
                state = demo.hub.state
                path = demo.hub.folder / RESULT
                result = dict(np.load(path)) if path.exists() else {}
                why = "" if state.has_ended else f"{_LONGEST_SECONDS:.0f} s have passed"
                self._last = Shown(plan, silent, state, result, why)
        except (OSError, ParameterError) as error:
            self._last = Shown(plan, silent, trouble=str(error))

    def _wait(self, demo: Demo) -> None:
        until, silent = time.monotonic() + _LONGEST_SECONDS, self._last.silent
        while not demo.hub.state.has_ended and time.monotonic() < until:
            if silent in demo.hub.state.keys:
                demo.guards[silent].kill()
            time.sleep(_LOOK)
