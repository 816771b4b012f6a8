"""Read delimited text (CSV, TSV) in blocks.

The header is the first line that has all columns of the dictionary. Encoding and separator are
found from the byte order mark and from that line, which are public, or are given by the data
holder. Nothing is inferred from rows: one cell could then change how all rows are read.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dpcore.errors import ParameterError
from dpcore.release.cells import normal_form
from dpcore.release.table_file import (
    BUFFER,
    DAMAGED,
    REQUIREMENTS,
    SEPARATORS,
    Block,
    Header,
    TableFile,
    refuse_numbers,
    require_columns,
)

_LONGEST_LINE = 1 << 22
# Characters and lines in which the header is searched.
_FIRST_LOOK, MOST_PREAMBLE = 1 << 16, 50
# Arrow's message.
_RAGGED = re.compile(r"Row #(\d+): Expected \d+ columns, got (\d+)")
# Rows in which the line of a ragged row is searched.
_MOST_COUNTED = 1 << 20
# First bytes of other kinds of files that are often named as text.
_KINDS = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "ZIP, as workbooks are", b"PAR1": "Parquet"}


class DelimitedText:
    """Table in a delimited text, read a few megabytes per step.

    n_joined_lines: Lines that quotes joined to the line before, in the last complete reading.
    n_empty_rows: Skipped rows without any cell, blank lines included, in that reading.
    """

    def __init__(self, file: TableFile, keys: Sequence[str]) -> None:
        self.file, self.keys = file, list(keys)
        self.header = find_header(file, keys)
        self.n_joined_lines = self.n_empty_rows = 0

    def batches(self) -> Iterator[tuple[Block, float]]:
        """Yield columns of some rows, as texts, and the share of the file that was read."""
        n_rows = n_empty = 0
        with self.file.open() as file:
            try:
                lines = _Lines(self._rows_of(file))
                for batch in self._open_rows(lines):
                    share = 1.0 if file.closed else file.tell() / file.size()
                    rows = self._without_empty_rows(batch)
                    n_rows += batch.num_rows
                    n_empty += batch.num_rows - rows.num_rows
                    yield self._block(rows), share
                if n_rows == n_empty:
                    raise ValueError("Empty CSV")
                self.n_joined_lines = max(0, lines.n_lines - n_rows)
                self.n_empty_rows = n_empty
            except ParameterError:
                raise
            except DAMAGED as error:
                raise self._explain_failure(error) from error

    def _open_rows(self, lines: _Lines) -> Any:
        from pyarrow import csv as arrow_csv

        # Columns that are not read may share a name, which Arrow refuses.
        names = [
            name if name in self.keys else f"\0{place}"
            for place, name in enumerate(self.header.names)
        ]
        # Other columns show which rows have a cell; their characters are not checked.
        types = {name: pa.string() if name in self.keys else pa.binary() for name in names}
        return arrow_csv.open_csv(
            pa.PythonFile(io.BufferedReader(_Chunks(lines.chunks()), BUFFER), mode="r"),
            read_options=arrow_csv.ReadOptions(
                block_size=_LONGEST_LINE, use_threads=False, column_names=names
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self.header.separator,
                # Otherwise the end of a block would change how a quoted line break is read.
                newlines_in_values=True,
                # In a file of one column, Arrow would skip rows without a cell silently.
                ignore_empty_lines=False,
            ),
            convert_options=arrow_csv.ConvertOptions(column_types=types),
        )

    def _without_empty_rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows that have a cell in any column, also in one that is not read."""
        rows = _empty_rows(batch, self.keys, None)
        if len(rows):
            rows = _empty_rows(batch, batch.schema.names, rows)
        if not len(rows):
            return batch
        numbers = pa.array(range(batch.num_rows))
        return batch.filter(pc.invert(pc.is_in(numbers, value_set=rows)))

    def _rows_of(self, file: Any) -> Any:
        """Return the stream of the lines below the header, in UTF-8."""
        stream, header = self.file.unpack(file), self.header
        if self.file.footer_lines or header.encoding not in ("utf-8", "utf-8-sig"):
            rows = _rows_in_utf8(stream, header, self.file.footer_lines)
            return io.BufferedReader(_Chunks(rows), BUFFER)
        beginning = _read_beginning(self.file, header.encoding, header.length)[0][: header.length]
        skipped = len(beginning.encode()) + (len(codecs.BOM_UTF8) if header.has_mark else 0)
        stream.read(skipped)
        return stream

    def _block(self, batch: pa.RecordBatch) -> Block:
        block = Block({key: batch.column(key) for key in self.keys})
        block.are_texts = True
        block.decimal, block.thousands = self.file.decimal, self.file.thousands
        # A decimal comma between commas would be quoted, and programs write .tsv with points.
        is_point = self.header.separator == "," or self.file.ending.startswith(".tsv")
        block.is_decimal_open = not is_point and self.file.decimal is None
        return block

    def _explain_failure(self, error: Exception) -> ParameterError:
        """Return why the text is not a table, with the line if it is known."""
        if ragged := _RAGGED.search(str(error)):
            (number, n_cells), expected = ragged.groups(), len(self.header.names)
            line = self._line_of_ragged()
            place = f"row {number} below the header" if line is None else f"line {line}"
            return ParameterError(
                "data",
                f"a table with {_cells_in_words(expected)} in every line, as in the header in line "
                f"{self.header.line} (is a quote missing? footer_lines skips lines at the end)",
                f"{_cells_in_words(int(n_cells))} in {place}",
            )
        if "Empty CSV" in str(error):
            below = f"none below the header in line {self.header.line}"
            return ParameterError("data", "a table with rows", below)
        if (line := self._line_not_decoded()) is not None:
            return _wrong_encoding(self.header.encoding, line)
        return ParameterError("data", REQUIREMENTS[self.file.ending], self.file.name)

    def _line_of_ragged(self) -> int | None:
        """Return the first line whose number of cells differs from the header; None if unknown."""
        try:
            with self.file.open() as file:
                text = io.TextIOWrapper(
                    self.file.unpack(file), self.header.encoding, "replace", newline=""
                )
                records = _records(text, self.header.separator, self.header.line)
                for line, cells, _ in islice(records, 1, _MOST_COUNTED):
                    if any(map(str.strip, cells)) and len(cells) != len(self.header.names):
                        return line
        except (*DAMAGED, csv.Error):
            return None
        return None

    def _line_not_decoded(self) -> int | None:
        """Return the first line that cannot be decoded."""
        decoder, line = codecs.getincrementaldecoder(self.header.encoding)(), 1
        with self.file.open() as file:
            stream = self.file.unpack(file)
            try:
                while raw := stream.read(BUFFER):
                    line += decoder.decode(raw).count("\n")
                decoder.decode(b"", final=True)
            except UnicodeDecodeError as error:
                before = error.object[: error.start].decode(self.header.encoding, "ignore")
                return line + before.count("\n")
            except DAMAGED:
                return None
        return None


