"""Results on standard output and in files; progress on standard error."""

from __future__ import annotations

import csv
import json
import math
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from statistics import fmean, stdev
from typing import TypeVar

from tqdm import tqdm

from dpcore.errors import ParameterError
from dpcore.experiments.engine.experiment import Row, gathered
from dpcore.experiments.engine.sweep import Grid, RunOptions, SweepResult, in_order, run_sweep
from dpcore.experiments.engine.work_units import Finished

R = TypeVar("R", bound=Row)


class _Aside:
    """Standard error, for what is said beside the results: if nobody hears it, no matter."""

    def write(self, text: str) -> None:
        with suppress(OSError):
            sys.stderr.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            sys.stderr.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(sys.stderr, name)


ASIDE = _Aside()


def versions() -> dict[str, str]:
    """Versions that numbers may depend on."""
    return {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}


def print_json(document: Mapping[str, object]) -> None:
    """One JSON document in ASCII; infinities become the string "inf", since JSON has none."""
    json.dump(finite(document), sys.stdout, indent=1)
    sys.stdout.write("\n")


def finite(value: object) -> object:
    """The same with infinities and NaN as strings."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def with_progress(rows: Iterable[R], total: int, label: str) -> Iterator[R]:
    """The same rows, counted on standard error where that is a terminal."""
    yield from tqdm(rows, total=total, desc=label, unit="row", file=ASIDE, disable=None)


def print_summary(rows: Sequence[Row], varying: Sequence[str] = ()) -> None:
    """Mean and spread of the energy ratio, one line a protocol and cell."""
    groups = gathered(((*(row[field] for field in varying), row["protocol"]), row) for row in rows)
    head = "".join(f"{field:>18}  " for field in varying)
    print(f"{head}{'protocol':<10} {'energy':>8} {'spread':>7} {'exact ε':>9} {'bytes/site':>11}")
    for (*cell, protocol), members in groups.items():
        ratios = [row["energy_ratio"] for row in members]
        spread = stdev(ratios) if len(ratios) > 1 else 0.0
        first = "".join(f"{_short(value):>18}  " for value in cell)
        print(
            f"{first}{protocol:<10} {fmean(ratios):8.4f} {spread:7.4f}"
            f" {members[0]['exact_epsilon']:9.3g} {members[0]['bytes_per_site']:11,}"
        )


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def collect_with_progress(sweep: Grid, label: str, options: RunOptions) -> SweepResult:
    """Run a sweep, and say on standard error what was skipped and why; count where that is a
    terminal."""
    finished: list[Finished] = []
    skipped: list[Row] = []
    store = options.get("store")
    damaged = store.damaged if store is not None else 0
    with tqdm(desc=label, unit="draw", file=ASIDE, disable=None) as bar:
        for event in run_sweep(sweep, **options):
            bar.total = event.total
            # What was in the store says nothing about speed.
            bar.initial = event.stored
            bar.n = event.done
            bar.refresh()
            finished.extend(event.finished)
            skipped.extend(event.skipped)
    if not finished:
        print("nothing ran: every setting was skipped", file=ASIDE)
    for row in skipped:
        values = ", ".join(f"{key} = {value}" for key, value in row.items() if key != "skipped")
        print(f"skipped {values}: {row['skipped']}", file=ASIDE)
    if store is not None and store.damaged > damaged:
        print(
            f"{store.damaged - damaged} damaged entries in {store.folder} computed again",
            file=ASIDE,
        )
    return SweepResult(in_order(finished), tuple(skipped))


def check_file(parameter: str, path: Path | None) -> None:
    """Refuse, before anything is computed, a file that cannot be written.

    Raises `ParameterError`: saying why not.
    """
    if path is None or stat.S_ISFIFO(_mode(path)):  # a pipe waits for its reader
        return
    is_new = not os.path.lexists(path)
    try:
        with open(path, "ab"):
            pass
        if is_new:
            os.unlink(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ParameterError(
            parameter, f"a file that can be written ({reason})", str(path)
        ) from error


def _mode(path: Path) -> int:
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError):
        return 0


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Rows as a table with one header line."""
    fields = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fields)
        writer.writeheader()
        writer.writerows(rows)
