"""MNIST and Fashion-MNIST from their IDX files, or MNIST as OpenML keeps it."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dpcore.arrays import FloatArray, IntArray, mapped, row_blocks
from dpcore.data.dataset import Dataset
from dpcore.data.official import LocalFile, OfficialFile, damaged, read_idx
from dpcore.data.readers.bundled import pixel_names

_SIDE = 28
_N_ROWS = 60_000
_BLOCK_ROWS = 4096

_MNIST_URL = "https://ossci-datasets.s3.amazonaws.com/mnist/"
MNIST_FILES = (
    OfficialFile(
        "train-images-idx3-ubyte.gz",
        url=_MNIST_URL,
        n_bytes=9_912_422,
        most_bytes=47_040_016,
        sha256="440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        content_sha256="ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        name_is_shared=True,
    ),
    OfficialFile(
        "train-labels-idx1-ubyte.gz",
        url=_MNIST_URL,
        n_bytes=28_881,
        most_bytes=60_008,
        sha256="3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        content_sha256="65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        name_is_shared=True,
    ),
)

# What scikit-learn's fetch_openml("mnist_784", version=1) leaves in its data folder.
OPENML_FOLDER = "openml/openml.org/data/v1/download/52667"
OPENML_FILE = OfficialFile("mnist_784.arff.gz")

_FASHION_URL = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
FASHION_FILES = (
    OfficialFile(
        "train-images-idx3-ubyte.gz",
        url=_FASHION_URL,
        n_bytes=26_421_880,
        most_bytes=47_040_016,
        sha256="3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        content_sha256="c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        name_is_shared=True,
    ),
    OfficialFile(
        "train-labels-idx1-ubyte.gz",
        url=_FASHION_URL,
        n_bytes=29_515,
        most_bytes=60_008,
        sha256="a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        content_sha256="bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        name_is_shared=True,
    ),
)

# Pictures and labels of the official test halves, which nobody trains on.
TEST_FILES = {
    name: tuple(
        OfficialFile(f"t10k-{part}-ubyte.gz", content_sha256=content_sha256, name_is_shared=True)
        for part, content_sha256 in (("images-idx3", pictures), ("labels-idx1", labels))
    )
    for name, pictures, labels in (
        (
            "mnist",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
        (
            "fashion-mnist",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
    )
}

_FASHION_LABELS = tuple(
    "T-shirt/top,Trouser,Pullover,Dress,Coat,Sandal,Shirt,Sneaker,Bag,Ankle boot".split(",")
)


def load_mnist(files: tuple[LocalFile, ...]) -> Dataset:
    """MNIST's training half from its two IDX files."""
    return _mnist(*_read_pair(files), "the official files")


def load_mnist_openml(files: tuple[LocalFile, ...]) -> Dataset:
    """MNIST's training half from OpenML's mnist_784, whose first 60,000 rows it is."""
    (file,) = files
    _, _, rows = file.content().partition(b"@DATA")
    if not rows.strip():
        raise damaged(file.path, "it has no rows after @DATA")
    try:
        lines = rows.split(maxsplit=_N_ROWS)[:_N_ROWS]
        table = np.loadtxt(lines, dtype=np.uint8, delimiter=",", ndmin=2)
    except ValueError as error:
        raise damaged(file.path, "its rows are not whole numbers from 0 to 255") from error
    images, labels = table[:, :-1], table[:, -1]
    # The official checksums tell whether these are the official people, in the official order.
    for official, header, array, what in (
        (MNIST_FILES[0], [0x803, _N_ROWS, _SIDE, _SIDE], images, "pictures"),
        (MNIST_FILES[1], [0x801, _N_ROWS], labels, "labels"),
    ):
        idx = np.array(header, dtype=">u4").tobytes() + array.tobytes()
        if hashlib.sha256(idx).hexdigest() != official.content_sha256:
            raise damaged(file.path, f"its first 60,000 rows are not MNIST's training {what}")
    return _mnist(_unit_range(images, np.empty(images.shape, np.float32)), labels, "OpenML's copy")


def load_fashion_mnist(files: tuple[LocalFile, ...]) -> Dataset:
    """Fashion-MNIST's training half from its two IDX files."""
    X, labels = _read_pair(files)
    return Dataset(
        X=X,
        labels=labels.astype(np.intp),
        label_names=_FASHION_LABELS,
        feature_names=pixel_names(_SIDE, _SIDE),
        provenance="All 60,000 training pictures of Fashion-MNIST, 28 × 28 pixels in [0, 1], "
        "from the official files.",
        # A garment that fills half the frame in white: sqrt(784 / 2).
        public_norm_bound=19.8,
    )


def _mnist(X: FloatArray, labels: IntArray, origin: str) -> Dataset:
    return Dataset(
        X=X,
        labels=labels.astype(np.intp),
        label_names=tuple("0123456789"),
        feature_names=pixel_names(_SIDE, _SIDE),
        provenance="All 60,000 training pictures of MNIST, 28 × 28 pixels in [0, 1], "
        f"from {origin}.",
        # A pen stroke that covers a quarter of the frame in full ink: sqrt(784 / 4).
        public_norm_bound=14.0,
    )


def _read_pair(files: tuple[LocalFile, ...]) -> tuple[FloatArray, IntArray]:
    X = np.empty((_N_ROWS, _SIDE**2), np.float32)
    # The system takes as long to find memory for half of the rows as it takes to read the pictures.
    with ThreadPoolExecutor(1) as beside:
        beside.submit(np.copyto, X[_N_ROWS // 2 :], 0)
        images, labels = map(read_idx, files)
    for file, array, shape in zip(
        files, (images, labels), ((_N_ROWS, _SIDE, _SIDE), (_N_ROWS,)), strict=True
    ):
        if array.shape != shape:
            raise damaged(file.path, f"it has shape {array.shape} where {shape} is expected")
    return _unit_range(images.reshape(_N_ROWS, -1), X), labels


def _unit_range(pixels: IntArray, out: FloatArray) -> FloatArray:
    def divide(rows: slice | IntArray) -> None:
        np.divide(pixels[rows], np.float32(255), out=out[rows], dtype=np.float32)

    list(mapped(divide, row_blocks(np.arange(len(pixels)), _BLOCK_ROWS)))
    return out
