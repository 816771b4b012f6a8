"""The command line: `python -m dpcore COMMAND`."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from tqdm import tqdm

import dpcore
from dpcore.command_line import evidence_command, sweep_command
from dpcore.command_line.evidence_command import add_audit_command
from dpcore.command_line.federated_command import add_federated_command
from dpcore.command_line.options import (
    STDERR,
    Commands,
    add_run_options,
    input_file,
    print_json,
    print_summary,
    spec_from,
    versions,
    whole_numbers,
    with_progress,
)
from dpcore.command_line.release_command import add_release_commands, held_table
from dpcore.command_line.sweep_command import add_best_command, add_cca_command
from dpcore.dashboard import open_dashboard
from dpcore.data import list_datasets
from dpcore.data.loading import rows_here
from dpcore.errors import DataUnavailable, ParameterError
from dpcore.experiments.engine.store import Store
from dpcore.experiments.pca import check_feasible, run
from dpcore.experiments.publish.folder import PublishedGrid, publish
from dpcore.privacy import BeyondCap
from dpcore.teaching.quiz import BY_NAME, read_quiz
from dpcore.teaching.quiz_analysis import QuizAnalysis, analyse_quiz

DESCRIPTION = """\
Differentially private distributed PCA from the command line.

Every ε refers to replace-one neighbours. Each row also contains the exact ε of its
noise. Results go to standard output, progress to standard error."""

EXAMPLES = """\
examples:
  %(prog)s datasets
  %(prog)s run --dataset digits --protocol dpdis,local --epsilon 1 --sites 5
  %(prog)s run --dataset mnist --samples 10000 --sites 10 --json > rows.json
  %(prog)s sweep --vary epsilon=0.1,1,10 sites=2,5,10 --csv rows.csv
  %(prog)s best --dataset digits --epsilon 1
  %(prog)s best --target 0.9 --sites 20
  %(prog)s reproduce fig1-b --json
  %(prog)s reproduce all --out results
  %(prog)s example class-survey survey
  %(prog)s release --data survey/table.csv --dictionary survey/dictionary.toml \\
    --epsilon 1 --delta 1e-6 --components 3 --project survey/project --name first --cap 3 1e-6
  %(prog)s run --data survey/table.csv --dictionary survey/dictionary.toml
  %(prog)s federated demo
  %(prog)s quiz quiz.csv
  %(prog)s dashboard
  %(prog)s verify survey/project/releases/first

exit status:
  0    done
  1    nothing could be run, an error, or an audit that breaks a sound mechanism
  2    a fault in the command or in the data files, which can be corrected
  130  stopped from the keyboard
  141  the reader of the output closed it
"""
FAILED, REFUSED, STOPPED, OUTPUT_CLOSED = 1, 2, 130, 141
# Packages that only some commands need, with the extra that installs them.
_EXTRAS = {
    "cryptography": "federated", "flwr": "federated", "dask": "cluster", "distributed": "cluster",
}  # fmt: skip


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = _parser()
    for argument in argv:
        if argument.startswith("--") and argument.endswith("=--"):
            # argparse reads "--" as an empty list, whatever the option's type.
            parser.error(f"argument {argument.removesuffix('=--')}: expected one value, got --")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run one command and return the exit status (see `EXAMPLES`)."""
    if sys.stderr is None:  # closed by the caller
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, open until the process ends
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # Encodings without ε print \u03b5.
            stream.reconfigure(errors="backslashreplace")
    arguments = _parse(sys.argv[1:] if argv is None else argv)
    try:
        if sys.stdout is None:
            raise OSError("standard output is closed")
        status = _run_command(arguments)
        sys.stdout.flush()
        return status
    except (ParameterError, DataUnavailable, BeyondCap) as error:
        return _end(REFUSED, str(error))
    except BrokenPipeError:
        return _end(OUTPUT_CLOSED, "")
    except OSError as error:
        return _end(FAILED, _explain(error))
    except MemoryError:
        return _end(FAILED, "not enough memory")
    except KeyboardInterrupt:
        return _end(STOPPED, "stopped")
    finally:
        _print_message(Store().trouble)


def _explain(error: OSError) -> str:
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"{error.filename} does not exist"
    if isinstance(error, FileExistsError) and error.filename:
        return f"{error.filename} exists already and is not overwritten"
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror or error}"


