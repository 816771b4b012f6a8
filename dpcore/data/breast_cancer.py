"""Breast cancer, Wisconsin (diagnostic): 569 patients, 30 measurements of cell nuclei each.

W. N. Street, W. H. Wolberg and O. L. Mangasarian, "Nuclear feature extraction for breast tumor
diagnosis", 1993. The file ships with scikit-learn.
"""

from __future__ import annotations

import math

import numpy as np

from dpcore.data.dataset import ColumnRange, Dataset
from dpcore.data.official_files import scikit_learn_table

N_ROWS = 569
# Public upper limits of the mean and the worst value of each measurement. Lengths are in pixels of
# the digitised image; the others are ratios without a unit. The documentation gives no ranges, so
# the limits follow from the geometry of a nucleus in a fine-needle image. All lower limits are 0.
_UPPER = {
    "radius": 40.0,
    "texture": 60.0,
    "perimeter": 260.0,
    "area": 5000.0,
    "smoothness": 0.3,
    "compactness": 1.2,
    "concavity": 1.5,
    "concave points": 0.4,
    "symmetry": 0.8,
    "fractal dimension": 0.25,
}
# A standard error is assumed to be at most a tenth of the largest value.
_ERROR_SHARE = 0.1
_LIMITS = {
    **{f"mean {name}": upper for name, upper in _UPPER.items()},
    **{f"{name} error": _ERROR_SHARE * upper for name, upper in _UPPER.items()},
    **{f"worst {name}": upper for name, upper in _UPPER.items()},
}
RANGES = tuple(ColumnRange(name, 1, 0.0, 1.0) for name in _LIMITS)


def load_breast_cancer() -> Dataset:
    """Load the table that ships with scikit-learn, with the public limits of each column as [0, 1].

    Raises `DataUnavailable` if scikit-learn is not installed or the file is damaged.
    """
    shape = N_ROWS, len(_LIMITS) + 1
    table = scikit_learn_table(
        "breast_cancer.csv", "breast-cancer", shape, delimiter=",", skiprows=1
    )
    return Dataset(
        X=np.clip(table[:, :-1] / np.array(list(_LIMITS.values())), 0.0, 1.0),
        labels=table[:, -1].astype(int),
        label_names=("malignant", "benign"),
        feature_names=tuple(_LIMITS),
        provenance="All 569 patients of Breast Cancer Wisconsin (diagnostic), which ships with "
        "scikit-learn, scaled to public limits.",
        public_norm_bound=math.sqrt(len(_LIMITS)),
    )
