"""Data sets of pictures: digits, patches, MNIST, Fashion-MNIST, mfeat.

MNIST's official test files are bundled with the package, and the same 10,000 pictures at 14 × 14,
which `python -m dpcore.data.pictures` makes from them (`bundled-files.md` names source and
licence). A process reads the small file in 10 ms; unpacking and averaging the large one takes 40.
"""

from __future__ import annotations

import gzip
import hashlib
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from dpcore.arrays import FloatArray, IntArray, map_blocks, row_blocks
from dpcore.data.dataset import DATA_SEED, Dataset
from dpcore.data.official_files import (
    LocalFile,
    OfficialFile,
    damaged,
    read_idx,
    read_lines,
    read_numbers,
    refuse_rows,
    scikit_learn_table,
)
from dpcore.errors import DataUnavailable, ParameterError
from dpcore.streams import Purpose, stream

PATCH = 28
_PATCH_STREAM = 2


def load_digits() -> Dataset:
    """Load the 1,797 handwritten digits, 8 x 8 pixels from 0 to 16, float64.

    Raises `DataUnavailable` if scikit-learn is not installed or the file is damaged.
    """
    table = scikit_learn_table("digits.csv.gz", "digits", (1797, 65), delimiter=",")
    return Dataset(
        X=np.ascontiguousarray(table[:, :-1]),
        labels=table[:, -1].astype(int),
        label_names=tuple("0123456789"),
        feature_names=pixel_names(8, 8),
        provenance="All 1,797 handwritten digits that ship with scikit-learn (the test half of "
        "UCI's optdigits), 8 × 8 pixels from 0 to 16.",
        # Norm of a picture at full ink, which no row exceeds: 16 * sqrt(64).
        public_norm_bound=128.0,
    )


def photograph_windows() -> tuple[FloatArray, ...]:
    """Return every 28 x 28 grey window of the two photographs, as views, nothing copied.

    Returns: tuple of shape (400, 613, 28, 28), float32 in [0, 1]. Luma by the weights of ITU-R
        BT.601.
    Raises `DataUnavailable` if no library that reads JPEG is installed.
    """
    from sklearn.datasets import load_sample_images

    try:
        photographs = load_sample_images().images
    except ImportError as error:
        raise DataUnavailable(
            "patches needs Pillow to read scikit-learn's two sample photographs; "
            "everything else works without it"
        ) from error
    weights = np.array([0.299, 0.587, 0.114], dtype=np.float32) / 255
    return tuple(
        sliding_window_view(photograph.astype(np.float32) @ weights, (PATCH, PATCH))
        for photograph in photographs
    )


