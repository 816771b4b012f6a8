"""`python -m dpcore quiz`: what a class answered before and after a lesson."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from dpcore.command_line.options import Commands, print_json, versions
from dpcore.errors import ParameterError
from dpcore.experiments.teaching.quiz import BY_NAME, QuizAnalysis, analyse_quiz, read_quiz


def add_quiz_command(commands: Commands) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "quiz",
        help="compare a class's answers to the quiz before and after",
        description="Read the file that the classroom's console saves, one row a phone, and "
        "compare the six answers before with those after: McNemar's exact test for each question, "
        "exact permutation and sign tests for the totals. Phones that lack an answer are left out "
        "where they lack it.",
    )
    parser.add_argument("file", type=Path, metavar="FILE.csv", help="from the classroom's console")
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
    head = f"{'pairs':>5} {'before':>6} {'after':>5} {'gained':>6} {'lost':>4} {'p':>7} {'Holm':>7}"
    print(f"{'question':<32}{head}  gains of changes, 95 %")
    for each in analysis.questions:
        share = each.gained_share
        changes = "nothing changed" if share is None else f"{share[0]:.2f} to {share[1]:.2f}"
        print(
            f"{BY_NAME[each.question].topic:<32}{each.n_phones:5} {each.n_right_before:6} "
            f"{each.n_right_after:5} {each.n_gained:6} {each.n_lost:4} {each.p_value:7.4f} "
            f"{each.p_adjusted:7.4f}  {changes}"
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
    print("A gain may come of the lesson, of the second reading, or of both.")
