"""`best`: every private way at one promise, ranked; or the cheapest that reaches a target."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from statistics import fmean

from dpcore.command_line.options import (
    Commands,
    add_run_options,
    add_sweep_options,
    run_options,
    spec_from,
)
from dpcore.command_line.output import ASIDE, collect_with_progress, print_json, versions
from dpcore.errors import ParameterError
from dpcore.experiments.analysis.cheapest_way import recommend
from dpcore.experiments.analysis.ranking import (
    Ranked,
    ranked,
    ranking_points,
    reasons_left_out,
    ways_for,
)
from dpcore.experiments.analysis.recommendation import (
    Found,
    Recommendation,
    chance_of_mean_above,
    least_share,
)
from dpcore.experiments.analysis.target_search import AXES
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.pca.sentences import bytes_in_words
from dpcore.experiments.pca.spec import RECOMMENDED, RunSpec


def add_best_command(commands: Commands) -> None:
    """Hang the command on the parser."""
    parser = commands.add_parser(
        "best",
        help="which protocol and preparation are best for an epsilon, or for a target",
        description="Run every protocol with every preparation that is private from the first "
        "row, calibrated exactly, pictures also with their lowest frequencies, and rank them by "
        "captured energy. With --target: the cheapest that reaches it.",
    )
    parser.add_argument("--target", type=float, help="share of the optimum to reach, 0 to 1")
    parser.add_argument(
        "--find", choices=AXES, default="epsilon", help="with --target (default: %(default)s)"
    )
    add_run_options(parser)
    add_sweep_options(parser)
    parser.add_argument("--json", action="store_true", help="one JSON document with all rows")
    parser.set_defaults(command=_best, protocols=None, **RECOMMENDED | {"denoise": "auto"})


def _best(arguments: argparse.Namespace) -> int:
    wanted = None
    if arguments.protocols is not None:
        wanted = [key.strip() for key in arguments.protocols.split(",")]
    arguments.protocols = arguments.protocols or ",".join(RunSpec.protocols)
    base = spec_from(arguments)
    if arguments.target is None:
        return _rank(base, arguments, wanted)
    return _recommend(base, arguments, wanted)


def _rank(base: RunSpec, arguments: argparse.Namespace, wanted: list[str] | None) -> int:
    options, ways = run_options(arguments), ways_for(base.dataset, wanted)
    if not ways:
        left_out = ", ".join(reasons_left_out())
        raise ParameterError("protocol", f"one that adds noise of its own, not {left_out}", wanted)
    rows: list[Row] = []
    skipped: dict[str, Row] = {}
    for points in ranking_points(base, ways):
        result = collect_with_progress(points, base.dataset, options)
        rows += result.rows
        skipped |= {str(row): row for row in result.skipped}
    found = ranked(rows)
    if arguments.json:
        print_json(
            {
                "base": asdict(base),
                "versions": versions(),
                "ranking": [_summary(each) for each in found],
                "rows": [row for each in found for row in each.rows],
                "skipped": list(skipped.values()),
                "left_out": reasons_left_out(),
            }
        )
    else:
        for each in found:
            spread = f"{min(each.energies):.4f} to {max(each.energies):.4f}"
            sent = bytes_in_words(each.bytes_per_site)
            print(f"{each.mean:8.4f}  {spread}  {sent:>9}  {each.way.label}; "
                  f"trusted: {each.trusted}")  # fmt: skip
    return 0 if found else 1


def _recommend(base: RunSpec, arguments: argparse.Namespace, wanted: list[str] | None) -> int:
    for step in recommend(
        base, arguments.target, arguments.find, protocols=wanted, **run_options(arguments)
    ):
        if not isinstance(step, Recommendation):
            leader = max(step.ranked, key=lambda each: each.mean)
            print(f"{arguments.find} = {step.value:g}: {leader.way.label} {leader.mean:.3f}",
                  file=ASIDE)  # fmt: skip
        elif arguments.json:
            print_json({"versions": versions(), **_answer(step)})
        else:
            print(step.sentence)
    return 0


def _answer(answer: Recommendation) -> dict[str, object]:
    energies = [row["energy_ratio"] for row in answer.fresh]
    reached = sum(energy >= answer.target for energy in energies)
    return {
        "base": asdict(answer.base),
        "field": answer.field,
        "target": answer.target,
        "best": _found(answer.best),
        "runner_up": _found(answer.runner_up),
        "untrusting": _found(answer.untrusting),
        "sentence": answer.sentence,
        "fresh_mean": fmean(energies) if energies else None,
        "chance_that_the_mean_reaches_it": chance_of_mean_above(energies, answer.target),
        "least_share_that_reaches_it": least_share(reached, len(energies)) if energies else None,
        "fresh_rows": answer.fresh,
        "skipped": answer.skipped,
    }


def _found(found: Found | None) -> dict[str, object] | None:
    return None if found is None else {"value": found.value, **_summary(found.ranked)}


def _summary(each: Ranked) -> dict[str, object]:
    return {
        **asdict(each.way),
        "mean": each.mean,
        "least": min(each.energies),
        "most": max(each.energies),
        "draws": len(each.rows),
        "trusted": str(each.trusted),
        "bytes_per_site": each.bytes_per_site,
        "n_rounds": each.n_rounds,
        "exact_epsilon": each.rows[0]["exact_epsilon"],
    }
