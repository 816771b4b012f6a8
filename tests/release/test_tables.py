"""Tables in files and in memory, and refusals in one sentence."""

from __future__ import annotations

import gzip
import mmap
import tracemalloc
from datetime import date

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
from dpcore.release import Column, Dictionary, Reading, Table
from dpcore.release.encoding import grid_blocks
from dpcore.release.integer_rows import GRID
from dpcore.release.table_file import TableFile
from tests.release.hostile_files import FRAME, REFUSED, SOUND, damaged, workbook
from tests.release.reading import read_in_this_process

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
    monkeypatch.setattr("dpcore.release.tables._BLOCK_CELLS", 16)
    monkeypatch.setattr("dpcore.release.delimited_text._LONGEST_LINE", 64)
    monkeypatch.setattr("dpcore.release.encoding._CELLS_IN_CACHE", 6)
    monkeypatch.setattr("dpcore.release.encoding._MOST_THREADS", 2)
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
def test_a_cell_is_read_independently_of_others(texts):
    """A cell's number does not depend on other cells, so that rows stay independent."""
    together = rows_of({"age": texts, "sex": texts})
    one_by_one = [rows_of({"age": [text], "sex": [text]})[0] for text in texts]
    np.testing.assert_array_equal(together, one_by_one)
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
    monkeypatch.setattr("dpcore.release.tables._BLOCK_CELLS", 3)
    dictionary = Dictionary((AGE,), person="who", at_most=3)
    for who in (np.repeat([1, 2], 10), np.repeat([1.0, 2.5], 10), np.repeat(["1", "2"], 10)):
        assert len(rows_of({"age": np.zeros(20), "who": who}, dictionary)) == 6


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_without_a_table_gets_one_sentence(name, tmp_path):
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
    sentence = str(refused.value)
    assert "\n" not in sentence and len(sentence) < 300
    parameters = ("data", "text_encoding", "decimal")
    assert refused.value.parameter in parameters or sentence.startswith("column")
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", SOUND)
def test_damaged_files_are_read_or_get_one_sentence(name, tmp_path, monkeypatch):
    """Damage each file in forty ways."""
    # Forty processes would take most of the time of all tests of tables.
    monkeypatch.setattr("dpcore.release.tables.read_in_process", read_in_this_process)
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
def test_data_in_memory_that_is_not_a_table_is_refused(data):
    with pytest.raises(ParameterError, match="data"):
        rows_of(data)


def test_a_column_of_many_levels_is_read_in_small_blocks():
    """The size of a block is limited by its encoded features, not by its columns."""
    many = Dictionary((Column("a", levels=tuple(map(str, range(5000)))),))
    table = Table({"a": np.arange(3000) % 7}, many.keys, many.n_features)
    blocks = list(grid_blocks(table, many))
    assert max(block.size for block in blocks) <= 2**21
    assert sum(len(block) for block in blocks) == 3000


