"""The central algorithms and the people they need, as a visitor sees them."""

from __future__ import annotations

import json
import time

import pytest


@pytest.fixture
def open_page(open_on_digits):
    return open_on_digits


def spoken(at) -> str:
    return "\n".join(element.value for element in [*at.markdown, *at.error, *at.caption])


def charts(at) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in at.get("plotly_chart")]


def test_it_answers_first_and_says_what_each_promises(open_page):
    at = open_page("explore/central")
    assert not at.exception
    assert "of the pattern survives with **PPCA** at pure **ε = 1**" in at.markdown[0].value
    labels = charts(at)[0]["layout"]["yaxis"]["ticktext"]
    assert set(labels) == {
        "PPCA", "Wishart difference", "MOD-SuLQ", "SuLQ", "Analyze Gauss,<br>analytic, isometric",
    }  # fmt: skip
    told = spoken(at)
    assert "Wishart difference, pure as well" in told
    for line in ("PPCA", "Wishart difference"):
        assert f"| {line} | pure ε | ε = 1 |" in told
    assert "| (ε, δ) | ε = 1 at δ = 0.01 |" in told
    assert "chains converged" in told
    assert "PPCA also assumes [Exact draws]" in told


def test_every_variant_of_analyze_gauss_is_a_switch_away(open_page):
    at = open_page("explore/central", central_variants="true")
    assert not at.exception
    assert len(charts(at)[0]["layout"]["yaxis"]["ticktext"]) == 10


def test_classic_above_one_is_left_out_and_said(open_page):
    at = open_page("explore/central", epsilon="5", calibration="classic")
    assert not at.exception
    assert "Classic calibration is proven up to ε = 1" in spoken(at)
    labels = charts(at)[0]["layout"]["yaxis"]["ticktext"]
    assert not [label for label in labels if "classic" in label]


def test_one_component_is_drawn_exactly(open_page):
    at = open_page("explore/central", components="1")
    assert not at.exception
    assert "exact draws" in spoken(at)


def test_rows_that_are_no_pictures_have_bars(open_page):
    at = open_page("explore/central", dataset="synthetic-2012")
    assert not at.exception
    bars = [chart for chart in charts(at) if chart["data"][0]["type"] == "bar"]
    names = {trace["name"] for trace in bars[0]["data"]}
    assert names == {"Exact PCA", "PPCA", "Wishart difference", "Analyze Gauss", "MOD-SuLQ"}


def test_private_preparation_covers_everything(open_page):
    at = open_page("explore/central", preparation="private")
    assert not at.exception
    assert "Nothing is centred here" in spoken(at)


def test_absent_data_is_one_offer(open_page):
    at = open_page("explore/central", dataset="mnist")
    assert not at.exception
    assert not at.get("plotly_chart")
    assert "is not on this machine" in at.info[0].value


def test_the_bounds_are_there_before_the_measurements(open_page):
    at = open_page("explore/sample_complexity", complexity_correlation="0.998")
    assert not at.exception
    names = [trace["name"] for trace in charts(at)[0]["data"]]
    assert any("theorem 3" in name for name in names)
    assert any("theorem 4" in name for name in names)


def test_a_silent_theorem_is_said_to_be(open_page):
    at = open_page("explore/sample_complexity")
    assert "Theorem 4 speaks of correlations above" in spoken(at)


def test_the_measurements_fill_in_and_then_answer(open_page):
    at = open_page("explore/sample_complexity", complexity_correlation="0.5", epsilon="2")
    deadline = time.monotonic() + 240
    while "Measuring" in spoken(at) and time.monotonic() < deadline:
        time.sleep(0.1)
        at.run()
        assert not at.exception
    assert "as many people are needed by **MOD-SuLQ**" in at.markdown[0].value
    names = [trace["name"] for trace in charts(at)[0]["data"]]
    assert any(name.startswith("PPCA, measured, grows as d") for name in names)
