"""`python -m dpcore cca`: private CCA of two views, a run or one of the poster's curves."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace
from statistics import fmean, stdev

from dpcore.cca import PROTOCOLS
from dpcore.command_line.options import (
    Commands,
    add_release_options,
    add_sweep_options,
    collect_with_progress,
    print_json,
    run_options,
    versions,
)
from dpcore.data.dataset import is_held
from dpcore.errors import ParameterError
from dpcore.experiments.cca_runs import (
    CCA,
    COLUMN_HALVES,
    SYNTHETIC,
    CcaSpec,
    CutViews,
    SyntheticViews,
    ViewSource,
    cut_from_text,
    epsilon_reaching,
)
from dpcore.experiments.engine import Row, gathered
from dpcore.experiments.sweep import Sweep

AXES = ("epsilon", "samples", "delta")
_EXAMPLES = """\
examples:
  %(prog)s --dataset digits --views halves-top-bottom --epsilon 1
  %(prog)s --dataset mfeat --views fou,kar --over samples --values 500,1000,2000
  %(prog)s --dataset synthetic-views --over epsilon --values 0.01,0.1,1,10 --json
"""


def add_cca_command(commands: Commands) -> None:
    """Add the command `cca` to a parser's commands."""
    parser = commands.add_parser(
        "cca",
        help="private CCA of two views of the same people",
        description="Private canonical correlation analysis: one row a protocol and repetition, "
        "for one setting or along a curve.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    default, cut, drawn = CcaSpec.published(), CutViews(), SyntheticViews()
    add = parser.add_argument
    add(
        "--dataset",
        default=cut.dataset,
        help=f"see the 'datasets' command, or {SYNTHETIC} (default: %(default)s)",
    )
    add(
        "--views",
        default=cut.how,
        help="halves-top-bottom, halves-left-right, column-halves, two names as in fou,kar, or "
        "two groups of columns as in 0-3,7:4-6 (default: %(default)s; of your own table "
        "column-halves)",
    )
    add("--people", type=int, default=drawn.people, help=f"of {SYNTHETIC}")
    add("--columns", type=int, default=drawn.columns, help=f"of each view of {SYNTHETIC}")
    add("--shared", type=int, default=drawn.shared, help=f"shared dimension of {SYNTHETIC}")
    add("--view-noise", type=float, default=drawn.noise, help=f"of each view of {SYNTHETIC}")
    add_release_options(parser, default, PROTOCOLS)
    add("--floor", type=_floor, default=default.floor, help="eigenvalue floor: auto or a number")
    add("--over", choices=AXES, help="run a curve along this")
    add("--values", help="of the curve, separated by commas")
    add_sweep_options(parser)
    add("--json", action="store_true", help="one JSON document with all rows")
    parser.set_defaults(command=_cca)


def _floor(text: str) -> float | str:
    return text if text == "auto" else float(text)


def _cca(arguments: argparse.Namespace) -> int:
    source = _source(arguments)
    spec = _spec(arguments, source)
    over = arguments.over or "epsilon"
    values = _values(arguments, spec, over)
    sweep = Sweep(spec, ((over, values),))
    for value in values:
        # What cannot run is said before anything does.
        cell = CCA.with_values(spec, {over: value})
        CCA.check(cell)
        CCA.problem(cell.problem_key())
    rows = collect_with_progress(sweep, arguments.dataset, run_options(arguments)).rows
    if arguments.json:
        print_json(
            {
                "source": {"kind": type(source).__name__, **asdict(source)},
                "spec": asdict(spec),
                "over": arguments.over,
                "versions": versions(),
                "rows": rows,
            }
        )
    else:
        _print_summary(rows, arguments.over)
    return 0


def _source(arguments: argparse.Namespace) -> ViewSource:
    if arguments.dataset == SYNTHETIC:
        return SyntheticViews(
            arguments.people, arguments.columns, arguments.shared, arguments.view_noise
        )
    cut = cut_from_text(arguments.views)
    if is_held(arguments.dataset) and cut == CutViews().how:
        cut = COLUMN_HALVES  # rows of a table are no pictures
    return CutViews(arguments.dataset, cut)


def _spec(arguments: argparse.Namespace, source: ViewSource) -> CcaSpec:
    given = {
        name: getattr(arguments, name)
        for name in CcaSpec.__dataclass_fields__
        if hasattr(arguments, name)
    }
    return replace(
        CcaSpec(source=source),
        **given | {"protocols": tuple(key.strip() for key in arguments.protocols.split(","))},
    )


def _values(arguments: argparse.Namespace, spec: CcaSpec, over: str) -> tuple[float, ...]:
    if (arguments.over is None) != (arguments.values is None):
        raise ParameterError("values", "given together with --over", arguments.values)
    if arguments.values is None:
        return (spec.epsilon,)
    kind = int if over == "samples" else float
    try:
        return tuple(kind(value) for value in arguments.values.split(","))
    except ValueError as error:
        raise ParameterError(
            "values", f"numbers of {over}, separated by commas", arguments.values
        ) from error


def _print_summary(rows: Sequence[Row], over: str | None) -> None:
    """Mean and spread of the captured share, one line a protocol and value."""
    groups = gathered(((row["protocol"], row[over] if over else None), row) for row in rows)
    print(f"{over or '':>10}  {'protocol':<8} {'share':>8} {'spread':>7} {'exact ε':>9}")
    for (protocol, value), members in groups.items():
        shares = [row["correlation_share"] for row in members]
        spread = stdev(shares) if len(shares) > 1 else 0.0
        print(
            f"{'' if value is None else format(value, 'g'):>10}  {protocol:<8}"
            f" {fmean(shares):8.4f} {spread:7.4f} {members[0]['exact_epsilon']:9.3g}"
        )
    print(f"random directions {rows[0]['random_share']:.4f}")
    if over == "epsilon":
        for protocol in dict.fromkeys(row["protocol"] for row in rows):
            half = epsilon_reaching(row for row in rows if row["protocol"] == protocol)
            print(f"half is captured by {protocol} at ε = {half:.3g}")
