"""Official files on this machine: location, verification and parsing."""

from __future__ import annotations

import gzip
import hashlib
import math
import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.errors import DataUnavailable

DATA_HOME_VARIABLE = "DPCORE_DATA"

_TORCHVISION_FOLDERS = ("MNIST/raw", "FashionMNIST/raw")
_GZIP_MAGIC = b"\x1f\x8b"
# Unpacked, no official file is larger: a few kilobytes of gzip can hold gigabytes.
_LARGEST = 160_000_000

# Checksums of file contents by (path, modification time, size), so that a file is hashed once.
_checksums: dict[tuple[str, int, int], str] = {}


@dataclass(frozen=True)
class OfficialFile:
    """File of a publisher.

    name: Published name, with ".gz" if published so. On disk, both forms are accepted.
    url: Folder of the file; empty if it cannot be downloaded.
    n_bytes: Size of the file at `url`.
    most_bytes: Largest size of the content; a larger content is not read completely.
    sha256: Published checksum of the file at `url`, if known.
    content_sha256: Checksum of the unpacked content, independent of the compression.
    name_is_shared: Whether another data set has a file with this name, so that only the checksum
        distinguishes them outside a data set's folder.
    """

    name: str
    url: str = ""
    n_bytes: int | None = None
    most_bytes: int = _LARGEST
    sha256: str | None = None
    content_sha256: str | None = None
    name_is_shared: bool = False

    @property
    def spellings(self) -> tuple[str, ...]:
        """Names on disk: packed or not, and with the point that some archives write before idx."""
        stem = self.name.removesuffix(".gz")
        usual = (self.name, stem) if self.name.endswith(".gz") else (stem, stem + ".gz")
        return tuple(dict.fromkeys((*usual, *(name.replace("-idx", ".idx") for name in usual))))


@dataclass(frozen=True)
class LocalFile:
    """An official file that was found at `path`."""

    path: Path
    official: OfficialFile

    def content(self) -> bytes:
        """Return the unpacked and verified content.

        Raises `DataUnavailable` if the file cannot be read or unpacked, is too large, or has a
        wrong checksum.
        """
        content = _unpack(self.path, self.official.most_bytes)
        expected = self.official.content_sha256
        if expected is not None:
            digest = _content_sha256(self.path, self.official.most_bytes, content)
            if digest != expected:
                raise damaged(
                    self.path,
                    f"the SHA-256 of its content is {digest} where {expected} is expected",
                )
        return content


def damaged(path: Path, fault: str) -> DataUnavailable:
    """Return the error for a file that is damaged or not the official one."""
    return DataUnavailable(
        f"{path} is damaged or not the official file (replace or delete it): {fault}"
    )


def find_data_home(argument: str | os.PathLike[str] | None = None) -> Path:
    """Return the data home: the argument, DPCORE_DATA, or scikit-learn's folder."""
    chosen = (
        argument
        or os.environ.get(DATA_HOME_VARIABLE)
        or os.environ.get("SCIKIT_LEARN_DATA")
        or Path("~", "scikit_learn_data")
    )
    # Unlike Path.expanduser, this returns "~" unchanged if the home directory is unknown.
    return Path(os.path.expanduser(chosen))


def scikit_learn_table(
    name: str,
    dataset: str,
    shape: tuple[int, int],
    *,
    delimiter: str | None = None,
    skiprows: int = 0,
) -> FloatArray:
    """Return the numbers of a text file that ships with scikit-learn.

    name: Name of the file, plain or gzip.
    shape: Numbers of rows and columns of the undamaged file.
    delimiter, skiprows: Parameters of `numpy.loadtxt`.

    Raises `DataUnavailable` if scikit-learn is not installed, or if the file cannot be read, has
    another shape, or contains a number that is not finite.
    """
    path = scikit_learn_file(name, dataset)
    try:
        # NumPy reads the working folder if it gets a path.
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
            table = np.loadtxt(file, delimiter=delimiter, skiprows=skiprows, ndmin=2)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise damaged(path, str(error)) from error
    if table.shape != shape:
        raise damaged(path, f"it must have {shape[0]} rows of {shape[1]} numbers: {table.shape}")
    if not np.isfinite(table).all():
        raise damaged(path, "every number must be finite")
    return table


def scikit_learn_file(name: str, dataset: str) -> Path:
    # The package is not imported, because its import takes longer than reading the file.
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        raise DataUnavailable(
            f"the data set {dataset} comes with scikit-learn, which is not installed"
        )
    return Path(package.origin).parent / "datasets" / "data" / name


def locate(official: OfficialFile, home: Path, folders: Iterable[str]) -> LocalFile | None:
    """Find a file in the data set's own folders, the data home or torchvision's folders."""
    for folder in folders:
        for spelling in official.spellings:
            path = home / folder / spelling
            if os.path.isfile(path):  # False in a folder that may not be read, unlike Path.is_file
                return LocalFile(path, official)
    shared = (home, *(home / folder for folder in _TORCHVISION_FOLDERS))
    for path in (folder / spelling for folder in shared for spelling in official.spellings):
        if os.path.isfile(path) and (not official.name_is_shared or _is_content_of(path, official)):
            return LocalFile(path, official)
    return None


