"""`python -m dpcore audit`: attack mechanisms and compare what is found with what they claim."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tqdm import tqdm

from dpcore.command_line.options import ASIDE, Commands, print_json, versions
from dpcore.errors import ParameterError
from dpcore.experiments.audit.attack import CONFIDENCE, CaseAttack, named_cases, slug_of
from dpcore.privacy import Adversary
from dpcore.privacy.audit import AuditCase, AuditResult

BROKEN = 1
_WHO_HEAD = f"{'adversary':<10}  {'centring':<12}"


def add_audit_command(commands: Commands) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "audit",
        help="attack mechanisms and bound their ε from below",
        description="Draw releases on two neighbouring data sets, and bound ε from below by how "
        "well they can be told apart. A limit that is exact and above the claim proves it false; "
        "one that is nominal, by the jackknife, points to it. The exit status is 1 if either is "
        "said of a mechanism that should be sound.",
    )
    parser.add_argument(
        "--mechanism",
        action="append",
        metavar="NAME",
        help="a mechanism or a family, or how several begin; may be repeated (default: all)",
    )
    parser.add_argument(
        "--adversary",
        choices=[str(each) for each in Adversary],
        help="attack as an outsider with the result, as the aggregator who reads every message, "
        "or as a site that takes part (default: as each)",
    )
    parser.add_argument(
        "--list", action="store_true", help="name the mechanisms and what they claim, and stop"
    )
    parser.add_argument(
        "--trials",
        type=int,
        help="releases under D and under D′ (default: 5000 of a protocol, 10000 of the others)",
    )
    parser.add_argument(
        "--confidence", type=float, default=CONFIDENCE, help="of each bound (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="one JSON document with all rows")
    parser.set_defaults(command=_audit)


def _audit(arguments: argparse.Namespace) -> int:
    cases = _chosen(arguments.mechanism, arguments.adversary)
    if arguments.list:
        _list(cases, as_json=arguments.json)
        return 0
    results = list(_results(cases, arguments))
    if arguments.json:
        rows = [{"name": name, **result.row()} for name, result in results]
        print_json({"seed": arguments.seed, "versions": versions(), "rows": rows})
    else:
        _print_table(results)
    unexpected = any(result.breaks_claim and result.case.is_sound for _, result in results)
    return BROKEN if unexpected else 0


def _chosen(beginnings: list[str] | None, adversary: str | None) -> dict[str, AuditCase]:
    cases = {
        name: case
        for name, case in named_cases().items()
        if adversary is None or case.adversary == adversary
    }
    if beginnings is None:
        return cases
    # Beside its adversary a mechanism needs no more than its own name.
    called = {
        name: {name, slug_of(case.name) if adversary else name, slug_of(case.family)}
        for name, case in cases.items()
    }
    everything = {each for names in called.values() for each in names}
    chosen: set[str] = set()
    for wanted in beginnings:
        # A whole name is that one alone, though others may begin with it.
        meant = {wanted} & everything or {each for each in everything if each.startswith(wanted)}
        if not meant:
            raise ParameterError("mechanism", "a name that `audit --list` shows", wanted)
        chosen |= {name for name, names in called.items() if meant.intersection(names)}
    return {name: case for name, case in cases.items() if name in chosen}


def _list(cases: dict[str, AuditCase], *, as_json: bool) -> None:
    if as_json:
        rows = [
            {
                "name": name,
                "mechanism": case.name,
                "family": case.family,
                "adversary": str(case.adversary),
                "sees": case.sees,
                "centring": case.centring,
                "claimed_epsilon": case.epsilon,
                "delta": case.delta,
                "covers": case.covers or None,
                "neighbours": case.neighbours,
                "flaw": case.flaw or None,
            }
            for name, case in cases.items()
        ]
        print_json({"versions": versions(), "rows": rows})
        return
    width = max(map(len, cases))
    print(f"{'mechanism':<{width}}  {_WHO_HEAD}  {'claims ε':>8} {'at δ':>6}  family")
    for name, case in cases.items():
        print(
            f"{name:<{width}}  {_who(case)}  {case.epsilon:8.3g} {case.delta:6.3g}  {case.family}"
        )


def _results(
    cases: dict[str, AuditCase], arguments: argparse.Namespace
) -> Iterator[tuple[str, AuditResult]]:
    for name, case in tqdm(cases.items(), desc="audit", unit="mechanism", file=ASIDE, disable=None):
        attack = CaseAttack(
            case,
            n_trials=arguments.trials,
            confidence=arguments.confidence,
            seed=arguments.seed,
        )
        yield name, attack.run()


def _print_table(results: list[tuple[str, AuditResult]]) -> None:
    width = max(len(name) for name, _ in results)
    print(
        f"{'mechanism':<{width}}  {_WHO_HEAD}  {'claims ε':>8} {'at δ':>6} {'found ≥':>8} "
        f"{'nominally':>9} {'trials':>6}  verdict"
    )
    for name, result in results:
        case = result.case
        nominal = f"{result.epsilon:.3g}" if result.is_nominal else "–"
        print(
            f"{name:<{width}}  {_who(case)}  {case.epsilon:8.3g} {case.delta:6.3g} "
            f"{result.epsilon_exact:8.3g} {nominal:>9} {result.n_trials:6d}  {_verdict(result)}"
        )


def _who(case: AuditCase) -> str:
    return f"{case.adversary:<10}  {case.centring:<12}"


def _verdict(result: AuditResult) -> str:
    """In a word or two; "broken" where an exact bound proves it."""
    is_sound = result.case.is_sound
    if result.proves_breach:
        return "broken" if is_sound else "broken, as expected"
    if result.breaks_claim:
        return "looks broken"
    return "holds" if is_sound else "not caught"
