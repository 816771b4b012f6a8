"""The commands `reproduce` and `audit`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

from tqdm import tqdm

from dpcore.audit_cases.attack import CONFIDENCE, CaseAttack, named_cases, slug_of
from dpcore.command_line.options import (
    STDERR,
    Commands,
    add_sweep_options,
    check_file,
    collect_with_progress,
    print_json,
    print_summary,
    run_options,
    versions,
    write_csv,
)
from dpcore.data.loading import rows_here
from dpcore.errors import DataUnavailable, ParameterError
from dpcore.experiments.engine.spec import Row
from dpcore.papers.dpdispca import FIGURES, PaperFigure, paper_figure
from dpcore.papers.dpdispca_claims import ClaimVerdict, check_dimension
from dpcore.papers.nips2012 import FIGURES_2012, Figure2012
from dpcore.papers.published_points import Comparison, compare_with_published, published_points_of
from dpcore.pca import TRUNCATIONS
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import Adversary
from dpcore.privacy.audit import AuditCase, AuditResult

ALL = "all"
# Claim of a finding that compares our means with the published ones.
PUBLISHED = "published"
NOTHING_RAN = 1
Figure = PaperFigure | Figure2012
_DIMENSION_PANELS = ("fig1-a", "fig1-b", "fig1-c")


def add_commands(commands: Commands) -> None:
    """Add the command `reproduce` to the parser."""
    parser = commands.add_parser(
        "reproduce",
        help="run a published figure, or all of them",
        description="Run published figures live and compare them with the published numbers. "
        "Rows already on disk are not computed again, so an interrupted run resumes.",
        epilog="figures:\n"
        + "\n".join(
            f"  {name:<23} {figure.title}" for name, figure in (FIGURES | FIGURES_2012).items()
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("figure", metavar="FIGURE", help=f"one of those below, or '{ALL}'")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="write a CSV and an HTML file per figure, and summary.csv",
    )
    parser.add_argument("--repetitions", type=int, help="instead of the paper's ten")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--truncation", choices=TRUNCATIONS, help="instead of the paper's svd")
    parser.add_argument(
        "--published",
        action="store_true",
        help="only panels with published numbers, and only the differences from them",
    )
    add_sweep_options(parser)
    parser.add_argument("--json", action="store_true", help="one JSON document with all rows")
    parser.set_defaults(command=_reproduce)


def _reproduce(arguments: argparse.Namespace) -> int:
    names = _select_figures(arguments)
    if arguments.out is not None:
        _make_folder(arguments.out)
    documents: list[dict[str, object]] = []
    summary: list[Row] = []
    rows_of: dict[str, Sequence[Row]] = {}
    for name in names:
        try:
            rows, document, findings = _run_figure(name, arguments)
        except DataUnavailable as error:
            if arguments.figure != ALL:
                raise
            summary.append(_summary_row(name, "", "skipped", str(error)))
            continue
        rows_of[name] = rows
        documents.append(document)
        summary += findings
    if all(rows_of.get(name) for name in _DIMENSION_PANELS):
        summary.append(_verdict_row("fig1-a to c", check_dimension(rows_of)))
    if arguments.out is not None:
        write_csv(arguments.out / "summary.csv", summary)
    if arguments.json and arguments.figure == ALL:
        print_json({"versions": versions(), "figures": documents, "summary": summary})
    elif arguments.json:
        print_json({**documents[0], "versions": versions()})
    else:
        _print_findings(arguments, rows_of, summary)
    return 0 if any(rows_of.values()) else NOTHING_RAN


def _select_figures(arguments: argparse.Namespace) -> list[str]:
    """Return the names of the requested figures.

    Raises `ParameterError` if there is no such figure.
    """
    every = [*FIGURES, *FIGURES_2012]
    if arguments.figure not in (ALL, *every):
        raise ParameterError("figure", f"{ALL} or one of {', '.join(every)}", arguments.figure)
    names = every if arguments.figure == ALL else [arguments.figure]
    if arguments.published:
        names = [name for name in names if published_points_of(name)]
        if not names:
            raise ParameterError("figure", "one with published numbers", arguments.figure)
    elif arguments.figure == ALL and arguments.out is None and not arguments.json:
        raise ParameterError("out", "given (or --json) with 'all'", None)
    return names


def _print_findings(
    arguments: argparse.Namespace, rows_of: Mapping[str, Sequence[Row]], summary: Sequence[Row]
) -> None:
    if arguments.published:
        summary = [row for row in summary if row["claim"] in (PUBLISHED, "")]
    elif arguments.figure != ALL:
        figure = FIGURES_2012.get(arguments.figure) or paper_figure(arguments.figure)
        print_summary(rows_of[arguments.figure], [figure.field])
    for row in summary:
        print(f"{row['figure']:<16} {row['holds']:<7} {row['finding']}")


def _make_folder(folder: Path) -> None:
    if find_spec("plotly") is None:  # refuse before hours of computing
        source = "pip install 'dp-pca-lab[dashboard]' brings"
        raise ParameterError("out", f"left out without plotly, which {source}", str(folder))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ParameterError(
            "out", f"a folder that can be created ({reason})", str(folder)
        ) from error
    check_file("out", folder / "summary.csv")


def _run_figure(
    name: str, arguments: argparse.Namespace
) -> tuple[Sequence[Row], dict[str, object], list[Row]]:
    """Return rows, JSON document and summary lines of one figure; write its files if requested.

    Raises `ParameterError` if no figure has this name.
    Raises `DataUnavailable` if its data set is absent and cannot be downloaded.
    """
    figure = _find_figure(name, arguments)
    result = collect_with_progress(figure.sweep, name, run_options(arguments))
    rows = [{"figure": name, **row} for row in result.rows]
    verdicts = figure.judge(rows) if len(rows) > 1 else ()
    if arguments.out is not None and rows:
        _write_figure(arguments.out, figure, rows)
    findings = [_verdict_row(name, verdict) for verdict in verdicts]
    if (comparison := compare_with_published(name, rows)) is not None:
        findings.append(_comparison_row(name, comparison))
    document: dict[str, object] = {
        "figure": name,
        "title": figure.title,
        "claim": figure.claim,
        "claims": [asdict(verdict) for verdict in verdicts],
        "rows": rows,
        "skipped": result.skipped,
    }
    if isinstance(figure, Figure2012):
        document["published"] = figure.published or None
        document |= {"note": figure.note, "data_in_words": figure.data_in_words}
    else:
        document["published"] = None if comparison is None else asdict(comparison)
    return rows, document, findings + _skipped_rows(name, figure.field, result.skipped)


def _find_figure(name: str, arguments: argparse.Namespace) -> Figure:
    if name in FIGURES_2012:
        return FIGURES_2012[name].with_changes(
            seed=arguments.seed, repetitions=arguments.repetitions
        )
    changes = {"seed": arguments.seed}
    for field in ("repetitions", "truncation"):
        if getattr(arguments, field) is not None:
            changes[field] = getattr(arguments, field)
    return paper_figure(name).with_changes(**changes)


def _comparison_row(name: str, comparison: Comparison) -> Row:
    point = comparison.at
    finding = (
        f"Largest difference to {comparison.points} published points: "
        f"{comparison.largest:.4f}, {PROTOCOLS[point.protocol].title} at {point.value:g} "
        f"(published {point.mean:.4f}, here {comparison.live_mean:.4f})."
    )
    if comparison.is_part:
        n_rows = rows_here(point.dataset)
        finding += f" Only {n_rows} of {point.dataset} are here: compare only the shape."
    return _summary_row(name, PUBLISHED, "", finding)


def _skipped_rows(name: str, field: str, rows: Sequence[Row]) -> list[Row]:
    reasons = {f"{field} = {row[field]}: {row['skipped']}": None for row in rows}
    return [_summary_row(name, "", "skipped", reason) for reason in reasons]


def _verdict_row(name: str, verdict: ClaimVerdict) -> Row:
    holds = {True: "holds", False: "fails", None: "unclear"}[verdict.holds]
    return _summary_row(name, verdict.claim, holds, verdict.sentence)


def _summary_row(name: str, claim: str, holds: str, sentence: str) -> Row:
    return {"figure": name, "claim": claim, "holds": holds, "finding": sentence}


def _write_figure(folder: Path, figure: Figure, rows: Sequence[Row]) -> None:
    # Importing the drawing library takes half a second, and most commands do not need it.
    from dpcore.figures.central import accuracy_dots
    from dpcore.figures.energy import energy_curves
    from dpcore.figures.style import look_of

    folder.mkdir(parents=True, exist_ok=True)
    write_csv(folder / f"{figure.name}.csv", rows)
    if isinstance(figure, Figure2012) and figure.field == "task":
        chart = accuracy_dots(rows, figure.published)
    else:
        # Exact PCA and random subspaces are drawn as levels.
        drawn = [row for row in rows if row["protocol"] not in ("exact", "random")]
        points = [(p.protocol, p.value, p.mean) for p in published_points_of(figure.name)]
        logarithmic = figure.field != "intermediate_ratio"
        chart = energy_curves(drawn, figure.field, axis_title=figure.axis, logarithmic=logarithmic)
        for protocol in dict.fromkeys(protocol for protocol, _, _ in points):
            means = [(value, mean) for key, value, mean in points if key == protocol]
            chart.add_scatter(
                x=[value for value, _ in means],
                y=[mean for _, mean in means],
                mode="markers",
                name=f"{look_of(protocol).label}, published",
                marker={"symbol": "circle-open", "size": 11, "color": look_of(protocol).colour},
            )
    chart.update_layout(title=figure.title, margin={"t": 90})
    # One copy of the drawing library in the folder, so that figures work without a network.
    chart.write_html(folder / f"{figure.name}.html", include_plotlyjs="directory")


BROKEN = 1
_ATTACKER_HEADER = f"{'adversary':<10}  {'centring':<12}"


def add_audit_command(commands: Commands) -> None:
    """Add the command `audit` to the parser."""
    parser = commands.add_parser(
        "audit",
        help="attack mechanisms and bound their ε from below",
        description="Draw releases on two neighbouring data sets, and bound ε from below by how "
        "well an attack distinguishes them. An exact bound above the claim proves the claim false; "
        "a nominal one, by the jackknife, suggests it. The exit status is 1 if either happens to "
        "a sound mechanism.",
    )
    parser.add_argument(
        "--mechanism",
        action="append",
        metavar="NAME",
        help="a mechanism, a family, or the beginning of names; may be repeated (default: all)",
    )
    parser.add_argument(
        "--adversary",
        choices=[str(adversary) for adversary in Adversary],
        help="attack as an outsider with the result, as the aggregator who reads every message, "
        "or as a participating site (default: as each of them)",
    )
    parser.add_argument(
        "--list", action="store_true", help="list the mechanisms with their claims, and stop"
    )
    parser.add_argument(
        "--trials",
        type=int,
        help="releases under each of D and D′ (default: 5000 for protocols, 10000 for others)",
    )
    parser.add_argument(
        "--confidence",
        type=float,
        default=CONFIDENCE,
        help="confidence of each bound (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="one JSON document with all rows")
    parser.set_defaults(command=_audit)


def _audit(arguments: argparse.Namespace) -> int:
    cases = _select_cases(arguments.mechanism, arguments.adversary)
    if arguments.list:
        _print_cases(cases, as_json=arguments.json)
        return 0
    results = list(_run_attacks(cases, arguments))
    if arguments.json:
        rows = [{"name": name, **result.row()} for name, result in results]
        print_json({"seed": arguments.seed, "versions": versions(), "rows": rows})
    else:
        _print_table(results)
    unexpected = any(result.breaks_claim and result.case.is_sound for _, result in results)
    return BROKEN if unexpected else 0


def _select_cases(beginnings: list[str] | None, adversary: str | None) -> dict[str, AuditCase]:
    cases = {
        name: case
        for name, case in named_cases().items()
        if adversary is None or case.adversary == adversary
    }
    if beginnings is None:
        return cases
    # The name of the mechanism is sufficient if an adversary is given.
    called = {
        name: {name, slug_of(case.name) if adversary else name, slug_of(case.family)}
        for name, case in cases.items()
    }
    everything = {name for names in called.values() for name in names}
    chosen: set[str] = set()
    for beginning in beginnings:
        # A complete name selects only that mechanism, even if other names begin with it.
        meant = {beginning} & everything or {
            name for name in everything if name.startswith(beginning)
        }
        if not meant:
            raise ParameterError("mechanism", "a name that `audit --list` prints", beginning)
        chosen |= {name for name, names in called.items() if meant.intersection(names)}
    return {name: case for name, case in cases.items() if name in chosen}


def _print_cases(cases: dict[str, AuditCase], *, as_json: bool) -> None:
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
    print(f"{'mechanism':<{width}}  {_ATTACKER_HEADER}  {'claims ε':>8} {'at δ':>6}  family")
    for name, case in cases.items():
        print(
            f"{name:<{width}}  {_describe_attacker(case)}  {case.epsilon:8.3g} {case.delta:6.3g}  "
            f"{case.family}"
        )


def _run_attacks(
    cases: dict[str, AuditCase], arguments: argparse.Namespace
) -> Iterator[tuple[str, AuditResult]]:
    for name, case in tqdm(
        cases.items(), desc="audit", unit="mechanism", file=STDERR, disable=None
    ):
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
        f"{'mechanism':<{width}}  {_ATTACKER_HEADER}  {'claims ε':>8} {'at δ':>6} {'found ≥':>8} "
        f"{'nominally':>9} {'trials':>6}  verdict"
    )
    for name, result in results:
        case = result.case
        nominal = f"{result.epsilon:.3g}" if result.is_nominal else "–"
        print(
            f"{name:<{width}}  {_describe_attacker(case)}  {case.epsilon:8.3g} {case.delta:6.3g} "
            f"{result.epsilon_exact:8.3g} {nominal:>9} {result.n_trials:6d}  {_verdict(result)}"
        )


def _describe_attacker(case: AuditCase) -> str:
    return f"{case.adversary:<10}  {case.centring:<12}"


def _verdict(result: AuditResult) -> str:
    """Return the verdict in one or two words; "broken" if an exact bound proves it."""
    is_sound = result.case.is_sound
    if result.proves_breach:
        return "broken" if is_sound else "broken, as expected"
    if result.breaks_claim:
        return "looks broken"
    return "holds" if is_sound else "not caught"
