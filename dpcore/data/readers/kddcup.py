"""kddcup99: network connections, 116 features, as in the 2012 paper's dimension.

Guessed: the three nominal columns are spread over the levels that occur in the 10 % file (3, 66
and 11), the two columns that are constant in it are dropped, and the other 36 numbers are kept:
36 + 80 = 116. Scales are guesses too: rates as they are, window counts by the caps of their
definition (511 and 255), bytes, seconds and counters by logarithm.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from dpcore.data.dataset import Dataset
from dpcore.data.official import LocalFile, OfficialFile, read_lines
from dpcore.data.readers.code_books import Nominal, feature_names, read_code_book, read_table

KDDCUP_FILE = OfficialFile(
    "kddcup.data_10_percent.gz",
    url="https://archive.ics.uci.edu/ml/machine-learning-databases/kddcup99-mld/",
    n_bytes=2_144_903,
    most_bytes=74_889_749,
    sha256="8045aca0d84e70e622d1148d7df782496f6333bf6eb979a1b0837c42a9fd9561",
    content_sha256="f8c8267ebcd9c0ed1fd7d6277fe5bfff8732e9b7db8e61b873542b2a534b6f9a",
)

_N_ROWS = 494_021
_N_FIELDS = 42

_ATTACKS = tuple(
    "back buffer_overflow ftp_write guess_passwd imap ipsweep land loadmodule multihop neptune "
    "nmap perl phf pod portsweep rootkit satan smurf spy teardrop warezclient warezmaster".split()
)


# The task's table of features calls the documented ones a share of connections, or 1 if so and 0
# otherwise. It gives no range of seconds, bytes and counts.
COLUMNS = read_code_book(Path(__file__).with_suffix(".csv"))
_LABEL = Nominal("connection", 41, (*_ATTACKS, "normal"))


def load_kddcup(files: tuple[LocalFile, ...]) -> Dataset:
    """All 494,021 connections of the 10 % file."""
    (file,) = files
    X, connections = read_table(read_lines(file, _N_ROWS), COLUMNS, _LABEL, _N_FIELDS, file.path)
    return Dataset(
        X=X,
        # The 2012 paper's task: normal against all attacks.
        labels=(connections == len(_ATTACKS)).astype(np.intp),
        label_names=("attack", "normal"),
        feature_names=feature_names(COLUMNS),
        provenance="All 494,021 connections of KDD Cup 1999's 10 % set, from the official 10 % "
        "file, encoded to the 2012 paper's 116 features (how is our guess).",
        # Three indicators are 1 in every row, and each of 36 numbers may be at its top.
        public_norm_bound=math.sqrt(3 + 36),
    )
