"""localization: tags worn by people who walk, sit and fall; 44 features, as in the 2012 paper.

Guessed: every column of the file but the date, which repeats the timestamp: 25 sequences, 4
tags, 11 activities, three coordinates and the time of day: 25 + 4 + 11 + 3 + 1 = 44. The
activities are the labels, so that a classifier that reads those columns is told the answer
(`Dataset.label_columns`). No other sum of columns gives 44, and the paper's 100 ± 0 % for falling
against all is hard to have otherwise.
"""

from __future__ import annotations

import numpy as np

from dpcore.data.dataset import Dataset
from dpcore.data.official import LocalFile, OfficialFile, read_lines
from dpcore.data.readers.code_books import Column, Nominal, Number, feature_names, read_table

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

_N_ROWS = 164_860
_N_FIELDS = 8
_TICKS_PER_DAY = 864e9  # of 100 ns

_ACTIVITIES = tuple(
    "walking; falling; lying down; lying; sitting down; sitting; standing up from lying; on all "
    "fours; sitting on the ground; standing up from sitting; standing up from sitting on the "
    "ground".split("; ")
)
_ACTIVITY = Nominal("activity", 7, _ACTIVITIES)


def _metres(name: str, position: int) -> Number:
    # One scale for all three axes keeps angles in the room; a room, and a sensor that errs. The
    # documentation gives no range of coordinates.
    return Number(name, position, lowest=-2.0, highest=6.0)


COLUMNS: tuple[Column, ...] = (
    Nominal("sequence", 0, tuple(f"{person}0{take}" for person in "ABCDE" for take in range(1, 6))),
    Nominal("tag", 1, ("010-000-024-033", "010-000-030-096", "020-000-033-111", "020-000-032-221")),
    Number("time of day", 2, highest=_TICKS_PER_DAY, period=_TICKS_PER_DAY),
    _metres("x", 4),
    _metres("y", 5),
    _metres("z", 6),
    _ACTIVITY,
)


def load_localization(files: tuple[LocalFile, ...], part_of_rows: int | None = None) -> Dataset:
    """All readings, or so many of the first."""
    (file,), n_rows = files, part_of_rows or _N_ROWS
    X, activities = read_table(read_lines(file, n_rows), COLUMNS, _ACTIVITY, _N_FIELDS, file.path)
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
        feature_names=feature_names(COLUMNS),
        provenance=f"{which} of body tags, encoded to the 2012 paper's 44 features (how is our "
        "guess; the activity is among them).",
        # Three indicators are 1 in every row and four numbers reach 1: sqrt(3 + 4).
        public_norm_bound=2.65,
        label_columns=slice(X.shape[1] - len(_ACTIVITIES), X.shape[1]),
    )
