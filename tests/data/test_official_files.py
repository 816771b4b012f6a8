from __future__ import annotations

import gzip
import hashlib
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from dpcore.data import list_datasets, official_files
from dpcore.data.catalog import CATALOG
from dpcore.data.official_files import LocalFile, OfficialFile, find_data_home, locate, read_idx
from dpcore.errors import DataUnavailable

# Data sets of which at least a part needs no download.
BUNDLED = [entry.name for entry in CATALOG.values() if entry.find(Path("absent"))]


def test_idx_files_are_read_packed_and_plain(tmp_path, write_idx):
    pictures = np.arange(24).reshape(2, 3, 4)
    for packed in (True, False):
        path = tmp_path / f"pictures-{packed}"
        write_idx(path, pictures, packed=packed)
        np.testing.assert_array_equal(read_idx(LocalFile(path, OfficialFile("p"))), pictures)


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda idx: b"\0\0\x0d\x01" + idx[4:], "magic number is 00000d01"),
        (lambda idx: b"<html>", "magic number is 3c68746d"),
        (lambda idx: b"", "magic number"),
        (lambda idx: idx[:9], "ends within its header"),
        (lambda idx: idx[:-1], "holds 23 bytes of data for shape"),
        (lambda idx: gzip.compress(idx)[:-9], "does not unpack"),
        (lambda idx: b"\x1f\x8b" + idx, "does not unpack"),
    ],
)
def test_damaged_idx_files_are_named_with_what_is_wrong(tmp_path, write_idx, damage, complaint):
    path = tmp_path / "train-images-idx3-ubyte.gz"
    content = write_idx(path, np.arange(24).reshape(2, 3, 4))
    path.write_bytes(damage(content))
    with pytest.raises(DataUnavailable, match=complaint) as caught:
        read_idx(LocalFile(path, OfficialFile(path.name)))
    assert str(path) in str(caught.value)


def _official(content: bytes, name: str = "pictures.gz", **fields) -> OfficialFile:
    return OfficialFile(name, content_sha256=hashlib.sha256(content).hexdigest(), **fields)


def test_a_wrong_checksum_names_both(tmp_path):
    path = tmp_path / "pictures"
    path.write_bytes(b"something else")
    with pytest.raises(DataUnavailable) as caught:
        LocalFile(path, _official(b"the pictures")).content()
    for content in (b"something else", b"the pictures"):
        assert hashlib.sha256(content).hexdigest() in str(caught.value)


def test_a_file_is_hashed_once_until_it_changes(tmp_path, monkeypatch):
    hashed = []
    sha256 = hashlib.sha256
    monkeypatch.setattr(
        official_files.hashlib, "sha256", lambda content: hashed.append(content) or sha256(content)
    )
    path = tmp_path / "pictures"
    path.write_bytes(b"the pictures")
    file = LocalFile(path, _official(b"the pictures"))
    hashed.clear()
    assert file.content() == file.content() == b"the pictures"
    assert hashed == [b"the pictures"]
    path.write_bytes(b"other pictures")
    with pytest.raises(DataUnavailable):
        file.content()


def test_own_folders_come_before_the_data_home_itself(tmp_path):
    file = OfficialFile("covtype.data.gz")
    assert locate(file, tmp_path, ("covtype", "covertype")) is None
    expected = []
    for folder, name in (
        (".", "covtype.data"),
        (".", "covtype.data.gz"),
        ("covertype", "covtype.data"),
        ("covtype", "covtype.data.gz"),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        path = tmp_path / folder / name
        path.write_bytes(b"")
        expected.append(path)
        files = locate(file, tmp_path, ("covtype", "covertype"))
        assert files.path == path


def test_files_with_one_name_are_told_apart_by_checksum_in_a_flat_folder(tmp_path):
    mnist = _official(b"digits", name_is_shared=True)
    fashion = _official(b"clothes", name_is_shared=True)
    (tmp_path / "pictures.gz").write_bytes(gzip.compress(b"clothes"))
    assert locate(mnist, tmp_path, ("mnist",)) is None
    assert locate(fashion, tmp_path, ("fashion-mnist",)).content() == b"clothes"
    (tmp_path / "pictures").write_bytes(b"digits")
    assert locate(mnist, tmp_path, ("mnist",)).content() == b"digits"
    # A file in the data set's own folder is chosen by its name; wrong content is an error.
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / "pictures.gz").write_bytes(gzip.compress(b"clothes"))
    with pytest.raises(DataUnavailable, match="SHA-256"):
        locate(mnist, tmp_path, ("mnist",)).content()


def test_a_damaged_file_with_a_shared_name_is_nobodys(tmp_path):
    (tmp_path / "pictures.gz").write_bytes(b"\x1f\x8bnot gzip")
    assert locate(_official(b"digits", name_is_shared=True), tmp_path, ()) is None


