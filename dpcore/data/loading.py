"""Data sets by name: list them, load one, download absent files."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from dpcore.data.catalog import CATALOG, Entry, Source, entry_of
from dpcore.data.dataset import (
    Dataset,
    DatasetStatus,
    draw_rows,
    limits_of,
    read_limits,
)
from dpcore.data.downloads import Progress, download_missing
from dpcore.data.official_files import LocalFile, find_data_home
from dpcore.errors import DataUnavailable, ParameterError


def list_datasets(data_home: str | os.PathLike[str] | None = None) -> tuple[DatasetStatus, ...]:
    """List the data sets in their order on a page. Looks for files but reads none.

    Parameters
    ----------
    data_home : path, optional
        See `load_dataset`.
    """
    home = find_data_home(data_home)
    return tuple(_status(entry, home) for entry in CATALOG.values())


def dataset_status(name: str, data_home: str | os.PathLike[str] | None = None) -> DatasetStatus:
    """Return one entry of `list_datasets` without looking for the files of the others.

    Parameters
    ----------
    name : str
    data_home : path-like, optional
        See `load_dataset`.

    Raises
    ------
    ParameterError
        If `name` is not in the catalogue.
    """
    return _status(entry_of(name), find_data_home(data_home))


def rows_here(name: str, data_home: str | os.PathLike[str] | None = None) -> str:
    """Return, for example, "10,000 of 60,000 rows"; empty if all rows are on this machine."""
    status = dataset_status(name, data_home)
    whole = entry_of(name).n_samples
    return f"{status.n_samples:,} of {whole:,} rows" if status.is_part else ""


def dataset_files(name: str, data_home: str | os.PathLike[str] | None = None) -> tuple[Path, ...]:
    """Return the local files that `load_dataset` would read; none for bundled data sets.

    data_home: See `load_dataset`.
    """
    located = entry_of(name).find(find_data_home(data_home))
    return tuple(file.path for file in located[1]) if located else ()


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
        Draw that many rows, with a fixed seed. Default: all rows, except 60,000 for `patches` and
        `covtype`.
    limits : str
        Public limits of columns in place of the catalogue's (`dpcore.data.dataset`).
    download : bool
        Whether to download absent files into the data home. A local part of a file is used as it
        is.
    progress : callable(done_bytes, total_bytes), optional
        Function that is called for each file; `total_bytes` is 0 if unknown.

    Returns
    -------
    Dataset

    Raises
    ------
    ParameterError
        If `name` is not in the catalogue, `n_samples` is out of range or `limits` is invalid.
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
    located = entry.find(home)
    fetched = download_missing(entry, home, progress) if located is None and download else []
    located = located or entry.find(home)
    if located is None:
        raise DataUnavailable(f"{name} is not on this machine: {_how_to_get(entry, home)}")
    return replace(
        _read_fetched(located, fetched, n_samples),
        name=entry.name,
        title=entry.title,
        image_shape=entry.image_shape,
        picture=entry.picture,
        default_components=entry.default_components,
        column_limits=limits_of(read_limits(limits, entry.ranges)),
    )


def download_dataset(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    progress: Progress | None = None,
) -> None:
    """Download the absent files of a data set, also if a part of its rows is on this machine.

    Parameters and errors as in `load_dataset`.
    """
    entry, home = entry_of(name), find_data_home(data_home)
    fetched = download_missing(entry, home, progress)
    located = entry.find(home)
    if located is not None:
        _read_fetched(located, fetched, None)


def _read_fetched(
    located: tuple[Source, tuple[LocalFile, ...]], fetched: list[Path], n_samples: int | None
) -> Dataset:
    """Read a data set, and remove the files that were downloaded for it if they are damaged."""
    try:
        return _read(*located, n_samples)
    except DataUnavailable:
        # Some files have no known checksum. The download may be the log-in page of a portal, which
        # must not be stored under an official name.
        for path in fetched:
            path.unlink(missing_ok=True)
        raise


def _read(source: Source, files: tuple[LocalFile, ...], n_samples: int | None) -> Dataset:
    arguments = (files,) if source.files else ()
    if source.draws:
        return source.load(*arguments, n_samples=n_samples)
    if source.part_of_rows is None:
        return draw_rows(source.load(*arguments), n_samples)
    part = source.load(*arguments, part_of_rows=source.part_of_rows)
    return draw_rows(replace(part, is_part=True), n_samples)


def _status(entry: Entry, home: Path) -> DatasetStatus:
    located = entry.find(home)
    part_of_rows = located[0].part_of_rows if located else None
    sizes = [file.n_bytes for file in entry.missing_files(home)]
    known_sizes = [size for size in sizes if size is not None]
    return DatasetStatus(
        name=entry.name,
        title=entry.title,
        n_samples=part_of_rows or entry.n_samples,
        n_features=entry.n_features,
        default_components=entry.default_components,
        image_shape=entry.image_shape,
        ranges=entry.ranges,
        site_sizes=entry.site_sizes,
        unit=entry.unit,
        ready=located is not None,
        is_part=part_of_rows is not None,
        download_bytes=(
            0
            if located and part_of_rows is None
            else sum(known_sizes)
            if len(known_sizes) == len(sizes)
            else None
        ),
        how_to_get=_how_to_get(entry, home) if located is None or part_of_rows else "Ready.",
    )


def _how_to_get(entry: Entry, home: Path) -> str:
    missing = entry.missing_files(home)
    names = ", ".join(file.name for file in missing)
    return (
        f"Put {names} into {home / entry.name}, plain or .gz, "
        f"or let it be downloaded from {missing[0].url}."
    )
