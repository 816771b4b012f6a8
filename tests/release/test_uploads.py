"""Uploaded tables in memory, and the data sets for simulations made from them."""

from __future__ import annotations

import gc
import io
from dataclasses import replace
from functools import partial
from weakref import WeakSet

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from dpcore.data import Dataset, dataset_status, prepare, split_sites
from dpcore.data.dataset import HeldTable
from dpcore.data.splits import load_halves
from dpcore.errors import ParameterError
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.pca.problem import sites_of
from dpcore.release import Column, Dictionary, Reading, simulation, uploads
from dpcore.release.reading_limits import UPLOADED, ReadingLimits
from dpcore.release.reading_process import read_in_process
from dpcore.release.simulation import simulation_data
from dpcore.release.uploads import read_upload

CSV = b"who,age,answer,school\np1,20,yes,A\np1,90,no,A\np2,,maybe,B\np3,50,yes,\n,10,no,B\n"
AGES = Dictionary(
    (Column("age", 0, 80, 20), Column("answer", levels=("yes", "no"))),
    person="who",
    at_most=2,
    label="school",
)


def _parquet(**columns) -> bytes:
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file)
    return file.getvalue()


def _npz(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def test_columns_have_kinds():
    upload = read_upload("people.CSV", CSV)
    assert list(upload.columns) == ["who", "age", "answer", "school"] and upload.n_rows == 5
    assert [upload.kind_of(name) for name in upload.columns] == [
        "texts",
        "numbers",
        "texts",
        "texts",
    ]


def test_simulations_get_one_row_per_person_within_public_limits():
    reading = Reading()
    data = simulation_data(read_upload("people.csv", CSV).columns, AGES, reading)
    assert data.feature_names == ("age", "answer=yes", "answer=no")
    # First rows; a missing age is in the middle, an unknown answer sets no level.
    np.testing.assert_allclose(data.X, [[0, 1, 0], [0, 0, 0], [0.5, 1, 0]], atol=1e-5)
    assert data.label_names == ("A", "B", "none") and data.labels.tolist() == [0, 1, 2]
    assert data.default_components == 1  # all 3 components would capture everything
    assert data.column_limits[0].tolist() == [-1 / 3, 1]
    assert np.linalg.norm(data.X, axis=1).max() <= data.public_norm_bound
    assert (reading.n_rows, reading.n_left_out, reading.missing["age"]) == (5, 2, 1)


def _at_sites(sites) -> Dataset:
    table = {"who": list("abcdefa"), "age": np.arange(7.0), "at": list(sites)}
    ages = Dictionary((Column("age", 0, 80),), person="who", site="at")
    return simulation_data({name: np.array(cells) for name, cells in table.items()}, ages)


def test_simulations_get_the_site_of_each_person():
    data = _at_sites("xyxyxyx")
    assert data.sites.tolist() == [0, 1, 0, 1, 0, 1]
    halves = split_sites(6, 2, how="given", labels=data.sites, rng=np.random.default_rng())
    assert [half.tolist() for half in halves] == [[0, 2, 4], [1, 3, 5]]
    with pytest.raises(ParameterError, match="n_sites must be 2, as the table's column says"):
        split_sites(6, 3, how="given", labels=data.sites, rng=np.random.default_rng())
    held = HeldTable(data)
    spec = RunSpec(dataset=held.name, sites=2, split="given", components=1, intermediate_dim=1)
    assert spec.guarantee("dpdis", dataset_status(held.name)).epsilon == 1.0
    assert [len(site) for site in sites_of(spec.problem_key(), prepare(data))] == [3, 3]
    labelled = HeldTable(replace(data, labels=np.array([0, 1] * 3), label_names=("a", "b")))
    halves = load_halves(labelled.name, mode="sphere")
    assert len(halves.labels) + len(halves.test_labels) == 6
    with pytest.raises(ParameterError, match="samples must be all rows"):
        sites_of(replace(spec, samples=4).problem_key(), prepare(data))


@pytest.mark.parametrize(
    ("sites", "sentence"),
    [
        ("xyxyxyy", "site must be the same in all rows of a person, got '1 people at several"),
        ("xxxxxyx", "site must be a column with 2 people at each site, got 1"),
        (range(100, 107), "site must be a column of at most 3 sites"),
    ],
)
def test_impossible_sites_get_one_sentence(sites, sentence, monkeypatch):
    monkeypatch.setattr(simulation, "MOST_SITES", 3)
    with pytest.raises(ParameterError, match=sentence):
        _at_sites(sites)


def test_every_format_gives_the_same_rows():
    ages, answers = [20.0, 50.0], ["yes", "no"]
    plain = Dictionary(AGES.columns)
    files = {
        "a.csv": b"age,answer\n20,yes\n50,no\n",
        "a.parquet": _parquet(age=ages, answer=pa.array(answers).dictionary_encode(), z=[[1], [2]]),
        "a.npz": _npz(age=np.array(ages), answer=np.array(answers)),
    }
    rows = [simulation_data(read_upload(*file).columns, plain).X for file in files.items()]
    assert all(np.array_equal(row, rows[0]) for row in rows)
    matrix = read_upload("m.npz", _npz(X=np.eye(3)))
    assert list(matrix.columns) == ["x1", "x2", "x3"]


HOSTILE = {
    "empty": ("a.csv", b""),
    "only a header": ("a.csv", b"a,b\n"),
    "two columns of one name": ("a.csv", b"a,a\n1,2\n"),
    "ragged": ("a.csv", b"a,b\nSECRET\n"),
    "no text": ("a.csv", b"a,b\n\xff\xfe\x00SECRET,1\n"),
    "another ending": ("a.xlsx", b"SECRET"),
    "no parquet": ("a.parquet", b"PAR1SECRETPAR1"),
    "nested": ("a.parquet", _parquet(a=[["SECRET"]])),
    "one text a million times": (
        "a.parquet",
        _parquet(a=pa.DictionaryArray.from_arrays(np.zeros(100_000, int), ["SECRET" * 1000])),
    ),
    "no zip": ("a.npz", b"PKSECRET"),
    "objects": ("a.npz", _npz(a=np.array([{"SECRET": 1}]))),
    "too many columns": ("a.csv", ",".join(map(str, range(10_001))).encode() + b"\n"),
    "too large": ("a.csv", b"a\n" + b"1\n" * 25_000_000),
}


@pytest.mark.parametrize("which", HOSTILE)
def test_a_bad_upload_gets_one_sentence_without_content(which):
    with pytest.raises(ParameterError) as refused:
        read_upload(*HOSTILE[which])
    assert "SECRET" not in str(refused.value) and len(str(refused.value)) < 200


def test_a_zip_bomb_is_not_unpacked(monkeypatch):
    small = ReadingLimits(unpacked=10_000, memory=UPLOADED.memory, seconds=UPLOADED.seconds)
    monkeypatch.setattr(uploads, "read_in_process", partial(read_in_process, limits=small))
    zeros = io.BytesIO()
    np.savez_compressed(zeros, X=np.zeros((1000, 10)))
    with pytest.raises(ParameterError, match="sound NPZ"):
        read_upload("a.npz", zeros.getvalue())
    with pytest.raises(ParameterError, match="unpacked"):
        read_upload("a.parquet", _parquet(x=np.zeros(10_000)))


def test_tables_of_all_visitors_take_a_bounded_memory(monkeypatch):
    content = b"a,b\n" + b"1,2\n" * 10_000
    first = read_upload("a.csv", content)
    monkeypatch.setattr(uploads, "_uploads", WeakSet([first]))
    monkeypatch.setattr(uploads, "LARGEST_HELD", int(1.5 * first.n_bytes))
    with pytest.raises(ParameterError, match="sent later"):
        read_upload("b.csv", content)
    del first
    gc.collect()
    assert read_upload("b.csv", content).n_rows == 10_000


@pytest.mark.parametrize("table", [{"age": [1]}, {"age": list(range(300)), "school": range(300)}])
def test_tables_that_simulations_cannot_use_are_refused(table):
    columns = {name: np.array(cells).astype(str) for name, cells in table.items()}
    label = "school" if "school" in table else None
    with pytest.raises(ParameterError, match="at least two people|at most 100 classes"):
        simulation_data(columns, Dictionary((Column("age", 0, 80),), label=label))
