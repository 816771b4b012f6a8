"""Tables in files and in memory: each cell by itself, and one sentence for what is no table."""

from __future__ import annotations

import mmap
import tracemalloc

import dask.array as dask_arrays
import dask.dataframe as dask_frames
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from dpcore.errors import ParameterError
from dpcore.releases import Column, Dictionary, Reading, Table
from dpcore.releases.encoding import grid_blocks
from dpcore.releases.exact.integer_rows import GRID
from tests.releases.hostile_files import FRAME, REFUSED, SOUND, damaged

AGE, SEX = Column("age", 0, 100), Column("sex", levels=("f", "m"))
DICTIONARY = Dictionary((AGE, SEX))
ROWS = GRID * np.array([[-1, 1, 0], [0, 0, 1], [0.5, 0, 0], [1, 1, 0]])


def rows_of(data, dictionary=DICTIONARY, reading=None) -> np.ndarray:
    blocks = list(grid_blocks(Table(data, dictionary.keys), dictionary, reading))
    return np.concatenate(blocks) if blocks else np.empty((0, dictionary.n_features))


@pytest.mark.parametrize("name", SOUND)
def test_files_are_read(name, tmp_path):
    (tmp_path / name).write_bytes(SOUND[name])
    reading = Reading()
    np.testing.assert_array_equal(rows_of(tmp_path / name, reading=reading), ROWS)
    assert (reading.n_rows, reading.missing["sex"], reading.clipped["age"]) == (4, 1, 1)


def test_tables_in_memory_are_read():
    for data in (FRAME, dict(FRAME), {name: FRAME[name].tolist() for name in FRAME}):
        np.testing.assert_array_equal(rows_of(data), ROWS)
    numbers = Dictionary((Column("a", 0, 1), Column("b", 0, 1)))
    matrix = np.array([[0, 1], [0.5, np.nan]])
    for given_ in (matrix, {"X": matrix}, np.asfortranarray(matrix)):
        np.testing.assert_array_equal(rows_of(given_, numbers), GRID * np.array([[-1, 1], [0, 0]]))


def test_a_matrix_on_disk_is_not_read_into_memory(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((10, 1)))
    table = Table(tmp_path / "x.npy", ["a"])
    base = next(table.blocks())["a"]
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, mmap.mmap)


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy", "frame", "matrix", "dask", "lazy"])
def test_blocks_of_any_source_add_up_to_the_table(ending, tmp_path, monkeypatch):
    monkeypatch.setattr("dpcore.releases.tables._BLOCK_CELLS", 16)
    monkeypatch.setattr("dpcore.releases.tables._LONGEST_LINE", 64)
    monkeypatch.setattr("dpcore.releases.encoding._CELLS_IN_CACHE", 6)
    monkeypatch.setattr("dpcore.releases.encoding._MOST_THREADS", 2)
    matrix = np.arange(40).reshape(20, 2).astype(np.uint8)
    frame, path = pd.DataFrame(matrix, columns=["a", "b"]), tmp_path / f"t.{ending}"
    if ending == "csv":
        frame.to_csv(path, index=False)
    elif ending == "parquet":
        parquet.write_table(pa.Table.from_pandas(frame), path, row_group_size=7)
    elif ending == "npy":
        np.save(path, matrix)
    sources = {
        "frame": lambda: frame, "matrix": lambda: matrix,
        "dask": lambda: dask_frames.from_pandas(frame, npartitions=3),
        "lazy": lambda: dask_arrays.from_array(matrix, chunks=(7, 1)),
    }  # fmt: skip
    limits = Dictionary((Column("a", 0, 30), Column("b", 0, 60, 20)))
    table = Table(sources.get(ending, lambda: path)(), limits.keys)
    for _ in range(2):
        shares, blocks, reading = [], [], Reading()
        for block in grid_blocks(table, limits, reading):
            blocks.append(block)
            shares.append(table.share_read)
        assert len(blocks) >= 3 and table.share_read == 1.0
        assert shares == sorted(shares) and 0 <= shares[0] < 1
        assert reading.n_rows == 20 and reading.clipped == {"a": 4}
        a, b = matrix.T.astype(float)
        rows = np.stack([(np.minimum(a, 30) - 15) / 15, (b - 20) / 40], axis=1)
        np.testing.assert_array_equal(np.concatenate(blocks), np.rint(GRID * rows))


TEXTS = st.one_of(
    st.text(max_size=6).filter(lambda text: not set(text) & set("\r\n\x00")),
    st.floats().map(repr), st.integers().map(str),
    st.sampled_from(["", " ", "nan", "-inf", "Infinity", "1e999", "0x10", "1_0", "٣", "=1+1"]),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, min_size=2, max_size=8))
