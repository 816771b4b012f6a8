"""Formulas of the pages are Markdown that Streamlit can draw."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "pages" / "formulas"
_MATH = re.compile(r"\$\$.+?\$\$|\$[^$]+?\$", re.DOTALL)
# At the beginning of a line Markdown reads these as a list, and the formula as plain text.
_LIST = re.compile(r"\n\s*(?:[-+*]|\d+[.)])\s")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.md")), ids=lambda path: path.stem)
def test_no_line_of_a_formula_begins_a_list(path):
    formulas = _MATH.findall(path.read_text(encoding="utf-8"))
    assert formulas or path.stem == "words"
    assert [formula for formula in formulas if _LIST.search(formula)] == []


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.md")), ids=lambda path: path.stem)
def test_fences_of_a_formula_of_several_lines_have_their_own_lines(path):
    # Streamlit reads text after an opening fence as its language and no fence at the end of a line.
    lines = path.read_text(encoding="utf-8").splitlines()
    fences = [line for line in lines if "$$" in line and line.count("$$") % 2]
    assert [line for line in fences if line != "$$"] == []
