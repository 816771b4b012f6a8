"""kddcup99: network connections, 116 features as in the 2012 paper.

Guesses: the three nominal columns become indicators of the levels that occur in the 10 % file (3,
66 and 11), the two constant columns are dropped and the other 36 numbers remain: 36 + 80 = 116.
Rates keep their scale, counts in a window are scaled by their caps (511 and 255), and bytes,
seconds and counters by logarithm, which are guesses too.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

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

KDDCUP_FILE = OfficialFile(
    "kddcup.data_10_percent.gz",
    url="https://archive.ics.uci.edu/ml/machine-learning-databases/kddcup99-mld/",
    n_bytes=2_144_903,
    most_bytes=74_889_749,
    sha256="8045aca0d84e70e622d1148d7df782496f6333bf6eb979a1b0837c42a9fd9561",
    content_sha256="f8c8267ebcd9c0ed1fd7d6277fe5bfff8732e9b7db8e61b873542b2a534b6f9a",
)
_ROWS = 494_021
_FIELDS = 42
_ATTACKS = tuple(
    "back buffer_overflow ftp_write guess_passwd imap ipsweep land loadmodule multihop neptune "
    "nmap perl phf pod portsweep rootkit satan smurf spy teardrop warezclient warezmaster".split()
)
# The task's table of features documents shares of connections and indicators. It gives no range of
# seconds, bytes and counts.
KDDCUP_COLUMNS = read_code_book(Path(__file__).with_name("kddcup.csv"))
_LABEL = Nominal("connection", 41, (*_ATTACKS, "normal"))


def load_kddcup(files: tuple[LocalFile, ...]) -> Dataset:
    """Load all 494,021 connections of the 10 % file."""
    (file,) = files
    X, connections = read_table(read_lines(file, _ROWS), KDDCUP_COLUMNS, _LABEL, _FIELDS, file.path)
    return Dataset(
        X=X,
        # The 2012 paper's task: normal against all attacks.
        labels=(connections == len(_ATTACKS)).astype(np.intp),
        label_names=("attack", "normal"),
        feature_names=feature_names(KDDCUP_COLUMNS),
        provenance="All 494,021 connections of KDD Cup 1999's 10 % set, from the official 10 % "
        "file, encoded to the 2012 paper's 116 features (the encoding is a guess).",
        # Three indicators are 1 in every row, and each of 36 numbers may be at its top.
        public_norm_bound=math.sqrt(3 + 36),
    )
