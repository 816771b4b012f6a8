"""`python -m dpcore cca`: the rows of Python, and one sentence for errors."""

from __future__ import annotations

import json

import pytest

from dpcore.command_line import main
from dpcore.experiments.cca import CcaSpec
from dpcore.experiments.cca.views import SyntheticViews
from dpcore.experiments.engine.grid import Sweep
from dpcore.experiments.engine.sweep import collect

SMALL = ["--repetitions", "2", "--noise", "isometric"]


def comparable(rows):
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]


def test_a_run_gives_the_rows_that_python_gives(capsys):
    assert main(["cca", "--protocol", "pooled, dpdis", "--sites", "3", *SMALL, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    spec = CcaSpec.published(
        protocols=("pooled", "dpdis"), sites=3, repetitions=2, noise="isometric"
    )
    expected = collect(Sweep(spec)).rows
    assert comparable(document["rows"]) == comparable(expected)
    assert set(document["spec"]) == set(CcaSpec.__dataclass_fields__)
    assert document["source"]["kind"] == "CutViews"


def test_a_curve_over_people_of_synthetic_views(capsys):
    arguments = ["--dataset", "synthetic-views", "--people", "800", "--columns", "8", "--shared"]
    curve = ["--over", "samples", "--values", "200,800"]
    assert main(["cca", *arguments, "2", *curve, *SMALL, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    spec = CcaSpec.published(source=SyntheticViews(800, 8, 2), repetitions=2, noise="isometric")
    expected = collect(Sweep(spec, (("samples", (200, 800)),))).rows
    assert comparable(document["rows"]) == comparable(expected)
    assert document["over"] == "samples"


def test_the_summary_says_where_half_is_captured(capsys):
    assert main(["cca", "--over", "epsilon", "--values", "0.1,1,10", *SMALL]) == 0
    printed = capsys.readouterr().out
    assert "exact ε" in printed and "random directions" in printed
    assert "half is captured by pooled at ε = " in printed


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--views", "fou,kar"], "views must be two different views"),
        (["--views", "0-3:2-5"], "views must be two disjoint groups"),
        (["--over", "epsilon"], "values must be given together with --over"),
        (["--over", "samples", "--values", "a,b"], "values must be numbers of samples"),
        (["--components", "99"], "n_components must be in"),
        (["--floor", "-1"], "floor must be"),
        (["--protocol", "central"], "protocols must be out of"),
        (["--epsilon", "0"], "epsilon must be greater than 0"),
    ],
)
def test_errors_are_one_sentence(arguments, sentence, capsys):
    assert main(["cca", *arguments, *SMALL]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    last = captured.err.strip().splitlines()[-1]
    assert last.startswith("dpcore: ") and sentence in last