def test_a_cell_is_read_alike_whatever_stands_beside_it(texts):
    """Otherwise one person's cell would move another's row."""
    together = rows_of({"age": texts, "sex": texts})
    alone = [rows_of({"age": [text], "sex": [text]})[0] for text in texts]
    np.testing.assert_array_equal(together, alone)
    assert np.isfinite(together).all() and np.abs(together).max() <= GRID


@pytest.mark.parametrize("column", [
    np.array([1, "f", None, np.nan, 1e308, -np.inf, b"50", object(), {}, pd.NA], dtype=object),
    pd.array([1, None, 3], dtype="Int64"), np.array([1 + 2j]), np.array([], dtype=object),
])  # fmt: skip
def test_mixed_types_are_numbers_or_missing(column):
    rows = rows_of({"age": column, "sex": ["f"] * len(column)})
    assert rows.shape == (len(column), 3) and np.abs(rows).max(initial=0) <= GRID


def test_people_keep_their_first_rows():
    dictionary = Dictionary((AGE,), person="who", at_most=2)
    who = ["a", "b", "a", None, "a", "b", "", "a"]
    reading = Reading()
    rows = rows_of({"age": np.arange(8) * 10, "who": who}, dictionary, reading)
    np.testing.assert_array_equal(rows[:, 0], np.rint(GRID * (np.array([0, 10, 20, 50]) - 50) / 50))
    assert (reading.n_rows, reading.n_left_out) == (8, 4)


def test_people_are_counted_across_blocks(monkeypatch):
    monkeypatch.setattr("dpcore.releases.tables._BLOCK_CELLS", 3)
    dictionary = Dictionary((AGE,), person="who", at_most=3)
    for who in (np.repeat([1, 2], 10), np.repeat([1.0, 2.5], 10), np.repeat(["1", "2"], 10)):
        assert len(rows_of({"age": np.zeros(20), "who": who}, dictionary)) == 6


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_table_gets_one_sentence(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(REFUSED[name])
    is_bomb = name.startswith(("bomb", "huge", "columns"))
    if is_bomb:
        tracemalloc.start()
    try:
        with pytest.raises(ParameterError) as refused:
            if not len(rows_of(path)):
                raise ParameterError("data", "a table with rows", "none")
        assert not is_bomb or tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()
    said = str(refused.value)
    assert "\n" not in said and len(said) < 300
    assert refused.value.parameter == "data" or said.startswith("column")
    assert [each.name for each in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", SOUND)
def test_damaged_files_are_tables_or_get_one_sentence(name, tmp_path):
    """Forty damages a file: cut, flipped, doubled, swapped."""
    rng, path = np.random.default_rng(), tmp_path / name
    for damage in range(40):
        path.write_bytes(damaged(SOUND[name], damage, rng))
        try:
            rows = rows_of(path)
            assert np.abs(rows).max(initial=0) <= GRID
        except ParameterError as error:
            assert "\n" not in str(error)


def test_columns_of_other_types_are_refused(tmp_path):
    for cells in (
        pa.array([[1], [2]]),
        pa.array([1, 2], pa.timestamp("s")),
        pa.array([b"1", b"2"]),
    ):
        parquet.write_table(pa.table({"age": cells, "sex": ["f", "m"]}), tmp_path / "t.parquet")
        with pytest.raises(ParameterError, match="column 'age' must be of numbers or texts"):
            rows_of(tmp_path / "t.parquet")


@pytest.mark.parametrize("data", [3, None, [1, 2], {"age": [1]}, np.zeros(3), np.zeros((2, 3)),
                                  {"age": [1], "sex": ["f", "m"]}])  # fmt: skip
def test_what_is_no_table_in_memory_is_refused(data):
    with pytest.raises(ParameterError, match="data"):
        rows_of(data)


def test_a_column_of_many_levels_is_read_a_few_rows_at_a_time():
    """Memory is bounded by what rows become, not by what they are in the table."""
    many = Dictionary((Column("a", levels=tuple(map(str, range(5000)))),))
    table = Table({"a": np.arange(3000) % 7}, many.keys, many.n_features)
    blocks = list(grid_blocks(table, many))
    assert max(block.size for block in blocks) <= 2**21
    assert sum(len(block) for block in blocks) == 3000


def test_a_missing_file_is_the_systems_to_name(tmp_path):
    with pytest.raises(FileNotFoundError):
        Table(tmp_path / "none.csv", ["a"])
