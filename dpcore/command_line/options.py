"""Options that commands share, and how they print and write results."""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from tqdm import tqdm

from dpcore.data import dataset_status
from dpcore.data.dataset import ColumnRange
from dpcore.errors import ParameterError
from dpcore.experiments.engine.fields import PUBLISHED_DELTA, VERSIONS, ReleaseSpec, version_fields
from dpcore.experiments.engine.grid import Grid
from dpcore.experiments.engine.spec import Row, group_by_key
from dpcore.experiments.engine.store import Store
from dpcore.experiments.engine.sweep import RunOptions, SweepResult, in_order, run_sweep
from dpcore.experiments.engine.units import Finished
from dpcore.experiments.pca import RunSpec
from dpcore.params import USUAL_DELTA, kind_of, params
from dpcore.pca.protocols.register import PROTOCOLS, protocol

if TYPE_CHECKING:
    from dpcore.release.table_file import TableFile

R = TypeVar("R", bound=Row)


class _StandardError:
    """Standard error for messages about a run; write errors are ignored."""

    def write(self, text: str) -> None:
        with suppress(OSError):
            sys.stderr.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            sys.stderr.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(sys.stderr, name)


STDERR = _StandardError()


def versions() -> dict[str, str]:
    """Return the versions of packages that results may depend on."""
    return {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}


def print_json(document: Mapping[str, object]) -> None:
    """Print one JSON document in ASCII; infinities become the string "inf"."""
    json.dump(finite(document), sys.stdout, indent=1)
    sys.stdout.write("\n")


def finite(value: object) -> object:
    """Return the value with infinities and NaN as strings."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def with_progress(rows: Iterable[R], total: int, label: str) -> Iterator[R]:
    """Yield the rows and show a progress bar if standard error is a terminal."""
    yield from tqdm(rows, total=total, desc=label, unit="row", file=STDERR, disable=None)


def print_summary(rows: Sequence[Row], varying: Sequence[str] = ()) -> None:
    """Print mean and spread of the captured energy, one line per protocol and cell.

    The part above the floor is printed if the rows have a floor.
    """
    groups = group_by_key(
        ((*(row[field] for field in varying), row["protocol"]), row) for row in rows
    )
    head = "".join(f"{field:>18}  " for field in varying)
    has_floor = all("floor" in row for row in rows)
    floors = f" {'floor':>7} {'above':>7}" if has_floor else ""
    last = f"{'exact ε':>9} {'bytes/site':>11}"
    print(f"{head}{'protocol':<10} {'energy':>8} {'spread':>7}{floors} {last}")
    for (*cell, name), members in groups.items():
        ratios = [row["energy_ratio"] for row in members]
        spread = stdev(ratios) if len(ratios) > 1 else 0.0
        first = "".join(f"{_shorten(value):>18}  " for value in cell)
        if has_floor:
            floor = fmean(row["floor"] for row in members)
            floors = f" {floor:7.4f} {fmean(ratios) - floor:7.4f}"
        print(
            f"{first}{name:<10} {fmean(ratios):8.4f} {spread:7.4f}{floors}"
            f" {members[0]['exact_epsilon']:9.3g} {members[0]['bytes_per_site']:11,}"
        )


def _shorten(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def collect_with_progress(sweep: Grid, label: str, options: RunOptions) -> SweepResult:
    """Run a sweep with a progress bar, and report skipped cells on standard error."""
    finished: list[Finished] = []
    skipped: list[Row] = []
    store = options.get("store")
    damaged = store.damaged if store is not None else 0
    with tqdm(desc=label, unit="draw", file=STDERR, disable=None) as bar:
        for event in run_sweep(sweep, **options):
            bar.total = event.total
            # Cells from the store would distort the estimated speed.
            bar.initial = event.stored
            bar.n = event.done
            bar.refresh()
            finished.extend(event.finished)
            skipped.extend(event.skipped)
    if not finished:
        print("nothing ran: every setting was skipped", file=STDERR)
    for row in skipped:
        values = ", ".join(f"{key} = {value}" for key, value in row.items() if key != "skipped")
        print(f"skipped {values}: {row['skipped']}", file=STDERR)
    if store is not None and store.damaged > damaged:
        print(
            f"{store.damaged - damaged} damaged entries in {store.folder} computed again",
            file=STDERR,
        )
    return SweepResult(in_order(finished), tuple(skipped))


def check_file(parameter: str, path: Path | None) -> None:
    """Check that a file can be written, before anything is computed.

    Raises `ParameterError` if it cannot.
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
    """Write rows as a table with one header line."""
    fields = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fields)
        writer.writeheader()
        writer.writerows(rows)