def _run_command(arguments: argparse.Namespace) -> int:
    """Run the command and return its status.

    Raises `DataUnavailable` if an extra of the package is not installed.
    """
    try:
        # The reference keeps the table until the command ends.
        arguments.table = held_table(arguments)
        status: int = arguments.command(arguments)
    except ModuleNotFoundError as error:
        lacking = (error.name or "").partition(".")[0]
        if lacking not in _EXTRAS:
            raise
        raise DataUnavailable(
            f"this needs {lacking}, which pip install 'dp-pca-lab[{_EXTRAS[lacking]}]' brings"
        ) from error
    return status


def _end(status: int, sentence: str) -> int:
    _print_message(sentence)
    standard = sys.__stdout__
    if status in (FAILED, OUTPUT_CLOSED) and standard is not None and sys.stdout is standard:
        # Python would flush the closed output again at exit and print a traceback.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), standard.fileno())
    return status


def _print_message(sentence: str) -> None:
    if sentence:
        print(f"dpcore: {sentence}", file=STDERR)


def _parser() -> argparse.ArgumentParser:
    # Help shows the command as it was called: installed, or as a module.
    is_installed = Path(sys.argv[0]).stem in ("dpcore", "dp-pca-lab")
    parser = argparse.ArgumentParser(
        prog="dpcore" if is_installed else "python -m dpcore",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"dpcore {dpcore.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    datasets = commands.add_parser(
        "datasets", help="which data sets are ready, and how to add others"
    )
    datasets.add_argument("--json", action="store_true", help="one JSON document")
    datasets.set_defaults(command=_datasets)

    runner = commands.add_parser(
        "run",
        help="run protocols on a data set",
        description="Run protocols on a data set; one row per protocol and repetition.",
    )
    add_run_options(runner)
    runner.add_argument("--json", action="store_true", help="one JSON document with all rows")
    runner.set_defaults(command=_run)

    sweep_command.add_commands(commands)
    add_best_command(commands)
    evidence_command.add_commands(commands)
    add_audit_command(commands)
    add_cca_command(commands)
    add_release_commands(commands)
    add_federated_command(commands)
    add_quiz_command(commands)
    add_dashboard_command(commands)
    add_publish_command(commands)
    return parser


def _datasets(arguments: argparse.Namespace) -> int:
    statuses = list_datasets()
    if arguments.json:
        print_json({"datasets": [asdict(status) for status in statuses]})
        return 0
    for status in statuses:
        state = "part" if status.is_part else "ready" if status.ready else "absent"
        shape = f"{status.n_samples:,} × {status.n_features}"
        print(f"{status.name:<16} {state:<7} {shape:>16}  {status.title}")
        if not status.ready or status.is_part:
            print(f"{'':<16} {status.how_to_get}")
    return 0


def _run(arguments: argparse.Namespace) -> int:
    spec = spec_from(arguments)
    check_feasible(spec)
    if part := rows_here(spec.dataset):
        print(f"{spec.dataset}: only {part} are on this machine.", file=sys.stderr)
    total = spec.repetitions * len(spec.protocols)
    rows = list(with_progress(run(spec), total, spec.dataset))
    if arguments.json:
        print_json({"spec": asdict(spec), "versions": versions(), "rows": rows})
    else:
        print_summary(rows)
    return 0


