"""Dictionaries: refusals in one sentence, and files that are read back."""

from __future__ import annotations

import json
import tomllib
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import ParameterError
from dpcore.release import Column, Dictionary, dictionary_from, read_dictionary
from dpcore.release.cells import name_of_text
from dpcore.release.dictionary_file import template
from dpcore.release.examples import EXAMPLES, example

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
LIMITS = st.tuples(st.floats(-1e100, 1e100), st.floats(1e-3, 1e100))


def _columns(names, limits, levels):
    for name in names:
        if levels:
            yield Column(name, levels=tuple(levels))
        elif limits[0] < limits[0] + limits[1]:
            yield Column(name, limits[0], limits[0] + limits[1])


@given(st.lists(TEXTS, unique=True, min_size=1, max_size=3), LIMITS,
       st.lists(TEXTS, unique_by=name_of_text, max_size=3), TEXTS, st.integers(1, 9))  # fmt: skip
def test_a_dictionary_is_read_back_from_its_text(names, limits, levels, title, at_most):
    columns = tuple(_columns(names, limits, levels))
    if not columns or "who" in names:
        return
    try:
        written = Dictionary(columns, title=title, person="who", at_most=at_most, norm_bound=2.5)
    except ParameterError:  # two features of one name
        return
    assert dictionary_from(tomllib.loads(written.toml())) == written
    assert dictionary_from(written.as_dict()) == written


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_fit_their_dictionaries(name, tmp_path):
    table, dictionary = example(name)
    assert set(dictionary.keys) <= set(table)
    for column in dictionary.columns:
        if column.levels:
            assert set(table[column.name]) <= set(column.levels)
        else:
            values = table[column.name]
            assert ((values < column.lower) | (values > column.upper)).mean() < 0.02
    (tmp_path / "d.toml").write_text(dictionary.toml(), encoding="utf-8")
    assert read_dictionary(tmp_path / "d.toml") == dictionary