def load_patches(n_samples: int | None = None) -> Dataset:
    """Draw patches of two photographs, by default 60,000 of the 490,400 patches."""
    windows = photograph_windows()
    counts = [view.shape[0] * view.shape[1] for view in windows]
    total = sum(counts)
    n_samples = n_samples or 60_000
    if n_samples > total:
        raise ParameterError("n_samples", f"at most {total}, the patches there are", n_samples)
    rng = stream(DATA_SEED, Purpose.DATA, _PATCH_STREAM)
    chosen = rng.permutation(total)[:n_samples]
    labels = np.searchsorted(np.cumsum(counts), chosen, side="right")
    X = np.empty((n_samples, PATCH * PATCH), dtype=np.float32)
    offset = 0
    for photograph, (view, count) in enumerate(zip(windows, counts, strict=True)):
        members = np.flatnonzero(labels == photograph)
        rows, columns = np.divmod(chosen[members] - offset, view.shape[1])
        # Blocks are used because indexing all windows at once copies them twice.
        for block in np.array_split(np.arange(len(members)), max(1, len(members) // 4096)):
            X[members[block]] = view[rows[block], columns[block]].reshape(len(block), -1)
        offset += count
    return Dataset(
        X=X,
        labels=labels,
        label_names=("china", "flower"),
        feature_names=pixel_names(PATCH, PATCH),
        provenance=f"{n_samples:,} of the {total:,} overlapping 28 × 28 grey patches of "
        "scikit-learn's two sample photographs, drawn with a fixed seed.",
        # Norm of a patch at 80 % of white, such as sky. A white patch has the largest norm, 28.
        public_norm_bound=22.4,
    )


def pixel_names(height: int, width: int) -> tuple[str, ...]:
    return tuple(f"pixel_{row}_{column}" for row in range(height) for column in range(width))


_SIDE = 28
_N_PICTURES = 60_000
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

# File of scikit-learn's fetch_openml("mnist_784", version=1) in its data folder.
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

# Pictures and labels of the official test sets, which no training uses.
TEST_FILES = {
    name: tuple(
        OfficialFile(
            f"t10k-{part}-ubyte.gz",
            most_bytes=most_bytes,
            content_sha256=content_sha256,
            name_is_shared=True,
        )
        for part, most_bytes, content_sha256 in (
            ("images-idx3", 7_840_016, pictures),
            ("labels-idx1", 10_008, labels),
        )
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
    """Load MNIST's training set from its two IDX files."""
    origin = "All 60,000 training pictures of MNIST, 28 × 28 pixels in [0, 1], from the official"
    return _mnist(*_read_pair(files, _N_PICTURES), f"{origin} files.")


def load_mnist_part(files: tuple[LocalFile, ...], part_of_rows: int) -> Dataset:
    """Load MNIST's test set, which replaces the training set where that is absent."""
    return _mnist(
        *_read_pair(files, part_of_rows),
        f"The {part_of_rows:,} test pictures of MNIST (LeCun & Cortes, CC BY-SA 3.0) in place of "
        "its 60,000 training pictures, 28 × 28 pixels in [0, 1].",
    )


def load_mnist_openml(files: tuple[LocalFile, ...]) -> Dataset:
    """Load MNIST's training half, the first 60,000 rows of OpenML's mnist_784."""
    (file,) = files
    _, _, rows = file.content().partition(b"@DATA")
    if not rows.strip():
        raise damaged(file.path, "it has no rows after @DATA")
    try:
        lines = rows.split(maxsplit=_N_PICTURES)[:_N_PICTURES]
        table = np.loadtxt(lines, dtype=np.uint8, delimiter=",", ndmin=2)
    except ValueError as error:
        raise damaged(file.path, "its rows are not whole numbers from 0 to 255") from error
    images, labels = table[:, :-1], table[:, -1]
    # The official checksums show that these are the official rows in the official order.
    for official, header, array, content in (
        (MNIST_FILES[0], [0x803, _N_PICTURES, _SIDE, _SIDE], images, "pictures"),
        (MNIST_FILES[1], [0x801, _N_PICTURES], labels, "labels"),
    ):
        idx = np.array(header, dtype=">u4").tobytes() + array.tobytes()
        if hashlib.sha256(idx).hexdigest() != official.content_sha256:
            raise damaged(file.path, f"its first 60,000 rows are not MNIST's training {content}")
    return _mnist(
        _unit_range(images, np.empty(images.shape, np.float32)),
        labels,
        "All 60,000 training pictures of MNIST, 28 × 28 pixels in [0, 1], from OpenML's copy.",
    )


def load_fashion_mnist(files: tuple[LocalFile, ...]) -> Dataset:
    """Load Fashion-MNIST's training half from its two IDX files."""
    X, labels = _read_pair(files, _N_PICTURES)
    return Dataset(
        X=X,
        labels=labels.astype(np.intp),
        label_names=_FASHION_LABELS,
        feature_names=pixel_names(_SIDE, _SIDE),
        provenance="All 60,000 training pictures of Fashion-MNIST, 28 × 28 pixels in [0, 1], "
        "from the official files.",
        # Norm of a garment that fills half the frame in white: sqrt(784 / 2).
        public_norm_bound=19.8,
    )


def _mnist(X: FloatArray, labels: IntArray, provenance: str) -> Dataset:
    return Dataset(
        X=X,
        labels=labels.astype(np.intp),
        label_names=tuple("0123456789"),
        feature_names=pixel_names(_SIDE, _SIDE),
        provenance=provenance,
        # Norm of a pen stroke that covers a quarter of the frame in full ink: sqrt(784 / 4).
        public_norm_bound=14.0,
    )


def _read_pair(files: tuple[LocalFile, ...], n_pictures: int) -> tuple[FloatArray, IntArray]:
    X = np.empty((n_pictures, _SIDE**2), np.float32)
    # Memory for half of the rows takes as long to allocate as the pictures take to read.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(np.copyto, X[n_pictures // 2 :], 0)
        images, labels = map(read_idx, files)
    for file, array, shape in zip(
        files, (images, labels), ((n_pictures, _SIDE, _SIDE), (n_pictures,)), strict=True
    ):
        if array.shape != shape:
            raise damaged(file.path, f"it has shape {array.shape} where {shape} is expected")
    return _unit_range(images.reshape(n_pictures, -1), X), labels


def _unit_range(pixels: IntArray, out: FloatArray) -> FloatArray:
    def divide(rows: slice | IntArray) -> None:
        np.divide(pixels[rows], np.float32(255), out=out[rows], dtype=np.float32)

    list(map_blocks(divide, row_blocks(np.arange(len(pixels)), _BLOCK_ROWS)))
    return out


SIDE, N_ROWS = 14, 10_000
_FOLDER = Path(__file__).parent
# Bundled file in MNIST's own format, with a checksum, because any file may be damaged.
SMALL_FILE = OfficialFile(
    "mnist-small-images-idx3-ubyte.gz",
    content_sha256="f1e85dc87443c8549e3d0af21b42e1ff96f1c395b9d6f4ca521e1b5811f9e863",
)


def load_mnist_small() -> Dataset:
    """Load MNIST's test half, each picture the means of its 2 × 2 blocks, float32 in [0, 1]."""
    files = (SMALL_FILE, TEST_FILES["mnist"][1])
    pixels, labels = (read_idx(LocalFile(_FOLDER / file.name, file)) for file in files)
    if pixels.shape != (N_ROWS, SIDE, SIDE) or labels.shape != (N_ROWS,):
        raise damaged(_FOLDER, f"pictures of shape {pixels.shape}, labels of {labels.shape}")
    return Dataset(
        X=pixels.reshape(N_ROWS, -1) / np.float32(255),
        labels=labels.astype(np.intp),
        label_names=tuple("0123456789"),
        feature_names=pixel_names(SIDE, SIDE),
        provenance="All 10,000 test pictures of MNIST (LeCun & Cortes, CC BY-SA 3.0), reduced to "
        "14 × 14 pixels in [0, 1] by the means of 2 × 2.",
        # Norm of a white picture, the largest possible one.
        public_norm_bound=float(SIDE),
    )


def halve_pictures(pictures: IntArray) -> IntArray:
    """Return the means of 2 × 2 blocks of bytes, rounded half up.

    Shapes: (n, 2 h, 2 w) to (n, h, w), uint8.
    """
    n, height, width = pictures.shape
    blocks = pictures.reshape(n, height // 2, 2, width // 2, 2)
    # Integer arithmetic rounds alike on every machine.
    means: IntArray = ((blocks.sum(axis=(2, 4), dtype=np.uint16) + 2) >> 2).astype(np.uint8)
    return means


def write_small_file(folder: Path = _FOLDER) -> None:
    """Write the pictures of mnist-small, made from the bundled test pictures of MNIST."""
    official = TEST_FILES["mnist"][0]
    means = halve_pictures(read_idx(LocalFile(_FOLDER / official.name, official)))
    header = np.array([0x803, *means.shape], dtype=">u4").tobytes()
    # Without the time, the same pictures are the same bytes.
    packed = gzip.compress(header + means.tobytes(), compresslevel=9, mtime=0)
    (folder / SMALL_FILE.name).write_bytes(packed)


if __name__ == "__main__":
    write_small_file()


_MFEAT_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/mfeat/"
_N_NUMERALS = 2_000
_ROWS_PER_DIGIT = 200

# View -> number of features, and a row norm to divide the view by. Half the 240 pixels at 6
# gives 66, and Karhunen-Loeve coefficients are those pixels rotated. 76 Fourier magnitudes, a
# quarter of them near 1, give 4.4. The other three views have no documented unit and get a power of
# ten each.
VIEWS = {
    "fac": (216, 10_000.0),
    "fou": (76, 4.4),
    "kar": (64, 66.0),
    "mor": (6, 10_000.0),
    "pix": (240, 66.0),
    "zer": (47, 1_000.0),
}
# No official checksum is known. Larger entries, in units of a view's scale, are refused as damage.
_LARGEST_ENTRY = 10.0
MFEAT_FILES = tuple(
    OfficialFile(f"mfeat-{view}", url=_MFEAT_URL, most_bytes=4_000_000) for view in VIEWS
)


def load_mfeat(files: tuple[LocalFile, ...]) -> Dataset:
    """Return all six views as one table, each divided by its public scale."""
    tables = []
    views = {}
    names: list[str] = []
    for file, (view, (n_features, scale)) in zip(files, VIEWS.items(), strict=True):
        table = read_numbers(read_lines(file, _N_NUMERALS), n_features, file.path)
        far = np.any(np.abs(table) > _LARGEST_ENTRY * scale, axis=1)
        refuse_rows(far, file.path, f"holds a number beyond {_LARGEST_ENTRY * scale:,g}")
        tables.append(table / np.float32(scale))
        views[view] = slice(len(names), len(names) + n_features)
        names += [f"{view}_{j}" for j in range(n_features)]
    return Dataset(
        X=np.hstack(tables),
        labels=np.repeat(np.arange(10), _ROWS_PER_DIGIT),
        label_names=tuple("0123456789"),
        feature_names=tuple(names),
        provenance="All 2,000 handwritten numerals of UCI's multiple features, 200 a digit, six "
        "views of 649 features in all, each view divided by a public scale.",
        # Six views of norm about 1 each. The longest row has norm 2.38, because the scales were
        # chosen view by view, three of them as powers of ten, and not fitted to the rows.
        public_norm_bound=math.sqrt(len(VIEWS)),
        views=views,
    )


def select_views(dataset: Dataset, *names: str) -> Dataset:
    """Return the columns of some views, in the given order.

    Parameters
    ----------
    dataset : Dataset
        Data set with `views`.
    *names : str

    Returns
    -------
    Dataset
        With `views` for the columns it holds; its `public_norm_bound` is sqrt(len(names)), each
        view being scaled to a norm of about 1.

    Raises
    ------
    ParameterError
        If the data set has no such view, or a view is named twice.
    """
    views = dataset.views or {}
    if not names or len(set(names)) < len(names) or not set(names) <= set(views):
        raise ParameterError(
            "views", f"different ones of {', '.join(views) or 'none: there are no views'}", names
        )
    columns = np.concatenate([np.arange(dataset.n_features)[views[name]] for name in names])
    stops = np.cumsum([views[name].stop - views[name].start for name in names]).tolist()
    return replace(
        dataset,
        X=dataset.X[:, columns],
        feature_names=tuple(dataset.feature_names[j] for j in columns),
        public_norm_bound=math.sqrt(len(names)),
        views={
            name: slice(start, stop)
            for name, start, stop in zip(names, [0, *stops], stops, strict=False)
        },
    )
