"""Site moments between two starts: equal to the bit, and never those of another file."""

from __future__ import annotations

import os
from dataclasses import fields

import numpy as np
import pytest

from dpcore.errors import DataUnavailable
from dpcore.experiments.engine.store import FOLDER_VARIABLE, SIZE_VARIABLE, Store
from dpcore.experiments.pca import RunSpec, run_repetitions
from dpcore.experiments.pca import stored_moments as kept_moments
from dpcore.experiments.pca.problem import Problem, Problems, load_prepared
from dpcore.experiments.pca.stored_moments import load_or_compute
from dpcore.spectra import SiteRows

SPECS = {
    "published": RunSpec(sites=3, preparation="published"),
    "private": RunSpec(sites=3, preparation="bounded", samples=600, split="random"),
    "on everybody": RunSpec(sites=2, samples=600, preparation="published", reference="all"),
}
KEY = SPECS["published"].problem_key()
ON_SPHERE = RunSpec(sites=3, samples=600)


@pytest.fixture
def rows_file(tmp_path, monkeypatch):
    """Return a file that digits' rows are assigned to."""
    path = tmp_path / "rows"
    path.write_bytes(b"one")
    monkeypatch.setattr(kept_moments, "dataset_files", lambda name: (path,))
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))
    return path


def started(read: list, **options) -> Problems:
    """Return the problems of a new server, which record when rows are read."""

    def load(*data):
        read.append(data)
        return load_prepared(*data)

    return Problems(load, source=load_or_compute, **options)


def assert_same(one: Problem, other: Problem) -> None:
    for field in (field for field in fields(Problem) if field.compare):
        left, right = getattr(one, field.name), getattr(other, field.name)
        if field.name == "moments":
            if isinstance(left, SiteRows):
                assert all(map(np.array_equal, left.sites, right.sites))
                assert_same_arrays(left, right, "means", "n_samples")
                left, right = left.unscaled_moments, right.unscaled_moments
            assert_same_arrays(left, right, "second_moments", "means", "n_samples")
        elif isinstance(left, np.ndarray):
            assert left.dtype == right.dtype and np.array_equal(left, right)
        else:
            assert left == right


def assert_same_arrays(one: object, other: object, *names: str) -> None:
    for name in names:
        left, right = getattr(one, name), getattr(other, name)
        assert left.dtype == right.dtype and np.array_equal(left, right)


def entries(path):
    return list((path.parent / "cache").rglob("*.bin"))


@pytest.mark.parametrize("name", SPECS)
def test_the_next_start_reads_no_rows_and_has_the_same_problem(rows_file, name):
    key = SPECS[name].problem_key()
    first, read = started([])(key), []
    assert_same(first, started(read)(key))
    assert bool(read) == (name == "on everybody")  # whose second moment is of all rows
    assert_same(first, Problems()(key))


def test_another_file_is_another_entry_whatever_its_name_size_and_date(rows_file):
    before = os.stat(rows_file)
    started([])(KEY)
    rows_file.write_bytes(b"two")
    os.utime(rows_file, ns=(before.st_atime_ns, before.st_mtime_ns))
    read: list = []
    started(read)(KEY)
    assert len(read) == 1 and len(entries(rows_file)) == 2


def test_a_file_exchanged_while_it_was_read_is_not_kept(rows_file):
    def exchanged(*data):
        rows_file.write_bytes(b"two")
        return load_prepared(*data)

    Problems(exchanged, source=load_or_compute)(KEY)
    assert not entries(rows_file)


@pytest.mark.parametrize("damage", ["bit", "short", "folder", "empty"])
def test_a_damaged_entry_is_made_again(rows_file, damage):
    first = started([])(KEY)
    (entry,) = entries(rows_file)
    content = bytearray(entry.read_bytes())
    content[len(content) // 2] ^= 1
    entry.unlink()
    if damage == "folder":
        entry.mkdir()
    else:
        cut = {"bit": len(content), "short": len(content) // 2, "empty": 0}[damage]
        entry.write_bytes(content[:cut])
    read: list = []
    assert_same(first, started(read)(KEY))
    assert len(read) == 1
    if damage != "folder":
        assert_same(first, started(read)(KEY))
        assert len(read) == 1


def test_where_nothing_can_be_kept_it_is_made_and_said(rows_file):
    (rows_file.parent / "cache").write_text("mine")
    assert_same(started([])(KEY), Problems()(KEY))
    assert "cannot be kept" in Store().trouble
    (rows_file.parent / "cache").unlink()
    started([])(KEY)
    assert Store().trouble == "" and len(entries(rows_file)) == 1


def test_nothing_is_kept_that_would_push_out_much(rows_file, monkeypatch):
    monkeypatch.setenv(SIZE_VARIABLE, "1 MB")
    started([])(KEY)
    assert not entries(rows_file)
    monkeypatch.setenv(SIZE_VARIABLE, "10 MB")
    started([])(KEY)
    assert len(entries(rows_file)) == 1


def test_data_that_come_with_us_are_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    started([])(KEY)
    assert not list(tmp_path.iterdir())


def test_rows_of_an_exchanged_file_are_not_taken_for_those_of_the_kept_moments(rows_file):
    started([])(ON_SPHERE.problem_key())
    problem = started([])(ON_SPHERE.problem_key())
    rows_file.write_bytes(b"two")
    with pytest.raises(DataUnavailable, match="exchanged"):
        run_repetitions([ON_SPHERE], problem, 0)
