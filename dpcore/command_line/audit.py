"""`python -m dpcore audit`: attack mechanisms and compare what is found with what they claim."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from tqdm import tqdm

from dpcore.command_line.output import print_json, versions
from dpcore.errors import ParameterError
from dpcore.experiments.attack import CONFIDENCE, TRIALS, Attack, named_cases
from dpcore.privacy.audit import AuditCase, AuditResult

BROKEN = 1


def add_audit_command(commands: argparse._SubParsersAction) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "audit",
        help="attack mechanisms and bound their ε from below",
        description="Draw releases on two neighbouring data sets, and bound ε from below by how "
        "well they can be told apart. A bound above the claim breaks it. The exit status is 1 if "
        "a mechanism that should be sound is broken.",
        epilog="mechanisms:\n"
        + "\n".join(
            f"  {name}{'' if case.is_sound else '  (flawed, kept for teaching)'}"
            for name, case in named_cases().items()
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--mechanism",
        action="append",
        metavar="NAME",
        help="a name below, or the beginning of several; may be repeated (default: all)",
    )
    parser.add_argument("--trials", type=int, default=TRIALS, help="releases under D and under D′")
    parser.add_argument(
        "--confidence", type=float, default=CONFIDENCE, help="of each bound (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="one JSON document with all rows")
    parser.set_defaults(command=_audit)


def _audit(arguments: argparse.Namespace) -> int:
    cases = _chosen(arguments.mechanism)
    results = list(_results(cases, arguments))
    if arguments.json:
        rows = [{"name": name, **result.row()} for name, result in results]
        print_json({"seed": arguments.seed, "versions": versions(), "rows": rows})
    else:
        _print_table(results)
    unexpected = any(result.breaks_claim and result.case.is_sound for _, result in results)
    return BROKEN if unexpected else 0


def _chosen(beginnings: list[str] | None) -> dict[str, AuditCase]:
    cases = named_cases()
    if beginnings is None:
        return cases
    for beginning in beginnings:
        if not any(name.startswith(beginning) for name in cases):
            raise ParameterError(
                "mechanism", f"the beginning of one of {', '.join(cases)}", beginning
            )
    return {name: case for name, case in cases.items() if name.startswith(tuple(beginnings))}


def _results(
    cases: dict[str, AuditCase], arguments: argparse.Namespace
) -> Iterator[tuple[str, AuditResult]]:
    for name, case in tqdm(cases.items(), desc="audit", unit="mechanism", file=sys.stderr):
        attack = Attack(
            case,
            n_trials=arguments.trials,
            confidence=arguments.confidence,
            seed=arguments.seed,
        )
        yield name, attack.run()


def _print_table(results: list[tuple[str, AuditResult]]) -> None:
    width = max(len(name) for name, _ in results)
    print(f"{'mechanism':<{width}}  {'claimed':>8} {'found ≥':>8}  verdict")
    for name, result in results:
        if result.breaks_claim:
            verdict = "broken" if result.case.is_sound else "broken, as expected"
        else:
            verdict = "holds" if result.case.is_sound else "not caught"
        print(f"{name:<{width}}  {result.case.epsilon:8.3g} {result.epsilon:8.3g}  {verdict}")
