"""Tables as programs write them: each test failed on a table that somebody had."""

from __future__ import annotations

import time
from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from dpcore.command_line import main
from dpcore.errors import ParameterError
from dpcore.release import Column, Dictionary, Reading, Table, inspect_table
from dpcore.release.dictionary_file import parse_dictionary
from dpcore.release.encoding import grid_blocks
from dpcore.release.simulation import simulation_data
from dpcore.release.table_file import TableFile
from dpcore.release.tables import header_of
from dpcore.release.uploads import read_upload
from tests.release.hostile_files import (
    FRAME,
    REFUSED,
    SOUND,
    odd,
    parquet_of,
    with_people,
    workbook,
)
from tests.release.reading import read_in_this_process

AGE, SEX = Column("age", 0, 100), Column("sex", levels=("f", "m"))
SINCE = Column("when", -1e6, 1e6, 0, days_since=date(2000, 1, 1))


@pytest.fixture(autouse=True)
def read_here(monkeypatch):
    for module in ("tables", "uploads"):
        monkeypatch.setattr(f"dpcore.release.{module}.read_in_process", read_in_this_process)


def rows_of(data, dictionary, reading=None) -> np.ndarray:
    blocks = list(grid_blocks(Table(data, dictionary.keys), dictionary, reading))
    return np.concatenate(blocks) if blocks else np.empty((0, dictionary.n_features))


@pytest.mark.parametrize("length", range(40, 72))
def test_a_quoted_line_break_is_read_alike_at_every_place(length, tmp_path, monkeypatch):
    """The length of one person's note changes no other row, also at the end of a block."""
    monkeypatch.setattr("dpcore.release.delimited_text._LONGEST_LINE", 64)
    monkeypatch.setattr("dpcore.release.delimited_text.BUFFER", 64)
    content = f'note,sex\r\n{"x" * length},f\r\n"a\r\nb","f\r\nm"\r\n'.encode()
    (tmp_path / "t.csv").write_bytes(content)
    levels = Dictionary((Column("sex", levels=("f", "f\nm")),))
    assert rows_of(tmp_path / "t.csv", levels).astype(bool).tolist() == [
        [True, False],
        [False, True],
    ]


@pytest.mark.parametrize("read", ["table", "upload", "folder"])
def test_dates_of_distant_years_are_not_wrapped(read, tmp_path):
    dates = np.array(["9999-12-31", "2000-01-11"], dtype="datetime64[us]")
    (tmp_path / "people").mkdir()
    path = tmp_path / "people" / "t.parquet"
    parquet.write_table(pa.table({"when": dates}), path, use_deprecated_int96_timestamps=True)
    dictionary = Dictionary((Column("when", 0, 16, 0, days_since=date(2000, 1, 1)),))
    source = {
        "table": lambda: path,
        "folder": lambda: path.parent,
        "upload": lambda: read_upload("t.parquet", path.read_bytes()).columns,
    }[read]()
    reading = Reading()
    values = rows_of(source, dictionary, reading)[:, 0]
    assert values[0] > 0 and values[1] / values[0] == 10 / 16 and reading.clipped == {"when": 1}


def test_a_far_date_of_any_unit_is_read_by_its_value():
    since = Dictionary((SINCE,))
    for kind in (pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("us")):
        days = pa.array([date(9999, 12, 31)], pa.date32()).cast(kind)
        assert rows_of({"when": days}, since) == rows_of({"when": ["9999-12-31"]}, since)


def test_a_key_of_many_parts_is_refused_before_it_is_parsed():
    long = ".".join("a" * 20_000) + " = 1"
    start = time.process_time()
    for text in (long, f"x = {{ {long} }}", long.replace("a", '"a"'), f"[{long[:-4]}]"):
        with pytest.raises(ParameterError, match="keys of at most 10 parts"):
            parse_dictionary(text.encode(), "d.toml")
    for text in ('"' + '\\"' * 100_000, "a" * 200_000, '"""' + '"""\\' * 50_000, "'" * 100_001):
        with pytest.raises(ParameterError, match="a TOML file"):
            parse_dictionary(text.encode(), "d.toml")
    assert time.process_time() - start < 5
    dotted = 'title = "1.2.3.4.5.6.7.8.9.10.11.12" # a.b.c.d.e.f.g.h.i.j.k.l\n[columns.age]\n'
    title = parse_dictionary(f"{dotted}lower = 0\nupper = 1\n".encode(), "d.toml").title
    assert title == "1.2.3.4.5.6.7.8.9.10.11.12"


