"""Diabetes: 442 patients, 10 columns in the units in which they were measured.

B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, "Least angle regression", 2004. The file ships
with scikit-learn.
"""

from __future__ import annotations

import math

from dpcore.data.dataset import ColumnRange, Dataset
from dpcore.data.official_files import scikit_learn_table

N_ROWS = 442
# Public limits: plausible ranges in medicine, not the smallest and largest value of the rows.
RANGES = (
    ColumnRange("age (years)", 1, 0.0, 120.0),
    ColumnRange("sex (1 or 2)", 1, 1.0, 2.0),
    ColumnRange("body mass index (kg/m²)", 1, 10.0, 60.0),
    ColumnRange("blood pressure (mmHg)", 1, 40.0, 200.0),
    ColumnRange("total cholesterol (mg/dl)", 1, 50.0, 400.0),
    ColumnRange("LDL cholesterol (mg/dl)", 1, 20.0, 300.0),
    ColumnRange("HDL cholesterol (mg/dl)", 1, 10.0, 150.0),
    ColumnRange("cholesterol ratio", 1, 1.0, 15.0),
    ColumnRange("log of triglycerides", 1, 2.0, 8.0),
    ColumnRange("blood sugar (mg/dl)", 1, 20.0, 300.0),
)


def load_diabetes() -> Dataset:
    """Load the table that ships with scikit-learn, without scaling.

    Raises `DataUnavailable` if scikit-learn is not installed or the file is damaged.
    """
    return Dataset(
        X=scikit_learn_table("diabetes_data_raw.csv.gz", "diabetes", (N_ROWS, len(RANGES))),
        feature_names=tuple(column.name for column in RANGES),
        public_norm_bound=math.hypot(*(column.upper for column in RANGES)),
        provenance="All 442 patients of the diabetes table that ships with scikit-learn.",
    )
