"""Read Parquet: one file, or a folder, glob, URL or `pyarrow.dataset` of files as one table."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa

from dpcore.errors import ParameterError
from dpcore.release.cells import is_date, is_text, normal_form, text_lengths
from dpcore.release.table_file import BUFFER, Block, TableFile, refuse_damaged, require_columns

# Rows of a part, unless one row group has more. The D x D sum of a part is small compared to its
# rows, and parts are small enough to keep all workers busy until the end.
PART_ROWS = 1 << 17
# Bytes of a text in a cell, as many as a line of a text file may have.
LONGEST_TEXT = 1 << 22


@dataclass(frozen=True)
class ParquetPart:
    """Some row groups of a Parquet file, which may be one of the files of a table.

    fragment: Fragment of `pyarrow.dataset`, which locates the file and can be sent to a worker.
    name: Name of the file in messages.
    groups: Indices of the row groups, in order.
    n_rows: Number of rows of these row groups.
    """

    fragment: Any
    name: str
    groups: tuple[int, ...]
    n_rows: int
    ending: str = ".parquet"

    def open(self) -> Any:
        """Open the whole file as an Arrow stream."""
        return self.fragment.open()


def open_parquet(stream: Any, **options: Any) -> Any:
    """Return a `pyarrow.parquet.ParquetFile` whose footer does not contradict itself.

    options: Other arguments of `ParquetFile`.
    Raises `ParameterError` if the row groups have other rows than the footer says, or longer texts
        than `LONGEST_TEXT`.
    """
    from pyarrow import parquet

    # Dates far from today, which mark an open end, do not fit into nanoseconds.
    file = parquet.ParquetFile(stream, coerce_int96_timestamp_unit="us", **options)
    footer, texts = file.metadata, _text_columns(file)
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    n_rows = sum(group.num_rows for group in groups)
    if n_rows != footer.num_rows:
        raise ParameterError(
            "data", f"a Parquet file with the {footer.num_rows:,} rows that its footer states",
            f"{n_rows:,} in its row groups",
        )  # fmt: skip
    for group in groups:
        for place in texts:
            if (of := group.column(place)).total_uncompressed_size > LONGEST_TEXT * max(
                of.num_values, 1
            ):
                raise text_too_long(of.total_uncompressed_size)
    return file


def text_too_long(n_bytes: int) -> ParameterError:
    """Return the error of a cell with a long text."""
    longest = f"a table without texts above {LONGEST_TEXT >> 20} MB"
    return ParameterError("data", longest, f"texts of {n_bytes >> 20} MB")


def _text_columns(file: Any) -> list[int]:
    """Return the places of columns of texts in the file's schema without nested columns."""
    schema = file.schema
    return [
        place
        for place in range(len(schema.names))
        if schema.column(place).physical_type == "BYTE_ARRAY"
    ]


def is_partitioned(data: Any) -> bool:
    """Return whether data is a folder, glob, URL or Arrow data set, of several files."""
    if isinstance(data, str | Path):
        place = str(data)
        return "://" in place or Path(place).is_dir() or _is_glob(place)
    return type(data).__module__ in ("pyarrow._dataset", "pyarrow.dataset")


def _is_glob(place: str) -> bool:
    return not Path(place).exists() and bool(set("*?[") & set(place))


def parquet_parts(data: Any, keys: Sequence[str]) -> list[ParquetPart]:
    """Return parts of about `PART_ROWS` rows of all files, in the order of their names.

    All files must have each column once, with the same kind of cells: numbers, texts or dates.
    Integers and floats are one kind, since one missing cell turns integers into floats. Columns of
    nulls, and files without rows, fit every kind.

    data: Folder, glob or URL of Parquet files; one Parquet file; `pyarrow.dataset.Dataset`.
    Raises `ParameterError` with the name of a file that is damaged or differs, or if there is none.
    """
    parts: list[ParquetPart] = []
    kinds: dict[str, tuple[str, str]] = {}
    fragments = find_fragments(data)
    folder = os.path.commonpath([os.path.dirname(fragment.path) or "." for fragment in fragments])
    for fragment in fragments:
        name = os.path.relpath(fragment.path, folder)
        whole = ParquetPart(fragment, name, (), 0)
        with (
            refuse_damaged(whole.ending, whole.name),
            whole.open() as stream,
            open_parquet(stream) as file,
        ):
            names = {normal_form(name): name for name in file.schema_arrow.names}
            try:
                require_columns(keys, list(map(normal_form, file.schema_arrow.names)))
            except ParameterError as error:
                raise ParameterError("data", "files of one schema", f"{name}: {error}") from error
            n_rows = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
            for key in keys if sum(n_rows) else ():
                kind = _kind_of(file.schema_arrow.field(names[key]).type)
                first, there = kinds.setdefault(key, (name, kind)) if kind else ("", kind)
                if kind != there:
                    raise ParameterError(
                        "data", f"files of one schema: {key!r} has {there} in {first}",
                        f"{kind} in {name}",
                    )  # fmt: skip
        parts += _group_parts(whole, n_rows)
    return parts


