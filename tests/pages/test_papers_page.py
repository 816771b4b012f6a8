"""Papers and code: the overview, one panel with its claims, the tutorials."""

from __future__ import annotations

import json

import pytest

from dpcore.experiments.pca import RunSpec
from dpcore.papers.dpdispca import FIGURES, PaperFigure
from dpcore.teaching.tutorials import TUTORIALS
from tests.pages.opening import texts, wait_for_jobs

SMALL = PaperFigure(
    "small",
    "Captured energy against ε, digits",
    RunSpec.published(repetitions=4, components=5),
    "epsilon",
    (0.1, 1.0, 10.0),
    "Captured energy grows with ε.",
    "grows",
    "requested ε",
)


def charts_of(at):
    return [json.loads(element.proto.spec) for element in at.get("plotly_chart")]


def test_the_overview_shows_every_published_panel_first(open_page):
    at = open_page("papers")
    assert not at.exception
    titles = [note["text"] for note in charts_of(at)[0]["layout"]["annotations"]]
    assert len(titles) == len(FIGURES)
    assert sum("10,000 of 60,000 rows" in title for title in titles) == 5
    assert sum("20,000 of 60,000 rows" in title for title in titles) == 5
    assert f"Run all {len(FIGURES)} panels" in [expander.label for expander in at.expander]


def test_absent_data_are_explained_and_the_overview_stays(open_page):
    at = open_page("papers", papers_figure="2012-fig1-census")
    assert not at.exception
    assert any("not on this machine" in notice.value for notice in at.info)
    assert charts_of(at)


def test_a_panel_runs_and_its_claims_are_checked(open_page, monkeypatch):
    monkeypatch.setitem(FIGURES, "fig1-a", SMALL)
    at = wait_for_jobs(open_page("papers", papers_runs="as published"))
    assert not at.exception
    assert "✓ holds" in texts(at)


def test_a_cancelled_run_waits_for_a_click(open_page, monkeypatch):
    monkeypatch.setitem(FIGURES, "fig1-a", SMALL.with_changes(repetitions=50, seed=5))
    at = open_page("papers")
    cancel = [button for button in at.button if button.label == "Cancel"]
    cancel[0].click().run()
    assert not at.exception
    assert any(button.label == "Run again" for button in at.button)


@pytest.mark.parametrize("key", TUTORIALS)
def test_every_tutorial_runs_and_states_its_guarantee(open_page, key):
    at = open_page("tutorials", tutorial=key)
    assert not at.exception and not at.error
    assert "Guarantees" in texts(at) and "not private" in texts(at)
