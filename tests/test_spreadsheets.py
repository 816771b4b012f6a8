"""Names of columns in CSV files, workbooks and figures are texts."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from dpcore.figures.cca import direction_bars
from dpcore.figures.components import loading_bars, people_scatter
from dpcore.release import Column, Dictionary, release
from dpcore.spreadsheets import plain_cell

LINK = '<a href="https://example.org">age</a>'


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_a_text_is_never_a_formula(start):
    assert plain_cell(f"{start}HYPERLINK(1)") == f"'{start}HYPERLINK(1)"
    assert plain_cell(f"a{start}b") == f"a{start}b"


def test_names_of_columns_are_no_formulas_in_the_files_of_a_release(tmp_path):
    names = ('=HYPERLINK("https://example.org")', "b", "@c")
    rows = np.random.default_rng(0).normal(50, 20, size=(300, 3))
    folder = release(
        rows, Dictionary(tuple(Column(name, 0, 100) for name in names)), epsilon=4, delta=1e-5,
        n_components=2, project=tmp_path / "project", name="one", cap=(9, 1e-5),
    ).folder  # fmt: skip
    for path in folder.glob("*.csv"):
        for row in csv.reader(io.StringIO(path.read_text(encoding="utf-8"))):
            assert not any(cell.startswith(("=", "@")) for cell in row)


def test_names_of_columns_are_no_links_in_figures():
    values = np.array([0.6, 0.8])
    figures = [
        loading_bars({"exact": values}, (LINK, "b")),
        direction_bars(values, values, [LINK, "b"], protocol="pooled", titles=("a", "b")),
        people_scatter(
            values, values, np.array([0, 1]), label_names=(LINK, "b"), axis_titles=("a", "b")
        ),
    ]
    for figure in figures:
        assert "<a " not in str(figure.to_plotly_json()) and "&lt;a" in str(figure.to_plotly_json())
