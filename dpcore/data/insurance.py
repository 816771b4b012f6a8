"""insurance: customers of an insurer (COIL 2000), 150 features as in the 2012 paper.

Guesses: the five class columns among the six that are neither percentages nor amounts become
indicators of the levels that occur (40 of 41 customer types, 6 household sizes, 6 age classes, 10
main types, 8 classes of purchasing power). The number of houses and the other 79 columns remain
numbers: 70 + 80 = 150. The caravan policy is the label and not a feature.
"""

from __future__ import annotations

import numpy as np

from dpcore.data.dataset import Dataset
from dpcore.data.official_files import (
    LocalFile,
    OfficialFile,
    damaged,
    read_lines,
    refuse_rows,
)
from dpcore.data.table_encoding import (
    CodedNumber,
    Column,
    Nominal,
    feature_names,
    read_table,
)

_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/tic-mld/"
INSURANCE_FILES = (
    OfficialFile("ticdata2000.txt", url=_URL, most_bytes=1_500_000),
    OfficialFile("ticeval2000.txt", url=_URL, most_bytes=1_500_000),
    OfficialFile("tictgts2000.txt", url=_URL, most_bytes=1_500_000),
)
_N_TRAINING = 5_822
_N_EVALUATION = 4_000
_N_POLICIES = 348 + 238
_FIELDS = 86
_DEMOGRAPHIC = (
    "MOSTYPE MAANTHUI MGEMOMV MGEMLEEF MOSHOOFD MGODRK MGODPR MGODOV MGODGE MRELGE MRELSA MRELOV "
    "MFALLEEN MFGEKIND MFWEKIND MOPLHOOG MOPLMIDD MOPLLAAG MBERHOOG MBERZELF MBERBOER MBERMIDD "
    "MBERARBG MBERARBO MSKA MSKB1 MSKB2 MSKC MSKD MHHUUR MHKOOP MAUT1 MAUT2 MAUT0 MZFONDS MZPART "
    "MINKM30 MINK3045 MINK4575 MINK7512 MINK123M MINKGEM MKOOPKLA"
).split()
_POLICIES = (
    "WAPART WABEDR WALAND PERSAUT BESAUT MOTSCO VRAAUT AANHANG TRACTOR WERKT BROM LEVEN PERSONG "
    "GEZONG WAOREG BRAND ZEILPL PLEZIER FIETS INBOED BYSTAND"
).split()
_ATTRIBUTES = (
    *_DEMOGRAPHIC,
    *(f"P{policy}" for policy in _POLICIES),
    *(f"A{policy}" for policy in _POLICIES),
)
_LEVELS = {
    "MOSTYPE": [code for code in range(1, 42) if code != 14],
    "MGEMOMV": range(1, 7),
    "MGEMLEEF": range(1, 7),
    "MOSHOOFD": range(1, 11),
    "MKOOPKLA": range(1, 9),
}


def _column(position: int, name: str) -> Column:
    if name in _LEVELS:
        return Nominal(name, position, tuple(map(str, _LEVELS[name])))
    # Ranges of TicDataDescr.txt: houses from 1 to 10, classes of shares and amounts from 0 to 9,
    # numbers of policies from 1 to 12, or 0 without a policy.
    highest = 10.0 if name == "MAANTHUI" else 12.0 if name.startswith("A") else 9.0
    return CodedNumber(name, position, highest=highest, documented=True)


INSURANCE_COLUMNS = tuple(_column(position, name) for position, name in enumerate(_ATTRIBUTES))
_LABEL = Nominal("CARAVAN", _FIELDS - 1, ("0", "1"))


def load_insurance(files: tuple[LocalFile, ...]) -> Dataset:
    """Load all 9,822 customers: the training file, then the evaluation file with its targets."""
    training, evaluation, targets = files
    answers = read_lines(targets, _N_EVALUATION)
    wrong = np.array([answer.strip() not in (b"0", b"1") for answer in answers])
    refuse_rows(wrong, targets.path, "is neither 0 nor 1")
    completed = [
        row + b"\t" + answer
        for row, answer in zip(read_lines(evaluation, _N_EVALUATION), answers, strict=True)
    ]
    halves = [
        read_table(lines, INSURANCE_COLUMNS, _LABEL, _FIELDS, file.path, "\t")
        for file, lines in ((training, read_lines(training, _N_TRAINING)), (evaluation, completed))
    ]
    X, labels = (np.concatenate(parts) for parts in zip(*halves, strict=True))
    if labels.sum() != _N_POLICIES:
        # No official checksum is known; the counts of policies are published.
        raise damaged(
            training.path, f"{labels.sum()} caravan policies where {_N_POLICIES} are expected"
        )
    return Dataset(
        X=X,
        labels=labels.astype(np.intp),
        label_names=("no caravan policy", "caravan policy"),
        feature_names=feature_names(INSURANCE_COLUMNS),
        provenance="All 9,822 customers of COIL 2000 (5,822 of the training and 4,000 of the "
        "evaluation file), encoded to the 2012 paper's 150 features (the encoding is a guess).",
        # Five indicators are 1 in every row; of 80 numbers a tenth at their top: sqrt(5 + 8).
        public_norm_bound=3.6,
    )