def _wrong_encoding(encoding: str, line: int) -> ParameterError:
    name = encoding.removesuffix("-sig")
    constraint = f"that of the file, as latin-1, cp1252 or utf-16; it is not {name}"
    return ParameterError("text_encoding", constraint, f"other characters in line {line}")


class _Chunks(io.RawIOBase):
    """File-like object over an iterator of bytes."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            following = next(self._chunks, None)
            if following is None:
                return 0
            self._rest = following
        chunk, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(chunk)] = chunk
        return len(chunk)


class _Lines:
    """Lines of a stream of bytes, each ended by a line feed, and their number.

    The parser would lose the line feed of a quoted CR LF between two of its blocks, so that the
    length of one row would change another row.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._n_ends, self._is_line_open = 0, False

    @property
    def n_lines(self) -> int:
        return self._n_ends + self._is_line_open

    def chunks(self) -> Iterator[bytes]:
        is_half = False
        while raw := bytes(self._stream.read(BUFFER)):
            # The other half of the \r\n whose \r ended the chunk before.
            data = raw[1:] if is_half and raw.startswith(b"\n") else raw
            is_half = raw.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            if data:
                self._n_ends += data.count(b"\n")
                self._is_line_open = not data.endswith(b"\n")
                yield data


def _empty_rows(batch: pa.RecordBatch, names: Sequence[str], rows: pa.Array | None) -> pa.Array:
    """Return the numbers of the rows, among some or all, whose cells in these columns are empty."""
    rows = pa.array(range(batch.num_rows)) if rows is None else rows
    for name in names:
        if not len(rows):
            break
        cells = batch.column(name).take(rows)
        # Cells of other columns may have any bytes.
        cells = cells if pa.types.is_string(cells.type) else cells.view(pa.string())
        rows = rows.filter(pc.equal(pc.binary_length(pc.ascii_trim_whitespace(cells)), 0))
    return rows