def find_fragments(data: Any) -> list[Any]:
    """Return a fragment for each file, in the order of their names."""
    from pyarrow import dataset

    if not isinstance(data, str | Path):
        if getattr(data, "_scan_options", None):
            raise ParameterError("data", "a data set of whole files, without a filter", "a filter")
        fragments = list(data.get_fragments())
        if not all(hasattr(fragment, "row_groups") for fragment in fragments):
            raise ParameterError("data", "a data set of Parquet files", type(data).__name__)
        return sorted(fragments, key=lambda fragment: str(fragment.path))
    system, root, names = _files_at(str(data))
    # Programs add files such as _SUCCESS and .crc.
    names = [
        name
        for name in names
        if not any(part[0] in "._" for part in PurePath(os.path.relpath(name, root)).parts)
    ]
    if others := [name for name in names if not name.endswith(".parquet")]:
        other = os.path.basename(min(others))
        raise ParameterError(
            "data", "a folder with Parquet files only, or a glob such as folder/*.parquet", other
        )
    if not names:
        raise ParameterError("data", "a place with files named .parquet", str(data))
    form = dataset.ParquetFileFormat()
    return [form.make_fragment(name, filesystem=system) for name in sorted(set(names))]


def _files_at(place: str) -> tuple[Any, str, list[str]]:
    """Return the file system, the searched folder and the names of the files."""
    from pyarrow import ArrowException, fs

    if "://" in place:
        try:
            system, path = fs.FileSystem.from_uri(place)
            info = system.get_file_info(path)
            if info.type == fs.FileType.Directory:
                chosen = system.get_file_info(fs.FileSelector(path, recursive=True))
                return system, path, [file.path for file in chosen if file.is_file]
            return system, os.path.dirname(path), [path] if info.is_file else []
        except (ValueError, OSError, ImportError, ArrowException) as error:
            raise ParameterError("data", "a URL that Arrow can open here", place) from error
    system = fs.LocalFileSystem()
    if Path(place).is_dir():
        return system, place, [str(file) for file in Path(place).rglob("*") if file.is_file()]
    names = glob.glob(place, recursive=True) if _is_glob(place) else [place]
    files = [name for name in names if os.path.isfile(name)]
    return system, os.path.commonpath([os.path.dirname(name) for name in files] or [""]), files


def _kind_of(kind: pa.DataType) -> str:
    """Return the kind of cells of a column type for messages; "" for a column of nulls."""
    if pa.types.is_null(kind):
        return ""
    if pa.types.is_dictionary(kind):
        return _kind_of(kind.value_type)
    if is_date(kind):
        return "dates"
    if is_text(kind):
        return "texts"
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return "numbers" if any(test(kind) for test in numbers) else str(kind)


def _group_parts(whole: ParquetPart, n_rows: Sequence[int]) -> Iterator[ParquetPart]:
    """Yield parts of at most `PART_ROWS` rows; larger row groups are parts of their own."""
    groups: list[int] = []
    for group, n in enumerate(n_rows):
        if groups and sum(n_rows[group] for group in groups) + n > PART_ROWS:
            yield replace(whole, groups=tuple(groups), n_rows=sum(n_rows[g] for g in groups))
            groups = []
        groups.append(group)
    if groups:
        yield replace(whole, groups=tuple(groups), n_rows=sum(n_rows[g] for g in groups))


def read_row_groups(
    file: TableFile | ParquetPart,
    keys: Sequence[str],
    most_rows: int,
    groups: Sequence[int] | None = None,
) -> Iterator[tuple[Block, float]]:
    """Yield columns of some rows, and the share of the row groups that was read."""
    with file.open() as stream, open_parquet(stream) as opened:
        schema = opened.schema_arrow
    require_columns(keys, list(map(normal_form, schema.names)))
    names = {key: name for name in schema.names if (key := normal_form(name)) in set(keys)}
    texts = [name for name in names.values() if is_text(schema.field(name).type)]
    # Arrow reads a column's pages lazily if it has a buffer, and stores a repeated text once if it
    # reads a dictionary.
    with (
        file.open() as stream,
        open_parquet(stream, buffer_size=BUFFER, read_dictionary=texts) as table,
    ):
        groups = range(table.num_row_groups) if groups is None else groups
        n_rows, n_all = 0, sum(table.metadata.row_group(group).num_rows for group in groups)
        # Arrow would keep all row groups of one call in memory until the last is read.
        for group in groups:
            for batch in table.iter_batches(
                most_rows, row_groups=[group], columns=list(names.values()), use_threads=False
            ):
                n_rows += batch.num_rows
                columns = {key: batch.column(names[key]) for key in keys}
                for column in columns.values():
                    # Indices in a damaged file may be out of range.
                    column.validate(full=isinstance(column, pa.DictionaryArray))
                    lengths = text_lengths(column)
                    if (
                        lengths is not None
                        and (longest := int(lengths.max(initial=0))) > LONGEST_TEXT
                    ):
                        raise text_too_long(longest)
                yield Block(columns), n_rows / n_all