# Subparsers to which commands are added.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001, there is no public name

_LAST_PORT = (1 << 16) - 1
_SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
_MARKS = {"point": ".", "comma": ",", "space": " ", "apostrophe": "'"}


# The defaults have the highest captured energy of the private preparations.
DEFAULT_SPEC = RunSpec()


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add every field of `RunSpec` as an option with its default, except for delta."""
    default = DEFAULT_SPEC
    parser.add_argument("--dataset", default=default.dataset, help="see the 'datasets' command")
    by_data = (
        f"{PUBLISHED_DELTA:g} as published, otherwise {USUAL_DELTA:g}, or less for more than "
        "10,000 rows: at most 1/(10 n)"
    )
    add_release_options(parser, default, PROTOCOLS, {"delta": by_data})
    parser.add_argument(
        "--version",
        choices=VERSIONS,
        default="improved",
        help=f"{', '.join(VERSIONS['published'])} and delta, except options that are given; "
        "published is Algorithm 1 as printed, whose guarantee does not always hold "
        "(default: %(default)s)",
    )
    # None marks options that were not given.
    parser.set_defaults(**dict.fromkeys(VERSIONS["published"]), delta=None)


def add_release_options(
    parser: argparse.ArgumentParser,
    default: ReleaseSpec,
    protocols: Iterable[str],
    otherwise: Mapping[str, str] | None = None,
) -> None:
    """Add options for a table, the protocols of a spec, and every field it declares.

    otherwise: Argument of `add_param_options`.
    """
    add_table_options(parser, required=False)
    parser.add_argument(
        "--protocol",
        dest="protocols",
        default=",".join(default.protocols),
        help=f"one or more, separated by commas: {', '.join(protocols)} (default: %(default)s)",
    )
    add_param_options(parser, default, otherwise)


def add_param_options(
    parser: argparse.ArgumentParser, default: object, otherwise: Mapping[str, str] | None = None
) -> None:
    """Add an option for each parameter that a spec, or its type, declares.

    otherwise: Descriptions of defaults that the command determines when it runs.
    """
    otherwise = otherwise or {}
    spec = default if isinstance(default, type) else type(default)
    for name, declared in params(spec).items():
        usual, kind = getattr(default, name), kind_of(spec, name)
        flag, explanation = f"--{name.replace('_', '-')}", declared.full_help.replace("%", "%%")
        if kind is bool:
            parser.add_argument(flag, action="store_true", help=explanation)
            continue
        if usual not in (None, ""):
            explanation = f"{explanation} (default: {otherwise.get(name, usual)})"
        parser.add_argument(
            flag, type=kind, default=usual, choices=declared.choices or None, help=explanation
        )


def add_table_options(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add options for a table and its public properties."""
    prefix = "" if required else "instead of --dataset, for a simulation: "
    add = partial(parser.add_argument, required=required, metavar="FILE")
    add(
        "--data",
        type=path_or_url,
        help=f"{prefix}a .csv, .tsv or .txt file (perhaps .gz), .xlsx, .parquet, .npz or .npy; "
        "a folder, glob or URL of Parquet files, which make one table",
    )
    add("--dictionary", type=input_file, help="a TOML file with the columns' public limits")
    add_layout_options(parser)


def add_layout_options(parser: argparse.ArgumentParser) -> None:
    """Add options for the layout of a file whose header does not specify it."""
    group = parser.add_argument_group(
        "layout of the file",
        "Needed where the header does not show the layout; rows are never read for it.",
    )
    add = group.add_argument
    add(
        "--separator",
        type=lambda text: _SEPARATORS.get(text, text),
        metavar="CHARACTER",
        help=f"between cells: {', '.join(_SEPARATORS)}, or another character",
    )
    add("--text-encoding", help="latin-1, cp1252, utf-16 (default: its byte order mark, or utf-8)")
    add(
        "--header-line",
        type=int,
        metavar="LINE",
        help="number of the line with the column names, from 1 (default: the first with all names)",
    )
    add(
        "--footer-lines",
        type=int,
        default=0,
        metavar="LINES",
        help="number of lines at the end that are not rows: totals, notes (default: none)",
    )
    add("--sheet", help="sheet of a workbook (default: the one with the columns)")
    add(
        "--decimal",
        type=lambda text: _MARKS.get(text, text),
        help="decimal mark, point or comma, if the dictionary does not contain it",
    )
    add(
        "--thousands",
        type=lambda text: _MARKS.get(text, text),
        help="mark between groups of digits: point, comma, space, apostrophe (default: none)",
    )


