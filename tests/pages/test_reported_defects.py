"""Defects that a review of all pages reported and that no test of a single page covers."""

from __future__ import annotations

import re

import pytest

from dpcore.data import dataset_status
from pages import controls
from pages.explore import tradeoffs
from tests.pages.opening import texts, wait_for_jobs
from tests.pages.use.test_own_table import submit, upload


def test_samples_per_site_end_at_all_rows(open_page):
    """Earlier the axis ended at 350 of 2,000 samples, below the result that Explore shows."""
    at = open_page("tradeoffs", dataset="mnist-small", repetitions="1")
    selection = at.session_state[controls._SELECTION]
    for name in ("mnist-small", "digits"):
        (sweep,) = tradeoffs.make_sweeps(selection, "people_per_site", tradeoffs._SAMPLES, (name,))
        most = dataset_status(name).n_samples // selection.spec.sites
        assert max(dict(sweep.vary)["people_per_site"]) == most


@pytest.mark.parametrize("dataset", ["mnist-small", "digits", "breast-cancer"])
def test_no_more_samples_are_offered_than_there_are(open_page, dataset):
    at = open_page("", dataset=dataset, repetitions="1")
    offered = at.sidebar.select_slider(key="people").options
    most = dataset_status(dataset).n_samples // at.slider(key="sites").value
    assert (
        max(int(each.replace(",", "")) for each in offered if each != controls.ALL_SAMPLES) <= most
    )


def test_the_sidebar_of_the_drawing_states_no_total(open_page):
    """Earlier it said that nothing was shown, next to a page with the cost of ten results."""
    at = open_page("drawing")
    assert not at.sidebar.markdown and not at.sidebar.caption


def test_no_epsilon_is_set_where_epsilon_is_searched_for(open_page):
    at = open_page("decide")
    assert "epsilon" not in {each.key for each in at.sidebar if hasattr(each, "key")}


def test_options_of_a_table_have_the_whole_names_of_columns(open_page):
    at = open_page("decide")
    wait_for_jobs(at)
    grid = "".join(each.proto.body for each in at.get("html"))
    assert "worst concave points" in grid and "…" not in grid


def test_more_epsilon_keeps_no_fewer_factors(open_page):
    at = open_page("decide")
    wait_for_jobs(at)
    grid = "".join(each.proto.body for each in at.get("html"))
    line = grid.split("Same strongest factors</span>")[1]
    exact, *counts = (int(each) for each in re.findall(r"<div>(?:<b>)?(\d+)", line)[:4])
    assert counts == sorted(counts) and counts[-1] <= exact


def test_a_table_without_limits_says_so_in_plain_words(open_page):
    at = submit(upload(open_page("own_table"), "people.csv", "a,b\n1,2\n3,4\n"))
    assert not at.exception
    found = "\n".join([texts(at), *(each.value for each in at.error)])
    assert "none yet" not in found and "got 'none'" not in found
