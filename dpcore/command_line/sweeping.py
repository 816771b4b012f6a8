"""What the commands that run sweeps have in common: their options, progress and files."""

from __future__ import annotations

import argparse
import csv
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from dpcore.command_line.output import ASIDE
from dpcore.errors import ParameterError
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.engine.result_store import Store
from dpcore.experiments.engine.sweep import (
    Grid,
    RunOptions,
    SweepResult,
    in_order,
    run_sweep,
)
from dpcore.experiments.engine.work_units import Finished
from dpcore.experiments.pca.experiment import VARIABLE_FIELDS
from dpcore.experiments.pca.spec import RunSpec

_WHOLE = ("sites", "samples", "components", "intermediate_dim", "honest_sites", "dropped_sites",
          "seed", "people_per_site")  # fmt: skip
_REAL = ("epsilon", "delta", "norm_bound", "mean_share", "concentration", "intermediate_ratio")


def add_sweep_options(parser: argparse.ArgumentParser) -> None:
    """Options of everything that runs more than one cell."""
    parser.add_argument(
        "--workers",
        type=int,
        default=os.cpu_count() or 1,
        help="threads that compute side by side (default: one a processor, here %(default)s)",
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="compute on a Dask cluster instead, for example tcp://host:8786 "
        "(needs the extra 'cluster')",
    )
    parser.add_argument(
        "--no-cache",
        action="store_true",
        help="neither look up results kept on disk nor keep these; see the 'cache' command",
    )


def run_options(arguments: argparse.Namespace) -> RunOptions:
    """Keyword arguments of `run_sweep` that the options ask for."""
    return {
        "workers": arguments.workers,
        "scheduler": arguments.scheduler,
        "store": None if arguments.no_cache else Store(),
    }


def collect_with_progress(sweep: Grid, label: str, options: RunOptions) -> SweepResult:
    """Run a sweep with a count on standard error, and say there what was skipped and why."""
    finished: list[Finished] = []
    skipped: list[Row] = []
    store = options.get("store")
    damaged = store.damaged if store is not None else 0
    with tqdm(desc=label, unit="draw", file=ASIDE) as bar:
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


def parse_vary(texts: Sequence[str]) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    """ "epsilon=0.1,1,10" as a field and its values.

    Raises `ParameterError` if the field is unknown or a value is not of its kind.
    """
    varied = []
    for text in texts:
        name, found, values = text.partition("=")
        field = name.strip().replace("-", "_")
        if not found or field not in VARIABLE_FIELDS:
            raise ParameterError(
                "vary", f"FIELD=VALUE,… with one of {', '.join(VARIABLE_FIELDS)}", text
            )
        varied.append((field, tuple(_value(field, value.strip()) for value in values.split(","))))
    return tuple(varied)


def _value(field: str, text: str) -> object:
    kind = int if field in _WHOLE else float if field in _REAL else str
    if isinstance(RunSpec.__dataclass_fields__.get(field, None) and getattr(RunSpec, field), bool):
        if text not in ("true", "false"):
            raise ParameterError("vary", f"true or false for {field}", text)
        return text == "true"
    try:
        return kind(text)
    except ValueError as error:
        kinds = {int: "whole numbers", float: "numbers"}
        raise ParameterError("vary", f"{kinds[kind]} for {field}", text) from error


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