def test_a_missing_file_raises_file_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        Table(tmp_path / "none.csv", ["a"])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be",
                                      "utf-32", "latin-1", "cp1252"])  # fmt: skip
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_text_is_read_with_its_layout_options(encoding, separator, packed, tmp_path):
    """Read texts with a title, a footer, other separators and other encodings."""
    rows = ["Größe;x", "", "Sex\tHeight", separator.join(["größe", "note", "sex", "note"])]
    rows += [separator.join(['"1,5"', "ä", '"f"', "x"]), separator.join(['"-0,5"', "", "m", "y"])]
    rows += ["", "Total: 2 people", ""]
    text = "\r\n".join(rows).encode(encoding)
    path = tmp_path / ("t.txt.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(text) if packed else text)
    options = {} if encoding.startswith("utf") else {"text_encoding": encoding}
    dictionary = Dictionary((Column("größe", -2, 2), SEX), decimal=",")
    values = rows_of(TableFile(path, footer_lines=1, **options), dictionary)
    wanted = GRID * np.array([[0.75, 1, 0], [-0.25, 0, 1]])
    np.testing.assert_array_equal(values, wanted)


def test_a_file_of_many_blocks_in_another_encoding_is_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("dpcore.release.delimited_text.BUFFER", 37)
    monkeypatch.setattr("dpcore.release.delimited_text._LONGEST_LINE", 256)
    monkeypatch.setattr("dpcore.release.delimited_text._FIRST_LOOK", 50)
    lines = ["title", "name;age", *(f"é{number % 7};{number}" for number in range(500))]
    text = "\n".join([*lines, "sum;1", "", "end"])
    for encoding, footer in (("utf-16", 2), ("latin-1", 2), ("utf-8", 2)):
        (tmp_path / "t.csv").write_bytes(text.encode(encoding))
        file = TableFile(
            tmp_path / "t.csv", text_encoding=encoding, footer_lines=footer, decimal="."
        )
        values = rows_of(file, Dictionary((Column("age", 0, 512),)))
        np.testing.assert_array_equal(values[:, 0], 2 * GRID / 512 * (np.arange(500) - 256))


def test_a_workbook_s_cells_are_read_by_their_own_type(tmp_path):
    frame = pd.DataFrame({
        "age": [1, 2.5, "3", None, "x"], "sex": ["f", 1, None, "m", "f"],
        "when": [pd.Timestamp("2020-01-02"), "2020-01-03", 5, None, "soon"],
    })  # fmt: skip
    (tmp_path / "t.xlsx").write_bytes(workbook(frame, preamble=3))
    since = Column("when", 0, 10, 0, days_since=date(2020, 1, 1))
    dictionary = Dictionary((AGE, SEX, since))
    values = rows_of(tmp_path / "t.xlsx", dictionary)
    ages = (np.array([1, 2.5, 3, 50, 50]) - 50) / 50
    np.testing.assert_array_equal(values[:, 0], np.rint(GRID * ages))
    np.testing.assert_array_equal(values[:, 1:3] / GRID, [[1, 0], [0, 0], [0, 0], [0, 1], [1, 0]])
    np.testing.assert_array_equal(values[:, 3], np.rint(GRID * np.array([0.1, 0.2, 0.5, 0, 0])))


def test_an_ambiguous_sheet_must_be_given(tmp_path):
    path = tmp_path / "t.xlsx"
    other = pd.DataFrame({"x": [1]})
    path.write_bytes(workbook(other, FRAME))
    np.testing.assert_array_equal(rows_of(path), ROWS)
    path.write_bytes(workbook(FRAME, FRAME[:2]))
    with pytest.raises(ParameterError, match="sheet must be given, as several have these columns"):
        rows_of(path)
    assert len(rows_of(TableFile(path, sheet="Sheet2"))) == 2
    assert len(rows_of(TableFile(path, sheet="Sheet1", footer_lines=3))) == 1
    for wrong, sentence in (
        (dict(sheet="Sheet3"), "one of the workbook's"),
        (dict(header_line=2), "data must be a table with one column"),
    ):
        with pytest.raises(ParameterError, match=sentence):
            rows_of(TableFile(path, **wrong))


SENTENCES = {
    "no header": (b"1,f\n2,m\n", {}, "names in a line above the rows .*, got 'numbers in line 1'"),
    "no header below a title": (b"People\n\n1,f\n", {}, "one column 'age'.* in line 1'"),
    "missing column": (b"title\nage,name\n1,f\n", {},
                       "one column 'sex', as in the dictionary, got 'none in line 2'"),
    "another spelling": (b"age,Sex\n1,f\n", {}, "got 'another spelling of it in line 1'"),
    "unseen characters": ("a\u200bge,sex\n1,f\n".encode(), {}, "another spelling of it in line 1"),
    "twice": (b"age,sex,age\n1,f,2\n", {}, "column 'age', as in the dictionary, got '2 in line 1"),
    "short line": (b"#\nage,sex\n1,f\n\n2,m\n3\n", {},
                   "2 cells in every line, as in the header in line 2 .*, got '1 cell in line 6'"),
    "long line": (b'age,sex\n1,"f\n"\n2,m\n3,f,4\n', {}, "got '3 cells in line 5'"),
    "long line in gzip": (gzip.compress(b"age,sex\n1,f\n3,f,4\n"), {"path": "t.csv.gz"},
                          "got '3 cells in line 3'"),
    "footer": (b"age,sex\n1,f\n2,m\nTotal 2\n", {}, "footer_lines.*, got '1 cell in line 4'"),
    "tabs where commas are said": (b"age\tsex\n1\tf\n", {"separator": ","},
                                   "that of the file: the header in line 1 has a tab"),
    "no rows": (b"title\nage,sex\n", {}, "got 'none below the header in line 2'"),
    "latin-1": ("age,sex\n1,f\n2,é\n".encode("latin-1"), {},
                "encoding must be that of the file.* not utf-8, got 'other characters in line 3'"),
    "half of utf-16": ("age,sex\n1,f\n".encode("utf-16")[:-1], {}, "not utf-16, .* in line 2"),
    "utf-8 read as ascii": ("age,sex\n1,é\n".encode(), {"text_encoding": "ascii"}, "in line 2"),
    "no encoding": (b"age,sex\n1,f\n", {"text_encoding": "base64"}, "name of an encoding"),
    "semicolons": (b"age;sex\n1,5;f\n", {}, "decimal must be given as point or comma"),
    "tabs": (b"age\tsex\n1,5\tf\n", {"path": "t.txt"}, "decimal must be given"),
    "gzip without its ending": (gzip.compress(b"age,sex\n1,f\n"), {}, "a file of gzip"),
    "workbook without its ending": (workbook(FRAME), {}, "a file of ZIP, as workbooks are"),
    "another line": (b"x\nage,sex\n1,f\n", {"header_line": 1}, "got 'none in line 1'"),
    "two characters": (b"age,sex\n1,f\n", {"separator": ";;"}, "separator must be one character"),
    "line 0": (b"age,sex\n1,f\n", {"header_line": 0}, "header_line must be from 1"),
    "minus one": (b"age,sex\n1,f\n", {"footer_lines": -1}, "footer_lines must be from 0"),
}  # fmt: skip


@pytest.mark.parametrize("what", SENTENCES)
@pytest.mark.parametrize("in_memory", [False, True])
def test_each_fault_of_a_text_has_its_own_sentence(what, in_memory, tmp_path):
    content, options, sentence = SENTENCES[what]
    path = tmp_path / options.get("path", "t.csv")
    path.write_bytes(content)
    options = {key: value for key, value in options.items() if key != "path"}
    with pytest.raises(ParameterError, match=sentence) as refused:
        rows_of(TableFile(path, content if in_memory else None, **options))
    assert "\n" not in str(refused.value)


def test_only_names_in_use_must_be_unique(tmp_path):
    (tmp_path / "t.csv").write_text("note,age,note,,sex,\n1,2,3,4,f,5\n")
    assert len(rows_of(tmp_path / "t.csv")) == 1
    parquet.write_table(
        pa.Table.from_arrays([pa.array([1.0])] * 2 + [pa.array(["f"])], ["age", "x", "sex"]),
        tmp_path / "t.parquet",
    )
    assert len(rows_of(tmp_path / "t.parquet")) == 1


def test_the_layout_of_a_text_does_not_depend_on_rows(tmp_path):
    """Separator, header, encoding and decimal mark do not depend on rows."""
    marks = Column("a", -1000, 1000, 0)
    dictionary = Dictionary((marks, Column("b", -1000, 1000, 0)))
    rng, cells = (
        np.random.default_rng(),
        ["1", "1.5", "1,5", "1.234,5", "x;y", "é", "a;b", "a,b", ""],
    )
    read: dict[str, set[tuple]] = {}
    for _ in range(60):
        rows = [row for row in rng.choice(cells, (4, 2)) if any(row)] + [["1", "2"]]
        text = "a|b\n" + "".join(f"{first}|{second}\n" for first, second in rows)
        (tmp_path / "t.csv").write_text(text, encoding="utf-8")
        values = rows_of(TableFile(tmp_path / "t.csv", decimal=","), dictionary)
        for row, made in zip(rows, values, strict=True):
            for cell, number in zip(row, made, strict=True):
                read.setdefault(str(cell), set()).add(number)
    assert all(len(numbers) == 1 for numbers in read.values())
    assert read["1,5"] == {np.rint(1.5 * GRID / 1000)} and read["1.5"] == read["x;y"] == {0.0}


MARKED = {
    "decimal comma": (dict(decimal=","), {"1,5": 1.5, "-,5": -0.5, "2": 2, "1.5": None}),
    "German": (dict(decimal=",", thousands="."), {"1.234,5": 1234.5, "12.34": None, "1234": 1234}),
    "Swiss": (dict(thousands="'"), {"1'234.5": 1234.5, "1'23": None}),
    "French": (dict(decimal=",", thousands=" "), {"1\u202f234,5": 1234.5, "1 23": None}),
    "percent": (dict(unit="%"), {"12.5 %": 12.5, "12%": 12, "3": 3, "%": None, "4 $": None}),
    "dollars": (dict(unit="$", thousands=","), {"$1,234": 1234, "-$5": -5, "$ -5": -5, "5 $": 5}),
    "codes": (dict(missing=("-999", "7", "NA")), {"-999": None, " 7 ": None, "8": 8}),
    "commas in codes": (dict(decimal=",", missing=("-9,5",)), {"-9,5": None, "9,5": 9.5}),
    "ISO dates": (dict(days_since=date(2000, 1, 1)),
                  {"2000-01-02": 1, "1999-12-31": -1, "2000-01-01 12:00": 0.5, "2000-02-30": None,
                   "2000/01/03": 2, "03.01.2000": None, "40": 40}),
    "dates by days": (dict(days_since=date(2000, 1, 1), date_order="dmy"),
                      {"03.01.2000": 2, "1/2/2000": 31, "2000-01-02": 1, "1/2-2000": None}),
    "dates by months": (dict(days_since=date(2000, 1, 1), date_order="mdy"),
                        {"1/2/2000": 1, "13/1/2000": None}),
}  # fmt: skip


@pytest.mark.parametrize("what", MARKED)
def test_cells_are_read_in_the_notation_of_the_dictionary(what):
    options, cells = MARKED[what]
    dictionary = Dictionary((Column("a", -4096, 4096, 0, **options),))
    wanted = np.array([[number or 0.0] for number in cells.values()]) * GRID / 4096
    together = rows_of({"a": list(cells)}, dictionary)
    np.testing.assert_array_equal(together, np.rint(wanted))
    for cell, row in zip(cells, together, strict=True):
        for column in ([cell], np.array([cell]), pa.array([cell]), np.array([cell], dtype=object)):
            np.testing.assert_array_equal(rows_of({"a": column}, dictionary), [row])


def test_codes_of_missing_cells_apply_to_numbers_levels_and_people():
    columns = (Column("a", -4096, 4096, 0), Column("s", levels=("1", "2")))
    dictionary = Dictionary(columns, person="p", missing=("-999", "?", "9"))
    data = {"a": np.array([-999, 8, 9]), "s": ["1", "9", "2"], "p": ["x", "y", "?"]}
    values = rows_of(data, dictionary)
    np.testing.assert_array_equal(values, GRID * np.array([[0, 1, 0], [8 / 4096, 0, 0]]))
    matrix = np.array([[-999, 8], [9, 5]], dtype=np.int16)
    plain = Dictionary((columns[0], Column("b", -4096, 4096, 0)), missing=("-999",))
    np.testing.assert_array_equal(rows_of(matrix, plain)[:, 0], [0, 9 * GRID / 4096])


def test_dates_of_parquet_need_days_since(tmp_path):
    path = tmp_path / "t.parquet"
    since = Column("when", 0, 1024, 0, days_since=date(2020, 1, 1))
    for kind in (pa.date32(), pa.date64(), pa.timestamp("ns"), pa.timestamp("ms", "Europe/Berlin")):
        dates = pa.array([date(2020, 1, 3), None, date(2021, 1, 1)], pa.date32()).cast(kind)
        parquet.write_table(pa.table({"when": dates}), path)
        values = rows_of(path, Dictionary((since,)))
        np.testing.assert_array_equal(values[:, 0], GRID / 1024 * np.array([2, 0, 366]))
        with pytest.raises(ParameterError, match="given days_since in the dictionary"):
            rows_of(path, Dictionary((Column("when", 0, 9),)))
