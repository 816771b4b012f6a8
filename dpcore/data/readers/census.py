"""census: people of the US Current Population Survey 1994-95, 513 features, as in the 2012 paper.

The code book is the official census-income.names: 33 nominal columns with 495 levels, and the
missing value "?" in the eight columns that have it: 503. Guessed: all 8 numbers, the instance
weight too, and the income class spread over its two levels: 503 + 8 + 2 = 513. The income class
is the label, so that a classifier that reads those two columns is told the answer
(`Dataset.label_columns`); the paper reports no classification for this set. The scales are
guesses too: years and weeks by their range, money by logarithm.
"""

from __future__ import annotations

import math
from pathlib import Path

from dpcore.data.dataset import Dataset
from dpcore.data.official import LocalFile, OfficialFile, read_lines
from dpcore.data.readers.code_books import Nominal, feature_names, read_code_book, read_table

_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/census-income-mld/"
CENSUS_FILE = OfficialFile("census-income.data.gz", url=_URL, most_bytes=120_000_000)
CENSUS_TEST = OfficialFile("census-income.test.gz", url=_URL, most_bytes=60_000_000)
CENSUS_HEAD = OfficialFile(
    "census-income.data.head1891.gz",
    most_bytes=986_005,
    content_sha256="9328da71bd403bd4d2fb88acf8df4efd17ec80c3bac9d3cab66a2ac5b9a6eec0",
)

_N_ROWS = 199_523
_PARTS = {
    99_762: "All 99,762 people of the test half (the paper used the 199,523 of the training half)",
    1_891: "The first 1,891 of the 199,523 people of the training half",
}
_N_FIELDS = 42

_INCOME = Nominal("income", _N_FIELDS - 1, ("- 50000", "50000+"))
# The Bureau's documentation of the survey top-codes ages at 90, hourly wages at 9,999 cents, and
# gives weeks to 52 and an employer's size in classes to 6; of amounts and weights none is at hand.
COLUMNS = (*read_code_book(Path(__file__).with_suffix(".csv")), _INCOME)


def load_census(files: tuple[LocalFile, ...], part_of_rows: int | None = None) -> Dataset:
    """The training half, or the part with so many rows."""
    (file,), n_rows = files, part_of_rows or _N_ROWS
    X, income = read_table(read_lines(file, n_rows), COLUMNS, _INCOME, _N_FIELDS, file.path)
    which = _PARTS.get(n_rows, "All 199,523 people of the training half")
    return Dataset(
        X=X,
        labels=income,
        label_names=_INCOME.levels,
        feature_names=feature_names(COLUMNS),
        provenance=f"{which} of Census-Income (KDD), encoded to the 2012 paper's 513 features "
        "(how is our guess; the income class is among them).",
        # 34 indicators are 1 in every row, and each of 8 numbers may be at its top.
        public_norm_bound=math.sqrt(34 + 8),
        label_columns=slice(X.shape[1] - len(_INCOME.levels), X.shape[1]),
    )
