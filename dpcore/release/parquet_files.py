"""Read Parquet: one file, or a folder, glob, URL or `pyarrow.dataset` of files as one table."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from dpcore.errors import ParameterError
from dpcore.release.cells import is_date
from dpcore.release.table_file import BUFFER, Block, TableFile, refuse_damaged, require_columns

if TYPE_CHECKING:
    import pyarrow as pa

# Of a part that a worker sums at once, but that a row group is never cut: so many that a sum of
# D x D numbers is small beside them, so few that no worker waits long for the last.
PART_ROWS = 1 << 17


@dataclass(frozen=True)
class ParquetPart:
    """Some row groups of a file of Parquet, which may be one of many that make a table.

    fragment: Of `pyarrow.dataset`. It says where the file is, and can be sent to a worker.
    name: As sentences say it.
    groups: Which row groups, in their order.
    n_rows: In these.
    """

    fragment: Any
    name: str
    groups: tuple[int, ...]
    n_rows: int
    ending: str = ".parquet"

    def opened(self) -> Any:
        """The whole file as a stream of Arrow's."""
        return self.fragment.open()


def is_partitioned(data: Any) -> bool:
    """Whether it is a folder, a glob, a URL, or a data set of Arrow's: many files, one table."""
    if isinstance(data, str | Path):
        place = str(data)
        return "://" in place or Path(place).is_dir() or _is_glob(place)
    return type(data).__module__ in ("pyarrow._dataset", "pyarrow.dataset")


def _is_glob(place: str) -> bool:
    return not Path(place).exists() and bool(set("*?[") & set(place))


def parquet_parts(data: Any, keys: Sequence[str]) -> list[ParquetPart]:
    """The row groups of all files of a table, a part for so many rows, in the order of their names.

    Every file has to have each of the columns once, with numbers, texts or dates where the first
    file has them. Whole numbers and floating-point ones may differ, since a blank alone turns one
    into the other; a column without any cell, or a file without any row, fits everywhere.

    data: Folder, glob or URL of files of Parquet; one such file; `pyarrow.dataset.Dataset`.
    Raises `ParameterError` if there is no such file, or one is damaged or differs: its name is
        said.
    """
    from pyarrow import parquet

    parts: list[ParquetPart] = []
    kinds: dict[str, tuple[str, str]] = {}
    fragments = find_fragments(data)
    folder = os.path.commonpath([os.path.dirname(each.path) or "." for each in fragments])
    for fragment in fragments:
        name = os.path.relpath(fragment.path, folder)
        whole = ParquetPart(fragment, name, (), 0)
        with (
            refuse_damaged(whole.ending, whole.name),
            whole.opened() as stream,
            parquet.ParquetFile(stream) as file,
        ):
            try:
                require_columns(keys, file.schema_arrow.names)
            except ParameterError as error:
                raise ParameterError("data", "files of one schema", f"{name}: {error}") from error
            n_rows = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
            for key in keys if sum(n_rows) else ():
                kind = _kind_of(file.schema_arrow.field(key).type)
                first, there = kinds.setdefault(key, (name, kind)) if kind else ("", kind)
                if kind != there:
                    raise ParameterError(
                        "data", f"files of one schema: {key!r} has {there} in {first}",
                        f"{kind} in {name}",
                    )  # fmt: skip
        parts += _grouped(whole, n_rows)
    return parts


def find_fragments(data: Any) -> list[Any]:
    """Of each file, in an order that depends on their names alone."""
    from pyarrow import dataset

    if not isinstance(data, str | Path):
        if getattr(data, "_scan_options", None):
            raise ParameterError("data", "a data set of whole files, without a filter", "a filter")
        found = list(data.get_fragments())
        if not all(hasattr(each, "row_groups") for each in found):
            raise ParameterError("data", "a data set of Parquet files", type(data).__name__)
        return sorted(found, key=lambda each: str(each.path))
    system, root, names = _files_at(str(data))
    # What programs write beside the files: _SUCCESS, .crc.
    names = [
        name
        for name in names
        if not any(part[0] in "._" for part in PurePath(os.path.relpath(name, root)).parts)
    ]
    if others := [name for name in names if not name.endswith(".parquet")]:
        other = os.path.basename(min(others))
        raise ParameterError(
            "data", "Parquet files alone, or a glob such as folder/*.parquet", other
        )
    if not names:
        raise ParameterError("data", "a place with files named .parquet", str(data))
    form = dataset.ParquetFileFormat()
    return [form.make_fragment(name, filesystem=system) for name in sorted(set(names))]


def _files_at(place: str) -> tuple[Any, str, list[str]]:
    """Where files are, the folder they are looked for in, and their names."""
    from pyarrow import fs

    if "://" in place:
        try:
            system, path = fs.FileSystem.from_uri(place)
            info = system.get_file_info(path)
            if info.type == fs.FileType.Directory:
                chosen = system.get_file_info(fs.FileSelector(path, recursive=True))
                return system, path, [each.path for each in chosen if each.is_file]
            return system, os.path.dirname(path), [path] if info.is_file else []
        except (ValueError, OSError, ImportError, NotImplementedError) as error:
            raise ParameterError("data", "a URL that Arrow can open here", place) from error
    system = fs.LocalFileSystem()
    if Path(place).is_dir():
        return system, place, [str(each) for each in Path(place).rglob("*") if each.is_file()]
    names = glob.glob(place, recursive=True) if _is_glob(place) else [place]
    found = [name for name in names if os.path.isfile(name)]
    return system, os.path.commonpath([os.path.dirname(name) for name in found] or [""]), found


def _kind_of(kind: pa.DataType) -> str:
    """What a column of this type has, as sentences say it; nothing of one without any cell."""
    import pyarrow as pa

    if pa.types.is_null(kind):
        return ""
    if pa.types.is_dictionary(kind):
        return _kind_of(kind.value_type)
    if is_date(kind):
        return "dates"
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    if any(test(kind) for test in texts):
        return "texts"
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return "numbers" if any(test(kind) for test in numbers) else str(kind)


def _grouped(whole: ParquetPart, n_rows: Sequence[int]) -> Iterator[ParquetPart]:
    """Its row groups, in parts of at most `PART_ROWS` where a row group is not larger itself."""
    groups: list[int] = []
    for group, n in enumerate(n_rows):
        if groups and sum(n_rows[each] for each in groups) + n > PART_ROWS:
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
    """Columns of some rows, and the share of these row groups, or of all, that is read."""
    import pyarrow as pa
    from pyarrow import parquet

    # With a buffer a column's pages are read as they are needed, and not all at once.
    with (
        file.opened() as stream,
        parquet.ParquetFile(stream, buffer_size=BUFFER) as table,
    ):
        require_columns(keys, table.schema_arrow.names)
        groups = range(table.num_row_groups) if groups is None else groups
        n_rows, n_all = 0, sum(table.metadata.row_group(group).num_rows for group in groups)
        # One row group after another: all at once stay in memory until the last is read.
        for group in groups:
            for batch in table.iter_batches(
                most_rows, row_groups=[group], columns=list(keys), use_threads=False
            ):
                n_rows += batch.num_rows
                columns = {key: batch.column(key) for key in keys}
                for column in columns.values():
                    # What a damaged file refers to may not be there.
                    column.validate(full=isinstance(column, pa.DictionaryArray))
                yield Block(columns), n_rows / n_all