def test_a_heading_that_is_a_year_has_no_point(tmp_path):
    (tmp_path / "t.xlsx").write_bytes(workbook(pd.DataFrame({"sex": ["f"], 2019: [3]})))
    header = header_of(TableFile(tmp_path / "t.xlsx", header_line=1))
    assert header.names == ("sex", "2019")
    assert len(rows_of(tmp_path / "t.xlsx", Dictionary((Column("2019", 0, 9),)))) == 1


EMPTY_ROWS = {
    "separators.csv": b"age;sex;note\n1;f;\n;;\n;;x\n ; ;\n2;m;\n;;\n",
    "blank.csv": b"age,sex,note\n1,f,\n\n,,x\n\n2,m,\n,,\n",
    "one column.csv": b"age\n1\n\n2\n\n \n3\n",
    "sheet.xlsx": workbook(
        pd.DataFrame({"age": [1, None, None, None, 2], "sex": "", "note": ["", "", "x", " ", "x"]})
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EMPTY_ROWS)
def test_a_row_without_a_cell_is_skipped_and_counted(name, tmp_path, capsys):
    (tmp_path / name).write_bytes(EMPTY_ROWS[name])
    dictionary, reading = Dictionary((AGE,), decimal="."), Reading()
    assert len(rows_of(tmp_path / name, dictionary, reading)) == 3
    n_empty = 2 if name == "sheet.xlsx" else 3
    assert reading.n_empty_rows == n_empty and reading.n_rows == 3
    (tmp_path / "d.toml").write_text(dictionary.toml())
    arguments = ["--data", str(tmp_path / name), "--dictionary", str(tmp_path / "d.toml")]
    assert main(["check", *arguments]) == 0
    assert f"{n_empty} rows have no cell" in capsys.readouterr().out
    content = (tmp_path / name).read_bytes()
    assert read_upload(name, content).columns.n_empty_rows == n_empty


@pytest.mark.parametrize("ending", ["csv", "xlsx", "parquet", "frame"])
def test_names_and_levels_are_compared_in_one_form(ending, tmp_path):
    composed, decomposed = "Größe", "Gro\u0308ße"
    frame = pd.DataFrame({decomposed: [1, 2], "answer": ["e\u0301", "é"]})
    path = tmp_path / f"t.{ending}"
    if ending == "csv":
        frame.to_csv(path, index=False)
    elif ending == "xlsx":
        path.write_bytes(workbook(frame))
    elif ending == "parquet":
        frame.to_parquet(path)
    dictionary = Dictionary((Column(composed, 0, 2), Column("answer", levels=("é",))))
    values = rows_of(frame if ending == "frame" else path, dictionary)
    assert values[:, 1].all()


def test_columns_may_be_called_nan_or_inf(tmp_path):
    (tmp_path / "t.csv").write_text("NaN,Inf\n1,2\n")
    assert header_of(TableFile(tmp_path / "t.csv")).names == ("NaN", "Inf")


def test_dates_with_an_offset_are_in_utc():
    cells = ["2000-01-02T01:00:00+01:00", "2000-01-01 22:30-01:30", "2000-01-02T00:00:00Z"]
    assert (
        rows_of({"when": cells}, Dictionary((SINCE,))).ravel().tolist()
        == [rows_of({"when": ["2000-01-02"]}, Dictionary((SINCE,)))[0, 0]] * 3
    )


def test_texts_as_views_are_read(tmp_path):
    table = pa.table({"age": [1, 2], "sex": pa.array(["f", "m"], pa.string_view())})
    parquet.write_table(table, tmp_path / "t.parquet")
    assert len(rows_of(tmp_path / "t.parquet", Dictionary((AGE, SEX)))) == 2
    upload = read_upload("t.parquet", (tmp_path / "t.parquet").read_bytes())
    assert list(upload.columns) == ["age", "sex"]


def test_check_reads_a_code_in_a_column_of_dates_as_release_does(tmp_path):
    dates = pa.array([date(2000, 1, 2), None, date(9999, 12, 31), date(1997, 4, 7)], pa.date32())
    parquet.write_table(pa.table({"when": dates}), tmp_path / "t.parquet")
    for codes in (("-999",), ("9999-12-31",), ("NA",)):
        dictionary, reading = Dictionary((SINCE,), missing=codes), Reading()
        rows_of(tmp_path / "t.parquet", dictionary, reading)
        counts = inspect_table(tmp_path / "t.parquet", dictionary).columns["when"]
        assert counts.missing + counts.unknown == reading.missing["when"]
        assert counts.missing == 1 + (codes == ("9999-12-31",))


DICTIONARIES = (
    Dictionary((AGE, SEX)),
    Dictionary((AGE, SEX), decimal=".", missing=("75", "NA", "?")),
    Dictionary((Column("age", 0, 100, days_since=date(1970, 1, 1)), SEX), missing=("-999", "75")),
    Dictionary((AGE, SEX), person="who", at_most=2, multiline=True),
)
OTHERS = {
    "dates.parquet": parquet_of(
        pa.table({"age": pa.array([date(1970, 1, 9), None]), "sex": ["f", "m"]})
    ),
    "empty rows.csv": b"age,sex\n1,f\n,\n\n2,m\n",
    "empty rows.xlsx": workbook(FRAME.assign(age=[1, None, None, 5], sex=["f", "", None, "m"])),
}


FILES = {
    name: content
    for name, content in {
        **SOUND,
        **REFUSED,
        **OTHERS,
        **dict(odd()),
        **dict(with_people()),
    }.items()
    if len(content) < 100_000
}


def answer_of(read, *arguments):
    """Return the answer of a reader, or None if it refuses the file."""
    try:
        return read(*arguments)
    except (ParameterError, OSError):
        return None


def released(data, dictionary):
    reading = Reading()
    return rows_of(data, dictionary, reading), reading


def uploaded(path, dictionary):
    """Upload a file; the visitor states the line of the header, which others find by the names."""
    header = answer_of(header_of, TableFile(path), dictionary.keys)
    layout = {"header_line": header and header.line, "separator": header and header.separator,
              "sheet": header and header.sheet}  # fmt: skip
    given = {name: value for name, value in layout.items() if value}
    return read_upload(path.name, path.read_bytes(), **given).columns


@pytest.mark.parametrize(("name", "dictionary"), [
    (name, DICTIONARIES[3 if name.startswith("people") else number % 3])
    for number, name in enumerate(FILES)
])  # fmt: skip
def test_check_page_and_release_give_one_answer(name, dictionary, tmp_path):
    """One file, one dictionary: all refuse it, or all read the same rows."""
    path = tmp_path / name
    path.write_bytes(FILES[name])
    release = answer_of(released, path, dictionary)
    check = answer_of(inspect_table, path, dictionary)
    assert (release is None) == (check is None)
    columns = answer_of(uploaded, path, dictionary)
    if columns is None:
        # A page reads all columns and no .npy, and refuses files that others read in part.
        assert name not in SOUND or check is None
        return
    page = answer_of(inspect_table, columns, dictionary)
    assert page == check
    if check is None:
        return
    rows, reading = release
    assert (check.n_rows, check.n_empty_rows) == (reading.n_rows, reading.n_empty_rows)
    if dictionary.person is None:
        counts = check.columns.items()
        missing = {name: count.missing + count.unknown for name, count in counts}
        clipped = {name: count.below + count.above for name, count in counts}
        assert missing == {name: reading.missing[name] for name in missing}
        assert clipped == {name: reading.clipped[name] for name in clipped}
        assert len(rows) < 2 or len(simulation_data(columns, dictionary).X) == len(rows)
    np.testing.assert_array_equal(rows_of(columns, dictionary), rows)


def test_names_that_are_not_utf_8_are_refused_and_not_cut(tmp_path):
    """`check` listed one column "gr" of a table with the columns größe and gewicht."""
    path = tmp_path / "table.csv"
    path.write_bytes("größe;gewicht\n1,5;2,5\n".encode("latin-1"))
    with pytest.raises(ParameterError, match="text_encoding must be that of the file"):
        header_of(TableFile(path))
    header = header_of(TableFile(path, text_encoding="latin-1"))
    assert header is not None and header.names == ("größe", "gewicht")
