"""The one register of data sets: what there is, and from which files each is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpcore.data.column_limits import ColumnRange
from dpcore.data.dataset import Dataset
from dpcore.data.held_tables import held_table, is_held
from dpcore.data.official import LocalFile, OfficialFile, locate
from dpcore.data.readers import (
    bundled,
    census,
    covertype,
    insurance,
    kddcup,
    localization,
    mfeat,
    mnist_small,
    pictures,
    synthetic,
)
from dpcore.data.readers.code_books import ranges_of
from dpcore.errors import require_one_of


@dataclass(frozen=True)
class Source:
    """One way to have a data set: some files, and what reads them.

    `load` takes the files, where there are any, and `n_samples` where `draws` is set. A part says
    how many rows it has, and `load` is told.
    """

    load: Callable[..., Dataset]
    files: tuple[OfficialFile, ...] = ()
    draws: bool = False
    part_of_rows: int | None = None


@dataclass(frozen=True)
class Entry:
    """A row of the catalogue. Sources are in order of preference; the first can be downloaded.

    `ranges` are all columns, with public limits where the source's documentation gives some.
    """

    name: str
    title: str
    n_samples: int
    n_features: int
    default_components: int | None
    sources: tuple[Source, ...]
    folders: tuple[str, ...] = ()
    image_shape: tuple[int, int] | None = None
    ranges: tuple[ColumnRange, ...] = ()
    site_sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.ranges:
            object.__setattr__(self, "ranges", (ColumnRange("all columns", self.n_features),))

    def find(self, home: Path) -> tuple[Source, tuple[LocalFile, ...]] | None:
        """The first source all of whose files are on this machine."""
        for source in self.sources:
            located = (self.locate(file, home) for file in source.files)
            files = tuple(file for file in located if file is not None)
            if len(files) == len(source.files):
                return source, files
        return None

    def locate(self, file: OfficialFile, home: Path) -> LocalFile | None:
        return locate(file, home, (self.name, *self.folders))


# A byte of grey over 255, by the format of the files.
_GREY = (ColumnRange("pixels", 784, 0.0, 1.0),)
_ENTRIES = (
    Entry(
        "mnist-small",
        "MNIST 14 × 14",
        mnist_small.N_ROWS,
        mnist_small.SIDE**2,
        20,
        (Source(mnist_small.load_mnist_small),),
        image_shape=(mnist_small.SIDE, mnist_small.SIDE),
        ranges=(ColumnRange("pixels", mnist_small.SIDE**2, 0.0, 1.0),),
    ),
    Entry(
        "digits",
        "Digits 8 × 8",
        1797,
        64,
        10,
        (Source(bundled.load_digits),),
        image_shape=(8, 8),
        # scikit-learn's description: each a count of set bits in a block of 4 x 4.
        ranges=(ColumnRange("pixels", 64, 0.0, 16.0),),
    ),
    Entry(
        "patches",
        "Photograph patches 28 × 28",
        60_000,
        784,
        50,
        (Source(bundled.load_patches, draws=True),),
        image_shape=(28, 28),
        ranges=_GREY,
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
        ranges=_GREY,
    ),
    Entry(
        "fashion-mnist",
        "Fashion-MNIST",
        60_000,
        784,
        50,
        (Source(pictures.load_fashion_mnist, pictures.FASHION_FILES),),
        image_shape=(28, 28),
        ranges=_GREY,
    ),
    Entry(
        "covtype",
        "Covertype",
        60_000,
        54,
        10,
        (
            Source(covertype.load_covtype, (covertype.COVTYPE_FILE,), draws=True),
            Source(covertype.load_covtype_part, (covertype.COVTYPE_PART,), part_of_rows=20_000),
        ),
        folders=("covertype",),
        ranges=covertype.RANGES,
    ),
    Entry(
        "kddcup99",
        "KDD Cup 1999",
        494_021,
        116,
        4,
        (Source(kddcup.load_kddcup, (kddcup.KDDCUP_FILE,)),),
        ranges=ranges_of(kddcup.COLUMNS),
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
                localization.load_localization,
                (localization.LOCALIZATION_PART,),
                part_of_rows=16_486,
            ),
        ),
        folders=("conflong",),
        ranges=ranges_of(localization.COLUMNS),
    ),
    Entry(
        "insurance",
        "Insurance (COIL 2000)",
        9_822,
        150,
        11,
        (Source(insurance.load_insurance, insurance.INSURANCE_FILES),),
        folders=("coil2000",),
        ranges=ranges_of(insurance.COLUMNS),
    ),
    Entry(
        "census",
        "Census income (KDD)",
        199_523,
        513,
        8,
        (
            Source(census.load_census, (census.CENSUS_FILE,)),
            Source(census.load_census, (census.CENSUS_TEST,), part_of_rows=99_762),
            Source(census.load_census, (census.CENSUS_HEAD,), part_of_rows=1_891),
        ),
        folders=("census-income-kdd",),
        ranges=ranges_of(census.COLUMNS),
    ),
    Entry(
        "mfeat",
        "Multiple features of numerals",
        2_000,
        649,
        None,
        (Source(mfeat.load_mfeat, mfeat.MFEAT_FILES),),
    ),
)
CATALOG = {entry.name: entry for entry in _ENTRIES}


def entry_of(name: str) -> Entry:
    """The row of the catalogue, or one for a table that somebody holds.

    Raises `ParameterError` if there is no such data set.
    """
    if is_held(name):
        table = held_table(name).dataset
        return Entry(
            name,
            table.title,
            table.n_samples,
            table.n_features,
            table.default_components,
            (Source(lambda: table),),
            image_shape=table.image_shape,
            ranges=_ranges_in(table),
            site_sizes=() if table.sites is None else tuple(np.bincount(table.sites).tolist()),
        )
    require_one_of("dataset", name, CATALOG)
    return CATALOG[name]


def _ranges_in(table: Dataset) -> tuple[ColumnRange, ...]:
    """Limits that a data set brings along, column by column."""
    if table.column_limits is None:
        return ()
    ends = zip(table.feature_names, table.column_limits.tolist(), strict=True)
    return tuple(ColumnRange(name, 1, lower, upper) for name, (lower, upper) in ends)