def _cells_in_words(number: int) -> str:
    return f"{number} cell{'s' * (number != 1)}"


def _rows_in_utf8(stream: Any, header: Header, footer_lines: int) -> Iterator[bytes]:
    """Yield the text below the header in UTF-8, without the footer lines."""
    decoder = codecs.getincrementaldecoder(header.encoding)()
    to_skip, pending = header.length, ""
    while raw := stream.read(BUFFER):
        text = decoder.decode(raw)
        skipped = min(to_skip, len(text))
        to_skip -= skipped
        pending += text[skipped:]
        # The last line may be incomplete.
        ready, pending = _split_last_lines(pending, footer_lines + 1)
        yield ready.encode()
    pending += decoder.decode(b"", final=True)[to_skip:]
    yield _split_last_lines(pending, footer_lines)[0].encode()


def _split_last_lines(text: str, n_lines: int) -> tuple[str, str]:
    """Split a text before its last n_lines lines that are not blank."""
    lines = list(io.StringIO(text, newline=""))
    cut, n_remaining = len(lines), n_lines
    while cut and n_remaining:
        cut -= 1
        n_remaining -= bool(lines[cut].strip())
    return "".join(lines[:cut]), "".join(lines[cut:])


def _encoding_of(file: TableFile) -> tuple[str, bool]:
    """Return the encoding, as given or from the first bytes, and whether a mark states it."""
    with file.open() as stream:
        first = file.unpack(stream).read(4)
    marks = {
        codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
        codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
    }  # fmt: skip
    for mark, encoding in marks.items():
        if first.startswith(mark) and file.text_encoding in (None, encoding):
            return encoding, True
    if file.text_encoding is not None:
        return file.text_encoding, False
    # Most letters in column names are ASCII, whose UTF-16 code has one zero byte.
    zeros = tuple(byte == 0 for byte in first)
    without_mark = {(False, True) * 2: "utf-16-le", (True, False) * 2: "utf-16-be"}
    return without_mark.get(zeros, "utf-8"), False


def _read_beginning(
    file: TableFile, encoding: str, n_characters: int
) -> tuple[str, ParameterError | None]:
    """Return at least the first n_characters of a text, or all, and a decoding error if any."""
    decoder, text = codecs.getincrementaldecoder(encoding)(), ""
    with file.open() as packed:
        stream = file.unpack(packed)
        try:
            while len(text) < n_characters:
                raw = stream.read(BUFFER)
                text += decoder.decode(raw, final=not raw)
                if not raw:
                    break
        except UnicodeDecodeError as error:
            text += error.object[: error.start].decode(encoding, "ignore")
            return text, _wrong_encoding(encoding, 1 + text.count("\n"))
    return text, None


def _records(
    lines: Iterable[str], separator: str, first_line: int = 1
) -> Iterator[tuple[int, list[str], int]]:
    """Yield the line, the cells and the end (in characters) of each row from first_line."""
    read, consumed = 0, 0

    def counted() -> Iterator[str]:
        nonlocal read, consumed
        for line in lines:
            read += 1
            consumed += len(line)
            yield line

    of_text = counted()
    for _ in range(first_line - 1):
        next(of_text, None)
    start = read + 1
    for cells in csv.reader(of_text, delimiter=separator):
        yield start, cells, consumed
        start = read + 1


