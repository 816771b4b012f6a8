"""census: people of the US Current Population Survey 1994-95, 513 features as in the 2012 paper.

The code book is the official census-income.names. Its 33 nominal columns have 495 levels. Eight of
these columns also have the missing value "?", which gives 503 indicators. Guesses: the other
features are all 8 numbers, including the instance weight, and two indicators of the income class,
so that 503 + 8 + 2 = 513. Years and weeks are scaled by their range, and amounts of money by
logarithm.

The income class is also the label, so a classifier must not read its columns
(`Dataset.label_columns`). The paper reports no classification for this data set.
"""

from __future__ import annotations

import math
from pathlib import Path

from dpcore.data.dataset import Dataset
from dpcore.data.official_files import (
    LocalFile,
    OfficialFile,
    read_lines,
)
from dpcore.data.table_encoding import (
    Nominal,
    feature_names,
    read_code_book,
    read_table,
)

_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/census-income-mld/"
CENSUS_FILE = OfficialFile("census-income.data.gz", url=_URL, most_bytes=120_000_000)
CENSUS_TEST = OfficialFile("census-income.test.gz", url=_URL, most_bytes=60_000_000)
CENSUS_HEAD = OfficialFile(
    "census-income.data.head1891.gz",
    most_bytes=986_005,
    content_sha256="9328da71bd403bd4d2fb88acf8df4efd17ec80c3bac9d3cab66a2ac5b9a6eec0",
)
_ROWS = 199_523
_PARTS = {
    99_762: "All 99,762 people of the test half (the paper used the 199,523 of the training half)",
    1_891: "The first 1,891 of the 199,523 people of the training half",
}
_FIELDS = 42
_INCOME = Nominal("income", _FIELDS - 1, ("- 50000", "50000+"))
# Largest values in the Bureau's documentation: age 90, hourly wage 9,999 cents, 52 weeks, and 6
# classes of an employer's size. Ranges of amounts and weights are not documented.
CENSUS_COLUMNS = (*read_code_book(Path(__file__).with_name("census.csv")), _INCOME)


def load_census(files: tuple[LocalFile, ...], part_of_rows: int | None = None) -> Dataset:
    """Load the training half, or the part with `part_of_rows` rows."""
    (file,), n_rows = files, part_of_rows or _ROWS
    X, income = read_table(read_lines(file, n_rows), CENSUS_COLUMNS, _INCOME, _FIELDS, file.path)
    which = _PARTS.get(n_rows, "All 199,523 people of the training half")
    return Dataset(
        X=X,
        labels=income,
        label_names=_INCOME.levels,
        feature_names=feature_names(CENSUS_COLUMNS),
        provenance=f"{which} of Census-Income (KDD), encoded to the 2012 paper's 513 features "
        "(the encoding is a guess; it includes the income class).",
        # 34 indicators are 1 in every row, and each of 8 numbers may be at its top.
        public_norm_bound=math.sqrt(34 + 8),
        label_columns=slice(X.shape[1] - len(_INCOME.levels), X.shape[1]),
    )
