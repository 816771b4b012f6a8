"""List the data sets, say what is ready, load one by its name.

Files that are absent are fetched, and checked before they get their name.
`pooch` does most of that, but sets no bound: of a mirror that goes on sending 50 MB it wrote all
50, and 49 kB sent under `Content-Encoding: gzip` it unpacked into 50 MB. A bound would be a
downloader of our own, which is all that stands here; and it takes 0.27 s to import (with
`requests`) where `urllib.request` takes 0.04.
"""

from __future__ import annotations

import hashlib
import os
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from http.client import HTTPException
from pathlib import Path

from dpcore.data.catalog import CATALOG, Entry, Source, entry_of
from dpcore.data.column_limits import limits_of, read_limits
from dpcore.data.dataset import Dataset, DatasetStatus, draw_rows
from dpcore.data.official import LocalFile, OfficialFile, find_data_home
from dpcore.errors import DataUnavailable, ParameterError

# A classroom's own mirror: files under <mirror>/<data set>/<official name>.
MIRROR_VARIABLE = "DPCORE_MIRROR"

Progress = Callable[[int, int], None]

_TIMEOUT_SECONDS = 20.0
_CHUNK = 1 << 16


def list_datasets(data_home: str | os.PathLike[str] | None = None) -> tuple[DatasetStatus, ...]:
    """What there is, in the order a page shows it. Cheap: looks for files, reads none.

    Parameters
    ----------
    data_home : path, optional
        As for `load_dataset`.
    """
    home = find_data_home(data_home)
    return tuple(_status(entry, home) for entry in CATALOG.values())


def dataset_status(name: str, data_home: str | os.PathLike[str] | None = None) -> DatasetStatus:
    """One of `list_datasets`, without looking for the files of the others.

    Parameters
    ----------
    name : str
    data_home : path-like, optional
        As in `load_dataset`.

    Raises
    ------
    ParameterError
        If `name` is not in the catalogue.
    """
    return _status(entry_of(name), find_data_home(data_home))


def dataset_files(name: str, data_home: str | os.PathLike[str] | None = None) -> tuple[Path, ...]:
    """The files on this machine that `load_dataset` would read; none where they come with us.

    data_home: As in `load_dataset`.
    """
    found = entry_of(name).find(find_data_home(data_home))
    return tuple(file.path for file in found[1]) if found else ()


def load_dataset(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    n_samples: int | None = None,
    limits: str = "",
    download: bool = True,
    progress: Progress | None = None,
) -> Dataset:
    """Load a data set by its name in the catalogue.

    Parameters
    ----------
    name : str
    data_home : path, optional
        Folder with official files, or with a folder of them for each data set. If not given, the
        variable DPCORE_DATA, then scikit-learn's data folder.
    n_samples : int, optional
        Draw that many rows, with a fixed seed. By default every row, save for `patches` and
        `covtype`, where it is 60,000.
    limits : str
        Public limits of columns in place of the catalogue's (`dpcore.data.column_limits`).
    download : bool
        Fetch absent files into the data home. A part that is there is used as it is.
    progress : callable(done_bytes, total_bytes), optional
        Called for each file in turn; `total_bytes` is 0 where nobody says it.

    Returns
    -------
    Dataset

    Raises
    ------
    ParameterError
        If `name` is not in the catalogue, `n_samples` is out of range or `limits` make no sense.
    DataUnavailable
        If files are absent and cannot be fetched, or are damaged.

    Notes
    -----
    With the variable DPCORE_MIRROR set, files come from `<mirror>/<data set>/<official name>`.
    """
    entry = entry_of(name)
    if n_samples is not None and n_samples < 2:
        raise ParameterError("n_samples", "at least 2", n_samples)
    home = find_data_home(data_home)
    found = entry.find(home)
    fetched = _fetch(entry, home, progress) if found is None and download else []
    found = found or entry.find(home)
    if found is None:
        raise DataUnavailable(f"{name} is not on this machine: {_how_to_get(entry, home)}")
    try:
        dataset = _read(*found, n_samples)
    except DataUnavailable:
        # Not every file has a known checksum. What came may be some portal's log-in page, which
        # must not stay under an official name.
        for path in fetched:
            path.unlink(missing_ok=True)
        raise
    return replace(
        dataset,
        name=entry.name,
        title=entry.title,
        image_shape=entry.image_shape,
        default_components=entry.default_components,
        column_limits=limits_of(read_limits(limits, entry.ranges)),
    )


