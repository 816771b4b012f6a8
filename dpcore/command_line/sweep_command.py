"""The commands `sweep`, `best`, `cache` and `cca`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from dpcore.cca import PROTOCOLS
from dpcore.command_line.options import (
    DEFAULT_SPEC,
    STDERR,
    Commands,
    add_release_options,
    add_run_options,
    add_sweep_options,
    check_file,
    collect_with_progress,
    finite,
    print_json,
    print_summary,
    run_options,
    spec_from,
    versions,
    write_csv,
)
from dpcore.data.dataset import is_held
from dpcore.errors import ParameterError
from dpcore.experiments.cca import CcaSpec
from dpcore.experiments.cca.summaries import epsilon_reaching
from dpcore.experiments.cca.views import (
    COLUMN_HALVES,
    SYNTHETIC,
    CutViews,
    SyntheticViews,
    ViewSource,
    cut_from_text,
)
from dpcore.experiments.decide.ranking import (
    Ranked,
    list_configurations,
    rank_configurations,
    ranking_points,
    reasons_left_out,
)
from dpcore.experiments.decide.run_statistics import chance_of_mean_above, count_hits, least_share
from dpcore.experiments.decide.targets import Candidate, Recommendation, recommend
from dpcore.experiments.engine.fields import VERSIONS
from dpcore.experiments.engine.grid import Sweep
from dpcore.experiments.engine.spec import Row, group_by_key
from dpcore.experiments.engine.store import FOLDER_VARIABLE, SIZE_VARIABLE, Store, StoreSummary
from dpcore.experiments.engine.summaries import bytes_in_words
from dpcore.experiments.pca import VARIABLE_FIELDS, RunSpec
from dpcore.params import axes, kind_of

STANDARD_OUTPUT = "-"
NOTHING_RAN = 1
# Value of --protocol that selects every protocol.
_ALL = "all"


def add_commands(commands: Commands) -> None:
    """Add the commands `sweep` and `cache` to the parser."""
    _add_sweep(commands)
    cache = commands.add_parser(
        "cache",
        help="show or clear the results kept on disk",
        description=f"Results of sweeps are kept in a folder, which {FOLDER_VARIABLE} can move. "
        f"It holds at most {SIZE_VARIABLE} (default 2 GB); the least recently used are deleted.",
    )
    cache.add_argument("--clear", action="store_true", help="delete every result kept")
    cache.set_defaults(command=_cache)


def _add_sweep(commands: Commands) -> None:
    parser = commands.add_parser(
        "sweep",
        help="run a grid of settings",
        description="Run every combination of the values that vary; the other options are fixed. "
        "Rows already on disk are not computed again, so an interrupted sweep resumes.",
    )
    parser.add_argument(
        "--vary",
        action="append",
        nargs="+",
        required=True,
        metavar="FIELD=V1,V2,…",
        help=f"fields: {', '.join(VARIABLE_FIELDS)}",
    )
    add_run_options(parser)
    add_sweep_options(parser)
    parser.add_argument(
        "--json",
        nargs="?",
        const=STANDARD_OUTPUT,
        metavar="FILE",
        help="one JSON document with all rows, on standard output or into a file",
    )
    parser.add_argument("--csv", type=Path, metavar="FILE", help="the rows as a table")
    parser.set_defaults(command=_sweep)


def parse_vary(texts: Sequence[str]) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    """Return the field and the values of a text like "epsilon=0.1,1,10".

    Raises `ParameterError` if the field is unknown or a value has another type.
    """
    varied, fields = [], DEFAULT_SPEC.variable_fields()
    for text in texts:
        name, equals_sign, values = text.partition("=")
        field = name.strip().replace("-", "_")
        if not equals_sign or field not in fields:
            raise ParameterError("vary", f"FIELD=VALUE,… with one of {', '.join(fields)}", text)
        varied.append((field, tuple(_value(field, value.strip()) for value in values.split(","))))
    return tuple(varied)


def _value(field: str, text: str) -> object:
    declared = axes(RunSpec)
    kind = declared[field].kind if field in declared else kind_of(RunSpec, field)
    if kind is bool:
        if text not in ("true", "false"):
            raise ParameterError("vary", f"true or false for {field}", text)
        return text == "true"
    try:
        return kind(text)
    except ValueError as error:
        kinds = {int: "whole numbers", float: "numbers"}
        raise ParameterError("vary", f"{kinds[kind]} for {field}", text) from error


def _sweep(arguments: argparse.Namespace) -> int:
    vary = parse_vary([text for group in arguments.vary for text in group])
    sweep = Sweep(spec_from(arguments), vary)
    check_file("csv", arguments.csv)
    if arguments.json not in (None, STANDARD_OUTPUT):
        check_file("json", Path(arguments.json))
    result = collect_with_progress(sweep, arguments.dataset, run_options(arguments))
    document: dict[str, object] = {
        "base": asdict(sweep.base),
        "vary": dict(vary),
        "versions": versions(),
        "rows": result.rows,
        "skipped": result.skipped,
    }
    if arguments.csv is not None and result.rows:
        write_csv(arguments.csv, result.rows)
    if arguments.json == STANDARD_OUTPUT:
        print_json(document)
    else:
        if arguments.json is not None:
            text = json.dumps(finite(document), ensure_ascii=False, indent=1)
            Path(arguments.json).write_text(f"{text}\n", encoding="utf-8")
        print_summary(result.rows, [field for field, _ in vary])
    return 0 if result.rows else NOTHING_RAN


def _cache(arguments: argparse.Namespace) -> int:
    store = Store()
    before = store.summary()
    if not arguments.clear:
        print(
            f"{_results_in_words(before)} in {before.folder}, of at most {store.most_bytes:,} bytes"
        )
        return 0
    store.clear()
    after = store.summary()
    print(f"{before.entries - after.entries:,} results deleted from {before.folder}")
    if after.entries:
        print(f"dpcore: {_results_in_words(after)} could not be deleted", file=STDERR)
    return 1 if after.entries else 0


def _results_in_words(summary: StoreSummary) -> str:
    return f"{summary.entries:,} results, {bytes_in_words(summary.size)}"


def add_best_command(commands: Commands) -> None:
    """Add the command `best` to the parser."""
    parser = commands.add_parser(
        "best",
        help="which private configuration is best for an epsilon, or for a target",
        description="Run every protocol with every private preparation and exact calibration, "
        "images also projected onto their lowest frequencies, and rank them by captured energy. "
        "With --target: find the cheapest configuration that reaches it.",
    )
    parser.add_argument("--target", type=float, help="share of the optimum to reach, 0 to 1")
    add_run_options(parser)
    add_sweep_options(parser)
    parser.add_argument("--json", action="store_true", help="one JSON document with all rows")
    parser.set_defaults(command=_best, protocols=_ALL, **VERSIONS["improved"])


def _best(arguments: argparse.Namespace) -> int:
    protocols = None
    if arguments.protocols == _ALL:
        arguments.protocols = ",".join(RunSpec.protocols)
    else:
        protocols = [key.strip() for key in arguments.protocols.split(",")]
    base = spec_from(arguments)
    if arguments.target is None:
        return _rank(base, arguments, protocols)
    return _recommend(base, arguments, protocols)


def _rank(base: RunSpec, arguments: argparse.Namespace, protocols: list[str] | None) -> int:
    options, configurations = run_options(arguments), list_configurations(base.dataset, protocols)
    if not configurations:
        left_out = ", ".join(reasons_left_out())
        raise ParameterError(
            "protocol", f"one that adds noise of its own, not {left_out}", protocols
        )
    rows: list[Row] = []
    skipped: dict[str, Row] = {}
    for points in ranking_points(base, configurations):
        result = collect_with_progress(points, base.dataset, options)
        rows += result.rows
        skipped |= {str(row): row for row in result.skipped}
    ranked = rank_configurations(rows)
    if arguments.json:
        print_json(
            {
                "base": asdict(base),
                "versions": versions(),
                "ranking": [_summarise(option) for option in ranked],
                "rows": [row for option in ranked for row in option.rows],
                "skipped": list(skipped.values()),
                "left_out": reasons_left_out(),
            }
        )
    else:
        for option in ranked:
            spread = f"{min(option.energies):.4f} to {max(option.energies):.4f}"
            size = bytes_in_words(option.bytes_per_site)
            print(f"{option.mean:8.4f}  {spread}  {size:>9}  {option.configuration.label}; "
                  f"trusted: {option.trusted}")  # fmt: skip
    return 0 if ranked else 1


def _recommend(base: RunSpec, arguments: argparse.Namespace, protocols: list[str] | None) -> int:
    for step in recommend(base, arguments.target, protocols=protocols, **run_options(arguments)):
        if not isinstance(step, Recommendation):
            leader = max(step.ranked, key=lambda option: option.mean)
            print(f"epsilon = {step.value:g}: {leader.configuration.label} {leader.mean:.3f}",
                  file=STDERR)  # fmt: skip
        elif arguments.json:
            print_json({"versions": versions(), **_recommendation_as_dict(step)})
        else:
            print(step.sentence)
    return 0


def _recommendation_as_dict(answer: Recommendation) -> dict[str, object]:
    energies = [row["energy_ratio"] for row in answer.fresh]
    reached = count_hits(energies, answer.target)
    return {
        "base": asdict(answer.base),
        "target": answer.target,
        "best": _candidate_as_dict(answer.best),
        "runner_up": _candidate_as_dict(answer.runner_up),
        "untrusting": _candidate_as_dict(answer.without_trust),
        "sentence": answer.sentence,
        "fresh_mean": fmean(energies) if energies else None,
        "chance_that_the_mean_reaches_it": chance_of_mean_above(energies, answer.target),
        "least_share_that_reaches_it": least_share(reached, len(energies)) if energies else None,
        "fresh_rows": answer.fresh,
        "skipped": answer.skipped,
    }


def _candidate_as_dict(candidate: Candidate | None) -> dict[str, object] | None:
    return None if candidate is None else {"value": candidate.value, **_summarise(candidate.ranked)}


def _summarise(option: Ranked) -> dict[str, object]:
    return {
        **asdict(option.configuration),
        "mean": option.mean,
        "least": min(option.energies),
        "most": max(option.energies),
        "draws": len(option.rows),
        "trusted": str(option.trusted),
        "bytes_per_site": option.bytes_per_site,
        "n_rounds": option.n_rounds,
        "exact_epsilon": option.rows[0]["exact_epsilon"],
    }


CCA_AXES = ("epsilon", "samples", "delta")
_EXAMPLES = """\
examples:
  %(prog)s --dataset digits --views halves-top-bottom --epsilon 1
  %(prog)s --dataset mfeat --views fou,kar --over samples --values 500,1000,2000
  %(prog)s --dataset synthetic-views --over epsilon --values 0.01,0.1,1,10 --json
