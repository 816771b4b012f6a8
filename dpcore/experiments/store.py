"""Finished rows on disk, in a folder that is bounded in size and may fail without harm.

What is in it can be computed again, so nothing that happens to the folder raises: read-only,
full, unreadable, a file in its place, deleted meanwhile. A file is written whole beside its place
and moved there. When the folder would outgrow its bound, the files that were not asked for
longest are deleted.

Finished rows, and what they begin with, on disk: a folder a person can find and clear.

One file a unit, with a checksum; a file that does not read back is as good as none, and a folder
that cannot be written keeps nobody from computing.
Files are found by everything their rows depend on: the draw, which rows of the data set are on this
machine, the source of `dpcore` and the versions of NumPy and SciPy. Rows of an older version are
therefore never shown; they are the first to go when the folder has reached its size.
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
from dpcore.experiments.engine import Finished, Spec, Unit

if TYPE_CHECKING:
    from filelock import BaseFileLock

# Files in a folder that is bounded in size, may be shared, and may fail without harm.

# Names of what a process that was killed leaves behind, and how long it may still be at work.
_UNFINISHED = "tmp"
CLAIMS = ".lock"
_ABANDONED_SECONDS = 3600
# Looking through the folder takes a moment, so it is done whenever this share of the bound has
# been written; as much room is made in advance.
_SHARE = 0.05


class Kept(NamedTuple):
    """A file, when it was last asked for, and its size in bytes."""

    asked: float
    size: int
    path: str


class BoundedFolder:
    """Files under `root`, together at most `most_bytes` as far as this process writes them.

    The root and what is in it have the rights of the folder that holds it, so that one which
    several people may write is shared in the whole. If that is made here, it is its maker's alone.

    trouble: One sentence if the last file could not be written, else empty.
    """

    def __init__(self, root: Path, most_bytes: int):
        self.root = root
        self.most_bytes = most_bytes
        self.trouble = ""
        self._unseen: int | None = None  # bytes written since the folder was looked through
        self._looking = threading.Lock()

    def read(self, path: Path) -> bytes | None:
        """Content of a file; None if there is none that can be read."""
        try:
            content = path.read_bytes()
        except OSError:
            return None
        with suppress(OSError):  # somebody else's file
            os.utime(path)
        return content

    def write(self, path: Path, content: bytes) -> None:
        """Put a whole file in its place, or say in `trouble` why not. A bound of 0 keeps none."""
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
                f"({error.strerror or error}), so they are computed anew each time."
            )
            return
        self.trouble = ""
        self._make_room(len(content))

    def make_folder(self, folder: Path) -> None:
        """Make a folder under the root, with the rights of the one that holds it.

        Raises `OSError` if it cannot be.
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

    def files(self) -> Iterator[Kept]:
        """Every file under the root."""
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = os.path.join(folder, name)
                with suppress(OSError):
                    state = os.lstat(path)
                    yield Kept(state.st_mtime, state.st_size, path)

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
            with suppress(OSError):  # gone, unless something went wrong
                os.unlink(name)

    def _make_room(self, written: int) -> None:
        if self._unseen is not None:
            self._unseen += written
            if self._unseen < _SHARE * self.most_bytes:
                return
        if not self._looking.acquire(blocking=False):
            return
        try:
            self._unseen = 0
            kept, total, now = [], 0, time.time()
            for file in self.files():
                name = os.path.basename(file.path)
                is_passing = name.startswith(_UNFINISHED) or name.endswith(CLAIMS)
                if is_passing and now - file.asked > _ABANDONED_SECONDS:
                    _delete(file.path)
                elif not is_passing:
                    kept.append(file)
                    total += file.size
            kept.sort(reverse=True)
            while kept and total > (1 - _SHARE) * self.most_bytes:
                file = kept.pop()
                if _delete(file.path):
                    total -= file.size
        finally:
            self._looking.release()


