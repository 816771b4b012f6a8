"""Faults found by reviews of releases: each test failed before the fault was corrected."""

from __future__ import annotations

import json
import os
import shutil
import time
import zipfile
from decimal import Decimal
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import dpcore
from dpcore.command_line import main
from dpcore.errors import ParameterError
from dpcore.release import Column, Dictionary, Reading, Table, inspect_table, release
from dpcore.release import software as module
from dpcore.release.cells import name_of_text, names_of, numbers_of
from dpcore.release.certificate import as_json
from dpcore.release.encoding import grid_blocks
from dpcore.release.release_files import derived_files, npz_bytes
from dpcore.release.software import software
from dpcore.release.verification import verify
from dpcore.streams import SecretStream, secret_root
from dpcore.teaching.quiz import QUESTIONS, Phase, quiz_csv

AGE = Dictionary((Column("age", 0, 100),))


@pytest.mark.parametrize("cell", ["1" * 4_000_000 + "x", "1" * 4_000_000, "-" * 4_000_000,
                                  "1." * 2_000_000, "1e" + "1" * 4_000_000, "2020-" * 800_000,
                                  " " * 4_000_000 + "1x", "0x" + "1" * 4_000_000])  # fmt: skip
def test_a_long_cell_is_read_in_linear_time(cell):
    start = time.process_time()
    name_of_text(cell)
    numbers_of(np.array([cell], dtype=object), "age")
    names_of(pa.array([cell]), "age")
    assert time.process_time() - start < 3


def test_decimals_do_not_depend_on_the_scale_of_their_column():
    cells = [Decimal("1.1"), Decimal("519.502"), Decimal("12345678901234.67")]
    narrow = pa.array(cells, pa.decimal128(38, 4))
    wide = pa.array(cells, pa.decimal128(38, 20))
    expected = [1.1, 519.502, 12345678901234.67]
    assert numbers_of(narrow, "age").tolist() == numbers_of(wide, "age").tolist() == expected
    assert names_of(narrow, "age").equals(names_of(wide, "age"))


def test_an_unbalanced_quote_does_not_swallow_rows(tmp_path):
    lines = ["age,note", *(f"{n % 90},x" for n in range(500))]
    lines[100], lines[200] = '7,"x', '7,x"'
    (tmp_path / "t.csv").write_text("\n".join(lines))
    table = Table(tmp_path / "t.csv", AGE.keys)
    with pytest.raises(ParameterError, match="multiline.*100 lines"):
        list(grid_blocks(table, AGE, Reading()))
    with pytest.raises(ParameterError, match="multiline.*100 lines"):
        release(
            tmp_path / "t.csv", AGE, epsilon=1, delta=1e-5, n_components=1,
            project=tmp_path / "project", name="one", cap=(1, 1e-5),
        )  # fmt: skip
    assert not (tmp_path / "project").exists()
    allowing = Dictionary(AGE.columns, multiline=True)
    reading = Reading()
    list(grid_blocks(table, allowing, reading))
    assert (reading.n_rows, reading.n_joined_lines) == (400, 100)
    inspection = inspect_table(tmp_path / "t.csv", allowing)
    assert (inspection.n_rows, inspection.n_joined_lines) == (400, 100)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_of_quoted_cells_and_blank_lines_are_counted(end, tmp_path):
    text = end.join(["age,note", '1,"a', "", 'b"', "", "2,x", "", '3,"y', 'z"'])
    (tmp_path / "t.csv").write_bytes(text.encode())
    reading = Reading()
    (rows,) = grid_blocks(Table(tmp_path / "t.csv", AGE.keys), AGE, reading)
    assert (len(rows), reading.n_joined_lines, reading.n_empty_rows) == (3, 3, 2)


def test_the_holder_sees_cells_that_were_not_understood():
    ages = ["41", "<5", "12,5", "<5", "ja", None, "7"]
    counts = inspect_table({"age": ages}, AGE).columns["age"]
    assert (counts.missing, counts.unknown) == (1, 4)
    assert counts.examples == ["<5", "12,5", "ja"]
    levels = Dictionary((Column("age", levels=("41", "7")),))
    assert inspect_table({"age": ages}, levels).columns["age"].examples == ["<5", "12,5", "ja"]


