"""covtype: 54 cartographic measurements of cells of 30 m x 30 m with a forest cover type."""

from __future__ import annotations

import numpy as np

from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.data.dataset import DATA_SEED, ColumnRange, Dataset
from dpcore.data.official_files import (
    LocalFile,
    OfficialFile,
    read_lines,
    read_numbers,
    refuse_rows,
)
from dpcore.errors import ParameterError
from dpcore.streams import Purpose, stream

COVTYPE_FILE = OfficialFile(
    "covtype.data.gz",
    url="https://archive.ics.uci.edu/ml/machine-learning-databases/covtype/",
    n_bytes=11_240_707,
    most_bytes=90_000_000,
    sha256="614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
)
COVTYPE_PART = OfficialFile(
    "covtype.20k.data.gz",
    most_bytes=2_578_724,
    content_sha256="55ff5c8510624a2fe57838017f96caf86914223f131572edd35a038f3e85e43e",
)
_ROWS = 581_012
_DRAWN = 60_000
_STREAM = 3
_MEASUREMENTS = tuple(
    "Elevation Aspect Slope Horizontal_Distance_To_Hydrology Vertical_Distance_To_Hydrology "
    "Horizontal_Distance_To_Roadways Hillshade_9am Hillshade_Noon Hillshade_3pm "
    "Horizontal_Distance_To_Fire_Points".split()
)
_N_SOILS = 40
# Metres or degrees. The longest distance in the official file is 7,173.
_LARGEST_MEASUREMENT = 10_000
COVTYPE_FEATURES = (
    _MEASUREMENTS
    + tuple(f"Wilderness_Area_{area}" for area in range(4))
    + tuple(f"Soil_Type_{soil}" for soil in range(_N_SOILS))
)
# covtype.info: azimuth and slope in degrees, hillshade an index from 0 to 255, an indicator for
# each area and soil. It gives elevation and distances in metres and no range.
_LIMITS = {"Aspect": (0.0, 360.0), "Slope": (0.0, 90.0)} | {
    name: (0.0, 255.0) for name in _MEASUREMENTS if name.startswith("Hillshade")
}
COVTYPE_RANGES = (
    *(ColumnRange(name, 1, *_LIMITS.get(name, ())) for name in _MEASUREMENTS),
    ColumnRange("Wilderness_Area", 4, 0.0, 1.0),
    ColumnRange("Soil_Type", _N_SOILS, 0.0, 1.0),
)
_LABELS = tuple(
    "Spruce/Fir,Lodgepole Pine,Ponderosa Pine,Cottonwood/Willow,Aspen,Douglas-fir,Krummholz".split(
        ","
    )
)


def load_covtype(files: tuple[LocalFile, ...], n_samples: int | None = None) -> Dataset:
    """Draw rows from the whole file, 60,000 by default."""
    chosen = _draw(_ROWS, n_samples)
    lines = read_lines(files[0], _ROWS)
    # Only the drawn lines are parsed, because parsing takes most of the time.
    drawn = f"{len(chosen):,} of the 581,012 rows of Covertype, drawn with a fixed seed."
    return _make_dataset(files[0], [lines[row] for row in chosen], chosen, drawn)


def load_covtype_part(files: tuple[LocalFile, ...], part_of_rows: int) -> Dataset:
    """Load the first `part_of_rows` rows."""
    return _make_dataset(
        files[0],
        read_lines(files[0], part_of_rows),
        np.arange(part_of_rows),
        f"The first {part_of_rows:,} of the 581,012 rows of Covertype, not a random sample: "
        "its first 15,120 rows hold 2,160 of each cover type.",
    )


def _draw(n_rows: int, n_samples: int | None) -> IntArray:
    n_samples = n_samples or min(_DRAWN, n_rows)
    if n_samples > n_rows:
        raise ParameterError("n_samples", f"at most {n_rows}, the rows there are", n_samples)
    return stream(DATA_SEED, Purpose.DATA, _STREAM).permutation(n_rows)[:n_samples]


def _make_dataset(
    file: LocalFile,
    lines: list[bytes],
    rows: IntArray,
    provenance: str,
) -> Dataset:
    table = read_numbers(lines, len(COVTYPE_FEATURES) + 1, file.path, delimiter=",", rows=rows)
    X, cover_types = table[:, :-1].copy(), table[:, -1]
    _check(X, cover_types, file, rows)
    return Dataset(
        X=X,
        labels=cover_types.astype(np.intp) - 1,
        label_names=_LABELS,
        feature_names=COVTYPE_FEATURES,
        provenance=provenance,
        # Metres: elevations in Colorado's front range reach 4,000, and distances to roads and past
        # fires are of the same size: 4000 * sqrt(3) = 6,928. The other columns are small in
        # comparison.
        public_norm_bound=7_000.0,
    )


def _check(X: FloatArray, cover_types: FloatArray, file: LocalFile, rows: IntArray) -> None:
    """Check the properties of every row of the official file, because the file may be repacked."""
    n_types = len(_LABELS)
    areas, soils = X[:, len(_MEASUREMENTS) : -_N_SOILS], X[:, -_N_SOILS:]
    for wrong, fault in (
        (
            ~np.isin(cover_types, np.arange(1, n_types + 1)),
            f"has no cover type from 1 to {n_types}",
        ),
        (
            np.any(np.abs(X[:, : len(_MEASUREMENTS)]) > _LARGEST_MEASUREMENT, axis=1),
            f"holds a measurement beyond {_LARGEST_MEASUREMENT:,}",
        ),
        (~_is_one_of(areas), "is not in one wilderness area"),
        (~_is_one_of(soils), "has not one soil"),
    ):
        refuse_rows(wrong, file.path, fault, rows)


def _is_one_of(indicators: FloatArray) -> BoolArray:
    is_binary = np.all(np.isin(indicators, (0, 1)), axis=1)
    one: BoolArray = is_binary & (np.sum(indicators, axis=1) == 1)
    return one
