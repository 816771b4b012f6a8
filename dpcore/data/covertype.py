"""Forest cover type: 54 cartographic measurements of 30 m x 30 m cells."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dpcore.data.dataset import DATA_SEED, Dataset
from dpcore.data.official import (
    LocalFile,
    OfficialFile,
    damaged,
    read_lines,
    read_numbers,
    read_pickled_array,
)
from dpcore.errors import ParameterError
from dpcore.streams import Purpose, stream

COVTYPE_FILE = OfficialFile(
    "covtype.data.gz",
    url="https://archive.ics.uci.edu/ml/machine-learning-databases/covtype/",
    n_bytes=11_240_707,
    sha256="614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
)
COVTYPE_PART = OfficialFile(
    "covtype.20k.data.gz",
    content_sha256="55ff5c8510624a2fe57838017f96caf86914223f131572edd35a038f3e85e43e",
)

# What scikit-learn's fetch_covtype leaves in its data folder.
CACHED_FILES = (OfficialFile("samples_py3"), OfficialFile("targets_py3"))

_N_ROWS = 581_012
_N_PART = 20_000
_DRAWN = 60_000
_COVTYPE_STREAM = 3

_MEASUREMENTS = (
    "Elevation",
    "Aspect",
    "Slope",
    "Horizontal_Distance_To_Hydrology",
    "Vertical_Distance_To_Hydrology",
    "Horizontal_Distance_To_Roadways",
    "Hillshade_9am",
    "Hillshade_Noon",
    "Hillshade_3pm",
    "Horizontal_Distance_To_Fire_Points",
)
FEATURE_NAMES = (
    _MEASUREMENTS
    + tuple(f"Wilderness_Area_{area}" for area in range(4))
    + tuple(f"Soil_Type_{soil}" for soil in range(40))
)
_LABEL_NAMES = (
    "Spruce/Fir",
    "Lodgepole Pine",
    "Ponderosa Pine",
    "Cottonwood/Willow",
    "Aspen",
    "Douglas-fir",
    "Krummholz",
)


def load_covtype(files: tuple[LocalFile, ...], n_samples: int | None = None) -> Dataset:
    """Rows drawn from the whole file, 60,000 unless told otherwise."""
    chosen = _draw(_N_ROWS, n_samples)
    lines = read_lines(files[0], _N_ROWS)
    # Only the drawn lines are parsed, which is most of the time it takes.
    return _covtype([lines[row] for row in chosen], files[0].path, _drawn_sentence(len(chosen)))


def load_covtype_cached(files: tuple[LocalFile, ...], n_samples: int | None = None) -> Dataset:
    """The same draw from scikit-learn's copy of the whole file."""
    chosen = _draw(_N_ROWS, n_samples)
    X, cover_types = map(read_pickled_array, files)
    for file, array, shape in zip(
        files, (X, cover_types), ((_N_ROWS, len(FEATURE_NAMES)), (_N_ROWS,)), strict=True
    ):
        if array.shape != shape:
            raise damaged(file.path, f"it has shape {array.shape} where {shape} is expected")
    return _dataset(X[chosen].astype(np.float32), cover_types[chosen], _drawn_sentence(len(chosen)))


def load_covtype_part(files: tuple[LocalFile, ...]) -> Dataset:
    """The first 20,000 rows."""
    return _covtype(
        read_lines(files[0], _N_PART),
        files[0].path,
        "The first 20,000 of the 581,012 rows of Covertype, not a random sample: "
        "its first 15,120 rows hold 2,160 of each cover type.",
        is_part=True,
    )


def _draw(n_rows: int, n_samples: int | None) -> np.ndarray:
    n_samples = n_samples or min(_DRAWN, n_rows)
    if n_samples > n_rows:
        raise ParameterError("n_samples", f"at most {n_rows}, the rows there are", n_samples)
    return stream(DATA_SEED, Purpose.DATA, _COVTYPE_STREAM).permutation(n_rows)[:n_samples]


def _drawn_sentence(n_samples: int) -> str:
    return f"{n_samples:,} of the 581,012 rows of Covertype, drawn with a fixed seed."


def _covtype(lines: list[bytes], path: Path, provenance: str, *, is_part: bool = False) -> Dataset:
    table = read_numbers(lines, len(FEATURE_NAMES) + 1, path, delimiter=",")
    return _dataset(table[:, :-1].copy(), table[:, -1], provenance, is_part=is_part)


def _dataset(
    X: np.ndarray, cover_types: np.ndarray, provenance: str, *, is_part: bool = False
) -> Dataset:
    return Dataset(
        name="covtype",
        title="Covertype",
        X=X,
        labels=cover_types.astype(np.intp) - 1,
        label_names=_LABEL_NAMES,
        feature_names=FEATURE_NAMES,
        image_shape=None,
        default_components=10,
        provenance=provenance,
        is_part=is_part,
        # Metres: Colorado's front range rises to 4,000, and roads and past fires are as far:
        # 4000 * sqrt(3) = 6,928, and the rest is small beside it.
        public_norm_bound=7_000.0,
    )