@pytest.fixture
def half_missing(tmp_path):
    path = tmp_path / "dictionary.toml"
    path.write_text(Dictionary((Column("age", 0, 100), Column("size", 0, 9))).toml())
    rows = [f"{'<5' if n % 2 else n % 90},{n % 9}" for n in range(400)]
    (tmp_path / "t.csv").write_text("\n".join(["age,size", *rows]))
    return [
        "release", "--data", str(tmp_path / "t.csv"), "--dictionary", str(path),
        "--epsilon", "1", "--delta", "1e-5", "--components", "1", "--name", "one",
        "--project", str(tmp_path / "project"), "--cap", "1", "1e-5",
    ]  # fmt: skip


def test_the_share_of_missing_cells_is_stated_before_the_charge(
    half_missing, tmp_path, capsys, monkeypatch
):
    def charge(*_, **__):
        assert "'age' 50.0 %" in capsys.readouterr().err
        raise ParameterError("name", "stopped here", "one")

    monkeypatch.setattr("dpcore.release.project.Project.charge", charge)
    assert main(half_missing) == 2
    assert "stopped here" in capsys.readouterr().err


@pytest.mark.parametrize(("answer", "is_released"), [("n\n", False), ("y\n", True)])
def test_a_terminal_asks_before_missing_cells_are_charged(
    half_missing, tmp_path, monkeypatch, answer, is_released
):
    class Terminal:
        def isatty(self):
            return True

        def readline(self):
            return answer

    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert main(half_missing) == (0 if is_released else 2)
    assert (tmp_path / "project" / "releases" / "one").exists() == is_released


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs devices of Linux")
@pytest.mark.parametrize("arguments", [
    ["quiz", "PATH"],
    ["run", "--data", "PATH", "--dictionary", "d.toml"],
    ["check", "--data", "PATH"],
    ["check", "--data", "t.csv", "--dictionary", "PATH"],
    ["release", "--data", "PATH", "--dictionary", "d.toml", "--epsilon", "1", "--delta", "1e-5",
     "--components", "1", "--project", "p", "--name", "one"],
    ["run", "--limits", "PATH.toml"],
])  # fmt: skip
@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_devices_and_pipes_are_refused_in_one_sentence(
    arguments, kind, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("age\n1\n2\n")
    (tmp_path / "d.toml").write_text(AGE.toml())
    names = [tmp_path / f"odd{end}" for end in (".csv", ".toml")]
    for name in names:
        if kind == "pipe":
            os.mkfifo(name)
        else:
            name.symlink_to("/dev/full")
    ending = ".toml" if "PATH.toml" in arguments or arguments[-1] == "PATH" else ".csv"
    odd = f"odd{'.csv' if arguments[0] == 'quiz' or arguments[-2:-1] == ['--data'] else ending}"
    given = [odd if argument in ("PATH", "PATH.toml") else argument for argument in arguments]
    try:
        status = main(given)
    except SystemExit as error:
        status = error.code
    output = capsys.readouterr().err
    assert status == 2 and "regular file" in output and "Traceback" not in output


def test_a_local_label_counts_the_rows_of_one_site(capsys):
    assert main(["label", "--protocol", "local", "--sites", "10", "--dataset", "digits"]) == 0
    who = json.loads(capsys.readouterr().out)["protected"]["who"]
    assert who.endswith(": 180 at 1 site")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_secret_stream_is_not_repeated_by_a_forked_process():
    stream = SecretStream(secret_root())
    stream.words(3)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, stream.bytes(16))
        except RuntimeError:
            os.write(writer, b"refused")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 16) != stream.bytes(16)


def test_the_order_of_a_quiz_file_does_not_identify_a_phone():
    first = {(QUESTIONS[0].name, Phase.BEFORE): "a"}
    second = {(QUESTIONS[0].name, Phase.BEFORE): "b"}
    assert quiz_csv([first, second]) == quiz_csv([second, first])


