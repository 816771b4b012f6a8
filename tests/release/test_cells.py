"""The cell of one person does not change the row of another, for every column type."""

from __future__ import annotations

import io
import math
from decimal import Decimal

import dask.dataframe as dask_frames
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from dpcore.errors import ParameterError
from dpcore.release import Column, Dictionary, Reading, Table
from dpcore.release.encoding import grid_blocks
from dpcore.release.integer_rows import GRID, LENGTH
from dpcore.release.measurement import moment_around, sum_and_count
from dpcore.release.scales import calibrated
from dpcore.release.uploads import read_upload
from tests.release.reading import read_in_this_process


@pytest.fixture(autouse=True, scope="module")
def read_here():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpcore.release.uploads.read_in_process", read_in_this_process)
        yield


N_MOST = 8
DICTIONARIES = {
    "numbers": (Column("row", 0, 2 * N_MOST, 0), Column("a", -4, 4)),
    "flags": (Column("row", 0, 2 * N_MOST, 0), Column("a", levels=("True", "False"))),
    "levels": (Column("row", 0, 2 * N_MOST, 0), Column("a", levels=("1", ".1", "2.50", "f", "-3"))),
}  # fmt: skip
PEOPLE = (Column("row", 0, 2 * N_MOST, 0),)
_LONG = st.integers(10**17, 10**17 + 40)
KINDS = {
    "flags": st.booleans(),
    "whole": st.integers(-5, 5),
    "floats": st.sampled_from([1.0, 0.1, 2.5, -3.0, 0.1 + 0.2, 1e-7, 1e22, math.nan]),
    "long": _LONG,
    "texts": st.sampled_from(["f", "m", "1", " 1.0", "01", "true", "nan", "2.5", "3/4", "x y"]),
}
# Replacements of one cell, many of which change the type of the column.
OTHERS = st.one_of(
    st.none(), st.just(math.nan), st.booleans(), st.integers(-3, 3), _LONG,
    st.sampled_from([0.5, 1e300, math.inf, 10**400, -(10**400), 2**63, "unknown", "-", "1", "True",
                     b"f", Decimal("0.1"), 1j, pd.NA, pd.NaT, pd.Timestamp(0), [2], object,
                     "\ud800", "\x00"]),
)  # fmt: skip


def csv(rows: list, cells: list) -> str:
    def written(cell: object) -> str:
        return "" if cell is None or cell is pd.NA or cell is pd.NaT else str(cell)

    return "row,a\n" + "".join(
        f'{row},"{written(cell)}"\n' for row, cell in zip(rows, cells, strict=True)
    )


def by_pandas(rows: list, cells: list) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(csv(rows, cells)))


def by_arrow(rows: list, cells: list) -> dict:
    """Return the table after pandas has written it to Parquet."""
    file = io.BytesIO()
    parquet.write_table(pa.Table.from_pandas(by_pandas(rows, cells)), file)
    return read_upload("t.parquet", file.getvalue()).columns


READERS = {
    "mapping of lists": lambda rows, cells: {"row": rows, "a": cells},
    "mapping of arrays": lambda rows, cells: {"row": np.array(rows), "a": np.array(cells)},
    "frame": lambda rows, cells: pd.DataFrame({"row": rows, "a": pd.Series(cells)}),
    "nullable": lambda rows, cells: pd.DataFrame({"row": rows, "a": cells}).convert_dtypes(),
    "category": lambda rows, cells: pd.DataFrame({"row": rows, "a": pd.Series(cells)}).astype(
        {"a": "category"}
    ),
    "read_csv": by_pandas,
    "parquet": by_arrow,
    "csv": lambda rows, cells: read_upload("t.csv", csv(rows, cells).encode()).columns,
    "dask": lambda rows, cells: dask_frames.from_pandas(
        pd.DataFrame({"row": rows, "a": pd.Series(cells)}), npartitions=2
    ),
}  # fmt: skip


def encoded(data: object, dictionary: Dictionary) -> dict[int, tuple[float, ...]]:
    """Return the encoded features of each selected row, by the row's number."""
    by_reader: dict[int, tuple[float, ...]] = {}
    for block in grid_blocks(Table(data, dictionary.keys), dictionary):
        for row in block:
            by_reader[round(row[0] * 2 * N_MOST / GRID)] = tuple(row[1:])
    return by_reader


def some_cells(**unique):
    return st.sampled_from(sorted(KINDS)).flatmap(
        lambda kind: st.lists(KINDS[kind], min_size=2, max_size=N_MOST, **unique)
    )


def pair(reader: str, cells: list, place: int, other: object) -> list:
    """Return a table, and the same table with one cell replaced."""
    rows = list(range(len(cells)))
    try:
        return [
            READERS[reader](rows, texts)
            for texts in (cells, [*cells[:place], other, *cells[place + 1 :]])
        ]
    except (ValueError, TypeError, NotImplementedError, OverflowError, pa.ArrowException):
        assume(False)  # this reader cannot represent the table
        raise


def is_lone_surrogate(cell: object) -> bool:
    """Return whether Dask cannot convert this cell to a text."""
    return isinstance(cell, str) and cell == "\ud800"


def test_a_lone_surrogate_in_a_dask_table_is_refused():
    data = READERS["dask"]([0, 1], [False, "\ud800"])
    with pytest.raises(ParameterError, match="data must be of texts that UTF-8 can write"):
        encoded(data, Dictionary(DICTIONARIES["flags"]))


