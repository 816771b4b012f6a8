"""Store of finished rows on disk, in a folder of bounded size.

All stored content can be computed again, so no problem with the folder raises an error: it may be
read-only, full, unreadable, replaced by a file or deleted. Such problems are reported in `trouble`.

Each unit is one file with a checksum; a damaged file counts as missing. A file is written
completely in the same folder and then renamed. When the folder would exceed its bound, the least
recently used files are deleted.

The name of a file is a digest of everything its rows depend on: the draw, the rows of the data set
on this machine, the source of `dpcore`, and the versions of NumPy and SciPy. Rows of an older
version are therefore never used, and they are deleted first when the folder is full.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import dpcore
from dpcore.data import dataset_status
from dpcore.errors import ParameterError
from dpcore.experiments.engine.spec import Spec
from dpcore.experiments.engine.units import Finished, Unit

if TYPE_CHECKING:
    from filelock import BaseFileLock

# Temporary files and lock files that a killed process leaves behind, and the age at which they are
# deleted.
_UNFINISHED = "tmp"
CLAIMS = ".lock"
_ABANDONED_SECONDS = 3600
# Listing the folder is slow. It is done each time this share of the bound has been written, and the
# same share is freed in advance.
_SHARE = 0.05


class StoredFile(NamedTuple):
    """File with the time of its last use and its size in bytes."""

    last_used: float
    size: int
    path: str


class BoundedFolder:
    """Files under `root`, with at most `most_bytes` written by this process.

    The root and its content get the permissions of the parent folder, so that several users can
    share a folder. A parent folder that is created here is accessible only to its creator.

    trouble: One sentence if the last file could not be written, else empty.
    """

    def __init__(self, root: Path, most_bytes: int):
        self.root = root
        self.most_bytes = most_bytes
        self.trouble = ""
        self._unlisted: int | None = None  # bytes written since the folder was last listed
        self._listing = threading.Lock()

    def read(self, path: Path) -> bytes | None:
        """Return the content of a file, or None if it cannot be read."""
        try:
            content = path.read_bytes()
        except OSError:
            return None
        with suppress(OSError):  # a file of another user
            os.utime(path)
        return content

    def write(self, path: Path, content: bytes) -> None:
        """Write a complete file; after a failure, `trouble` contains the reason.

        A bound of 0 disables the store.
        """
        if not self.most_bytes:
            return
        try:
            try:
                self._replace(path, content)
            except FileNotFoundError:  # the folder was deleted between two steps
                self._replace(path, content)
        except OSError as error:
            self.trouble = (
                f"Results of sweeps cannot be kept in {self.root.parent} "
                f"({error.strerror or error}), so they are computed again each time. "
                f"{FOLDER_VARIABLE} may name another folder."
            )
            return
        self.trouble = ""
        self._make_room(len(content))

    def make_folder(self, folder: Path) -> None:
        """Create a folder under the root, with the permissions of its parent.

        Raises `OSError` if it cannot be created.
        """
        if folder.is_dir():
            return
        if folder == self.root.parent:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return
        self.make_folder(folder.parent)
        with suppress(FileExistsError):
            folder.mkdir()
            folder.chmod(stat.S_IMODE(folder.parent.stat().st_mode))

    def files(self) -> Iterator[StoredFile]:
        """Yield every file under the root."""
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = os.path.join(folder, name)
                with suppress(OSError):
                    state = os.lstat(path)
                    yield StoredFile(state.st_mtime, state.st_size, path)

    def clear(self) -> None:
        """Delete every file that may be deleted."""
        shutil.rmtree(self.root, ignore_errors=True)

    def _replace(self, path: Path, content: bytes) -> None:
        self.make_folder(path.parent)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=_UNFINISHED)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
            os.chmod(name, stat.S_IMODE(path.parent.stat().st_mode) & 0o666)
            os.replace(name, path)
        finally:
            with suppress(OSError):  # renamed, unless an error occurred
                os.unlink(name)

    def _make_room(self, written: int) -> None:
        if self._unlisted is not None:
            self._unlisted += written
            if self._unlisted < _SHARE * self.most_bytes:
                return
        if not self._listing.acquire(blocking=False):
            return
        try:
            self._unlisted = 0
            finished, total, now = [], 0, time.time()
            for file in self.files():
                name = os.path.basename(file.path)
                is_temporary = name.startswith(_UNFINISHED) or name.endswith(CLAIMS)
                if is_temporary and now - file.last_used > _ABANDONED_SECONDS:
                    _delete(file.path)
                elif not is_temporary:
                    finished.append(file)
                    total += file.size
            finished.sort(reverse=True)
            while finished and total > (1 - _SHARE) * self.most_bytes:
                file = finished.pop()
                if _delete(file.path):
                    total -= file.size
        finally:
            self._listing.release()


@lru_cache(maxsize=16)
def bounded_folder(root: Path, most_bytes: int) -> BoundedFolder:
    """Return the instance that all callers of this process share."""
    return BoundedFolder(root, most_bytes)


def _delete(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:  # a file of another user, or already deleted
        return False
    with suppress(OSError):  # other files are in it
        os.rmdir(os.path.dirname(path))
    return True


FOLDER_VARIABLE = "DPCORE_CACHE"
SIZE_VARIABLE = "DPCORE_CACHE_SIZE"
_USUAL_SIZE = "2 GB"
# Shares of the folder's bound for one content and for all contents of pages. Pages store a content
# at each move of a slider, and must not displace the rows of sweeps.
_LARGEST_SHARE, _CONTENTS_SHARE = 0.01, 0.1
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_PACKAGE = Path(dpcore.__file__).parent
_NUMERICAL = ("numpy", "scipy")
# Parts of the package that do not affect rows.
_DISPLAY_FOLDERS = ("figures", "command_line")


@cache
def software_fingerprint() -> str:
    """Return a digest of the source that computes rows and of the library versions."""
    digest = hashlib.sha256()
    for name in _NUMERICAL:
        digest.update(f"{name} {version(name)}\n".encode())
    for path in sorted(_PACKAGE.rglob("*.py")):
        if path.relative_to(_PACKAGE).parts[0] not in _DISPLAY_FOLDERS:
            digest.update(path.relative_to(_PACKAGE).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def versions() -> str:
    """Return the versions for a cell of a table: "dpcore 3f2a9c01, numpy 2.4.6, scipy 1.17.1"."""
    libraries = ", ".join(f"{name} {version(name)}" for name in _NUMERICAL)
    return f"dpcore {software_fingerprint()[:8]}, {libraries}"


def cache_folder() -> Path:
    """Return the folder of results: `DPCORE_CACHE`, or the cache folder of the operating system.

    A user without a home folder gets a path that cannot be written, so that nothing is stored.
    """
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder:
        return Path(folder)
    from platformdirs import user_cache_path

    try:
        return user_cache_path("dpcore", appauthor=False, opinion=False)
    except RuntimeError:
        return Path(os.devnull, "dpcore")


def size_in_bytes(text: str) -> int:
    """Return a size such as "500 MB" as a number of bytes.

    Raises `ParameterError` if the text is not a size.
    """
    match = re.fullmatch(r"\s*(\d{1,12}(?:\.\d*)?)\s*([kmg]?)b?\s*", text, re.IGNORECASE)
    if match is None:
        raise ParameterError(SIZE_VARIABLE, "a size such as 500 MB or 2 GB", text)
    return int(float(match[1]) * _UNITS[match[2].lower()])


@dataclass(frozen=True)
class StoreSummary:
    """Folder of a store, with the number of its entries and their size in bytes."""

    folder: Path
    entries: int
    size: int


class Claim:
    """Exclusive right of one sweep to compute a unit.

    Several sweeps write one folder: jobs of sessions that vary different settings but share units,
    a command line next to a server, and two servers of one user. Without claims, each of
    them would compute the shared units.

    Without a writable folder there is no lock file, and every session has the right. A claim costs
    0.28 ms (a direct call of `flock`: 0.12 ms); the smallest unit takes 8 ms.
    """

    def __init__(self, lock: BaseFileLock):
        self._lock = lock

    def release(self) -> None:
        with suppress(OSError):  # the file was deleted, or the system dropped the lock
            if self._lock.is_locked:
                # Deleted before the lock is released: a session that has the file open then
                # notices the deletion and opens a new one.
                os.unlink(self._lock.lock_file)
        with suppress(OSError):
            self._lock.release()


class Store:
    """Finished units in a folder.

    folder: path. `cache_folder()` by default; created when the first entry is written.
    trouble: One sentence for users if results cannot be stored, else empty.
    damaged: Number of unreadable entries found; they are computed again.
    """

    def __init__(self, folder: str | Path | None = None):
        self.folder = Path(folder) if folder is not None else cache_folder()
        self._unread: set[Path] = set()
        self._misset = ""
        try:
            most_bytes = size_in_bytes(os.environ.get(SIZE_VARIABLE) or _USUAL_SIZE)
        except ParameterError as error:
            most_bytes = size_in_bytes(_USUAL_SIZE)
            self._misset = f"{error}; using {_USUAL_SIZE}."
        self.most_bytes = most_bytes
        contents = int(_CONTENTS_SHARE * most_bytes)
        self._contents = bounded_folder(self.folder / "contents", contents)
        self._files = bounded_folder(self.folder / "sweeps", most_bytes - contents)

    @property
    def trouble(self) -> str:
        return self._misset or self._files.trouble or self._contents.trouble

    @property
    def damaged(self) -> int:
        return len(self._unread)

    def look_up(self, unit: Unit) -> tuple[Finished, ...] | None:
        """Return all rows of a unit, or None if some are missing."""
        path = self._path(unit)
        cells = self._cells(path)
        keys = [spec.cell_identity() for spec in unit.specs]
        if not all(key in cells for key in keys):
            return None
        if not all(_is_cell(cells[key], spec) for key, spec in zip(keys, unit.specs, strict=True)):
            self._unread.add(path)
            return None
        return tuple(
            Finished(cell, unit.repetition, tuple(cells[key]["rows"]), cells[key]["reason"])
            for cell, key in zip(unit.cells, keys, strict=True)
        )

    def keep(self, unit: Unit, finished: tuple[Finished, ...]) -> None:
        """Add the unit's rows to those of the same draw."""
        path = self._path(unit)
        cells = self._cells(path)
        for spec, result in zip(unit.specs, finished, strict=True):
            key = spec.cell_identity()
            cells[key] = {"rows": result.rows, "reason": result.reason}
        document = {"draw": _draw_of(unit), "cells": cells}
        self._keep(path, json.dumps(document).encode(), self._files)

    def content(self, identity: Sequence[object]) -> bytes | None:
        """Return the bytes stored under an identity, or None if they are missing or unreadable."""
        return self._verified_content(self._path_of(identity, self._contents), self._contents)

    def keep_content(self, identity: Sequence[object], content: bytes) -> None:
        """Store bytes under an identity, unless they take a large part of the folder."""
        if len(content) <= _LARGEST_SHARE * self.most_bytes:
            self._keep(self._path_of(identity, self._contents), content, self._contents)

    def claim(self, unit: Unit) -> Claim | None:
        """Return the exclusive right to compute a unit, or None while another session has it.

        The operating system releases the claim when its process ends for any reason.
        """
        path = self._path(unit).with_suffix(CLAIMS)
        # Not thread-local, because another thread may finish the unit and release the claim.
        from filelock import FileLock, Timeout

        lock = FileLock(path, mode=0o600, thread_local=False, fallback_to_soft=False)
        if not self._files.most_bytes:  # nothing is written at all
            return Claim(lock)
        try:
            self._files.make_folder(path.parent)
            lock.acquire(blocking=False)
        except Timeout:
            if path.exists():
                return None
        except OSError:
            pass  # Read-only, full or without locks: sessions cannot share units either.
        return Claim(lock)

    def summary(self) -> StoreSummary:
        """Return the number of entries and their size, for all versions."""
        files = [*self._files.files(), *self._contents.files()]
        entries = sum(file.path.endswith(".json") for file in files)
        return StoreSummary(self.folder, entries, sum(file.size for file in files))

    def clear(self) -> None:
        """Delete every entry, and no other file of the folder."""
        self._files.clear()
        self._contents.clear()

    def _path(self, unit: Unit) -> Path:
        dataset = unit.specs[0].dataset_read()
        n_bytes = None if dataset is None else _size_on_disk(dataset)
        return self._path_of([_draw_of(unit), unit.repetition, n_bytes], self._files)

    def _path_of(self, identity: Sequence[object], files: BoundedFolder) -> Path:
        digest = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
        ending = "json" if files is self._files else "bin"
        return files.root / software_fingerprint() / digest[:2] / f"{digest[2:34]}.{ending}"

    def _cells(self, path: Path) -> dict[str, Any]:
        """Return the cells of an entry; an unreadable entry is recorded and gives none."""
        body = self._verified_content(path, self._files)
        if body is None:
            return {}
        with suppress(ValueError, RecursionError):
            document = json.loads(body)
            cells = document.get("cells") if isinstance(document, dict) else None
            if isinstance(cells, dict):
                return cells
        self._unread.add(path)
        return {}

    def _verified_content(self, path: Path, files: BoundedFolder) -> bytes | None:
        """Return the content of a file after its checksum, or None and record a mismatch."""
        content = files.read(path)
        if content is None:
            return None
        checksum, _, body = content.partition(b"\n")
        if checksum == _checksum(body):
            return body
        self._unread.add(path)
        return None

    def _keep(self, path: Path, body: bytes, files: BoundedFolder) -> None:
        files.write(path, _checksum(body) + b"\n" + body)


def _draw_of(unit: Unit) -> dict[str, Any]:
    first = unit.specs[0]
    return {"experiment": first.experiment, **first.draw_identity()}


def _is_cell(entry: object, spec: Spec) -> bool:
    """Return whether an entry holds rows of this spec, or a reason."""
    if not isinstance(entry, dict) or "reason" not in entry:
        return False
    if isinstance(entry["reason"], str):
        return entry.get("rows") == []
    return spec.are_rows(entry.get("rows"))


def _size_on_disk(dataset: str) -> list[object]:
    # A partial data set has the name of the complete one, but other rows.
    status = dataset_status(dataset)
    return [status.n_samples, status.n_features, status.is_part]


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()
