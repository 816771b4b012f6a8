"""Tables in files and in memory: each cell by itself, and one sentence for what is no table."""

from __future__ import annotations

import gzip
import io
import mmap
import tracemalloc
import zipfile

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

AGE, SEX = Column("age", 0, 100), Column("sex", levels=("f", "m"))
DICTIONARY = Dictionary((AGE, SEX))
FRAME = pd.DataFrame({"other": ["x"] * 4, "age": [0, 50, 75, 200], "sex": ["f", "m", "?", "f"]})
ROWS = GRID * np.array([[-1, 1, 0], [0, 0, 1], [0.5, 0, 0], [1, 1, 0]])


def rows_of(data, dictionary=DICTIONARY, reading=None) -> np.ndarray:
    blocks = list(grid_blocks(Table(data, dictionary.keys), dictionary, reading))
    return np.concatenate(blocks) if blocks else np.empty((0, dictionary.n_features))


def _npz(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _parquet(frame: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.to_parquet(file)
    return file.getvalue()


SOUND = {
    "t.csv": FRAME.to_csv(index=False).encode(),
    "t.CSV": b'\xef\xbb\xbf"age",sex\r\n 0 ,f\r\n+5e1,"m"\r\n75.0,\r\n200, f\r\n',
    "t.parquet": _parquet(FRAME),
    "c.parquet": _parquet(FRAME.astype({"sex": "category", "age": "float32"})),
    "t.npz": _npz(age=FRAME.age.to_numpy(), sex=FRAME.sex.to_numpy().astype("U")),
}


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


def _bomb() -> bytes:
    """Two gigabytes and more of zeros in two megabytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, \
            archive.open("age.npy", "w", force_zip64=True) as member:  # fmt: skip
        np.lib.format.write_array_header_1_0(
            member, {"descr": "<f8", "fortran_order": False, "shape": (2**28,)}
        )
        for _ in range(9):
            member.write(b"\0" * 2**20)
    return file.getvalue()


HOSTILE = {
    "empty.csv": b"",
    "header.csv": b"age,sex",
    "lines.csv": b"\n\n\n",
    "utf16.csv": "age,sex\n1,f\n".encode("utf-16"),
    "latin.csv": "age,sex\n1,é\n".encode("latin-1"),
    "nul.csv": b"\0" * 100,
    "ragged.csv": b"age,sex\n1,f\n2\n",
    "wide.csv": b"age,sex\n1,f,3\n",
    "twice.csv": b"age,sex,age\n1,f,2\n",
    "lacking.csv": b"Age,sex\n1,f\n",
    "spaced.csv": b" age,sex\n1,f\n",
    "columns.csv": b"age,sex," + b",".join(b"c%d" % i for i in range(1_000_000)) + b"\n1,f\n",
    "line.csv": b"age,sex\n1," + b"f" * 9_000_000 + b"\n",
    "gzip.csv": gzip.compress(b"age,sex\n1,f\n"),
    "gzip.csv.gz": gzip.compress(b"age,sex\n1,f\n"),
    "bomb.csv": gzip.compress(b"\0" * 50_000_000),
    "page.csv": b"<html><body>404</body></html>",
    "workbook.xlsx": b"PK\x03\x04",
    "archive.csv": SOUND["t.npz"],
    "nothing.parquet": b"",
    "text.parquet": SOUND["t.csv"],
    "head.parquet": SOUND["t.parquet"][:200],
    "tail.parquet": SOUND["t.parquet"][200:],
    "magic.parquet": b"PAR1" + b"\xff" * 60 + b"PAR1",
    "nothing.npz": b"",
    "text.npz": SOUND["t.csv"],
    "cut.npz": SOUND["t.npz"][:300],
    "bomb.npz": _bomb(),
    "objects.npz": _npz(age=np.array([object], dtype=object), sex=np.array(["f"])),
    "lengths.npz": _npz(age=np.zeros(3), sex=np.zeros(2)),
    "cube.npz": _npz(age=np.zeros((3, 1, 1)), sex=np.zeros((3, 1, 1))),
    "lacking.npz": _npz(age=np.zeros(3)),
    "matrix.npz": _npz(X=np.zeros((3, 5))),
    "nothing.npy": b"",
    "objects.npy": b"\x93NUMPY\x01\x00v\x00"
    + b"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }".ljust(117)
    + b"\n",
    "huge.npy": b"\x93NUMPY\x01\x00v\x00"
    + b"{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999, 2), }".ljust(117)
    + b"\n",
    "none": b"age,sex\n1,f\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_table_gets_one_sentence(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(HOSTILE[name])
    tracemalloc.start()
    try:
        with pytest.raises(ParameterError) as refused:
            if not len(rows_of(path)):
                raise ParameterError("data", "a table with rows", "none")
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()
    said = str(refused.value)
    assert "\n" not in said and len(said) < 300 and refused.value.parameter == "data"
    assert [each.name for each in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", SOUND)
def test_damaged_files_are_tables_or_get_one_sentence(name, tmp_path):
    """Forty damages a file: cut, flipped, doubled, swapped."""
    rng, sound, path = np.random.default_rng(0), SOUND[name], tmp_path / name
    for damage in range(40):
        content = bytearray(sound)
        place = int(rng.integers(len(sound)))
        if damage % 4 == 0:
            content = content[:place]
        elif damage % 4 == 1:
            content[place] = int(rng.integers(256))
        elif damage % 4 == 2:
            content[place:place] = content[:place]
        else:
            content[place : place + 9] = rng.bytes(9)
        path.write_bytes(content)
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
                                  {"age": [1], "sex": ["f", "m"]},
                                  {"age": [1, [2]], "sex": ["f", "m"]}])  # fmt: skip
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