def add_dashboard_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `dashboard` to the commands."""
    parser = commands.add_parser(
        "dashboard",
        help="open the dashboard in a browser",
        description="Open the dashboard, reachable only from this machine unless "
        "--server.address is given. Further options are Streamlit's (`streamlit run --help`), "
        "such as --server.port 8502 and --server.headless true.",
        # Streamlit parses and checks its own flags.
        prefix_chars="\0",
        add_help=False,
    )
    parser.add_argument("flags", nargs=argparse.REMAINDER, metavar="FLAG")
    parser.set_defaults(command=lambda arguments: _dashboard(parser, arguments.flags))


def _dashboard(parser: argparse.ArgumentParser, flags: list[str]) -> int:
    if {"-h", "--help"} & set(flags):
        parser.print_help()
        return 0
    if flags and not flags[0].startswith("-"):
        raise ParameterError("dashboard", "followed by options of Streamlit only", flags[0])
    return open_dashboard(flags)


def add_publish_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `publish` to the commands."""
    parser = commands.add_parser(
        "publish",
        help="write a static folder of the explorer for any web server",
        description="Run a grid and write it as a page with a slider for ε. The page opens from a "
        "disk or any web server and makes no other requests.",
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--dataset",
        type=lambda text: tuple(text.split(",")),
        default=PublishedGrid.datasets,
        help=f"of {', '.join(status.name for status in list_datasets())} (default: "
        f"{','.join(PublishedGrid.datasets)})",
    )
    parser.add_argument(
        "--sites",
        type=whole_numbers,
        default=PublishedGrid.sites,
        help=f"(default: {','.join(map(str, PublishedGrid.sites))})",
    )
    parser.add_argument(
        "--components",
        type=whole_numbers,
        default=PublishedGrid.components,
        help=f"(default: {','.join(map(str, PublishedGrid.components))})",
    )
    parser.set_defaults(command=_publish)


def _publish(arguments: argparse.Namespace) -> int:
    grid = PublishedGrid(
        datasets=arguments.dataset, sites=arguments.sites, components=arguments.components
    )
    with tqdm(total=grid.n_cells, unit="setting", file=STDERR, disable=None) as bar:
        page = publish(arguments.folder, grid, progress=bar.update)
    size = sum(file.stat().st_size for file in arguments.folder.rglob("*") if file.is_file())
    print(f"{page} ({size / 1e6:.1f} MB)")
    return 0


def add_quiz_command(commands: Commands) -> None:
    """Add the command `quiz` to the parser."""
    parser = commands.add_parser(
        "quiz",
        help="compare a class's answers to the quiz before and after",
        description="Read the file that the classroom's console saves, one row per phone, and "
        "compare the six answers before and after: McNemar's exact test for each question, "
        "exact permutation and sign tests for the totals. Missing answers are left out.",
    )
    parser.add_argument(
        "file", type=input_file, metavar="FILE.csv", help="from the classroom's console"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.set_defaults(command=_quiz)


def _quiz(arguments: argparse.Namespace) -> int:
    try:
        with arguments.file.open(encoding="utf-8-sig", newline="") as file:
            analysis = analyse_quiz(read_quiz(file))
    except UnicodeDecodeError:
        raise ParameterError("file", "text in UTF-8", str(arguments.file)) from None
    if arguments.json:
        print_json({"versions": versions(), **asdict(analysis)})
    else:
        _print_analysis(analysis)
    return 0


def _print_analysis(analysis: QuizAnalysis) -> None:
    header = (
        f"{'pairs':>5} {'before':>6} {'after':>5} {'gained':>6} {'lost':>4} {'p':>7} {'Holm':>7}"
    )
    print(f"{'question':<32}{header}  gains of changes, 95 %")
    for question in analysis.questions:
        share = question.gained_share
        changes = "nothing changed" if share is None else f"{share[0]:.2f} to {share[1]:.2f}"
        print(
            f"{BY_NAME[question.question].topic:<32}{question.n_phones:5} "
            f"{question.n_right_before:6} {question.n_right_after:5} {question.n_gained:6} "
            f"{question.n_lost:4} {question.p_value:7.4f} {question.p_adjusted:7.4f}  {changes}"
        )
    totals = analysis.totals
    print(f"\n{totals.n_phones} of {analysis.n_phones} phones answered all six both times.")
    if not totals.n_phones:
        return
    limits = totals.median_gain
    print(
        f"Right of six: {totals.mean_before:.2f} before, {totals.mean_after:.2f} after; gain "
        f"{totals.mean_gain:+.2f} ({totals.n_gained} gained, {totals.n_lost} lost)."
    )
    print(
        f"Exact two-sided p: {totals.p_permutation:.4f} by permutation, {totals.p_sign:.4f} by the "
        "sign test."
    )
    print(
        "Median gain: at least 6 phones are needed for limits."
        if limits is None
        else f"Median gain: {limits[0]:+d} to {limits[1]:+d}, with 95 % confidence at least."
    )
    print("A gain may come from the lesson, from the second reading, or from both.")
