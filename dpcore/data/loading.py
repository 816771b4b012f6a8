"""Catalogue of data sets: list them, load one by its name, download absent files.

Downloads are verified before they get their name. `pooch` has no limit on the size of a download:
it wrote all 50 MB that a faulty mirror sent, and unpacked 49 kB sent under `Content-Encoding: gzip`
into 50 MB. It also takes 0.27 s to import (with `requests`), `urllib.request` 0.04 s.
"""

from __future__ import annotations

import hashlib
import os
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, replace
from http.client import HTTPException
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
    CENTRED,
    FULL,
    PATIENTS,
    PEOPLE,
    PICTURES,
    ROWS,
    ColumnRange,
    Dataset,
    DatasetStatus,
    RowUnit,
    draw_rows,
    held_table,
    is_held,
    limits_of,
    read_limits,
)
from dpcore.data.official_files import LocalFile, OfficialFile, find_data_home, locate
from dpcore.data.table_encoding import ranges_of
from dpcore.errors import DataUnavailable, ParameterError, require_one_of


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
        None,
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


def rows_here(name: str, data_home: str | os.PathLike[str] | None = None) -> str:
    """Return, for example, "10,000 of 60,000 rows"; empty if all rows are on this machine."""
    status = dataset_status(name, data_home)
    whole = entry_of(name).n_samples
    return f"{status.n_samples:,} of {whole:,} rows" if status.is_part else ""


def unit_of(name: str) -> RowUnit:
    """Return the noun for one row of the data set `name`; "person" for a session's table."""
    return PEOPLE if is_held(name) else CATALOG[name].unit


def _ranges_in(table: Dataset) -> tuple[ColumnRange, ...]:
    """Return the limits of a data set, column by column."""
    if table.column_limits is None:
        return ()
    ends = zip(table.feature_names, table.column_limits.tolist(), strict=True)
    return tuple(ColumnRange(name, 1, lower, upper) for name, (lower, upper) in ends)


# Variable with the URL of a mirror, for example of a classroom. Its files are under
# <mirror>/<data set>/<official name>.
MIRROR_VARIABLE = "DPCORE_MIRROR"

Progress = Callable[[int, int], None]

_TIMEOUT_SECONDS = 20.0
_CHUNK = 1 << 16


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


def dataset_files(name: str, data_home: str | os.PathLike[str] | None = None) -> tuple[Path, ...]:
    """Return the local files that `load_dataset` would read; none for bundled data sets.

    data_home: See `load_dataset`.
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
    found = entry.find(home)
    fetched = _fetch(entry, home, progress) if found is None and download else []
    found = found or entry.find(home)
    if found is None:
        raise DataUnavailable(f"{name} is not on this machine: {_how_to_get(entry, home)}")
    return replace(
        _read_fetched(found, fetched, n_samples),
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
    fetched = _fetch(entry, home, progress)
    found = entry.find(home)
    if found is not None:
        _read_fetched(found, fetched, None)


def _read_fetched(
    found: tuple[Source, tuple[LocalFile, ...]], fetched: list[Path], n_samples: int | None
) -> Dataset:
    """Read a data set, and remove the files that were downloaded for it if they are damaged."""
    try:
        return _read(*found, n_samples)
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
    found = entry.find(home)
    part_of_rows = found[0].part_of_rows if found else None
    sizes = [file.n_bytes for file in _missing_files(entry, home)]
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
        ready=found is not None,
        is_part=part_of_rows is not None,
        download_bytes=(
            0
            if found and part_of_rows is None
            else sum(known_sizes)
            if len(known_sizes) == len(sizes)
            else None
        ),
        how_to_get=_how_to_get(entry, home) if found is None or part_of_rows else "Ready.",
    )


def _missing_files(entry: Entry, home: Path) -> list[OfficialFile]:
    return [file for file in entry.sources[0].files if entry.locate(file, home) is None]


def _how_to_get(entry: Entry, home: Path) -> str:
    missing = _missing_files(entry, home)
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
        for file in _missing_files(entry, home)
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
    is it renamed, so a file under its official name is always complete. Without an official
    checksum only the size is verified here; the parser verifies rows, columns and ranges.

    folder: Target folder, created if absent.
    base_url: URL that replaces `official.url`.
    progress: Function (done_bytes, total_bytes); `total_bytes` is 0 if unknown.

    Raises `DataUnavailable` if the host cannot be reached or answers with an error, if fewer bytes
        come than were announced or more than the file can have, if the checksum is not the official
        one, or if `folder` cannot be written.
    """
    url = (base_url or official.url).rstrip("/") + "/" + official.name
    target = folder / official.name
    temporary = folder / f".{official.name}.{os.getpid()}-{threading.get_ident()}.part"
    advice = (
        f"put {official.name} into {folder} (or any data home) by hand; "
        "every other data set still works"
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = _download(url, temporary, official, progress)
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
            f"{url} could not be downloaded ({_describe_error(error)}): {advice}"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
    return target


def _download(url: str, path: Path, official: OfficialFile, progress: Progress | None) -> str:
    """Download a URL into a file, up to its maximal size, and return the SHA-256 of the content."""
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


def _describe_error(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        error.close()  # the error owns the open connection
    elif isinstance(error, urllib.error.URLError):
        return f"no connection: {error.reason}"
    return str(error) or type(error).__name__
