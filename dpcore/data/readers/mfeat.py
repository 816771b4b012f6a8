"""mfeat: 2,000 handwritten numerals, each measured in six ways; two-view data for CCA."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpcore.data.dataset import Dataset
from dpcore.data.official import LocalFile, OfficialFile, read_lines, read_numbers, refuse_rows
from dpcore.errors import ParameterError

_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/mfeat/"
_N_ROWS = 2_000
_ROWS_PER_DIGIT = 200

# View -> number of features, and a row norm to divide the view by. Half the 240 pixels at 6
# gives 66, and Karhunen-Loeve coefficients are those pixels rotated. 76 Fourier magnitudes, a
# quarter of them near 1, give 4.4. What the other three measure has no documented unit: a power
# of ten each.
VIEWS = {
    "fac": (216, 10_000.0),
    "fou": (76, 4.4),
    "kar": (64, 66.0),
    "mor": (6, 10_000.0),
    "pix": (240, 66.0),
    "zer": (47, 1_000.0),
}
# No official checksum is known. No number is many times as long as a whole row should be.
_FARTHEST = 10.0
MFEAT_FILES = tuple(OfficialFile(f"mfeat-{view}", url=_URL, most_bytes=4_000_000) for view in VIEWS)


def load_mfeat(files: tuple[LocalFile, ...]) -> Dataset:
    """All six views side by side, each divided by its public scale."""
    tables = []
    views = {}
    names: list[str] = []
    for file, (view, (n_features, scale)) in zip(files, VIEWS.items(), strict=True):
        table = read_numbers(read_lines(file, _N_ROWS), n_features, file.path)
        far = np.any(np.abs(table) > _FARTHEST * scale, axis=1)
        refuse_rows(far, file.path, f"holds a number beyond {_FARTHEST * scale:,g}")
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
        # Six views, each about 1 long by its scale. That the longest row is 2.38 comes of scales
        # that were written down one by one, of which three are powers of ten: nothing was fitted.
        public_norm_bound=math.sqrt(len(VIEWS)),
        views=views,
    )


def select_views(dataset: Dataset, *names: str) -> Dataset:
    """The columns of some views, in the order given.

    Parameters
    ----------
    dataset : Dataset
        With `views`.
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
    kept = np.concatenate([np.arange(dataset.n_features)[views[name]] for name in names])
    stops = np.cumsum([views[name].stop - views[name].start for name in names]).tolist()
    return replace(
        dataset,
        X=dataset.X[:, kept],
        feature_names=tuple(dataset.feature_names[j] for j in kept),
        public_norm_bound=math.sqrt(len(names)),
        views={
            name: slice(start, stop)
            for name, start, stop in zip(names, [0, *stops], stops, strict=False)
        },
    )
