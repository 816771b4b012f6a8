"""Load NPY and NPZ files without executing code or exceeding a memory bound."""

from __future__ import annotations

import io
import math
import mmap
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dpcore.arrays import AnyArray
from dpcore.release.table_file import TableFile

_LARGEST_NPZ = 1 << 31


def free_mapped_pages(matrix: Any) -> None:
    """Free the memory of the pages of a mapped file that were read."""
    mapped = getattr(matrix, "_mmap", None)
    if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def load_numpy_file(file: TableFile) -> Any:
    if file.ending == ".npz":
        path = Path(file.path)
        return unpack_npz(path if file.content is None else io.BytesIO(file.content), _LARGEST_NPZ)
    if file.content is None:
        return np.load(file.path, mmap_mode="r", allow_pickle=False)
    return np.load(io.BytesIO(file.content), allow_pickle=False)


def unpack_npz(file: Path | BinaryIO, most_bytes: int) -> dict[str, AnyArray]:
    """Return the arrays of an NPZ file of at most most_bytes bytes.

    Raises `ValueError`, `OSError` or `zipfile.BadZipFile`, or another exception of NumPy, if the
        file is damaged.
    """
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > most_bytes:
            raise ValueError("too large")
        for member in members:
            _check_declared_size(archive, member)
    if not isinstance(file, Path):
        file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        return dict(arrays)


def _check_declared_size(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Refuse a header that declares more data than the file has; NumPy would allocate it."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, _, kind = read(file)
    if math.prod(shape) * kind.itemsize > member.file_size:
        raise ValueError("less than it declares")
