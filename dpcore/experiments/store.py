"""Finished rows on disk: a folder a person can find and clear.

One file a unit, written whole and then moved into place, with a checksum; a file that does not
read back is as good as none. Files are found by everything their rows depend on: the draw, which
rows of the data set are on this machine, the source of `dpcore` and the versions of NumPy and
SciPy. Rows of an older version are therefore never shown, only left behind.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from dpcore.data import dataset_status
from dpcore.experiments.run import Row
from dpcore.experiments.software import software_fingerprint
from dpcore.experiments.spec import RunSpec
from dpcore.experiments.units import Finished, Unit

try:
    import fcntl
except ImportError:  # Windows: two processes may then compute the same unit, to the same end.
    fcntl = None

FOLDER_VARIABLE = "DPCORE_CACHE"


def cache_folder() -> Path:
    """Where results are kept: `DPCORE_CACHE`, or the place this system has for caches."""
    if given := os.environ.get(FOLDER_VARIABLE):
        return Path(given)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "dpcore"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "dpcore"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dpcore"


@dataclass(frozen=True)
class StoreSummary:
    """What a person wants to know of the folder."""

    folder: Path
    entries: int
    size: int


class Claim:
    """The right to compute a unit, held by one session at a time."""

    def __init__(self, path: Path, descriptor: int):
        self._path = path
        self._descriptor = descriptor

    def release(self) -> None:
        # Unlinked while locked: whoever opened it meanwhile sees that it is gone and tries anew.
        self._path.unlink(missing_ok=True)
        os.close(self._descriptor)


class Store:
    """Finished units in a folder.

    Parameters
    ----------
    folder : path, optional
        `cache_folder()` by default; made when something is kept.

    Attributes
    ----------
    damaged : int
        Entries found unreadable so far; they are computed again.
    """

    def __init__(self, folder: str | Path | None = None):
        self.folder = Path(folder) if folder is not None else cache_folder()
        self.damaged = 0

    def look_up(self, unit: Unit) -> tuple[Finished, ...] | None:
        """All the unit's rows, or None if some are missing."""
        known = self._read(self._path(unit)).get("cells", {})
        keys = [_cell_key(spec) for spec in unit.specs]
        if not all(key in known for key in keys):
            return None
        return tuple(
            Finished(cell, unit.repetition, tuple(known[key]["rows"]), known[key]["reason"])
            for cell, key in zip(unit.cells, keys, strict=True)
        )

    def keep(self, unit: Unit, finished: tuple[Finished, ...]) -> None:
        """Add the unit's rows to those of the same draw."""
        path = self._path(unit)
        known = self._read(path).get("cells", {})
        for spec, one in zip(unit.specs, finished, strict=True):
            known[_cell_key(spec)] = {"rows": one.rows, "reason": one.reason}
        self._write(path, {"draw": asdict(unit.draw), "cells": known})

    def rows_of(
        self, dataset: str, identity: Sequence[object], make: Callable[[], Iterable[Row]]
    ) -> Iterator[Row]:
        """Rows that are always made together: found here, or made and kept once all are there.

        Parameters
        ----------
        dataset : str
            Whose rows they are computed from.
        identity : sequence
            Everything else they depend on, as JSON has it.
        make : callable
            Gives the rows, one after the other.
        """
        path = self._path_of([*identity, _rows_here(dataset)])
        if (found := self._read(path).get("rows")) is not None:
            yield from found
            return
        rows = []
        for row in make():
            rows.append(row)
            yield row
        self._write(path, {"identity": identity, "rows": rows})

    def claim(self, unit: Unit) -> Claim | None:
        """The right to compute a unit; None while another session has it.

        The system takes the claim back when the process that holds it ends, however it ends.
        """
        path = self._path(unit).with_suffix(".lock")
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR)
            try:
                if fcntl is not None:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.stat(path).st_ino == os.fstat(descriptor).st_ino:
                    return Claim(path, descriptor)
            except BlockingIOError:
                os.close(descriptor)
                return None
            except FileNotFoundError:
                pass
            # Released and unlinked between opening and locking.
            os.close(descriptor)

    def summary(self) -> StoreSummary:
        """How many entries there are and what they take, of every version."""
        sizes = [path.stat().st_size for path in self._entries()]
        return StoreSummary(self.folder, len(sizes), sum(sizes))

    def clear(self) -> None:
        """Delete every entry, and nothing else that may be in the folder."""
        shutil.rmtree(self._root, ignore_errors=True)

    @property
    def _root(self) -> Path:
        return self.folder / "sweeps"

    def _entries(self) -> Iterator[Path]:
        return self._root.glob("*/*/*.json")

    def _path(self, unit: Unit) -> Path:
        here = _rows_here(unit.draw.dataset)
        return self._path_of([asdict(unit.draw), unit.repetition, here])

    def _path_of(self, identity: Sequence[object]) -> Path:
        digest = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
        return self._root / software_fingerprint() / digest[:2] / f"{digest[2:34]}.json"

    def _read(self, path: Path) -> dict[str, object]:
        try:
            checksum, _, body = path.read_bytes().partition(b"\n")
        except FileNotFoundError:
            return {}
        if checksum != _checksum(body):
            self.damaged += 1
            return {}
        return json.loads(body)

    def _write(self, path: Path, document: dict[str, object]) -> None:
        body = json.dumps(document).encode()
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(_checksum(body) + b"\n" + body)
        os.replace(file.name, path)


def _rows_here(dataset: str) -> list[object]:
    # A part of a data set has other rows than the whole, under the same name.
    status = dataset_status(dataset)
    return [status.n_samples, status.n_features, status.is_part]


def _cell_key(spec: RunSpec) -> str:
    return json.dumps([spec.components, spec.intermediate_dim, spec.truncation, spec.encoding])


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()
