"""The one register of data sets: what there is, what is ready, and how to get the rest."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dpcore.data import (
    bundled,
    census,
    covertype,
    insurance,
    kddcup,
    localization,
    pictures,
    synthetic,
    views,
)
from dpcore.data.dataset import Dataset, DatasetStatus, draw_rows
from dpcore.data.download import MIRROR_VARIABLE, Progress, download_file
from dpcore.data.official import LocalFile, OfficialFile, find_data_home, locate
from dpcore.errors import DataUnavailable, ParameterError


@dataclass(frozen=True)
class Source:
    """One way to have a data set: some files, and what reads them.

    `load` takes the files, where there are any, and `n_samples` where `draws` is set. A part
    says how many rows it has.
    """

    load: Callable[..., Dataset]
    files: tuple[OfficialFile, ...] = ()
    draws: bool = False
    part_of_rows: int | None = None


@dataclass(frozen=True)
class Entry:
    """A row of the catalogue. Sources are in order of preference; the first can be downloaded."""

    name: str
    title: str
    n_samples: int
    n_features: int
    default_components: int | None
    sources: tuple[Source, ...]
    folders: tuple[str, ...] = ()
    image_shape: tuple[int, int] | None = None

    def find(self, home: Path) -> tuple[Source, tuple[LocalFile, ...]] | None:
        """The first source all of whose files are on this machine."""
        for source in self.sources:
            files = tuple(self.locate(file, home) for file in source.files)
            if None not in files:
                return source, files
        return None

    def locate(self, file: OfficialFile, home: Path) -> LocalFile | None:
        return locate(file, home, (self.name, *self.folders))


_ENTRIES = (
    Entry(
        "digits", "Digits 8 × 8", 1797, 64, 10, (Source(bundled.load_digits),), image_shape=(8, 8)
    ),
    Entry(
        "patches",
        "Photograph patches 28 × 28",
        60_000,
        784,
        50,
        (Source(bundled.load_patches, draws=True),),
        image_shape=(28, 28),
    ),
    Entry(
        "synthetic",
        "Synthetic (DPdisPCA)",
        60_000,
        200,
        50,
        (Source(synthetic.load_synthetic, draws=True),),
    ),
    Entry(
        "synthetic-2012",
        "Synthetic (2012 paper)",
        5_000,
        10,
        2,
        (Source(synthetic.load_synthetic_2012, draws=True),),
    ),
    Entry(
        "mnist",
        "MNIST",
        60_000,
        784,
        50,
        (
            Source(pictures.load_mnist, pictures.MNIST_FILES),
            Source(pictures.load_mnist_openml, (pictures.OPENML_FILE,)),
        ),
        folders=(pictures.OPENML_FOLDER,),
        image_shape=(28, 28),
    ),
    Entry(
        "fashion-mnist",
        "Fashion-MNIST",
        60_000,
        784,
        50,
        (Source(pictures.load_fashion_mnist, pictures.FASHION_FILES),),
        image_shape=(28, 28),
    ),
    Entry(
        "covtype",
        "Covertype",
        60_000,
        54,
        10,
        (
            Source(covertype.load_covtype, (covertype.COVTYPE_FILE,), draws=True),
            Source(covertype.load_covtype_cached, covertype.CACHED_FILES, draws=True),
            Source(
                covertype.load_covtype_part, (covertype.COVTYPE_PART,), part_of_rows=20_000
            ),
        ),
        folders=("covertype",),
    ),
    Entry(
        "kddcup99",
        "KDD Cup 1999",
        494_021,
        116,
        4,
        (
            Source(kddcup.load_kddcup, (kddcup.KDDCUP_FILE,)),
            Source(kddcup.load_kddcup_cached, kddcup.CACHED_FILES),
        ),
        folders=(kddcup.CACHE_FOLDER,),
    ),
    Entry(
        "localization",
        "Localization of person activity",
        164_860,
        44,
        10,
        (
            Source(localization.load_localization, (localization.LOCALIZATION_FILE,)),
            Source(
                localization.load_localization_part,
                (localization.LOCALIZATION_PART,),
                part_of_rows=16_486,
            ),
        ),
        folders=("conflong",),
    ),
    Entry(
        "insurance",
        "Insurance (COIL 2000)",
        9_822,
        150,
        11,
        (Source(insurance.load_insurance, insurance.INSURANCE_FILES),),
        folders=("coil2000",),
    ),
    Entry(
        "census",
        "Census income (KDD)",
        199_523,
        513,
        8,
        (
            Source(census.load_census, (census.CENSUS_FILE,)),
            Source(census.load_census_test, (census.CENSUS_TEST,), part_of_rows=99_762),
            Source(census.load_census_head, (census.CENSUS_HEAD,), part_of_rows=1_891),
        ),
        folders=("census-income-kdd",),
    ),
    Entry(
        "mfeat",
        "Multiple features of numerals",
        2_000,
        649,
        None,
        (Source(views.load_mfeat, views.MFEAT_FILES),),
    ),
)
CATALOG = {entry.name: entry for entry in _ENTRIES}


def list_datasets(data_home: str | os.PathLike[str] | None = None) -> tuple[DatasetStatus, ...]:
    """What there is, in the order a page shows it. Cheap: looks for files, reads none.

    Parameters
    ----------
    data_home : path, optional
        As for `load_dataset`.
    """
    home = find_data_home(data_home)
    return tuple(_status(entry, home) for entry in CATALOG.values())


def load_dataset(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    n_samples: int | None = None,
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
    download : bool
        Fetch absent files into the data home. A part that is there is used as it is.
    progress : callable(done_bytes, total_bytes), optional

    Returns
    -------
    Dataset

    Raises
    ------
    ParameterError
        If `name` is not in the catalogue or `n_samples` is out of range.
    DataUnavailable
        If files are absent and cannot be fetched, or are damaged.
    """
    if name not in CATALOG:
        raise ParameterError("name", f"one of {', '.join(CATALOG)}", name)
    if n_samples is not None and n_samples < 2:
        raise ParameterError("n_samples", "at least 2", n_samples)
    entry = CATALOG[name]
    home = find_data_home(data_home)
    found = entry.find(home)
    if found is None:
        if not download:
            raise DataUnavailable(f"{name} is not on this machine: {_how_to_get(entry, home)}")
        _fetch(entry, home, progress)
        found = entry.find(home)
    source, files = found
    arguments = (files,) if source.files else ()
    if source.draws:
        return source.load(*arguments, n_samples=n_samples)
    return draw_rows(source.load(*arguments), n_samples)


def _status(entry: Entry, home: Path) -> DatasetStatus:
    found = entry.find(home)
    part_of_rows = found[0].part_of_rows if found else None
    sizes = [file.n_bytes for file in _missing(entry, home)]
    return DatasetStatus(
        name=entry.name,
        title=entry.title,
        n_samples=part_of_rows or entry.n_samples,
        n_features=entry.n_features,
        default_components=entry.default_components,
        image_shape=entry.image_shape,
        ready=found is not None,
        is_part=part_of_rows is not None,
        download_bytes=0 if found else None if None in sizes else sum(sizes),
        how_to_get="Ready." if found and not part_of_rows else _how_to_get(entry, home),
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


def _fetch(entry: Entry, home: Path, progress: Progress | None) -> None:
    mirror = os.environ.get(MIRROR_VARIABLE)
    for file in _missing(entry, home):
        download_file(
            file,
            home / entry.name,
            base_url=f"{mirror.rstrip('/')}/{entry.name}" if mirror else None,
            progress=progress,
        )
