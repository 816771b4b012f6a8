"""Texts of others are shown by their letters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import ParameterError
from pages.widgets.notices import plainly, said
from tests.pages.looking import HOSTILE, alive


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_is_letters(text):
    assert alive(plainly(text)) is None
    assert alive(said(ParameterError("sites", "a whole number", text))) is None


@pytest.mark.parametrize("text", HOSTILE)
def test_as_it_is_it_would_be_more(text):
    assert alive(text) is not None


def test_words_stay_readable():
    assert plainly("-7") == "-7"
    assert plainly("cca_pairs must be 1 to 10, got 3.5") == "cca_pairs must be 1 to 10, got 3.5"
    assert plainly("a\u202eb") == "a\\[U+202E\\]b"
    assert plainly("1. one") == "1\\. one"


def test_a_long_text_is_cut():
    assert len(plainly("x" * 1000)) == 80
    assert len(str(ParameterError("sites", "small", "x" * 10**6))) < 120
    assert "thousands of digits" in str(ParameterError("sites", "small", 10**5000))


@given(st.text(max_size=60))
def test_no_text_is_hidden_or_starts_a_line(text):
    shown = plainly(text)
    assert "\n" not in shown and shown.isprintable()