@pytest.mark.parametrize("what", DICTIONARIES)
@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=20)
@given(cells=some_cells(), place=st.integers(0, N_MOST - 1), other=OTHERS)
@example(cells=[True, False, True], place=1, other=None)
@example(cells=[1, 2, 3], place=1, other=None)
@example(cells=["f", "m"], place=1, other="\ud800")
@example(cells=[0.1, 0.1 + 0.2, 2.5], place=0, other="unknown")
def test_one_cell_changes_no_other_row(reader, what, cells, place, other):
    place %= len(cells)
    assume(reader != "dask" or not is_lone_surrogate(other))
    dictionary = Dictionary(DICTIONARIES[what])
    before, after = (encoded(data, dictionary) for data in pair(reader, cells, place, other))
    for row in set(range(len(cells))) - {place}:
        assert before[row] == after[row]


def test_one_blank_changes_sum_and_moment_within_their_sensitivity():
    """Read the tables by pandas, which converts flags to texts if one cell is blank."""
    dictionary, n_rows = Dictionary((Column("a", 0, 1),)), 2000
    scales = calibrated(dictionary, epsilon=0.1, delta=1e-6)
    sums, moments = [], []
    for last in (True, None):
        frame = by_pandas(list(range(n_rows)), [*[True] * (n_rows - 1), last])
        table = Table(frame, dictionary.keys)
        sums.append(sum_and_count(table, dictionary, scales, Reading()))
        moments.append(moment_around(table, dictionary, scales, np.zeros(1), on_sphere=False))
    assert abs(sums[0] - sums[1]).max() <= 2 * math.isqrt(scales.squared_norm)
    assert abs(moments[0] - moments[1]).max() <= LENGTH**2


def key(cell: object) -> object:
    """Return the normalised name by which people are distinguished."""
    word = (cell.decode() if isinstance(cell, bytes) else str(cell)).strip().lower()
    try:
        return float({"true": "1", "false": "0"}.get(word, word))
    except ValueError:
        return word


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=20)
@given(cells=some_cells(unique_by=key), place=st.integers(0, N_MOST - 1), other=OTHERS)
@example(cells=[1, 2, 3], place=1, other=None)
@example(cells=[10**17 + 1, 10**17 + 200], place=1, other=None)
@example(cells=[10**17 + 1, 10**17 + 200], place=1, other="unknown")
@example(cells=["a", "b"], place=1, other="\ud800")
def test_a_changed_name_excludes_no_other_person(reader, cells, place, other):
    place %= len(cells)
    assume(key(other) not in map(key, cells))
    assume(reader != "dask" or not is_lone_surrogate(other))
    dictionary = Dictionary(PEOPLE, person="a")
    before, after = (encoded(data, dictionary) for data in pair(reader, cells, place, other))
    assert set(before) - {place} == set(after) - {place}


@pytest.mark.parametrize("reader", [name for name in READERS if name != "csv"])
def test_two_long_numbers_that_share_a_double_are_one_person(reader):
    """A missing cell or a word turns the column into doubles, in which both numbers are equal."""
    names, dictionary = [10**17 + 1, 10**17 + 2, 10**17 + 200], Dictionary(PEOPLE, person="a")
    for last in (names[2], None, "unknown"):
        data = READERS[reader]([0, 1, 2], [*names[:2], last])
        assert {0, 1} & set(encoded(data, dictionary)) == {0}


def test_long_numbers_in_a_csv_file_are_different_people(tmp_path):
    """Columns of a text file have one type, which no cell changes."""
    (tmp_path / "t.csv").write_text(csv([0, 1, 2], [10**17 + 1, 10**17 + 2, "007"]))
    dictionary = Dictionary(PEOPLE, person="a")
    for data in (tmp_path / "t.csv", READERS["csv"]([0, 1, 2], [10**17 + 1, 10**17 + 2, "007"])):
        assert set(encoded(data, dictionary)) == {0, 1, 2}


@pytest.mark.parametrize("levels", [("True", "False"), ("true", "false"), ("1", "0")])
def test_flags_are_read_alike_from_every_source(levels, tmp_path):
    flags, rows = [True, False, True, None], [0, 1, 2, 3]
    floats = np.array([1.0, 0.0, 1.0, np.nan])
    np.savez(tmp_path / "t.npz", row=rows, a=floats)
    (tmp_path / "t.csv").write_text(csv(rows, flags))
    by_pandas(rows, flags).astype({"a": "boolean"}).to_parquet(tmp_path / "t.parquet")
    dictionary = Dictionary((Column("row", 0, 2 * N_MOST, 0), Column("a", levels=levels)))
    sources = [read(rows, flags) for read in READERS.values()]
    for data in (*sources, *(tmp_path / f"t.{ending}" for ending in ("npz", "csv", "parquet"))):
        assert encoded(data, dictionary) == {
            0: (GRID, 0), 1: (0, GRID), 2: (GRID, 0), 3: (0, 0)
        }  # fmt: skip


def test_levels_with_equal_names_are_refused():
    for levels in (("1", "True"), ("1.0", "1"), ("0.1", ".10")):
        with pytest.raises(ParameterError, match="levels of 'a' must be all different as cells"):
            Column("a", levels=levels)


def test_a_cell_that_is_a_list_is_missing():
    dictionary = Dictionary(DICTIONARIES["numbers"])
    for cells in ([[1], 2], [[1], [2]]):
        assert encoded({"row": [0, 1], "a": cells}, dictionary)[0] == (0,)