@lru_cache(maxsize=16)
def bounded_folder(root: Path, most_bytes: int) -> BoundedFolder:
    """The one that everybody in this process uses."""
    return BoundedFolder(root, most_bytes)


def _delete(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:  # somebody else's file, or already gone
        return False
    with suppress(OSError):  # other files are in it
        os.rmdir(os.path.dirname(path))
    return True


# Finished rows, and what they begin with, on disk: a folder a person can find and clear.

FOLDER_VARIABLE = "DPCORE_CACHE"
SIZE_VARIABLE = "DPCORE_CACHE_SIZE"
_USUAL_SIZE = "2 GB"
# Of the folder's bound: what a visitor's moving sliders may put there at once, and in all, so that
# they push out no sweep.
_LARGEST_SHARE, _CONTENTS_SHARE = 0.01, 0.1
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_PACKAGE = Path(dpcore.__file__).parent
_NUMERICAL = ("numpy", "scipy")
# Parts of the package that only show what others computed.
_SHOWING = ("figures", "command_line")


@cache
def software_fingerprint() -> str:
    """Digest of the source that computes rows and of the versions under it."""
    digest = hashlib.sha256()
    for name in _NUMERICAL:
        digest.update(f"{name} {version(name)}\n".encode())
    for path in sorted(_PACKAGE.rglob("*.py")):
        if path.relative_to(_PACKAGE).parts[0] not in _SHOWING:
            digest.update(path.relative_to(_PACKAGE).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def versions() -> str:
    """The same for a cell of a table: "dpcore 3f2a9c01, numpy 2.4.6, scipy 1.17.1"."""
    libraries = ", ".join(f"{name} {version(name)}" for name in _NUMERICAL)
    return f"dpcore {software_fingerprint()[:8]}, {libraries}"


def cache_folder() -> Path:
    """Where results are kept: `DPCORE_CACHE`, or the place this system has for caches."""
    given = os.environ.get(FOLDER_VARIABLE)
    if given:
        return Path(given)
    from platformdirs import user_cache_path

    return user_cache_path("dpcore", appauthor=False, opinion=False)


def size_in_bytes(text: str) -> int:
    """ "500 MB" as a number of bytes.

    Raises `ParameterError` if it is no size.
    """
    found = re.fullmatch(r"\s*(\d{1,12}(?:\.\d*)?)\s*([kmg]?)b?\s*", text, re.IGNORECASE)
    if found is None:
        raise ParameterError(SIZE_VARIABLE, "a size such as 500 MB or 2 GB", text)
    return int(float(found[1]) * _UNITS[found[2].lower()])


@dataclass(frozen=True)
class StoreSummary:
    """What a person wants to know of the folder."""

    folder: Path
    entries: int
    size: int


class Claim:
    """The right to compute a unit, held by one session at a time.

    Where the folder cannot be written there is no file to lock: everybody then has the right.
    A claim costs 0.28 ms (`flock` called by hand 0.12 ms); the smallest unit takes 8 ms.
    """

    def __init__(self, lock: BaseFileLock):
        self._lock = lock

    def release(self) -> None:
        with suppress(OSError):  # deleted meanwhile, or a system that has forgotten the lock
            if self._lock.is_locked:
                # While locked: whoever opened it meanwhile sees that it is gone and tries anew.
                os.unlink(self._lock.lock_file)
        with suppress(OSError):
            self._lock.release()


class Store:
    """Finished units in a folder.

    folder: path. `cache_folder()` by default; made when something is kept.
    trouble: One sentence for a person if results cannot be kept, else empty.
    damaged: Entries found unreadable so far; they are computed again.
    """

    def __init__(self, folder: str | Path | None = None):
        self.folder = Path(folder) if folder is not None else cache_folder()
        self._unread: set[Path] = set()
        self._misset = ""
        try:
            most_bytes = size_in_bytes(os.environ.get(SIZE_VARIABLE) or _USUAL_SIZE)
        except ParameterError as error:
            most_bytes = size_in_bytes(_USUAL_SIZE)
            self._misset = f"{error}: {_USUAL_SIZE} it is."
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
        """All the unit's rows, or None if some are missing."""
        path = self._path(unit)
        known = self._cells(path)
        keys = [spec.cell_identity() for spec in unit.specs]
        if not all(key in known for key in keys):
            return None
        if not all(_is_cell(known[key], spec) for key, spec in zip(keys, unit.specs, strict=True)):
            self._unread.add(path)
            return None
        return tuple(
            Finished(cell, unit.repetition, tuple(known[key]["rows"]), known[key]["reason"])
            for cell, key in zip(unit.cells, keys, strict=True)
        )

    def keep(self, unit: Unit, finished: tuple[Finished, ...]) -> None:
        """Add the unit's rows to those of the same draw."""
        path = self._path(unit)
        known = self._cells(path)
        for spec, one in zip(unit.specs, finished, strict=True):
            key = spec.cell_identity()
            known[key] = {"rows": one.rows, "reason": one.reason}
        document = {"draw": _draw_of(unit), "cells": known}
        self._keep(path, json.dumps(document).encode(), self._files)

    def content(self, identity: Sequence[object]) -> bytes | None:
        """Bytes that were kept under an identity; None if there are none that can be read."""
        return self._checked(self._path_of(identity, self._contents), self._contents)

    def keep_content(self, identity: Sequence[object], content: bytes) -> None:
        """Keep bytes under everything they depend on, unless they would push out much else."""
        if len(content) <= _LARGEST_SHARE * self.most_bytes:
            self._keep(self._path_of(identity, self._contents), content, self._contents)

    def claim(self, unit: Unit) -> Claim | None:
        """The right to compute a unit; None while another session has it.

        The system takes the claim back when the process that holds it ends, however it ends.
        """
        path = self._path(unit).with_suffix(CLAIMS)
        # Whichever thread finishes the unit gives it back.
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
            pass  # Read-only, full, without locks: what cannot be kept cannot be shared out either.
        return Claim(lock)

    def summary(self) -> StoreSummary:
        """How many entries there are and what they take, of every version."""
        files = [*self._files.files(), *self._contents.files()]
        entries = sum(file.path.endswith(".json") for file in files)
        return StoreSummary(self.folder, entries, sum(file.size for file in files))

    def clear(self) -> None:
        """Delete every entry, and nothing else that may be in the folder."""
        self._files.clear()
        self._contents.clear()

    def _path(self, unit: Unit) -> Path:
        dataset = unit.specs[0].dataset_read()
        here = None if dataset is None else _rows_here(dataset)
        return self._path_of([_draw_of(unit), unit.repetition, here], self._files)

    def _path_of(self, identity: Sequence[object], files: BoundedFolder) -> Path:
        digest = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
        ending = "json" if files is self._files else "bin"
        return files.root / software_fingerprint() / digest[:2] / f"{digest[2:34]}.{ending}"

    def _cells(self, path: Path) -> dict[str, Any]:
        """Cells of an entry; none if there is none that can be read, which is noted."""
        body = self._checked(path, self._files)
        if body is None:
            return {}
        with suppress(ValueError, RecursionError):
            document = json.loads(body)
            found = document.get("cells") if isinstance(document, dict) else None
            if isinstance(found, dict):
                return found
        self._unread.add(path)
        return {}

    def _checked(self, path: Path, files: BoundedFolder) -> bytes | None:
        """What stands in a file after its checksum; None if it does not fit, which is noted."""
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


def _is_cell(kept: object, spec: Spec) -> bool:
    """Whether an entry holds the rows that this spec gives, or a reason."""
    if not isinstance(kept, dict) or "reason" not in kept:
        return False
    if isinstance(kept["reason"], str):
        return kept.get("rows") == []
    return spec.are_rows(kept.get("rows"))


def _rows_here(dataset: str) -> list[object]:
    # A part of a data set has other rows than the whole, under the same name.
    status = dataset_status(dataset)
    return [status.n_samples, status.n_features, status.is_part]


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()
