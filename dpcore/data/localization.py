"""localization: tags worn by people who walk, sit and fall; 44 features as in the 2012 paper.

Guess: the features are all columns of the file except the date, which repeats the timestamp: 25
sequences, 4 tags, 11 activities, three coordinates and the time of day: 25 + 4 + 11 + 3 + 1 = 44.
No other sum of columns gives 44.

The activity is also the label, so a classifier must not read its columns
(`Dataset.label_columns`). The paper's accuracy of 100 ± 0 % for falling suggests that its
classifier did.
"""

from __future__ import annotations

import numpy as np

from dpcore.data.dataset import Dataset
from dpcore.data.official_files import (
    LocalFile,
    OfficialFile,
    read_lines,
)
from dpcore.data.table_encoding import (
    CodedNumber,
    Column,
    Nominal,
    feature_names,
    read_table,
)

LOCALIZATION_FILE = OfficialFile(
    "ConfLongDemo_JSI.txt",
    url="https://archive.ics.uci.edu/ml/machine-learning-databases/00196/",
    most_bytes=25_000_000,
)
LOCALIZATION_PART = OfficialFile(
    "ConfLongDemo_JSI.first16486.txt.gz",
    most_bytes=2_148_813,
    content_sha256="882605ae8899bb509cd9f95d66b518354dcc4be58132e6f244ab931013db3fda",
)
_ROWS = 164_860
_FIELDS = 8
_TICKS_PER_DAY = 864e9  # of 100 ns
_ACTIVITIES = tuple(
    "walking; falling; lying down; lying; sitting down; sitting; standing up from lying; on all "
    "fours; sitting on the ground; standing up from sitting; standing up from sitting on the "
    "ground".split("; ")
)
_ACTIVITY = Nominal("activity", 7, _ACTIVITIES)


def _metres(name: str, position: int) -> CodedNumber:
    # One scale for all three axes preserves angles. The range is that of a room plus sensor errors,
    # since the documentation gives no range of coordinates.
    return CodedNumber(name, position, lowest=-2.0, highest=6.0)


LOCALIZATION_COLUMNS: tuple[Column, ...] = (
    Nominal("sequence", 0, tuple(f"{person}0{take}" for person in "ABCDE" for take in range(1, 6))),
    Nominal("tag", 1, ("010-000-024-033", "010-000-030-096", "020-000-033-111", "020-000-032-221")),
    CodedNumber("time of day", 2, highest=_TICKS_PER_DAY, period=_TICKS_PER_DAY),
    _metres("x", 4),
    _metres("y", 5),
    _metres("z", 6),
    _ACTIVITY,
)


def load_localization(files: tuple[LocalFile, ...], part_of_rows: int | None = None) -> Dataset:
    """Load all readings, or the first `part_of_rows`."""
    (file,), n_rows = files, part_of_rows or _ROWS
    X, activities = read_table(
        read_lines(file, n_rows), LOCALIZATION_COLUMNS, _ACTIVITY, _FIELDS, file.path
    )
    which = "All 164,860 readings"
    if part_of_rows:
        which = (
            f"The first {part_of_rows:,} of the 164,860 readings (sequences A01 and A02 and part "
            "of A03, one person, so not a random sample)"
        )
    return Dataset(
        X=X,
        # The 2012 paper's task: falling against all.
        labels=(activities == _ACTIVITIES.index("falling")).astype(np.intp),
        label_names=("other", "falling"),
        feature_names=feature_names(LOCALIZATION_COLUMNS),
        provenance=f"{which} of body tags, encoded to the 2012 paper's 44 features (the encoding "
        "is a guess; it includes the activity).",
        # Three indicators are 1 in every row and four numbers reach 1: sqrt(3 + 4).
        public_norm_bound=2.65,
        label_columns=slice(X.shape[1] - len(_ACTIVITIES), X.shape[1]),
    )
