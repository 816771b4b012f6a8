"""Commands `release`, `scores`, `check`, `verify` and `example` of the command line."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from tqdm import tqdm

from dpcore.cluster import SCHEDULER_VARIABLE, scheduler_of_environment
from dpcore.command_line.label_command import add_label_command
from dpcore.command_line.options import (
    STDERR,
    Commands,
    add_layout_options,
    add_param_options,
    add_table_options,
    input_file,
    path,
    path_or_url,
    print_json,
    table_file,
)
from dpcore.data.dataset import HeldTable
from dpcore.errors import ParameterError
from dpcore.params import params
from dpcore.release.settings import PublicationSettings

if TYPE_CHECKING:
    from dpcore.release import Reading
    from dpcore.release.table_file import Header

BROKEN = 1
_MOST_COLUMNS = 8
_SEPARATOR_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_BAR = "{desc} {percentage:3.0f} %, {remaining} left"


def add_release_commands(commands: Commands) -> None:
    """Add these commands and `label` to the parser."""
    _add_release(commands)
    _add_scores(commands)
    _add_check(commands)
    verify = commands.add_parser("verify", help="check a release folder, offline")
    verify.add_argument("folder", type=path, nargs="?")
    verify.add_argument(
        "--code", action="store_true",
        help="list the files of code that the guarantee of a release relies on",
    )  # fmt: skip
    verify.set_defaults(command=_verify)
    add_label_command(commands)
    example = commands.add_parser("example", help="write a table with its dictionary, to try")
    example.add_argument("name", help="breast-cancer or class-survey")
    example.add_argument("folder", type=path, help="where table.csv and dictionary.toml go")
    example.set_defaults(command=_example)


def _add_release(commands: Commands) -> None:
    parser = commands.add_parser(
        "release",
        help="release the principal components of your own table",
        description="Release principal components of a table of people: noise on whole numbers, "
        "from the operating system's entropy, charged to the project's ledger before it is drawn.",
    )
    add = parser.add_argument
    add_table_options(parser, required=True)
    add("--epsilon", type=float, required=True)
    add("--delta", type=float, required=True)
    add("--components", type=int, required=True, help="K")
    add("--project", required=True, type=path, help="folder with the ledger and the releases")
    add("--name", required=True, help="name of this release, new in the project")
    add(
        "--cap",
        type=float,
        nargs=2,
        metavar=("EPSILON", "DELTA"),
        help="cap of a new project: the most that all its releases together may ever spend",
    )
    add_param_options(parser, PublicationSettings)
    add(
        "--with-empty-columns",
        action="store_true",
        help="release even if a column has no number, or known level, in any row; otherwise such a "
        "release stops before it is charged",
    )
    add(
        "--scheduler",
        metavar="ADDRESS",
        help="read the parts of Parquet on a Dask cluster of your own, for example "
        "tcp://host:8786; noise is drawn here (default for a folder, glob or URL: the variable "
        f"{SCHEDULER_VARIABLE}; needs the extra 'cluster')",
    )
    add("--json", action="store_true", help="print the certificate")
    parser.set_defaults(command=_release)


def _add_scores(commands: Commands) -> None:
    parser = commands.add_parser(
        "scores",
        help="release a score plot of your own table on a release's first two components",
        description="Count where rows lie on two released components, with noise on whole numbers. "
        "It is a query of its own, charged to the project before the noise is drawn.",
    )
    add = parser.add_argument
    add("--data", type=path_or_url, required=True, metavar="FILE", help="as for release")
    add_layout_options(parser)
    add("--project", required=True, type=path, help="folder with the ledger and the releases")
    add("--release", required=True, help="name of the release of the components")
    add("--name", required=True, help="name of this query, new in the project")
    add("--epsilon", type=float, required=True)
    add("--delta", type=float, required=True)
    add("--groups", metavar="COLUMN", help="column with levels, counted separately")
    parser.set_defaults(command=_scores)


def _scores(arguments: argparse.Namespace) -> int:
    from dpcore.release.score_release import release_scores

    plot = release_scores(
        table_file(arguments),
        arguments.project,
        of=arguments.release,
        name=arguments.name,
        epsilon=arguments.epsilon,
        delta=arguments.delta,
        groups=arguments.groups,
    )
    certificate, n_bins = plot.certificate, plot.counts.shape[-1]
    print(
        f"{arguments.project / 'releases' / arguments.name}: ε = {certificate['epsilon']:.3g} at "
        f"δ = {certificate['delta']:g}, {n_bins} × {n_bins} counts of {len(plot.groups)} groups"
    )
    return 0


def _add_check(commands: Commands) -> None:
    parser = commands.add_parser(
        "check",
        help="count how a dictionary reads your own table; or print a dictionary to fill in",
        description="Count missing, unknown and clipped cells of each column, and show examples of "
        "unreadable cells. The counts are exact and only for the table's holder; nothing is "
        "charged or written. Without a dictionary, print one to fill in from the header; no row is "
        "counted.",
    )
    parser.add_argument(
        "--data", type=path_or_url, required=True, metavar="FILE", help="as for release"
    )
    parser.add_argument("--dictionary", type=input_file, metavar="FILE", help="a TOML file")
    add_layout_options(parser)
    parser.set_defaults(command=_check)


def held_table(arguments: argparse.Namespace) -> HeldTable | None:
    """Return the table of --data as a data set; None without --data.

    Raises `ParameterError` if it does not fit its dictionary, or there is no dictionary.
    """
    data, dictionary = getattr(arguments, "data", None), getattr(arguments, "dictionary", None)
    if not hasattr(arguments, "dataset") or (data is None and dictionary is None):
        return None
    if data is None or dictionary is None:
        raise ParameterError("data", "given together with --dictionary", data and str(data))
    from dpcore.release import Reading, read_dictionary
    from dpcore.release.simulation import simulation_data

    reading = Reading()
    rows = simulation_data(table_file(arguments), read_dictionary(dictionary), reading)
    table = HeldTable(rows, ending=PurePath(str(data)).stem)
    arguments.dataset = table.name
    print(f"dpcore: a simulation, not a release: {_summary(reading)}", file=STDERR)
    return table


def _scheduler_of_this_machine(arguments: argparse.Namespace) -> str | None:
    """Return the scheduler of the environment variable if a cluster can sum the table."""
    from dpcore.release import read_dictionary
    from dpcore.release.parquet_files import is_partitioned

    address = scheduler_of_environment()
    if not address or not is_partitioned(arguments.data):
        return None
    return None if read_dictionary(arguments.dictionary).person else address


def _release(arguments: argparse.Namespace) -> int:
    from dpcore.release import Reading
    from dpcore.release.project import LEDGER, Project
    from dpcore.release.publication import write_release
    from dpcore.release.release_files import CERTIFICATE

    if (arguments.project / LEDGER).is_file() and (moved := Project(arguments.project).origin):
        print(f"dpcore: {moved}", file=STDERR)
    reading, bar = Reading(), tqdm(total=2, file=STDERR, disable=None, leave=False, bar_format=_BAR)

    def watch(stage: str, share: float) -> None:
        is_last = stage == "components"
        n_read = round(share * reading.n_rows) if is_last else reading.n_rows
        n_all = reading.n_rows if is_last or not share else round(n_read / share)
        about = "" if is_last or share == 1 else "about "
        bar.set_description_str(
            f"dpcore: {n_read:,} of {about}{n_all:,} rows for the {stage}", refresh=False
        )
        bar.update(share + (stage == "components") - bar.n)

    settings = PublicationSettings(
        arguments.epsilon, arguments.delta, arguments.components,
        **{name: getattr(arguments, name) for name in params(PublicationSettings)},
    )  # fmt: skip

    def confirm(reading: Reading) -> None:
        _require_read_columns(reading, arguments.with_empty_columns)
        if not reading.empty_columns:
            _confirm_missing_cells(reading)

    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: tqdm.write(f"dpcore: {message}", file=STDERR)
        folder = write_release(
            table_file(arguments),
            arguments.dictionary,
            settings,
            project=arguments.project,
            name=arguments.name,
            cap=None if arguments.cap is None else tuple(arguments.cap),
            reading=reading,
            confirm=confirm,
            watch=watch,
            scheduler=arguments.scheduler or _scheduler_of_this_machine(arguments),
        )
    bar.close()
    certificate = json.loads((folder / CERTIFICATE).read_bytes())
    print(f"dpcore: only for you, not part of the release: {_summary(reading)}", file=STDERR)
    if arguments.json:
        print_json(certificate)
    else:
        print(f"{folder}: {certificate['guarantee']}")
    return 0


def _require_read_columns(reading: Reading, is_accepted: bool) -> None:
    """Refuse columns without any readable cell, unless they are accepted.

    Raises `ParameterError` if the answer on a terminal is no, or there is no terminal. Nothing is
    charged then.
    """
    if not reading.empty_columns:
        return
    fault = _no_cell_is_read(reading.empty_columns)
    if is_accepted or _can_answer():
        print(f"dpcore: {fault}", file=STDERR, flush=True)
    if not (is_accepted or (_can_answer() and _answers_yes())):
        raise ParameterError(
            "data",
            "a table with a readable cell in every column, or --with-empty-columns given; "
            f"nothing is charged: {fault}",
            list(reading.empty_columns),
        )


def _confirm_missing_cells(reading: Reading) -> None:
    """State the share of missing or unreadable cells, and ask on a terminal whether to continue.

    Without a terminal the release continues: an automatic refusal would depend on one person's
    cell.
    """
    shares = reading.missing_shares
    if not shares:
        return
    columns = [f"{name!r} {_percent(reading.missing[name], reading.n_rows)}" for name in shares]
    more = ", …" if len(columns) > _MOST_COLUMNS else ""
    print(
        "dpcore: only for you: missing or unreadable cells, which count as the column's middle or "
        f"as no level: {', '.join(columns[:_MOST_COLUMNS])}{more}. The command 'check' shows "
        "examples",
        file=STDERR,
        flush=True,
    )
    if _can_answer() and not _answers_yes():
        raise ParameterError("answer", "yes to release this table; nothing is charged", "no")


def _can_answer() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def _answers_yes() -> bool:
    print("Nothing is charged yet. Release this table? [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _no_cell_is_read(columns: Sequence[str]) -> str:
    more = ", …" if len(columns) > _MOST_COLUMNS else ""
    names = ", ".join(map(repr, columns[:_MOST_COLUMNS])) + more
    return (
        f"only for you, and written nowhere: no row has a number, or a known level, in {names}. "
        "Is their notation given (--decimal, or [cells] and unit in the dictionary)?"
    )


def _check(arguments: argparse.Namespace) -> int:
    from dpcore.release.dictionary_file import read_dictionary, template
    from dpcore.release.inspection import inspect_table
    from dpcore.release.table_file import TableFile
    from dpcore.release.tables import header_of, names_in

    file, name = table_file(arguments), PurePath(str(arguments.data)).name
    if arguments.dictionary is None:
        header = header_of(file) if isinstance(file, TableFile) else None
        names = names_in(file) if header is None else header.names
        print(template(names, name.partition(".")[0]), end="")
        return 0
    dictionary = read_dictionary(arguments.dictionary)
    header = header_of(file, dictionary.keys) if isinstance(file, TableFile) else None
    inspection = inspect_table(file, dictionary)
    print("Only for you: these counts are exact and not private. Nothing is charged or written.")
    joined = inspection.n_joined_lines
    n_lines = inspection.n_rows + joined
    lines = f" in {n_lines:,} lines ({joined:,} within quoted cells)" if joined else ""
    print(f"{name}: {inspection.n_rows:,} rows{lines}{_describe_layout(header)}")
    if inspection.n_empty_rows:
        print(f"skipped: {_empty_rows_in_words(inspection.n_empty_rows)}")
    width = max(6, *map(len, inspection.columns))
    heads = "".join(f"{head:>10}" for head in ("missing", "unknown", "below", "above"))
    print(f"{'column':<{width}}{heads}")
    for column, counts in inspection.columns.items():
        cells = (counts.missing, counts.unknown, counts.below, counts.above)
        shares = "".join(f"{_percent(cell, inspection.n_rows):>10}" for cell in cells)
        print(f"{column:<{width}}{shares}")
    for column, counts in inspection.columns.items():
        if counts.examples:
            print(f"unknown in {column}: {', '.join(map(repr, counts.examples))}")
    if inspection.n_people is not None:
        print(
            f"{inspection.n_people:,} people; skipped: "
            f"{inspection.n_nameless:,} rows without a person, "
            f"{inspection.n_beyond:,} beyond {dictionary.at_most} of one person"
        )
    if inspection.empty_columns:
        print(f"dpcore: {_no_cell_is_read(inspection.empty_columns)}", file=STDERR)
    return 0


def _empty_rows_in_words(number: int) -> str:
    return f"{number:,} rows have no cell" if number != 1 else "1 row has no cell"


def _describe_layout(header: Header | None) -> str:
    if header is None:
        return ""
    sheet = f" of sheet {header.sheet}" if header.sheet else ""
    between = f", {_SEPARATOR_NAMES.get(header.separator, repr(header.separator))} between cells"
    text = f"{between}, {header.encoding.removesuffix('-sig')}" if header.separator else ""
    return f"; names in line {header.line}{sheet}{text}"


def _percent(cells: int, n_rows: int) -> str:
    """Return a share in percent that is 0 or 100 % only if it is exact."""
    if not n_rows or cells in (0, n_rows):
        return "100 %" if cells else "0 %"
    return f"{min(max(100 * cells / n_rows, 0.1), 99.9):.1f} %"


def _summary(reading: Reading) -> str:
    counts = (
        ("clipped to a limit", reading.clipped),
        ("missing, or no number or known level", reading.missing),
    )
    cells = [f"{name} {n}" for _, by_column in counts for name, n in by_column.items() if n]
    parts = [f"{reading.n_rows:,} rows read", f"{reading.n_left_out:,} left out"]
    parts += [f"{reading.n_joined_lines:,} lines within quoted cells"] * bool(
        reading.n_joined_lines
    )
    parts += [_empty_rows_in_words(reading.n_empty_rows)] * bool(reading.n_empty_rows)
    parts += [f"{sum(by_column.values()):,} cells {kind}" for kind, by_column in counts]
    return ", ".join(parts) + (f" ({', '.join(cells[:_MOST_COLUMNS])})" if cells else "")


def _verify(arguments: argparse.Namespace) -> int:
    from dpcore.release.release_files import CERTIFICATE
    from dpcore.release.software import AFTER_THE_NOISE, guarantee_code, software
    from dpcore.release.verification import UNCHECKED, verify

    if arguments.code:
        lines = guarantee_code()
        for name, count in lines.items():
            print(f"{count:6,}  {name}")
        print(f"{sum(lines.values()):6,}  lines in {len(lines)} files determine the guarantee")
        print(f"        not included, since they run after the noise: {', '.join(AFTER_THE_NOISE)}")
        print(
            f"        SHA-256 of the whole package, as certificates have it: {software()['code']}"
        )
        return 0
    if arguments.folder is None:
        raise ParameterError("folder", "a release, or --code given", None)
    if not (arguments.folder / CERTIFICATE).is_file():
        # Not BROKEN, the status of a forged release.
        raise ParameterError("folder", f"a release, with its {CERTIFICATE}", str(arguments.folder))
    verdict = verify(arguments.folder)
    print(verdict.sentence)
    if verdict.holds:
        print(
            "Numbers that cannot be checked without the rows and the noise: "
            f"{', '.join(UNCHECKED)}."
        )
    return 0 if verdict.holds else BROKEN


def _example(arguments: argparse.Namespace) -> int:
    from dpcore.release.examples import write_example

    dictionary = write_example(arguments.name, arguments.folder)
    print(f"{arguments.folder}: {dictionary.title}, {len(dictionary.columns)} columns")
    return 0
