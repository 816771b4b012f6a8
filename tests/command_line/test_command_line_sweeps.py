"""Commands that run sweeps: printed, written, stored and refused values."""

from __future__ import annotations

import csv
import json

import pytest

from dpcore.command_line import evidence_command, main
from dpcore.command_line.sweep_command import parse_vary
from dpcore.data import downloads
from dpcore.errors import DataUnavailable, ParameterError
from dpcore.experiments.engine.grid import Sweep
from dpcore.experiments.engine.sweep import collect
from dpcore.experiments.pca import RunSpec

SWEEP = ["sweep", "--vary", "epsilon=0.5,2", "--repetitions", "2", "--protocol", "dpdis,local"]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("DPCORE_CACHE", str(folder))
    return folder


def only(monkeypatch, *names):
    """Let these figures stand for all of them, without touching the registers themselves."""
    for register in ("FIGURES", "FIGURES_2012"):
        whole = getattr(evidence_command, register)
        kept = {name: figure for name, figure in whole.items() if name in names}
        monkeypatch.setattr(evidence_command, register, kept)


def numbers(rows):
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def test_json_is_alone_on_standard_output(capsys):
    assert main([*SWEEP, "--version", "published", "--json"]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    sweep = Sweep(
        RunSpec.published(repetitions=2, protocols=("dpdis", "local")), (("epsilon", (0.5, 2.0)),)
    )
    assert numbers(document["rows"]) == numbers(collect(sweep).rows)
    assert document["skipped"] == []
    assert document["vary"] == {"epsilon": [0.5, 2.0]}
    assert document["base"]["repetitions"] == 2
    assert captured.err == ""  # a bar is for a terminal


def test_files_are_written_and_a_table_is_printed(tmp_path, capsys):
    table, document = tmp_path / "rows.csv", tmp_path / "rows.json"
    assert main([*SWEEP, "--csv", str(table), "--json", str(document)]) == 0
    printed = capsys.readouterr().out
    assert "epsilon" in printed
    assert printed.count("dpdis") == 2
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    saved_rows = json.loads(document.read_text())["rows"]
    assert [float(row["energy_ratio"]) for row in rows] == [r["energy_ratio"] for r in saved_rows]


def test_skipped_cells_are_told_with_their_reasons(capsys):
    assert main(["sweep", "--vary", "intermediate-dim=10,99", "--repetitions", "1", "--json"]) == 0
    captured = capsys.readouterr()
    (skipped,) = json.loads(captured.out)["skipped"]
    assert skipped["intermediate_dim"] == 99
    assert "skipped intermediate_dim = 99: intermediate_dim must be" in captured.err


def test_several_fields_make_a_grid(capsys):
    vary = ["--vary", "epsilon=1,2", "truncation=svd,psd", "--vary", "sites=2,3,4"]
    assert main(["sweep", *vary, "--repetitions", "1", "--protocol", "full", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 12


def test_a_second_run_finds_its_rows(cache, capsys):
    main([*SWEEP, "--json"])
    first = json.loads(capsys.readouterr().out)["rows"]
    main([*SWEEP, "--json"])
    assert json.loads(capsys.readouterr().out)["rows"] == first  # seconds too
    main([*SWEEP, "--json", "--no-cache"])
    assert numbers(json.loads(capsys.readouterr().out)["rows"]) == numbers(first)


def test_the_cache_can_be_seen_and_cleared(cache, capsys):
    main([*SWEEP, "--json"])
    capsys.readouterr()
    assert main(["cache"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("4 results, ")
    assert str(cache) in shown
    assert main(["cache", "--clear"]) == 0
    capsys.readouterr()
    main(["cache"])
    assert capsys.readouterr().out.startswith("0 results")


def test_damaged_entries_are_mentioned(cache, capsys):
    main([*SWEEP, "--json"])
    for path in cache.rglob("*.json"):
        path.write_text("rubbish")
    capsys.readouterr()
    assert main([*SWEEP, "--json"]) == 0
    assert "damaged entries" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("epsilon=0.1,1,inf", ("epsilon", (0.1, 1.0, float("inf")))),
        ("intermediate-dim=5, 10", ("intermediate_dim", (5, 10))),
        ("people_per_site=100", ("people_per_site", (100,))),
        ("intermediate_ratio=0.5,2", ("intermediate_ratio", (0.5, 2.0))),
        ("encoding=native,rounded:1", ("encoding", ("native", "rounded:1"))),
        ("resample=true,false", ("resample", (True, False))),
    ],
)
def test_values_are_of_their_fields_kind(text, expected):
    assert parse_vary([text]) == (expected,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epsilon", "vary must be FIELD=VALUE"),
        ("epsilo=1", "with one of epsilon, delta"),
        ("sites=2.5", "whole numbers for sites, got '2.5'"),
        ("epsilon=many", "numbers for epsilon, got 'many'"),
        ("resample=1", "true or false for resample"),
    ],
)
def test_values_of_another_kind_are_refused(text, message):
    with pytest.raises(ParameterError, match=message):
        parse_vary([text])


def test_mistakes_are_one_sentence(capsys):
    for arguments in (
        ["sweep", "--vary", "nonsense=1"],
        ["sweep", "--vary", "epsilon=1", "--workers", "0"],
        ["sweep", "--vary", "epsilon=1", "--scheduler", "nowhere"],
        ["best", "--target", "2"],
        ["best", "--epsilon", "inf"],
        ["best", "--protocol", "exact"],
        ["reproduce", "fig9"],
        ["reproduce", "all"],
    ):
        assert main(arguments) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.splitlines()[-1].startswith("dpcore: ")
        assert "Traceback" not in captured.err


def test_what_is_best_is_ranked_or_recommended(capsys):
    arguments = ["best", "--protocol", "pooled, cape", "--delta", "0.01", "--repetitions", "2"]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 12 and "Pooled, trusted (sphere); trusted: the holder" in lines[0]
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    means = [way["mean"] for way in document["ranking"]]
    assert means == sorted(means, reverse=True)
    assert len(document["rows"]) == 24 and set(document["left_out"]) == {"exact", "random", "ag"}
    assert main([*arguments, "--target", "0.8", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["best"]["protocol"] == "pooled" and len(answer["fresh_rows"]) == 10
    assert f"takes ε = {answer['best']['value']:g} with Pooled" in answer["sentence"]


def test_a_figure_comes_with_its_claims_and_the_published_numbers(tmp_path, capsys):
    out = tmp_path / "out"
    arguments = ["reproduce", "fig1-a", "--repetitions", "3", "--out", str(out), "--json"]
    assert main(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["figure"] == "fig1-a"
    assert {claim["holds"] for claim in document["claims"]} <= {True, None}
    assert document["published"]["points"] == 36
    assert document["published"]["largest"] < 0.03
    for ending in ("csv", "html"):
        assert (out / f"fig1-a.{ending}").stat().st_size > 1000
    assert "cdn" not in (out / "fig1-a.html").read_text()
    with (out / "summary.csv").open(newline="", encoding="utf-8") as file:
        assert {row["figure"] for row in csv.DictReader(file)} == {"fig1-a"}


def test_everything_in_one_go(tmp_path, capsys, monkeypatch):
    """Three panels represent all of them; one runs on the bundled part of its data."""
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path / "nothing"))
    only(monkeypatch, "fig1-a", "fig1-j", "fig1-k")

    def no_network(*arguments, **options):
        raise DataUnavailable("no network: put the file there by hand")

    monkeypatch.setattr(downloads, "download_file", no_network)
    out = tmp_path / "out"
    assert main(["reproduce", "all", "--repetitions", "2", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    for name in ("fig1-a", "fig1-j", "fig1-k"):
        assert name in printed
        assert (out / f"{name}.html").exists()
    assert "Only 10,000 of 60,000 rows of mnist are here" in printed
    assert (out / "summary.csv").exists()
    assert (out / "plotly.min.js").exists()


def test_how_far_every_panel_is_from_the_published_one_in_a_line_each(capsys, monkeypatch):
    only(monkeypatch, "fig1-j", "fig2-synthetic", "2012-fig2")
    assert main(["reproduce", "all", "--published", "--repetitions", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["fig1-j", "fig2-synthetic"]
    assert all("Largest difference to 2" in line for line in lines)
    assert main(["reproduce", "2012-fig2", "--published"]) == 2


def test_another_truncation_for_a_published_figure(capsys):
    assert main(["reproduce", "fig1-j", "--repetitions", "2", "--truncation", "psd", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["truncation"] for row in rows} == {"psd"}


def test_a_figure_without_its_data_is_skipped_with_the_reason(tmp_path, monkeypatch):
    """The files of one figure are absent; all other figures are run."""
    only(monkeypatch, "fig1-j", "2012-fig1-census")
    home, out = tmp_path / "home", tmp_path / "out"
    home.mkdir()
    monkeypatch.setenv("DPCORE_DATA", str(home))
    # Nothing listens on port 9 of this machine, so that a download ends at once.
    monkeypatch.setenv("DPCORE_MIRROR", "http://127.0.0.1:9")
    assert main(["reproduce", "all", "--repetitions", "2", "--out", str(out)]) == 0
    with (out / "summary.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    skipped = {row["figure"]: row["finding"] for row in rows if row["holds"] == "skipped"}
    assert "census-income.data" in skipped["2012-fig1-census"]
    assert any(row["figure"] == "fig1-j" and row["holds"] != "skipped" for row in rows)
