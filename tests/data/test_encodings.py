from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from dpcore.data import census, insurance, kddcup99, localization, pictures, select_views
from dpcore.data.official_files import LocalFile, OfficialFile
from dpcore.data.table_encoding import CodedNumber, Nominal, feature_names, read_table
from dpcore.errors import DataUnavailable, ParameterError

PATH = Path("table.data")
COLOUR = Nominal("colour", 1, ("red", "green", "sea blue"))
COLUMNS = (
    CodedNumber("share", 0, highest=4.0, lowest=2.0),
    COLOUR,
    CodedNumber("bytes", 2, highest=1e6, logarithmic=True),
    CodedNumber("hour", 3, highest=24.0, period=24.0),
)
LABEL = Nominal("label", 4, ("no", "yes"))


def _encode(text: str, columns=COLUMNS):
    lines = text.encode().splitlines()
    return read_table(lines, columns, LABEL, 5, PATH)


def test_a_table_becomes_numbers_by_its_code_book():
    X, labels = _encode("3, sea blue , 0, 25, yes.\n2, red, 1e6, 12, no.\n")
    assert X.dtype == np.float32
    np.testing.assert_allclose(X, [[0.5, 0, 0, 1, 0, 1 / 24], [0, 1, 0, 0, 1, 0.5]], rtol=1e-6)
    np.testing.assert_array_equal(labels, [1, 0])
    assert feature_names(COLUMNS) == (
        "share", "colour=red", "colour=green", "colour=sea blue", "bytes", "hour",
    )  # fmt: skip


def test_blocks_leave_no_trace(monkeypatch):
    text = "".join(f"{2 + i % 3}, {COLOUR.levels[i % 3]}, {i}, {i}, yes\n" for i in range(50))
    whole, _ = _encode(text)
    monkeypatch.setattr("dpcore.data.table_encoding.BLOCK", 7)
    np.testing.assert_array_equal(_encode(text)[0], whole)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("3, pink, 0, 1, yes", "table.data .* row 2, column 'colour': 'pink' is no level"),
        ("3, red, 0, 1, perhaps", "column 'label': 'perhaps' is no level"),
        ("3, red, 0, yes", "row 2 has 4 columns where 5 are expected"),
        ("3, red, 0, 1, yes, 7", "row 2 has 6 columns where 5 are expected"),
        ("three, red, 0, 1, yes", "row 2 holds text in a numeric column"),
        ("nan, red, 0, 1, yes", "row 2, column 'share': nan is not finite"),
        ("9, red, 0, 1, yes", r"row 2, column 'share': 9 is far from \[2, 4\]"),
        ("3, red, -1, 1, yes", "column 'bytes': -1 is negative"),
    ],
)
def test_what_is_not_in_the_code_book_is_named(row, complaint):
    with pytest.raises(DataUnavailable, match=complaint):
        _encode(f"3, red, 0, 1, yes\n{row}\n")


@pytest.mark.parametrize(
    ("columns", "dimension"),
    [
        (kddcup99.KDDCUP_COLUMNS, 116),
        (localization.LOCALIZATION_COLUMNS, 44),
        (insurance.INSURANCE_COLUMNS, 150),
        (census.CENSUS_COLUMNS, 513),
    ],
)
def test_the_2012_papers_dimensions(columns, dimension):
    names = feature_names(columns)
    assert len(names) == len(set(names)) == dimension
    for column in columns:
        if isinstance(column, Nominal):
            assert all(len(level) < 64 for level in column.levels)


def test_the_census_code_book_is_the_official_description(shared_datasets):
    path = shared_datasets / "census-income-kdd" / "census-income.names"
    described = [
        line.rstrip(". ").split(": ", 1)
        for line in path.read_text().splitlines()
        if ": " in line and not line.startswith("|")
    ]
    assert len(described) == 41
    for (name, levels), column in zip(described, census.CENSUS_COLUMNS, strict=False):
        assert name == column.name
        if isinstance(column, CodedNumber):
            assert levels == "continuous"
        else:
            ours = set(column.levels) - {"?"}
            assert ours == {level.strip(" .") for level in levels.split(",")}


def test_views_are_chosen_by_name_and_keep_their_columns(tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "_N_NUMERALS", 20)
    monkeypatch.setattr(pictures, "_ROWS_PER_DIGIT", 2)
    files = []
    for number, (view, (n_features, scale)) in enumerate(pictures.VIEWS.items()):
        path = tmp_path / view
        np.savetxt(path, np.full((20, n_features), number * scale), fmt="%.3f")
        files.append(LocalFile(path, OfficialFile(view)))
    dataset = pictures.load_mfeat(tuple(files))
    assert dataset.n_features == 649 and list(dataset.views) == list(pictures.VIEWS)
    chosen = select_views(dataset, "zer", "fou")
    assert chosen.n_features == 47 + 76
    assert chosen.views == {"zer": slice(0, 47), "fou": slice(47, 123)}
    assert chosen.feature_names[0] == "zer_0" and chosen.feature_names[-1] == "fou_75"
    np.testing.assert_allclose(chosen.X[:, chosen.views["zer"]], 5.0)
    np.testing.assert_allclose(chosen.X[:, chosen.views["fou"]], 1.0)
    assert chosen.public_norm_bound == math.sqrt(2)
    for wrong in ((), ("fou", "fou"), ("fou", "ears")):
        with pytest.raises(ParameterError, match="views must be different ones of fac, fou"):
            select_views(dataset, *wrong)