def _read(source: Source, files: tuple[LocalFile, ...], n_samples: int | None) -> Dataset:
    arguments = (files,) if source.files else ()
    if source.draws:
        return source.load(*arguments, n_samples=n_samples)
    if source.part_of_rows is None:
        return draw_rows(source.load(*arguments), n_samples)
    part = source.load(*arguments, part_of_rows=source.part_of_rows)
    return draw_rows(replace(part, is_part=True), n_samples)


def _status(entry: Entry, home: Path) -> DatasetStatus:
    found = entry.find(home)
    part_of_rows = found[0].part_of_rows if found else None
    sizes = [file.n_bytes for file in _missing(entry, home)]
    known = [size for size in sizes if size is not None]
    return DatasetStatus(
        name=entry.name,
        title=entry.title,
        n_samples=part_of_rows or entry.n_samples,
        n_features=entry.n_features,
        default_components=entry.default_components,
        image_shape=entry.image_shape,
        ranges=entry.ranges,
        site_sizes=entry.site_sizes,
        ready=found is not None,
        is_part=part_of_rows is not None,
        download_bytes=0 if found else sum(known) if len(known) == len(sizes) else None,
        how_to_get=_how_to_get(entry, home) if found is None or part_of_rows else "Ready.",
    )


def _missing(entry: Entry, home: Path) -> list[OfficialFile]:
    return [file for file in entry.sources[0].files if entry.locate(file, home) is None]


def _how_to_get(entry: Entry, home: Path) -> str:
    missing = _missing(entry, home)
    names = ", ".join(file.name for file in missing)
    return (
        f"Put {names} into {home / entry.name}, plain or .gz, "
        f"or let it be downloaded from {missing[0].url}."
    )


def _fetch(entry: Entry, home: Path, progress: Progress | None) -> list[Path]:
    mirror = os.environ.get(MIRROR_VARIABLE)
    base_url = f"{mirror.rstrip('/')}/{entry.name}" if mirror else None
    return [
        download_file(file, home / entry.name, base_url=base_url, progress=progress)
        for file in _missing(entry, home)
    ]


def download_file(
    official: OfficialFile,
    folder: Path,
    *,
    base_url: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Download one file into `folder` under its official name.

    The file is written under a temporary name, its size and checksum are verified, and only then
    is it renamed: a file under its official name is a whole file, whenever the power went off.
    Where no official checksum is known, size alone is checked here, and what parses the file
    checks rows, columns and every value's range.

    folder: Made if it is not there.
    base_url: In place of `official.url`.
    progress: callable(done_bytes, total_bytes). `total_bytes` is 0 where nobody says how much will
        come.
    Raises `DataUnavailable` if the host cannot be reached or answers with an error, if fewer bytes
        come than were announced or more than the file can have, if the checksum is not the official
        one, or if `folder` cannot be written.
    """
    url = (base_url or official.url).rstrip("/") + "/" + official.name
    target = folder / official.name
    temporary = folder / f".{official.name}.{os.getpid()}-{threading.get_ident()}.part"
    advice = (
        f"put {official.name} into {folder} (or any data home) by hand; "
        "every other data set goes on working"
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = _streamed(url, temporary, official, progress)
        if official.sha256 is not None and found != official.sha256:
            raise DataUnavailable(
                f"{url} gave a damaged or different file: its SHA-256 is {found} "
                f"where {official.sha256} is expected; {advice}"
            )
        temporary.replace(target)
    except DataUnavailable:
        raise
    except (OSError, HTTPException, ValueError) as error:
        raise DataUnavailable(
            f"{url} could not be downloaded ({_reason(error)}): {advice}"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
    return target


def _streamed(url: str, path: Path, official: OfficialFile, progress: Progress | None) -> str:
    """Stream a URL into a file, no further than it can be long; the SHA-256 of what came."""
    digest = hashlib.sha256()
    most_bytes = official.n_bytes or official.most_bytes
    with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as response, path.open("wb") as out:
        announced = int(response.headers.get("Content-Length") or 0)
        done = 0
        while chunk := response.read(_CHUNK):
            done += len(chunk)
            if max(done, announced) > most_bytes:
                raise OSError(f"it sends more than the {most_bytes:,} bytes it can have")
            out.write(chunk)
            digest.update(chunk)
            if progress is not None:
                progress(done, announced or official.n_bytes or 0)
    if done < announced:
        raise OSError(f"only {done:,} of {announced:,} bytes came")
    return digest.hexdigest()


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        error.close()  # It is the answer itself, with an open connection.
    elif isinstance(error, urllib.error.URLError):
        return f"no connection: {error.reason}"
    return str(error) or type(error).__name__