GOOD = "[columns.a]\nlower = 0\nupper = 1\n"
BAD = {
    "": "columns must be one or more columns",
    "title = 'x'": "columns must be one or more columns",
    "image = [1]\n[columns.a]\nlower = 0\nupper = 1": "image must be [height, width]",
    "image = [1, 2]\n[columns.a]\nlower = 0\nupper = 1": "a product of 1",
    "image = [-1, -1]\n[columns.a]\nlower = 0\nupper = 1": "a product of 1",
    "image = [true, 1]\n[columns.a]\nlower = 0\nupper = 1": "height, width",
    "image = [1, 1]\n[columns.a]\nlevels = ['x']": "left out if a column has levels",
    "columns = 3": "columns must be a table for each",
    "[columns]\na = 3": "column 'a' must be a table with",
    "[columns.a]\nlower = 0": "given a finite public limit 'upper'",
    "[columns.a]\n": "given a finite public limit 'lower'",
    "[columns.a]\nlower = 0\nupper = inf": "'upper'",
    "[columns.a]\nlower = 1\nupper = 0": "a lower below an upper",
    "[columns.a]\nlower = 1\nupper = 1": "a lower below an upper",
    "[columns.a]\nlower = '0'\nupper = 1": "lower of column 'a' must be a number",
    "[columns.a]\nlower = true\nupper = 1": "lower of column 'a' must be a number",
    "[columns.a]\nlower = 0\nupper = 1\nmiddle = 2": "middle of 'a' must be between",
    "[columns.a]\nlower = -1e200\nupper = 1e200": "finite public limit",
    f"[columns.a]\nlower = 0\nupper = {'9' * 400}": "upper of column 'a' must be a number that",
    f"[columns.a]\nlower = 0\nupper = {'9' * 5000}": "a TOML file",
    "[columns.a]\nlower = 0\nupper = 1\nlevels = ['x']": "limits or levels",
    "[columns.a]\nlevels = ['x', 'x']": "all different",
    "[columns.a]\nlevels = ['x', 1.5]": "a list of texts",
    "[columns.a]\nlevels = 'x'": "a list of texts",
    "[columns.a]\nmost = 3": "column 'a' must be made of",
    GOOD + "[other]": "dictionary must be made of",
    GOOD + "[rows]\nweight = 3": "rows must be made of",
    GOOD + "[rows]\nperson = 3": "person must be a text",
    GOOD + "[rows]\nperson = 'a'": "column must be named once",
    GOOD + "[rows]\nat_most = 2": "1 without a person column",
    GOOD + "[rows]\nperson = 'p'\nat_most = 0": "at_most must be from 1",
    GOOD + "[rows]\nperson = 'p'\nat_most = 1.5": "at_most must be from 1",
    GOOD + "[rows]\nnorm_bound = 0": "norm_bound must be from",
    GOOD + "[rows]\nnorm_bound = nan": "norm_bound must be from",
    GOOD + '[columns.b]\nlevels = ["c=d"]\n[columns."b=c"]\nlevels = ["d"]': "one name",
    GOOD + GOOD: "a TOML file",
    "a = ": "a TOML file",
    "[" * 100_000: "a TOML file",
    "[columns.a]\nlevels = [" + ", ".join(f"'{i}'" for i in range(10_001)) + "]": "at most 10000",
}


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_bad_dictionaries_get_one_sentence(text, tmp_path):
    (tmp_path / "d.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ParameterError) as refused:
        read_dictionary(tmp_path / "d.toml")
    assert BAD[text] in str(refused.value)
    assert "\n" not in str(refused.value)


CELLS = """\ufeff
[cells]
missing = [-999, "NA"]
decimal = ","
thousands = "."
date_order = "dmy"
[columns.cost]
lower = 0
upper = 1000
unit = "€"
missing = ["?"]
decimal = "."
thousands = ""
[columns.when]
lower = 2000-01-02
upper = "2000-02-01"
days_since = 2000-01-01
[columns.sex]
levels = ["f", "m"]
"""


def test_notations_of_cells_are_read_back(tmp_path):
    (tmp_path / "d.toml").write_text(CELLS.replace('"2000-02-01"', "2000-02-01"), encoding="utf-8")
    dictionary = read_dictionary(tmp_path / "d.toml")
    cost, when, sex = map(dictionary.marks_of, dictionary.columns)
    assert (cost.unit, cost.decimal, cost.thousands, cost.missing) == ("€", ".", "", ("?",))
    assert (when.days_since, when.date_order) == (date(2000, 1, 1), "dmy")
    assert (dictionary.columns[1].lower, dictionary.columns[1].upper) == (1, 31)
    assert (sex.missing, dictionary.marks_of(None).missing) == (("-999", "NA"),) * 2
    assert dictionary_from(tomllib.loads(dictionary.toml())) == dictionary
    assert dictionary_from(json.loads(json.dumps(dictionary.as_dict()))) == dictionary
    # A dictionary without notations of cells is written as in earlier versions.
    assert dictionary_from(tomllib.loads(GOOD)).as_dict()["columns"] == {
        "a": {"lower": 0.0, "upper": 1.0, "middle": 0.5}
    }


BAD_CELLS = {
    "[cells]\nunit = '%'": "cells must be made of",
    "[cells]\ndecimal = '-'": "decimal of cells must be one of",
    "[cells]\nmissing = 3": "missing of cells must be a list",
    "[cells]\nmissing = [true]": "missing of cells must be a list",
    "[cells]\nthousands = '.'": "thousands of 'a' must be another mark than decimal",
    "[columns.b]\nlevels = ['NA']\nmissing = ['NA']": "missing of 'b' must be no level",
    "[columns.b]\nlevels = ['x']\nunit = '%'": "without unit, as a column of levels",
    "[columns.b]\nlower = 0\nupper = 1\nunit = '1'": "unit of column 'b' must be a text without",
    "[columns.b]\nlower = 0\nupper = 1\nunit = 3": "unit of column 'b' must be a short text",
    "[columns.b]\nlower = 0\nupper = 1\ndays_since = 'x'": "days_since of column 'b' must be a",
    "[columns.b]\nlower = 0\nupper = 1\ndays_since = 3": "days_since of column 'b' must be a date",
    "[columns.b]\nlower = 2000-01-01\nupper = 1": "lower of column 'b' must be a number",
    "[columns.b]\nlower = 0\nupper = 1\ndays_since = 2000-01-01\nunit = '%'": "column of dates",
    "[columns.b]\nlower = 0\nupper = 1\ndate_order = 'ydm'": "date_order of column 'b' must be one",
}  # fmt: skip


@pytest.mark.parametrize("text", BAD_CELLS, ids=range(len(BAD_CELLS)))
def test_impossible_notations_of_cells_get_one_sentence(text, tmp_path):
    (tmp_path / "d.toml").write_text(GOOD + text, encoding="utf-8")
    with pytest.raises(ParameterError) as refused:
        read_dictionary(tmp_path / "d.toml")
    assert BAD_CELLS[text] in str(refused.value) and "\n" not in str(refused.value)


def test_a_template_is_a_dictionary_when_it_is_filled_in():
    text = template(["age", 'na"me', "x", "x", ""], "People")
    assert '[columns."x"]' not in text
    filled = text.replace("# lower = 0 ", "lower = 0 ").replace("# upper = 100", "upper = 100")
    dictionary = dictionary_from(tomllib.loads(filled))
    assert [column.name for column in dictionary.columns] == [
        "age",
        'na"me',
    ] and dictionary.title == "People"


def test_bytes_that_are_not_utf8_are_refused(tmp_path):
    (tmp_path / "d.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ParameterError, match="a TOML file"):
        read_dictionary(tmp_path / "d.toml")
