"""Small files that declare or unpack to far more than they hold: one sentence, little memory."""

from __future__ import annotations

import io
import resource
import zipfile
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyarrow import parquet

from dpcore.command_line import main
from dpcore.errors import ParameterError
from dpcore.release import Column, Dictionary
from dpcore.release.uploads import read_upload

AGE = Dictionary((Column("age", 0, 100),))
MB = 1 << 20
_BOOK = (
    '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r='
    '"http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>'
    '<sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>'
)
_LINKS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/'
    'relationships/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type='
    '"http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings" '
    'Target="sharedStrings.xml"/></Relationships>'
)
_ROOT = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/'
    'relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>'
)
_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def workbook_of(rows: Iterator[str], shared: str = "") -> bytes:
    """Return a workbook with these elements of rows, and one shared text."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_rels/.rels", _ROOT)
        archive.writestr("xl/workbook.xml", _BOOK)
        archive.writestr("xl/_rels/workbook.xml.rels", _LINKS)
        archive.writestr("xl/sharedStrings.xml", f"<sst {_MAIN}><si><t>{shared}</t></si></sst>")
        sheet = f"<worksheet {_MAIN}><sheetData>{''.join(rows)}</sheetData></worksheet>"
        archive.writestr("xl/worksheets/sheet1.xml", sheet)
    return file.getvalue()


def table_with_stray_cell(place: str) -> bytes:
    def rows() -> Iterator[str]:
        yield '<row r="1"><c r="A1" t="inlineStr"><is><t>age</t></is></c></row>'
        for row in range(2, 51):
            yield f'<row r="{row}"><c r="A{row}"><v>{row}</v></c></row>'
        number = "".join(filter(str.isdigit, place))
        yield f'<row r="{number}"><c r="{place}"><v>7</v></c></row>'

    return workbook_of(rows())


def table_with_shared_text(n_bytes: int, n_cells: int) -> bytes:
    def rows() -> Iterator[str]:
        yield '<row r="1"><c r="A1" t="inlineStr"><is><t>age</t></is></c></row>'
        for row in range(2, n_cells + 2):
            yield f'<row r="{row}"><c r="A{row}" t="s"><v>0</v></c></row>'

    return workbook_of(rows(), "x" * n_bytes)


def _varint(number: int) -> bytes:
    left, code = 2 * number, bytearray()
    while left >= 128:
        code.append(left & 127 | 128)
        left >>= 7
    return bytes([*code, left])


def parquet_of_few_rows(n_rows: int, n_bytes: int) -> bytes:
    """Return a file of many rows whose footer states five."""
    file = io.BytesIO()
    some = pa.table({"age": pa.array(["x" * n_bytes] * 20)})
    with parquet.ParquetWriter(file, some.schema, compression="zstd") as writer:
        for _ in range(n_rows // 20):
            writer.write_table(some)
    content = bytearray(file.getvalue())
    stated, length = _varint(n_rows), int.from_bytes(content[-8:-4], "little")
    place = content.index(b"\x16" + stated, len(content) - 8 - length) + 1
    # Five, in as many bytes.
    content[place : place + len(stated)] = (
        b"\x8a" + b"\x80" * (len(stated) - 2) + b"\x00" if len(stated) > 1 else b"\x0a"
    )
    assert parquet.ParquetFile(io.BytesIO(content)).metadata.num_rows == 5
    return bytes(content)


def parquet_of_one_text(n_bytes: int) -> bytes:
    file = io.BytesIO()
    texts = pa.array(["x" * n_bytes], pa.large_string())
    parquet.write_table(
        pa.table({"age": texts}), file, compression="brotli", use_dictionary=False,
        write_statistics=False,
    )  # fmt: skip
    return file.getvalue()


FILES = {
    "far column and row": ("t.xlsx", lambda: table_with_stray_cell("XFD60000"), "delete cells"),
    "last cell": ("t.xlsx", lambda: table_with_stray_cell("XFD1048576"), "delete cells"),
    "far row": ("t.xlsx", lambda: table_with_stray_cell("CV1048576"), "delete cells"),
    "shared text": ("t.xlsx", lambda: table_with_shared_text(MB, 2_000), "MB of text in its cells"),
    "false footer": ("t.parquet", lambda: parquet_of_few_rows(200, MB), "its footer states"),
    "one text": ("t.parquet", lambda: parquet_of_one_text(200 * MB), "without texts above 4 MB"),
}


@pytest.mark.parametrize("what", FILES)
def test_an_upload_that_grows_is_refused_in_one_sentence(what):
    name, make, sentence = FILES[what]
    content = make()
    assert len(content) < MB
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ParameterError, match=sentence) as refused:
        read_upload(name, content)
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 300
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


@pytest.mark.parametrize("what", ["last cell", "shared text", "false footer", "one text"])
@pytest.mark.parametrize("command", ["check", "release"])
def test_the_command_line_refuses_a_file_that_grows(what, command, tmp_path, capsys):
    name, make, sentence = FILES[what]
    (tmp_path / name).write_bytes(make())
    (tmp_path / "d.toml").write_text(AGE.toml())
    arguments = ["--data", str(tmp_path / name), "--dictionary", str(tmp_path / "d.toml")]
    if command == "release":
        arguments += ["--epsilon", "1", "--delta", "1e-5", "--components", "1", "--name", "one",
                      "--project", str(tmp_path / "project"), "--cap", "1", "1e-5"]  # fmt: skip
    assert main([command, *arguments]) == 2
    said = capsys.readouterr().err
    assert sentence in said and "Traceback" not in said
    assert not (tmp_path / "project").exists()


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_AS"), reason="the system limits no memory")
def test_memory_is_limited_where_no_count_warns(monkeypatch):
    """The process that reads a file ends at its memory limit, whatever the file declares."""
    # An XML parser accepts other spellings of a cell's place than the count of cells looks for.
    cell = "<c r='XFD1048576'><v>7</v></c>"
    rows = ["<row r='1'><c r='A1'><v>1</v></c></row>", f"<row r='1048576'>{cell}</row>"]
    with pytest.raises(ParameterError, match="within 600 MB of memory"):
        read_upload("t.xlsx", workbook_of(iter(rows)))


def test_a_near_stray_cell_and_normal_texts_are_read():
    upload = read_upload("t.xlsx", table_with_stray_cell("H70"))
    assert upload.n_rows == 50 and upload.columns.n_empty_rows == 19
