"""What would it take? Answers, maps, and targets nobody reaches."""

from __future__ import annotations

import json
import time

import pytest
from streamlit.testing.v1 import AppTest


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))


def finished(at: AppTest) -> AppTest:
    """The page once its search has ended; small data begin by themselves."""
    for _ in range(300):
        assert not at.exception
        if not any(button.label == "Stop" for button in at.button):
            return at
        time.sleep(0.1)
        at.run()
    pytest.fail("the search did not end")


def texts(at: AppTest) -> str:
    return "\n".join(element.value for element in at.markdown)


def charts(at: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in at.get("plotly_chart")]


QUICK = {"repetitions": "2", "components": "5"}


def test_the_smallest_epsilon_with_both_maps(open_page):
    at = finished(open_page("use/plan", **QUICK, plan_target="70"))
    assert not at.error
    assert "is the smallest ε that keeps 70 %" in texts(at)
    slide = next(block.value for block in at.code if "70 % of the optimum" in block.value)
    assert "DPdisPCA at 5 sites of 359 people" in slide and "takes ε = " in slide
    people, budget = charts(at)
    for figure in (people, budget):
        assert {"heatmap", "contour"} <= {trace["type"] for trace in figure["data"]}
        (contour, _) = (t for t in figure["data"] if t["type"] == "contour")
        assert contour["contours"]["start"] == 0.7
    table = at.dataframe[0].value
    assert table["reaches the target"].any() and not table["reaches the target"].all()


def test_out_of_reach_says_the_most_there_is(open_page):
    at = finished(open_page("use/plan", **QUICK, plan_target="99", plan_find="the smallest R"))
    assert not at.error
    assert "is the most within reach, at R = " in texts(at)
    assert any("is out of reach: the most is" in block.value for block in at.code)


def test_only_dpdispca_has_an_r(open_page):
    at = open_page("use/plan", **QUICK, plan_find="the smallest R", plan_protocol="Full matrices")
    assert not at.exception
    assert len(at.error) == 1 and "DPdisPCA to find R" in at.error[0].value


def test_budgets_that_a_calibration_does_not_cover(open_page):
    at = finished(open_page("use/plan", **QUICK, calibration="classic", plan_target="60"))
    assert not at.exception
    for figure in charts(at):
        assert max(float(t) for t in figure["layout"]["xaxis"]["ticktext"]) <= 1


def test_larger_data_wait_to_be_asked(open_page):
    at = open_page("use/plan", dataset="synthetic")
    assert not at.exception
    assert any(button.label == "Run" for button in at.button)
