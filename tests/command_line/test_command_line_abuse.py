"""The command line with failing output, folders, encodings and arguments.

Status 0 is done, 1 nothing or a failure, 2 what the caller can put right, 141 a reader gone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dpcore
from dpcore.command_line import main

REPOSITORY = Path(__file__).resolve().parents[2]
RUN = ["run", "--protocol", "pooled", "--repetitions", "1"]
SWEEP = ["sweep", "--protocol", "pooled", "--repetitions", "1", "--no-cache", "--vary"]


@pytest.fixture(autouse=True)
def no_data_and_an_empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))


def _in_shell(command: str, **variables: str) -> subprocess.CompletedProcess:
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHON": sys.executable}
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=REPOSITORY,
        env=environment | variables,
        capture_output=True,
        timeout=300,
    )


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        ('"$PYTHON" -m dpcore datasets | true', 141, ""),
        ('"$PYTHON" -m dpcore datasets >&-', 1, "dpcore: standard output is closed"),
        ('"$PYTHON" -m dpcore datasets --json >/dev/full', 1, "dpcore: No space left on device"),
        ('"$PYTHON" -m dpcore run --protocol pooled --repetitions 1 2>&- >/dev/null', 0, ""),
        ('"$PYTHON" -m dpcore run --protocol pooled --repetitions 1 2>/dev/full', 0, ""),
        (('mkdir "$DPCORE_CACHE" && cd "$DPCORE_CACHE" && rmdir "$DPCORE_CACHE" && '
          'PYTHONPATH="$OLDPWD" "$PYTHON" -m dpcore sweep --protocol pooled --repetitions 1 '
          "--vary epsilon=1"), 0, None),
    ],
    ids=["gone", "closed", "full", "silent", "unheard", "nowhere"],
)  # fmt: skip
def test_output_that_goes_nowhere(command, status, said):
    done = _in_shell(command)
    assert done.returncode == status, done.stderr
    assert b"Traceback" not in done.stderr and b"Exception ignored" not in done.stderr
    if said is not None:
        assert done.stderr.decode().split("\r")[-1].strip() == said or status == 0


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_what_cannot_be_said_in_an_encoding_is_spelled_out(encoding):
    done = _in_shell(
        '"$PYTHON" -m dpcore run --protocol pooled --repetitions 1', PYTHONIOENCODING=encoding
    )
    assert done.returncode == 0, done.stderr
    assert "exact \\u03b5" in done.stdout.decode(encoding)


def test_json_is_ascii(capsys):
    assert main(["datasets", "--json"]) == 0
    out = capsys.readouterr().out
    assert "×" in json.loads(out)["datasets"][0]["title"]
    assert out.isascii()


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([*RUN, "--dataset", "mfeat"], 2, "components must be given for mfeat"),
        ([*SWEEP, "components=10", "--csv", "no/such/folder.csv"], 2, "csv must be a file that"),
        ([*SWEEP, "components=10", "--csv", "/"], 2, "csv must be a file that can be written"),
        ([*SWEEP, "components=10", "--csv", "x" * 300], 2, "csv must be a file that can be"),
        ([*SWEEP, "components=10", "--json", "no/such/f"], 2, "json must be a file that can be"),
        (["reproduce", "fig1-b", "--out", "/dev/null/x"], 2, "out must be a folder that can be"),
        ([*SWEEP, "components=10", "--workers", "1000000000"], 2, "workers must be in [1, 1024]"),
        ([*SWEEP, "intermediate_ratio=nan"], 1, "skipped intermediate_ratio = nan"),
        ([*SWEEP, "intermediate_ratio=inf"], 1, "intermediate_ratio must be greater than 0"),
        ([*SWEEP, "intermediate_ratio=1e308"], 1, "at most 100,000, got 1e+308"),
        ([*SWEEP, "intermediate_ratio=2", "--dataset", "mfeat"], 1, "components must be given"),
        ([*SWEEP, "components=99"], 1, "nothing ran: every setting was skipped"),
        (["cca", "--views", "0-999999999:5"], 2, "views must be columns below 100,000"),
        ([*RUN, "--epsilon", "1e308"], 2, "epsilon must be"),
        ([*RUN, "--epsilon", "1e-320"], 2, "epsilon must be"),
        (["cca", "--epsilon", "1e308"], 2, "epsilon must be"),
        (["cca", "--epsilon", "1e-320"], 2, "epsilon must be"),
        (["audit", "--trials", "0"], 2, "must be"),
    ],
)
def test_every_end_has_its_status_and_a_sentence(
    capsys, tmp_path, monkeypatch, arguments, status, said
):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == status
    captured = capsys.readouterr()
    assert said in captured.err
    assert "Traceback" not in captured.err
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_file_that_was_there_is_left_until_there_are_rows(tmp_path, capsys):
    rows = tmp_path / "rows.csv"
    rows.write_text("mine")
    assert main([*SWEEP, "components=99", "--csv", str(rows), "--dataset", "imagenet"]) != 0
    assert rows.read_text() == "mine"
    assert main([*SWEEP, "components=10", "--csv", str(rows)]) == 0
    assert rows.read_text().startswith("dataset,")


def test_a_cache_that_cannot_be_written_is_said_once(tmp_path, capsys):
    (tmp_path / "cache").write_text("a file in the folder's place")
    with_cache = [argument for argument in SWEEP if argument != "--no-cache"]
    for arguments in (
        [*with_cache, "components=10,11"],
        ["best", "--protocol", "pooled", "--repetitions", "1"],
    ):
        assert main(arguments) == 0
        assert capsys.readouterr().err.count("cannot be kept in") == 1
    assert main(["cache"]) == 0
    assert "0 results" in capsys.readouterr().out


def test_the_cache_counts_what_is_there_and_what_it_deletes(capsys):
    with_cache = [argument for argument in SWEEP if argument != "--no-cache"]
    assert main([*with_cache, "epsilon=1,2,3"]) == 0
    for path in Path(os.environ["DPCORE_CACHE"]).rglob("*.json"):
        path.write_bytes(b"damaged")
    capsys.readouterr()
    assert main([*with_cache, "epsilon=1,2,3"]) == 0
    assert "3 damaged entries in" in capsys.readouterr().err
    assert main(["cache", "--clear"]) == 0
    assert capsys.readouterr().out.startswith("3 results deleted from")
    assert main(["cache"]) == 0
    assert capsys.readouterr().out.startswith("0 results, ")


def _python(program: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize("part", ["demo", "superlink folder --port 1", "run folder"])
def test_what_is_not_installed_is_named_with_the_extra_that_brings_it(part, tmp_path):
    done = _python(
        "import sys\n"
        "sys.modules.update(dict.fromkeys(['cryptography', 'flwr']))\n"
        "from dpcore.command_line import main\n"
        f"raise SystemExit(main(['federated', *{part.split()!r}]))"
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("dpcore: this needs ") and done.stderr.count("\n") == 1
    assert "dp-pca-lab[federated]" in done.stderr


@pytest.mark.parametrize("module", ["numpy", "scipy", "dpcore.command_line.options"])
def test_what_is_stopped_while_it_is_imported_says_so(module):
    """Ctrl-C within the first second, at a moment that is sure to occur."""
    done = _python(
        "import runpy, sys\n"
        "class Key:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}:\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Key())\n"
        "sys.argv = ['dpcore', 'datasets']\n"
        "runpy.run_module('dpcore', run_name='__main__')"
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "dpcore: stopped\n")


@pytest.mark.parametrize("arguments", [
    ["federated", "superlink", "folder", "--port", "99999"],
    ["federated", "superlink", "folder", "--port", "-1"],
    ["federated", "superlink", "folder", "--port", "9" * 400],
])  # fmt: skip
def test_a_port_that_no_address_has_is_refused(capsys, arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "a port is from 0 to 65535" in said and "Traceback" not in said


def test_a_folder_that_is_no_release_is_no_forgery(tmp_path, capsys):
    assert main(["verify", str(tmp_path / "nowhere")]) == 2
    assert main(["verify", str(tmp_path)]) == 2
    assert "folder must be a release, with its certificate.json" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["dpcore", "/usr/bin/dpcore", "dpcore.exe"])
def test_usage_and_examples_are_as_it_was_called(capsys, monkeypatch, name):
    monkeypatch.setattr(sys, "argv", [name])
    for arguments in (["--help"], ["run", "--help"], ["cca", "--help"]):
        with pytest.raises(SystemExit):
            main(arguments)
        out = capsys.readouterr().out
        assert out.startswith("usage: dpcore ") and "python -m" not in out
    monkeypatch.setattr(sys, "argv", ["/x/dpcore/__main__.py"])
    with pytest.raises(SystemExit):
        main(["--help"])
    assert capsys.readouterr().out.startswith("usage: python -m dpcore ")


@pytest.mark.parametrize("option", ["--limits", "--dataset", "--out"])
def test_two_dashes_as_a_value_are_refused(capsys, option):
    """argparse passed an empty list on, which ended in a traceback."""
    with pytest.raises(SystemExit) as ended:
        main(["label", f"{option}=--"])
    assert ended.value.code == 2 and "expected one value, got --" in capsys.readouterr().err


def test_the_version_is_said(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out == f"dpcore {dpcore.__version__}\n"


@pytest.mark.parametrize("name", ["absent.csv", "absent.parquet", "absent.xlsx", "absent.npy"])
def test_check_reports_an_absent_table_in_plain_words(name, tmp_path, capsys):
    assert main(["check", "--data", str(tmp_path / name)]) == 1
    assert capsys.readouterr().err == f"dpcore: {tmp_path / name} does not exist\n"


def test_a_file_that_exists_is_not_overwritten_and_named(tmp_path, capsys):
    assert main(["example", "class-survey", str(tmp_path)]) == 0
    assert main(["example", "class-survey", str(tmp_path)]) == 1
    assert "table.csv exists already" in capsys.readouterr().err


def test_numbers_of_sites_that_are_no_numbers_are_refused_in_plain_words(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["publish", str(tmp_path), "--sites", "2,x"])
    assert ended.value.code == 2
    assert "--sites: must be whole numbers, separated by commas, got '2,x'" in (
        capsys.readouterr().err
    )


def test_a_folder_with_other_files_is_not_published(tmp_path, capsys):
    """A web server would show the table too."""
    (tmp_path / "table.csv").write_text("age\n3\n")
    assert main(["publish", str(tmp_path), "--dataset", "digits"]) == 2
    assert "table.csv" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_the_dashboard_describes_its_own_options(capsys):
    """`--help` printed 5,000 lines of Streamlit's options."""
    assert main(["dashboard", "--help"]) == 0
    assert "Open the dashboard" in capsys.readouterr().out


def test_the_dashboard_takes_options_only(capsys):
    assert main(["dashboard", "nonsense"]) == 2
    assert "'nonsense'" in capsys.readouterr().err


def test_the_help_of_best_names_all_protocols_as_its_default(capsys):
    with pytest.raises(SystemExit):
        main(["best", "--help"])
    assert "default: None" not in " ".join(capsys.readouterr().out.split())
