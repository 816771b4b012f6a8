"""Slow tests by measured processor time.

    python -m tests.benchmarks.slow_tests [PATH ...]

Runs the tests in one process and writes to `tests/slow_tests.txt` the functions that take LIMIT or
more: with their shared fixtures, with the programs that they start, and in the slowest of their
cases. Entries of other files than those that were run are kept. Prints the time of all functions
that are left, which is that of `pytest -m "not slow"` without its start.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

LIMIT = 0.1  # seconds
ROOT = Path(__file__).parents[2]
LIST = ROOT / "tests" / "slow_tests.txt"
_TICK = os.sysconf("SC_CLK_TCK")


def processor_seconds() -> float:
    """Return the processor time of this process and of all processes that it started."""
    times = os.times()
    ended = times.user + times.system + times.children_user + times.children_system
    return ended + _seconds_of_children(os.getpid())


def _seconds_of_children(process: int) -> float:
    seconds = 0.0
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in task.read_text().split():
            try:
                fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
                seconds += sum(map(int, fields[11:15])) / _TICK + _seconds_of_children(int(child))
            except OSError:  # it has ended
                continue
    return seconds


class Recorder:
    """Plugin of pytest that measures tests, and fixtures that several tests share.

    functions: Largest time of a case of each function, without shared fixtures.
    total: Time of all cases of each function.
    """

    def __init__(self) -> None:
        self.functions: dict[str, float] = defaultdict(float)
        self.total: dict[str, float] = defaultdict(float)
        self._fixtures: dict[str, float] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self._in_fixtures, self._depth = 0.0, 0

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        if fixturedef.scope == "function":
            return (yield)
        started, self._depth = processor_seconds(), self._depth + 1
        try:
            return (yield)
        finally:
            self._depth -= 1
            seconds = processor_seconds() - started
            self._fixtures[fixturedef.argname] = seconds
            if self._depth == 0:  # a fixture includes those that it requests
                self._in_fixtures += seconds

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Function) -> Generator[None, Any, Any]:
        started, self._in_fixtures = processor_seconds(), 0.0
        try:
            return (yield)
        finally:
            seconds = processor_seconds() - started - self._in_fixtures
            function = item.nodeid.partition("[")[0]
            self.functions[function] = max(self.functions[function], seconds)
            self.total[function] += seconds
            self._names[function] = tuple(item.fixturenames)

    def slow(self) -> set[str]:
        """Return the functions that take `LIMIT` or more."""
        shared = {
            function: sum(self._fixtures.get(name, 0.0) for name in names)
            for function, names in self._names.items()
        }
        return {name for name, own in self.functions.items() if own + shared[name] >= LIMIT}


def main(paths: list[str]) -> int:
    recorder = Recorder()
    status = pytest.main(["-n", "0", "-q", *paths], plugins=[recorder])
    slow = recorder.slow()
    files = {function.partition("::")[0] for function in recorder.functions}
    listed = LIST.read_text(encoding="utf-8").splitlines() if LIST.exists() else []
    kept = {
        name
        for name in listed
        if (ROOT / name.partition("::")[0]).exists() and name.partition("::")[0] not in files
    }
    LIST.write_text("".join(f"{name}\n" for name in sorted(slow | kept)), encoding="utf-8")
    left = sum(seconds for name, seconds in recorder.total.items() if name not in slow)
    print(f"{len(slow)} of {len(recorder.functions)} functions are slow; the others: {left:.0f} s")
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