def test_the_data_home_is_the_argument_then_the_variable_then_scikit_learns(tmp_path, monkeypatch):
    assert find_data_home() == tmp_path / "scikit-learn"
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path / "variable"))
    assert find_data_home() == tmp_path / "variable"
    assert find_data_home(tmp_path / "argument") == tmp_path / "argument"
    monkeypatch.delenv("DPCORE_DATA")
    monkeypatch.delenv("SCIKIT_LEARN_DATA")
    assert find_data_home().name == "scikit_learn_data"


def _lines(tmp_path, text: str) -> LocalFile:
    path = tmp_path / "table.txt"
    path.write_text(text)
    return LocalFile(path, OfficialFile("table.txt"))


def test_tables_of_numbers(tmp_path):
    file = _lines(tmp_path, "1 2 3\r\n4 5 6\r\n\r\n")
    lines = official_files.read_lines(file, 2)
    table = official_files.read_numbers(lines, 3, file.path)
    assert table.dtype == np.float32
    np.testing.assert_array_equal(table, [[1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1 2 3\n", "it has 1 rows where 2 are expected"),
        ("1 2\n3 4\n", "it has 2 columns where 3 are expected"),
        ("1 2 3\n4 5\n", "table.txt.* columns"),
        ("1 2 3\n4 five 6\n", "table.txt .* row 2 holds something that is no number"),
        ("1 2 3\n4 nan 6\n", "table.txt .* row 2 holds a number that is not finite"),
        ("1 2 3\n4 1e99 6\n", "row 2 holds a number that is not finite"),
        ("1 2 3\n\n", "1 rows where 2"),
    ],
)
def test_tables_of_another_shape_are_refused(tmp_path, text, complaint):
    file = _lines(tmp_path, text)
    with pytest.raises(DataUnavailable, match=complaint):
        official_files.read_numbers(official_files.read_lines(file, 2), 3, file.path)


def test_a_small_file_that_unpacks_to_gigabytes_is_not_read_to_its_end(tmp_path):
    path = tmp_path / "pictures.gz"
    megabyte = bytes(1 << 20)
    with gzip.open(path, "wb") as file:
        for _ in range(200):
            file.write(megabyte)
    file = LocalFile(path, OfficialFile("pictures.gz", most_bytes=60_000))
    tracemalloc.start()
    try:
        with pytest.raises(DataUnavailable, match="more than the 60,000 bytes it can have"):
            file.content()
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
    path.write_bytes(bytes(60_001))
    with pytest.raises(DataUnavailable, match="60,000 bytes"):
        file.content()
    path.write_bytes(gzip.compress(bytes(60_000)))
    assert file.content() == bytes(60_000)


def test_every_file_of_the_catalogue_says_how_large_it_can_be():
    default = OfficialFile("any").most_bytes
    for entry in CATALOG.values():
        for file in (file for source in entry.sources for file in source.files):
            assert file.most_bytes < default or file.name == "mnist_784.arff.gz"
            assert file.n_bytes is None or file.n_bytes < file.most_bytes


def test_a_folder_that_may_not_be_read_holds_nothing(tmp_path, write_idx, monkeypatch):
    """The refusal is simulated, because root can read every folder."""
    (tmp_path / "conflong").mkdir()
    (tmp_path / "conflong" / "ConfLongDemo_JSI.first16486.txt.gz").write_bytes(b"")
    stat = os.stat

    def refusing(path, *arguments, **options):
        if "conflong" in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, *arguments, **options)

    monkeypatch.setattr(os, "stat", refusing)
    ready = {status.name for status in list_datasets(tmp_path) if status.ready}
    assert ready == set(BUNDLED)


def test_a_data_home_of_an_impossible_name_holds_nothing(tmp_path):
    ready = [status.name for status in list_datasets(tmp_path / ("x" * 300)) if status.ready]
    assert ready == BUNDLED


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1,2\n3,word\n", "word"),
        ("1,2\n3,nan\n", "every number must be finite"),
        ("1,2\n", "2 rows of 2 numbers"),
        ("1,2\n3\n", "columns"),
    ],
)
def test_a_damaged_table_of_scikit_learn_is_named(tmp_path, monkeypatch, text, complaint):
    """A word in the file raised ValueError, and nan was accepted."""
    path = tmp_path / "wine.csv"
    path.write_text(text)
    monkeypatch.setattr(official_files, "scikit_learn_file", lambda name, dataset: path)
    with pytest.raises(DataUnavailable, match=complaint) as caught:
        official_files.scikit_learn_table("wine.csv", "wine", (2, 2), delimiter=",")
    assert str(path) in str(caught.value)