"""


def add_cca_command(commands: Commands) -> None:
    """Add the command `cca` to the parser."""
    parser = commands.add_parser(
        "cca",
        help="private CCA of two views of the same people",
        description="Private canonical correlation analysis: one row per protocol and repetition, "
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
        "two groups of columns as in 0-3,7:4-6 (default: %(default)s; for your own table "
        "column-halves)",
    )
    add("--people", type=int, default=drawn.people, help=f"number of rows of {SYNTHETIC}")
    add("--columns", type=int, default=drawn.columns, help=f"columns of each view of {SYNTHETIC}")
    add("--shared", type=int, default=drawn.shared, help=f"shared dimension of {SYNTHETIC}")
    add("--view-noise", type=float, default=drawn.noise, help=f"noise of each view of {SYNTHETIC}")
    add_release_options(parser, default, PROTOCOLS)
    add("--floor", type=_floor, default=default.floor, help="eigenvalue floor: auto or a number")
    add("--over", choices=CCA_AXES, help="run a curve over this parameter")
    add("--values", help="values of the curve, separated by commas")
    add_sweep_options(parser)
    add("--json", action="store_true", help="one JSON document with all rows")
    parser.set_defaults(command=_cca)


def _floor(text: str) -> float | str:
    return text if text == "auto" else float(text)


def _cca(arguments: argparse.Namespace) -> int:
    source = _source(arguments)
    spec = _spec(arguments, source)
    axis = arguments.over or "epsilon"
    values = _axis_values(arguments, spec, axis)
    sweep = Sweep(spec, ((axis, values),))
    for value in values:
        # Refuse infeasible runs before computing.
        cell = spec.with_values({axis: value})
        cell.check()
        cell.load(cell.problem_key())
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
        cut = COLUMN_HALVES  # rows of an uploaded table are not images
    return CutViews(arguments.dataset, cut)


def _spec(arguments: argparse.Namespace, source: ViewSource) -> CcaSpec:
    options = {
        name: getattr(arguments, name)
        for name in CcaSpec.__dataclass_fields__
        if hasattr(arguments, name)
    }
    return replace(
        CcaSpec(source=source),
        **options | {"protocols": tuple(key.strip() for key in arguments.protocols.split(","))},
    )


def _axis_values(arguments: argparse.Namespace, spec: CcaSpec, axis: str) -> tuple[float, ...]:
    if (arguments.over is None) != (arguments.values is None):
        raise ParameterError("values", "given together with --over", arguments.values)
    if arguments.values is None:
        return (spec.epsilon,)
    kind = int if axis == "samples" else float
    try:
        return tuple(kind(value) for value in arguments.values.split(","))
    except ValueError as error:
        raise ParameterError(
            "values", f"numbers of {axis}, separated by commas", arguments.values
        ) from error


def _print_summary(rows: Sequence[Row], axis: str | None) -> None:
    """Print mean and spread of the captured share, one line per protocol and value."""
    groups = group_by_key(((row["protocol"], row[axis] if axis else None), row) for row in rows)
    print(f"{axis or '':>10}  {'protocol':<8} {'share':>8} {'spread':>7} {'exact ε':>9}")
    for (protocol, value), members in groups.items():
        shares = [row["correlation_share"] for row in members]
        spread = stdev(shares) if len(shares) > 1 else 0.0
        print(
            f"{'' if value is None else format(value, 'g'):>10}  {protocol:<8}"
            f" {fmean(shares):8.4f} {spread:7.4f} {members[0]['exact_epsilon']:9.3g}"
        )
    print(f"random directions {rows[0]['random_share']:.4f}")
    if axis == "epsilon":
        for protocol in dict.fromkeys(row["protocol"] for row in rows):
            half = epsilon_reaching(row for row in rows if row["protocol"] == protocol)
            print(f"half is captured by {protocol} at ε = {half:.3g}")
