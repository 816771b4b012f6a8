"""MNIST's 10,000 test pictures at 14 × 14, which come with the package.

`python -m dpcore.data.readers.mnist_small DATA_HOME` makes the two files beside this module anew
from the official ones (`mnist-small.md` names licence and source).
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import numpy as np

from dpcore.arrays import IntArray
from dpcore.data.dataset import Dataset
from dpcore.data.official import LocalFile, OfficialFile, damaged, find_data_home, locate, read_idx
from dpcore.data.readers.bundled import pixel_names
from dpcore.data.readers.pictures import TEST_FILES
from dpcore.errors import DataUnavailable

SIDE, N_ROWS = 14, 10_000
_FOLDER = Path(__file__).parent
# What comes with the package, in MNIST's own format. A checksum, as any file may be damaged.
BUNDLED = (
    OfficialFile(
        "mnist-small-images-idx3-ubyte.gz",
        content_sha256="f1e85dc87443c8549e3d0af21b42e1ff96f1c395b9d6f4ca521e1b5811f9e863",
    ),
    OfficialFile(
        "mnist-small-labels-idx1-ubyte.gz",
        content_sha256=TEST_FILES["mnist"][1].content_sha256,
    ),
)


def load_mnist_small() -> Dataset:
    """MNIST's test half, each picture the means of its 2 × 2 blocks, float32 in [0, 1]."""
    pixels, labels = (read_idx(LocalFile(_FOLDER / file.name, file)) for file in BUNDLED)
    if pixels.shape != (N_ROWS, SIDE, SIDE) or labels.shape != (N_ROWS,):
        raise damaged(_FOLDER, f"pictures of shape {pixels.shape}, labels of {labels.shape}")
    return Dataset(
        X=pixels.reshape(N_ROWS, -1) / np.float32(255),
        labels=labels.astype(np.intp),
        label_names=tuple("0123456789"),
        feature_names=pixel_names(SIDE, SIDE),
        provenance="All 10,000 test pictures of MNIST (LeCun & Cortes, CC BY-SA 3.0), reduced to "
        "14 × 14 pixels in [0, 1] by the means of 2 × 2.",
        # A picture all white: no row is longer, whatever is drawn on it.
        public_norm_bound=float(SIDE),
    )


def halved(pictures: IntArray) -> IntArray:
    """Means of 2 × 2 blocks of bytes, rounded half up: (n, 2 h, 2 w) to (n, h, w), uint8."""
    n, height, width = pictures.shape
    blocks = pictures.reshape(n, height // 2, 2, width // 2, 2)
    # In whole numbers, so that every machine rounds alike.
    means: IntArray = ((blocks.sum(axis=(2, 4), dtype=np.uint16) + 2) >> 2).astype(np.uint8)
    return means


def read_official(home: Path) -> tuple[IntArray, IntArray]:
    """The bundled pictures and labels, made from MNIST's official test files.

    Raises `DataUnavailable` if a file is not in the data home or not what its name says.
    """
    found = [locate(file, home, ("mnist",)) for file in TEST_FILES["mnist"]]
    if None in found:
        names = ", ".join(file.name for file in TEST_FILES["mnist"])
        raise DataUnavailable(f"mnist-small is made from {names}, which are not in {home}")
    pictures, labels = (read_idx(file) for file in found if file is not None)
    return halved(pictures), labels


def write_bundle(home: Path, folder: Path = _FOLDER) -> None:
    """Write the two files that come with the package from the official ones in a data home."""
    for file, array in zip(BUNDLED, read_official(home), strict=True):
        header = np.array([0x800 + array.ndim, *array.shape], dtype=">u4").tobytes()
        # Without the time: the same rows are the same bytes.
        packed = gzip.compress(header + array.tobytes(), compresslevel=9, mtime=0)
        (folder / file.name).write_bytes(packed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the files of mnist-small anew.")
    parser.add_argument("data_home", nargs="?", help="folder with MNIST's official files")
    write_bundle(find_data_home(parser.parse_args().data_home))
