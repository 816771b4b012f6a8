"""Algorithms compared: every tab, the stated difference to Explore, charges."""

from __future__ import annotations

import pytest

from pages.explore import compare
from tests.pages.opening import texts

QUICK = {"dataset": "digits", "repetitions": "2", "components": "3"}


@pytest.mark.parametrize("view", compare._VIEWS)
def test_every_view_opens(open_page, view):
    at = open_page("compare", **QUICK)
    at.session_state["compare_tab"] = view
    at.run()
    assert not at.exception


def test_the_first_sentence_names_the_difference_to_explore(open_page):
    assert "Unlike Explore" in texts(open_page("compare", **QUICK))
    published = texts(open_page("compare", **QUICK, preparation="published"))
    assert "as on Explore" in published


def test_every_run_is_charged(open_page):
    at = open_page("compare", **QUICK)
    assert at.session_state["_accountants"]["digits"].n_releases == 2 * 5


def test_a_table_is_compared_by_the_strongest_columns(open_page):
    at = open_page("compare", dataset="breast-cancer", repetitions="2")
    at.session_state["compare_tab"] = "Components"
    at.run()
    assert not at.exception
