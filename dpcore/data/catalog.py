"""Catalogue of data sets: titles, sizes, public limits and sources."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpcore.data import (
    breast_cancer,
    census,
    covtype,
    diabetes,
    insurance,
    kddcup99,
    localization,
    pictures,
    synthetic,
)
from dpcore.data.dataset import (
    PATIENTS,
    PEOPLE,
    PICTURES,
    ROWS,
    ColumnRange,
    Dataset,
    RowUnit,
    held_table,
    is_held,
)
from dpcore.data.official_files import LocalFile, OfficialFile, locate
from dpcore.data.table_encoding import ranges_of
from dpcore.errors import require_one_of
from dpcore.picture_kinds import CENTRED, FULL


@dataclass(frozen=True)
class Source:
    """Source of a data set: files with the function that reads them.

    `load` takes the files, if any, and `n_samples` if `draws` is set. A part states its number of
    rows, which is passed to `load`. Bundled files are in this folder and not in the data home.
    """

    load: Callable[..., Dataset]
    files: tuple[OfficialFile, ...] = ()
    draws: bool = False
    part_of_rows: int | None = None
    is_bundled: bool = False


@dataclass(frozen=True)
class Entry:
    """Entry of the catalogue.

    Sources are in order of preference; the first can be downloaded. `picture` says whether
    pictures fill the frame ("full") or show an object in its middle ("centred"); this is known
    without the rows and gives the public constant. `ranges` lists all columns,
    with the public limits that the source documents; `unit` is the noun for one row.
    """

    name: str
    title: str
    n_samples: int
    n_features: int
    default_components: int | None
    sources: tuple[Source, ...]
    folders: tuple[str, ...] = ()
    image_shape: tuple[int, int] | None = None
    picture: str = FULL
    ranges: tuple[ColumnRange, ...] = ()
    site_sizes: tuple[int, ...] = ()
    unit: RowUnit = ROWS

    def __post_init__(self) -> None:
        if not self.ranges:
            object.__setattr__(self, "ranges", (ColumnRange("all columns", self.n_features),))

    def find(self, home: Path) -> tuple[Source, tuple[LocalFile, ...]] | None:
        """Return the first source whose files are all on this machine."""
        for source in self.sources:
            if source.is_bundled:
                return source, tuple(LocalFile(_BUNDLED / file.name, file) for file in source.files)
            located = (self.locate(file, home) for file in source.files)
            files = tuple(file for file in located if file is not None)
            if len(files) == len(source.files):
                return source, files
        return None

    def missing_files(self, home: Path) -> list[OfficialFile]:
        """Return the files of the first source that are not on this machine."""
        return [file for file in self.sources[0].files if self.locate(file, home) is None]

    def locate(self, file: OfficialFile, home: Path) -> LocalFile | None:
        return locate(file, home, (self.name, *self.folders))


_BUNDLED = Path(__file__).parent
# A grey value is a byte divided by 255, as the format of the files defines.
_GREY = (ColumnRange("pixels", 784, 0.0, 1.0),)
_ENTRIES = (
    Entry(
        "mnist-small",
        "MNIST 14 × 14",
        pictures.N_ROWS,
        pictures.SIDE**2,
        30,
        (Source(pictures.load_mnist_small),),
        image_shape=(pictures.SIDE, pictures.SIDE),
        picture=CENTRED,
        ranges=(ColumnRange("pixels", pictures.SIDE**2, 0.0, 1.0),),
        unit=PICTURES,
    ),
    Entry(
        "digits",
        "Digits 8 × 8",
        1797,
        64,
        10,
        (Source(pictures.load_digits),),
        image_shape=(8, 8),
        picture=CENTRED,
        # According to scikit-learn's description, a value counts the set bits of a block of 4 x 4.
        ranges=(ColumnRange("pixels", 64, 0.0, 16.0),),
        unit=PICTURES,
    ),
    Entry(
        "breast-cancer",
        "Breast cancer (569 patients)",
        breast_cancer.N_ROWS,
        len(breast_cancer.RANGES),
        5,
        (Source(breast_cancer.load_breast_cancer),),
        ranges=breast_cancer.RANGES,
        unit=PATIENTS,
    ),
    Entry(
        "diabetes",
        "Diabetes (442 patients)",
        diabetes.N_ROWS,
        len(diabetes.RANGES),
        3,
        (Source(diabetes.load_diabetes),),
        ranges=diabetes.RANGES,
        unit=PATIENTS,
    ),
    Entry(
        "patches",
        "Photograph patches 28 × 28",
        60_000,
        784,
        50,
        (Source(pictures.load_patches, draws=True),),
        image_shape=(28, 28),
        ranges=_GREY,
        unit=RowUnit("patch", "patches"),
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
            Source(
                pictures.load_mnist_part,
                pictures.TEST_FILES["mnist"],
                part_of_rows=pictures.N_ROWS,
                is_bundled=True,
            ),
        ),
        folders=(pictures.OPENML_FOLDER,),
        image_shape=(28, 28),
        picture=CENTRED,
        ranges=_GREY,
        unit=PICTURES,
    ),
    Entry(
        "fashion-mnist",
        "Fashion-MNIST",
        60_000,
        784,
        50,
        (Source(pictures.load_fashion_mnist, pictures.FASHION_FILES),),
        image_shape=(28, 28),
        picture=CENTRED,
        ranges=_GREY,
        unit=PICTURES,
    ),
    Entry(
        "covtype",
        "Covertype",
        60_000,
        54,
        10,
        (
            Source(covtype.load_covtype, (covtype.COVTYPE_FILE,), draws=True),
            Source(
                covtype.load_covtype_part,
                (covtype.COVTYPE_PART,),
                part_of_rows=20_000,
                is_bundled=True,
            ),
        ),
        folders=("covertype",),
        ranges=covtype.COVTYPE_RANGES,
        unit=RowUnit("forest cell", "forest cells"),
    ),
    Entry(
        "kddcup99",
        "KDD Cup 1999",
        494_021,
        116,
        4,
        (Source(kddcup99.load_kddcup, (kddcup99.KDDCUP_FILE,)),),
        ranges=ranges_of(kddcup99.KDDCUP_COLUMNS),
        unit=RowUnit("connection", "connections"),
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
        ranges=ranges_of(localization.LOCALIZATION_COLUMNS),
        unit=RowUnit("reading", "readings"),
    ),
    Entry(
        "insurance",
        "Insurance (COIL 2000)",
        9_822,
        150,
        11,
        (Source(insurance.load_insurance, insurance.INSURANCE_FILES),),
        folders=("coil2000",),
        ranges=ranges_of(insurance.INSURANCE_COLUMNS),
        unit=PEOPLE,
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
        ranges=ranges_of(census.CENSUS_COLUMNS),
        unit=PEOPLE,
    ),
    Entry(
        "mfeat",
        "Multiple features of numerals",
        2_000,
        649,
        None,
        (Source(pictures.load_mfeat, pictures.MFEAT_FILES),),
        unit=PICTURES,
    ),
)
CATALOG = {entry.name: entry for entry in _ENTRIES}


def entry_of(name: str) -> Entry:
    """Return the entry of the catalogue, or an entry for a session's table.

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
            picture=table.picture,
            ranges=_ranges_in(table),
            site_sizes=() if table.sites is None else tuple(np.bincount(table.sites).tolist()),
            unit=PEOPLE,
        )
    require_one_of("dataset", name, CATALOG)
    return CATALOG[name]


def unit_of(name: str) -> RowUnit:
    """Return the noun for one row of the data set `name`; "person" for a session's table."""
    return PEOPLE if is_held(name) else CATALOG[name].unit


def _ranges_in(table: Dataset) -> tuple[ColumnRange, ...]:
    """Return the limits of a data set, column by column."""
    if table.column_limits is None:
        return ()
    ends = zip(table.feature_names, table.column_limits.tolist(), strict=True)
    return tuple(ColumnRange(name, 1, lower, upper) for name, (lower, upper) in ends)