def _is_content_of(path: Path, official: OfficialFile) -> bool:
    try:
        return _content_sha256(path, official.most_bytes) == official.content_sha256
    except (DataUnavailable, OSError):
        return False


def _unpack(path: Path, most_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            # The magic number decides, because files may be packed or unpacked without renaming.
            is_packed = file.read(2) == _GZIP_MAGIC
            file.seek(0)
            content = (gzip.GzipFile(fileobj=file) if is_packed else file).read(most_bytes + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise damaged(path, f"it does not unpack ({error})") from error
    except OSError as error:
        raise DataUnavailable(f"{path} cannot be read: {error.strerror or error}") from error
    if len(content) > most_bytes:
        raise damaged(path, f"it holds more than the {most_bytes:,} bytes it can have")
    return content


def _content_sha256(path: Path, most_bytes: int, content: bytes | None = None) -> str:
    state = path.stat()
    key = (str(path.resolve()), state.st_mtime_ns, state.st_size)
    if key not in _checksums:
        if content is None:
            content = _unpack(path, most_bytes)
        _checksums[key] = hashlib.sha256(content).hexdigest()
    return _checksums[key]


_IDX_UNSIGNED_BYTE = 0x08


def read_idx(file: LocalFile) -> IntArray:
    """Read an IDX file of unsigned bytes, the format of MNIST.

    Returns: ndarray of uint8, of the shape the header gives
    Raises `DataUnavailable` if the magic number, the element type or the length do not fit.
    """
    content = file.content()
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != _IDX_UNSIGNED_BYTE:
        raise damaged(
            file.path,
            f"its magic number is {content[:4].hex()} where 0000 08 (IDX, unsigned bytes) "
            "is expected",
        )
    n_axes = content[3]
    start = 4 + 4 * n_axes
    if len(content) < start:
        raise damaged(file.path, "it ends within its header")
    shape = tuple(np.frombuffer(content, dtype=">u4", count=n_axes, offset=4).tolist())
    if len(content) != start + math.prod(shape):
        raise damaged(
            file.path, f"it holds {len(content) - start:,} bytes of data for shape {shape}"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def read_lines(file: LocalFile, n_lines: int) -> list[bytes]:
    """Return the lines of a text file, which must have `n_lines` lines."""
    lines = file.content().splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) != n_lines:
        raise damaged(file.path, f"it has {len(lines):,} rows where {n_lines:,} are expected")
    return lines


def read_numbers(
    lines: list[bytes],
    n_columns: int,
    path: Path,
    *,
    delimiter: str | None = None,
    rows: IntArray | None = None,
) -> FloatArray:
    """Parse lines of finite numbers, float32 of shape (len(lines), n_columns).

    path: Path for error messages.
    delimiter: Separator of columns. Default: any white space.
    rows: See `refuse_rows`.

    Raises `DataUnavailable` if a line has another number of columns, or something that is no finite
        number.
    """
    try:
        table = np.loadtxt(lines, dtype=np.float32, delimiter=delimiter, ndmin=2, comments=None)
    except ValueError as error:
        separator = delimiter.encode() if delimiter else None
        split = [line.split(separator) for line in lines]
        counts = np.array([len(fields) for fields in split])
        refuse_rows(counts != n_columns, path, f"has not the {n_columns} columns expected", rows)
        wrong = np.array([not all(map(is_number, fields)) for fields in split])
        refuse_rows(wrong, path, "holds something that is no number", rows)
        raise damaged(path, "it is no table of numbers") from error
    # Blank lines would shift the row numbers in error messages.
    if len(table) != len(lines):
        raise damaged(path, f"it has {len(lines) - len(table):,} blank lines among its rows")
    if table.shape[1] != n_columns:
        raise damaged(path, f"it has {table.shape[1]} columns where {n_columns} are expected")
    wrong = ~np.all(np.isfinite(table), axis=1)
    refuse_rows(wrong, path, "holds a number that is not finite", rows)
    return table


def is_number(field: bytes) -> bool:
    """Return whether a field of a table can be parsed as a number, finite or not."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def refuse_rows(wrong: BoolArray, path: Path, fault: str, rows: IntArray | None = None) -> None:
    """Refuse a table with a wrong row, naming the first.

    wrong: ndarray of bool, shape (n_rows,)
    fault: Description of the fault, to follow "row 7 ".
    rows: Position of each row in the file, from 0, ndarray of int, shape (n_rows,). Default:
        consecutive.

    Raises `DataUnavailable` if a row is wrong.
    """
    if wrong.any():
        first = int(np.argmax(wrong))
        raise damaged(path, f"row {(first if rows is None else int(rows[first])) + 1:,} {fault}")
