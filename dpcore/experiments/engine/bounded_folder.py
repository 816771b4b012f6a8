"""Files in a folder that is bounded in size, may be shared, and may fail without harm.

What is in it can be computed again, so nothing that happens to the folder raises: read-only,
full, unreadable, a file in its place, deleted meanwhile. A file is written whole beside its place
and moved there. When the folder would outgrow its bound, the files that were not asked for
longest are deleted.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

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
