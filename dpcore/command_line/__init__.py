"""The command line: `python -m dpcore COMMAND`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict, replace

from dpcore.command_line.audit import add_audit_command
from dpcore.command_line.cca import add_cca_command
from dpcore.command_line.options import add_run_options, spec_from
from dpcore.command_line.output import print_json, print_summary, versions, with_progress
from dpcore.data import list_datasets
from dpcore.errors import DataUnavailable, ParameterError
from dpcore.experiments.methods import method
from dpcore.experiments.papers import FIGURES, paper_figure
from dpcore.experiments.run import run

DESCRIPTION = """\
Differentially private distributed PCA from the command line.

Every ε is asked under replace-one neighbours; each row also carries the exact ε that its noise
promises. Results go to standard output, progress to standard error."""

EXAMPLES = """\
examples:
  python -m dpcore datasets
  python -m dpcore run --dataset digits --protocol dpdis,local --epsilon 1 --sites 5
  python -m dpcore run --dataset mnist --samples 10000 --sites 10 --json > rows.json
  python -m dpcore reproduce fig1-b --json
"""


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 on success, 2 for something the caller can put right."""
    arguments = _parser().parse_args(argv)
    try:
        return arguments.command(arguments)
    except (ParameterError, DataUnavailable) as error:
        print(f"dpcore: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("dpcore: stopped", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m dpcore",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    datasets = commands.add_parser("datasets", help="which data sets are ready, and how to add others")
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

    reproduce = commands.add_parser(
        "reproduce",
        help="run a published figure",
        description="Run a published figure live.",
        epilog="figures:\n"
        + "\n".join(f"  {name:<12} {figure.title}" for name, figure in FIGURES.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    reproduce.add_argument("figure", metavar="FIGURE")
    reproduce.add_argument("--repetitions", type=int, help="instead of the paper's ten")
    reproduce.add_argument("--seed", type=int, default=0)
    reproduce.add_argument("--json", action="store_true", help="one JSON document with all rows")
    reproduce.set_defaults(command=_reproduce)

    add_audit_command(commands)
    add_cca_command(commands)
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
    for key in spec.protocols:
        method(key)
    total = spec.repetitions * len(spec.protocols)
    rows = list(with_progress(run(spec), total, spec.dataset))
    if arguments.json:
        print_json({"spec": asdict(spec), "versions": versions(), "rows": rows})
    else:
        print_summary(rows)
    return 0


def _reproduce(arguments: argparse.Namespace) -> int:
    figure = paper_figure(arguments.figure)
    changes = {"seed": arguments.seed}
    if arguments.repetitions is not None:
        changes["repetitions"] = arguments.repetitions
    cells = [replace(cell, **changes) for cell in figure.cells()]
    total = sum(cell.repetitions * len(cell.protocols) for cell in cells)
    rows = list(
        with_progress(
            ({"figure": figure.name, **row} for cell in cells for row in run(cell)),
            total,
            figure.name,
        )
    )
    if arguments.json:
        print_json(
            {
                "figure": figure.name,
                "title": figure.title,
                "claim": figure.claim,
                "versions": versions(),
                "rows": rows,
            }
        )
    else:
        print_summary(rows, figure.field)
    return 0