def table_file(arguments: argparse.Namespace) -> TableFile | Path | str:
    """Return the file of a table with its layout options, or the location of several files."""
    # Import here: the table readers are slow to import, and few runs need them.
    from dpcore.release.dictionary import DECIMALS, THOUSANDS
    from dpcore.release.parquet_files import is_partitioned
    from dpcore.release.table_file import TableFile

    if is_partitioned(arguments.data):
        data: Path | str = arguments.data
        return data
    for key, allowed in (("decimal", DECIMALS), ("thousands", THOUSANDS)):
        value = getattr(arguments, key)
        if value is not None and value not in allowed:
            raise ParameterError(key, f"one of {', '.join(_MARKS)}", value)
    return TableFile(
        arguments.data,
        separator=arguments.separator,
        text_encoding=arguments.text_encoding,
        header_line=arguments.header_line,
        footer_lines=arguments.footer_lines,
        sheet=arguments.sheet,
        decimal=arguments.decimal,
        thousands=arguments.thousands,
    )


def add_sweep_options(parser: argparse.ArgumentParser) -> None:
    """Add options of commands that run more than one cell."""
    parser.add_argument(
        "--workers",
        type=int,
        default=os.cpu_count() or 1,
        help="number of threads (default: one per processor, here %(default)s)",
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
        help="do not read or store results on disk; see the 'cache' command",
    )


def run_options(arguments: argparse.Namespace) -> RunOptions:
    """Return the keyword arguments of `run_sweep` from the options."""
    return {
        "workers": arguments.workers,
        "scheduler": arguments.scheduler,
        "store": None if arguments.no_cache else Store(),
    }


def path_or_url(text: str) -> Path | str:
    """Return a path to a file or folder, or a URL unchanged."""
    if "://" in text:
        return text
    return path(text) if Path(text).is_dir() else input_file(text)


def input_file(text: str) -> Path:
    """Return the path of a file to read; refuse devices and pipes, which may never end."""
    file = path(text)
    if (mode := _mode(file)) and not stat.S_ISREG(mode):
        raise argparse.ArgumentTypeError(f"must be a regular file, got {text!r}")
    return file


def path(text: str) -> Path:
    """Return a path; refuse text that no file system accepts."""
    if "\0" in text:
        raise argparse.ArgumentTypeError("a path has no null character")
    return Path(text)


def port(text: str) -> int:
    """Return a port number; 0 selects a free port."""
    number = int(text)
    if not 0 <= number <= _LAST_PORT:
        raise argparse.ArgumentTypeError(f"a port is from 0 to {_LAST_PORT}, got {text}")
    return number


def whole_numbers(text: str) -> tuple[int, ...]:
    """Return whole numbers that are separated by commas."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be whole numbers, separated by commas, got {text!r}"
        ) from None


def _limits(written: str) -> str:
    """Return column limits, written out or from a data dictionary."""
    if not written.endswith(".toml"):
        return written
    # Import here: the table readers are slow to import, and few runs need them.
    from dpcore.release import read_dictionary

    columns = read_dictionary(written).columns
    return "; ".join(
        str(ColumnRange(column.name, 1, column.lower, column.upper)) for column in columns
    )


def spec_from(arguments: argparse.Namespace) -> RunSpec:
    """Return the spec that the options describe.

    Raises `ParameterError` if a value breaks its constraint.
    """
    values = {name: getattr(arguments, name) for name in RunSpec.__dataclass_fields__}
    others = version_fields(arguments.version, dataset_status(arguments.dataset).n_samples)
    values |= {name: value for name, value in others.items() if values[name] is None}
    values["limits"] = _limits(arguments.limits)
    values["protocols"] = tuple(key.strip() for key in arguments.protocols.split(","))
    for key in values["protocols"]:
        protocol(key)
    return RunSpec(**values)