def test_the_code_hash_covers_all_files_of_the_package(tmp_path, monkeypatch):
    copy = tmp_path / "dpcore"
    shutil.copytree(Path(dpcore.__file__).parent, copy)
    monkeypatch.setattr(module.dpcore, "__file__", str(copy / "__init__.py"))
    hashes = set()
    for name in ("", "release/certificate.schema.json", "pca/protocols/register.py"):
        if name:
            (copy / name).write_text((copy / name).read_text() + "\n")
        module._code_hash.cache_clear()
        hashes.add(software()["code"])
    module._code_hash.cache_clear()
    assert len(hashes) == 3


@pytest.fixture
def folder(tmp_path):
    rows = np.random.default_rng(0).normal(50, 20, size=(300, 3))
    dictionary = Dictionary(tuple(Column(name, 0, 100) for name in "abc"))
    return release(
        rows, dictionary, epsilon=4, delta=1e-5, n_components=2,
        project=tmp_path / "project", name="one", cap=(9, 1e-5),
    ).folder  # fmt: skip


def _certify(folder, change=lambda certificate: None):
    path = folder / "certificate.json"
    certificate = json.loads(path.read_text(encoding="utf-8"))
    change(certificate)
    with np.load(folder / "components.npz") as arrays:
        files = derived_files(certificate, dict(arrays))
    for name, content in files.items():
        (folder / name).write_bytes(content)
    certificate["files"] = {
        file.name: sha256(file.read_bytes()).hexdigest()
        for file in folder.iterdir()
        if file.name != "certificate.json"
    }
    path.write_bytes(as_json(certificate))


def _append(path):
    with path.open("ab") as file:
        file.write(b"age,sex\n41,f\n")


def _comment(path):
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = b"age,sex\n41,f\n"


@pytest.mark.parametrize("hide", [_append, _comment])
def test_rows_do_not_travel_in_the_arrays_of_a_verified_folder(folder, hide):
    hide(folder / "components.npz")
    _certify(folder)
    verdict = verify(folder)
    assert not verdict.holds and "components.npz" in verdict.sentence


@pytest.mark.parametrize("hide", [
    lambda array: array.astype(np.longdouble), np.asfortranarray,
    lambda array: array.astype(">f8"),
])  # fmt: skip
def test_bytes_do_not_travel_in_the_type_of_verified_arrays(folder, hide):
    path = folder / "components.npz"
    with np.load(path) as stored:
        arrays = dict(stored)
    arrays["components"] = hide(arrays["components"])
    path.write_bytes(npz_bytes(arrays))
    _certify(folder)
    verdict = verify(folder)
    assert not verdict.holds and "<f8 in C order" in verdict.sentence


@pytest.mark.parametrize("change", [
    lambda c: c["result"].update(captured=[1.0, 1.0, 1.0]),
    lambda c: c["result"].update(captured=[0.5, 0.6, 0.4]),
    lambda c: c["result"].update(of_best=[0.9, 0.95, 1.0]),
    lambda c: c["result"].update(above_noise=4),
    lambda c: c["requested"].update(epsilon=100.0),
])  # fmt: skip
def test_numbers_that_can_be_bounded_are_checked(folder, change):
    _certify(folder)
    assert verify(folder).holds, verify(folder).sentence
    _certify(folder, change)
    assert not verify(folder).holds


def test_verify_names_the_numbers_that_cannot_be_checked(folder, capsys):
    assert main(["verify", str(folder)]) == 0
    output = capsys.readouterr().out
    assert "cannot be checked" in output and "noisy_rows" in output


def test_decimals_of_a_file_are_read_by_value(tmp_path):
    for scale in (4, 20):
        cells = pa.array([Decimal("51.9502")], pa.decimal128(38, scale))
        parquet.write_table(pa.table({"age": cells}), tmp_path / f"{scale}.parquet")
    first, second = (
        next(grid_blocks(Table(tmp_path / f"{scale}.parquet", AGE.keys), AGE)) for scale in (4, 20)
    )
    np.testing.assert_array_equal(first, second)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_a_release_folder_is_refused(folder):
    for name in ("components.npz", "certificate.json"):
        (folder / name).unlink()
        os.mkfifo(folder / name)
        assert not verify(folder).holds
