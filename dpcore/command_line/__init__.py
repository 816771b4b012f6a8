"""The command line: `python -m dpcore COMMAND`."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import dpcore
from dpcore.command_line import reproduce_command, sweep_command
from dpcore.command_line.audit_command import add_audit_command
from dpcore.command_line.cca_command import add_cca_command
from dpcore.command_line.dashboard_command import add_dashboard_command, add_publish_command
from dpcore.command_line.options import (
    ASIDE,
    add_run_options,
    print_json,
    print_summary,
    spec_from,
    versions,
    with_progress,
)
from dpcore.command_line.quiz_command import add_quiz_command
from dpcore.command_line.release_command import add_release_commands, held_table
from dpcore.command_line.study_command import add_study_command
from dpcore.command_line.sweep_command import add_best_command
from dpcore.data import list_datasets
from dpcore.errors import DataUnavailable, ParameterError
from dpcore.experiments.pca import check_feasible, run
from dpcore.experiments.store import Store
from dpcore.privacy import BeyondCap

DESCRIPTION = """\
Differentially private distributed PCA from the command line.

Every ε is asked under replace-one neighbours; each row also carries the exact ε that its noise
promises. Results go to standard output, progress to standard error."""

EXAMPLES = """\
examples:
  %(prog)s datasets
  %(prog)s run --dataset digits --protocol dpdis,local --epsilon 1 --sites 5
  %(prog)s run --dataset mnist --samples 10000 --sites 10 --json > rows.json
  %(prog)s sweep --vary epsilon=0.1,1,10 sites=2,5,10 --csv rows.csv
  %(prog)s best --dataset digits --epsilon 1
  %(prog)s best --find epsilon --target 0.9 --sites 20
  %(prog)s reproduce fig1-b --json
  %(prog)s reproduce all --out results
  %(prog)s example class-survey survey
  %(prog)s release --data survey/table.csv --dictionary survey/dictionary.toml \\
    --epsilon 1 --delta 1e-6 --components 3 --project survey/project --name first --cap 3 1e-6
  %(prog)s run --data survey/table.csv --dictionary survey/dictionary.toml
  %(prog)s study demo
  %(prog)s quiz quiz.csv
  %(prog)s dashboard
  %(prog)s verify survey/project/releases/first

exit status:
  0    done
  1    nothing could be run, something failed, or an audit broke what should be sound
  2    something in the command or in the data files that can be put right
  130  stopped from the keyboard
  141  whoever read the output went away
"""
FAILED, REFUSED, STOPPED, UNHEARD = 1, 2, 130, 141
# What some commands need beside what dpcore itself does, and the extra that brings it.
_EXTRAS = {
    "cryptography": "study", "starlette": "study", "uvicorn": "study", "dask": "cluster",
    "distributed": "cluster",
}  # fmt: skip


def main(argv: list[str] | None = None) -> int:
    """Run one command; the exit status says how it went (see `EXAMPLES`)."""
    if sys.stderr is None:  # closed by whoever called
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, open for as long as the process is
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal or a file that cannot say ε says \u03b5.
            stream.reconfigure(errors="backslashreplace")
    arguments = _parser().parse_args(argv)
    try:
        if sys.stdout is None:
            raise OSError("standard output is closed")
        status = _carried_out(arguments)
        sys.stdout.flush()
        return status
    except (ParameterError, DataUnavailable, BeyondCap) as error:
        return _end(REFUSED, str(error))
    except BrokenPipeError:
        return _end(UNHEARD, "")
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _end(FAILED, f"{place}{error.strerror or error}")
    except MemoryError:
        return _end(FAILED, "this takes more memory than there is")
    except KeyboardInterrupt:
        return _end(STOPPED, "stopped")
    finally:
        _say(Store().trouble)


def _carried_out(arguments: argparse.Namespace) -> int:
    """Run the command; its status.

    Raises `DataUnavailable` where an extra of the package is not installed.
    """
    try:
        arguments.table = held_table(arguments)  # until the command has ended
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
    _say(sentence)
    standard = sys.__stdout__
    if status in (FAILED, UNHEARD) and standard is not None and sys.stdout is standard:
        # What is still to be written has nowhere to go, and Python would try again as it ends.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), standard.fileno())
    return status


def _say(sentence: str) -> None:
    if sentence:
        print(f"dpcore: {sentence}", file=ASIDE)


def _parser() -> argparse.ArgumentParser:
    # As it was called: the package may be installed, or lie where one works.
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
        description="Run protocols on a data set; one row a protocol and repetition.",
    )
    add_run_options(runner)
    runner.add_argument("--json", action="store_true", help="one JSON document with all rows")
    runner.set_defaults(command=_run)

    sweep_command.add_commands(commands)
    add_best_command(commands)
    reproduce_command.add_commands(commands)
    add_audit_command(commands)
    add_cca_command(commands)
    add_release_commands(commands)
    add_study_command(commands)
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
        state = "ready" if status.ready else "absent"
        shape = f"{status.n_samples:,} × {status.n_features}"
        print(f"{status.name:<16} {state:<7} {shape:>16}  {status.title}")
        if not status.ready:
            print(f"{'':<16} {status.how_to_get}")
    return 0


def _run(arguments: argparse.Namespace) -> int:
    spec = spec_from(arguments)
    check_feasible(spec)
    total = spec.repetitions * len(spec.protocols)
    rows = list(with_progress(run(spec), total, spec.dataset))
    if arguments.json:
        print_json({"spec": asdict(spec), "versions": versions(), "rows": rows})
    else:
        print_summary(rows)
    return 0
