"""The command line in a shell: only JSON on standard output, one sentence for errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from dpcore.command_line import main
from dpcore.command_line.options import add_run_options, spec_from
from dpcore.experiments.pca import RunSpec, run
from dpcore.papers.dpdispca import FIGURES
from dpcore.params import EPSILONS
from dpcore.pca.protocols.register import PROTOCOLS

REPOSITORY = Path(__file__).resolve().parents[2]
RUN = ["run", "--dataset", "digits", "--sites", "3", "--repetitions", "2", "--protocol"]

Shell = Callable[..., subprocess.CompletedProcess]


@pytest.fixture(scope="module")
def shell(tmp_path_factory) -> Shell:
    """Run `python -m dpcore ...` in a separate process with an empty data home."""
    home = tmp_path_factory.mktemp("data_home")

    def run_it(*arguments: str, **variables: str) -> subprocess.CompletedProcess:
        environment = os.environ | {"DPCORE_DATA": str(home), "OPENBLAS_NUM_THREADS": "1"}
        return subprocess.run(
            [sys.executable, "-m", "dpcore", *arguments],
            cwd=REPOSITORY,
            env=environment | variables,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run_it


def test_json_is_alone_on_standard_output_and_no_bar_goes_into_a_file(shell):
    done = shell(*RUN, "dpdis,local", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert len(document["rows"]) == 4
    assert document["spec"]["protocols"] == ["dpdis", "local"]
    assert {field.name for field in fields(RunSpec)} == set(document["spec"])
    assert done.stderr == ""
    done = shell("sweep", *RUN[1:], "dpdis", "--vary", "epsilon=1,2", "--json", "--no-cache")
    assert done.returncode == 0 and done.stderr == ""


@pytest.mark.skipif(os.name != "posix", reason="a terminal of POSIX")
def test_progress_goes_to_standard_error_where_that_is_a_terminal():
    terminal, end = os.openpty()
    command = [sys.executable, "-m", "dpcore", *RUN, "dpdis,local", "--json"]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=end) as process:
        os.close(end)
        document = json.loads(process.stdout.read())
    assert len(document["rows"]) == 4
    assert b"4/4" in os.read(terminal, 1 << 16)
    os.close(terminal)


def test_it_gives_the_numbers_that_python_gives(capsys):
    asked = ["--version", "published", "--epsilon", "2", "--noise", "isometric", "--json"]
    assert main([*RUN, "full,pooled", *asked]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    spec = RunSpec.published(
        sites=3, repetitions=2, protocols=("full", "pooled"), epsilon=2.0, noise="isometric"
    )
    for row, expected in zip(rows, run(spec), strict=True):
        for name in expected.keys() - {"seconds"}:
            assert row[name] == expected[name], name


def test_infinities_are_strings_so_that_the_document_is_json(capsys):
    assert main([*RUN, "exact,full", "--epsilon", "inf", "--json"]) == 0

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    rows = json.loads(capsys.readouterr().out, parse_constant=refuse)["rows"]
    assert {row["exact_epsilon"] for row in rows} == {"inf"}


def test_the_summary_is_a_line_a_protocol(capsys):
    assert main([*RUN, "full,pooled"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert "exact ε" in head
    assert [line.split()[0] for line in lines] == ["full", "pooled"]
    _, energy, _, floor, above, *_ = lines[0].split()
    assert float(above) == pytest.approx(float(energy) - float(floor), abs=2e-4)


def test_datasets_lists_what_is_ready_and_how_to_get_the_rest(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))
    assert main(["datasets", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    statuses = {status["name"]: status for status in document["datasets"]}
    assert statuses["digits"]["ready"]
    assert not statuses["fashion-mnist"]["ready"]
    assert statuses["fashion-mnist"]["how_to_get"]
    assert statuses["mnist"]["is_part"]
    assert main(["datasets"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in statuses)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--epsilon", "0"], "epsilon must be greater than 0, got 0.0"),
        (["--epsilon", "nan"], "epsilon must be a real number, got nan"),
        (["--delta", "1"], "delta must be in [0, 1), got 1.0"),
        (["--delta", "0"], "delta must be greater than 0 for Gaussian noise, got 0.0"),
        (["--epsilon", "2", "--calibration", "classic"], "epsilon must be at most 1"),
        (["--components", "65"], "components must be a whole number in [1, n_features=64], got 65"),
        (["--intermediate-dim", "65"], "intermediate_dim must be a whole number in [1, n_features"),
        (["--samples", "2000"], "samples must be at most the 1,797 people of digits, got 2000"),
        (["--sites", "900"], "sites must be at most half the 1,797 people, got 900"),
        (["--samples", "5"], "samples must be at least 2 people at each of the 3 sites, got 5"),
        (["--protocol", "dpsid"], "protocol must be one of dpdis, full, local"),
        (["--dataset", "imagenet"], "must be one of"),
        (["--limits", "pixels=8:1"], "limits must be the lower one first, got 'pixels=8:1'"),
        (["--seed", "-1"], "seed must be a whole number of at least 0, got -1"),
    ],
)
def test_bad_input_gets_one_clear_sentence_and_status_2(capsys, arguments, said):
    assert main([*RUN, "dpdis,full", *arguments]) == 2
    captured = capsys.readouterr()
    message = captured.err.splitlines()[-1]
    assert message.startswith("dpcore: ")
    assert said in message
    assert captured.out == ""
    assert "Traceback" not in captured.err


def test_limits_of_columns_are_read_from_a_data_dictionary(capsys, tmp_path):
    dictionary = tmp_path / "limits.toml"
    dictionary.write_text("[columns.pixels]\nlower = 0\nupper = 8\n")
    asked = [*RUN, "pooled", "--preparation", "sphere", "--json", "--limits"]
    lines = []
    for limits in (str(dictionary), "pixels=0:8", ""):
        assert main([*asked, limits]) == 0
        lines.append(json.loads(capsys.readouterr().out)["rows"])
    assert [row["energy"] for row in lines[0]] == [row["energy"] for row in lines[1]]
    assert lines[0][0]["limits"] == "pixels=0:8" != lines[2][0]["limits"]
    assert lines[0][0]["energy"] != lines[2][0]["energy"]


def test_an_unknown_figure_names_the_known_ones(capsys):
    assert main(["reproduce", "fig9-z"]) == 2
    assert "fig1-a" in capsys.readouterr().err


def test_absent_data_says_which_file_to_put_where(shell, tmp_path):
    # Nothing listens on port 9 of this machine, so a download fails at once.
    nowhere = "http://127.0.0.1:9"
    done = shell(
        "run", "--dataset", "fashion-mnist", http_proxy=nowhere, https_proxy=nowhere, no_proxy=""
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "train-images-idx3-ubyte" in done.stderr


def test_reproduce_names_the_figure_in_every_row(datasets_home, monkeypatch, capsys):
    monkeypatch.setenv("DPCORE_DATA", str(datasets_home))
    assert main(["reproduce", "fig1-c", "--repetitions", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    figure = FIGURES["fig1-c"]
    assert {row["figure"] for row in document["rows"]} == {"fig1-c"}
    assert sorted({row["epsilon"] for row in document["rows"]}) == sorted(figure.values)
    assert document["claim"] == figure.claim


def test_help_is_worth_reading(capsys):
    def told(*arguments: str) -> str:
        with pytest.raises(SystemExit) as end:
            main([*arguments, "--help"])
        assert end.value.code == 0
        return capsys.readouterr().out

    top = told()
    for word in ("datasets", "run", "reproduce", "python -m dpcore run", "exact"):
        assert word in top
    options = told("run")
    for name in {field.name for field in fields(RunSpec)} - {"protocols"}:
        assert f"--{name.replace('_', '-')}" in options
    for key in PROTOCOLS:
        assert key in options
    figures = told("reproduce")
    assert all(name in figures for name in FIGURES)


def test_every_epsilon_a_page_offers_can_be_asked_for():
    for epsilon in EPSILONS:
        RunSpec(epsilon=epsilon)


@pytest.mark.parametrize("command", ["run", "sweep --vary epsilon=1,2", "cca --components 1"])
def test_a_table_of_ones_own_in_the_laboratory(command, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))
    table, dictionary = tmp_path / "people.csv", tmp_path / "people.toml"
    rows = np.random.default_rng().uniform(0, 1, (40, 2))
    np.savetxt(table, rows, delimiter=",", header="a,b", comments="")
    dictionary.write_text("".join(f"[columns.{name}]\nlower=0\nupper=1\n" for name in "ab"))
    given = [*command.split(), "--data", str(table), "--repetitions", "1", "--protocol=pooled"]
    assert main([*given, "--json", "--dictionary", str(dictionary)]) == 0
    said = capsys.readouterr()
    assert "a simulation, not a release: 40 rows read" in said.err
    printed = json.loads(said.out)["rows"]
    assert {(row["dataset"], row["samples"]) for row in printed} == {("your-table-people", 40)}
    # The command writes no file.
    assert {path.name for path in tmp_path.iterdir()} == {table.name, dictionary.name}
    assert main(given) == 2
    assert "data must be given together with --dictionary" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], ("analytic", "isometric", "psd", "auto", "sphere", 1e-5)),
        (["--version", "published"], ("published", "triangle", "svd", "none", "published", 0.01)),
        (
            [
                "--truncation",
                "psd",
                "--version",
                "published",
                "--preparation",
                "sphere",
                "--delta",
                "1e-3",
            ],
            ("published", "triangle", "psd", "none", "sphere", 1e-3),
        ),
    ],
)
def test_what_is_private_and_keeps_most_is_the_default(options, expected, capsys):
    assert main([*RUN, "pooled", "--json", *options]) == 0
    row = json.loads(capsys.readouterr().out)["rows"][0]
    fields = ("calibration", "noise", "truncation", "denoise", "preparation", "delta")
    assert tuple(row[name] for name in fields) == expected


def test_delta_follows_the_data_set_until_it_is_given(monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))
    parser = ArgumentParser()
    add_run_options(parser)

    def delta(*given: str) -> float:
        return spec_from(parser.parse_args(given)).delta

    assert delta("--dataset", "digits") == delta() == 1e-5
    assert delta("--dataset", "fashion-mnist") == 1e-6 and delta("--dataset", "census") == 1e-7
    assert delta("--dataset", "census", "--delta", "0.01") == 0.01
    assert delta("--dataset", "census", "--version", "published") == RunSpec.delta