def find_header(file: TableFile, keys: Sequence[str]) -> Header:
    _refuse_other_kinds(file)
    encoding, has_mark = _encoding_of(file)
    for n_characters in (_FIRST_LOOK, _LONGEST_LINE):
        text, fault = _read_beginning(file, encoding, n_characters)
        # A fault cuts the text, perhaps within the names.
        is_whole = len(text) < n_characters and fault is None
        headers = [
            Header(
                tuple(normal_form(cell.strip()) for cell in cells),
                line,
                separator,
                encoding,
                length,
                has_mark,
            )
            for separator in _separators(file, _separator_line(text, file))
            for line, cells, length in _first_records(text, separator, file, is_whole)
        ]
        if is_whole or (headers and not keys) or _headers_with_all_keys(headers, keys):
            break
    if fault is not None and not _headers_with_all_keys(headers, keys):
        raise fault
    if not headers:
        raise ParameterError("data", REQUIREMENTS[file.ending], file.name)
    return _header_with_keys(headers, keys, file) if keys else _likeliest_header(headers, file)


def _headers_with_all_keys(headers: Sequence[Header], keys: Sequence[str]) -> list[Header]:
    return [header for header in headers if set(keys) <= set(header.names)]


def _refuse_other_kinds(file: TableFile) -> None:
    """Refuse files of another kind, and name the kind."""
    with file.open() as stream:
        first = stream.read(4)
    for beginning, kind in _KINDS.items():
        if first.startswith(beginning) and not (kind == "gzip" and file.ending.endswith(".gz")):
            raise ParameterError(
                "data", REQUIREMENTS[file.ending], f"a file of {kind}, {file.name}"
            )


def _separators(file: TableFile, named: str | None) -> tuple[str, ...]:
    """Return the possible separators: only the one in a first line sep=;, if there is one."""
    if named is not None and file.separator is None:
        return (named,)
    usual = {".tsv": "\t", ".txt": "\t"}.get(file.ending.removesuffix(".gz"), ",")
    return tuple(dict.fromkeys((file.separator or usual, usual, *SEPARATORS)))


def _separator_line(text: str, file: TableFile) -> str | None:
    """Return the separator in a first line as Excel writes it, such as `sep=;`."""
    first = text[:16].splitlines()[:1]
    is_named = bool(first) and first[0].lower().startswith("sep=") and len(first[0]) == len("sep=;")
    return first[0][-1] if is_named and file.header_line is None else None


def _first_records(
    text: str, separator: str, file: TableFile, is_whole: bool
) -> Iterator[tuple[int, list[str], int]]:
    """Yield the lines that may be the header: the first that are not blank."""
    first_line = file.header_line or (2 if _separator_line(text, file) else 1)
    last_line = first_line if file.header_line is not None else MOST_PREAMBLE
    try:
        records = _records(io.StringIO(text, newline=""), separator, first_line)
        for line, cells, length in records:
            if line > last_line or (length == len(text) and not is_whole):
                return
            if any(map(str.strip, cells)):
                yield line, cells, length
    except csv.Error:
        return


def _likeliest_header(headers: Sequence[Header], file: TableFile) -> Header:
    """Return the first line, split by the separator that gives most names."""
    first = min(header.line for header in headers)
    names = {file.separator} if file.separator is not None else set(SEPARATORS)
    there = [header for header in headers if header.line == first and header.separator in names]
    header = max(there or headers, key=lambda candidate: len(candidate.names))
    refuse_numbers(header, file)
    return header


def _header_with_keys(headers: Sequence[Header], keys: Sequence[str], file: TableFile) -> Header:
    """Return the first line that has all keys.

    Raises `ParameterError` with the key that the most similar line lacks.
    """
    names, whole = set(keys), _headers_with_all_keys(headers, keys)
    with_separator = [header for header in whole if file.separator in (None, header.separator)]
    if whole and not with_separator:
        found_separator = SEPARATORS.get(whole[0].separator, whole[0].separator)
        constraint = (
            f"that of the file: the header in line {whole[0].line} has a {found_separator} "
            "between names"
        )
        raise ParameterError("separator", constraint, file.separator)
    if with_separator:
        first = min(header.line for header in with_separator)
        at_first = [header for header in with_separator if header.line == first]
        if len({header.names for header in at_first}) > 1:
            constraint = f"given: in line {first} the columns are there with several"
            raise ParameterError("separator", constraint, "none")
        header = at_first[0]
        require_columns(keys, header.names, f" in line {header.line}")
        return header
    likeliest = max(headers, key=lambda header: len(names & set(header.names)))
    if not names & set(likeliest.names):
        likeliest = _likeliest_header(headers, replace(file, separator=None))
    require_columns(keys, likeliest.names, f" in line {likeliest.line}")
    return likeliest
