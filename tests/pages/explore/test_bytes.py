"""Energy per byte: the finding, the frontier, and what cannot run."""

from __future__ import annotations

import json
import time

import pytest
from streamlit.testing.v1 import AppTest


@pytest.fixture
def open_page(open_on_digits):
    return open_on_digits


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))


def finished(at: AppTest) -> AppTest:
    for _ in range(3000):
        assert not at.exception
        if not any(button.label == "Stop" for button in at.button):
            return at
        time.sleep(0.1)
        at.run()
    pytest.fail("the sweeps did not end")


def texts(at: AppTest) -> str:
    return "\n".join(element.value for element in at.markdown)


def test_a_rounded_matrix_beats_the_usual_proxy(open_page):
    at = finished(open_page("explore/bytes", repetitions="2"))
    assert not at.error
    assert "rounding the whole matrix at step 1σ lets" in texts(at)
    assert "fewer bytes" in texts(
        at
    ) and "sending R\u00a0=\u00a020 directions in float32 lets" in texts(at)
    figure = json.loads(at.get("plotly_chart")[0].proto.spec)
    assert figure["layout"]["xaxis"]["type"] == "log"
    named = {trace.get("name") for trace in figure["data"]}
    assert {"DPdisPCA, 8 bits", "DPdisPCA, float32", "whole matrix, rounded"} <= named
    assert "DPdisPCA, float64" not in named
    low, high = (10**end for end in figure["layout"]["xaxis"]["range"])
    (whole,) = (t for t in figure["data"] if t.get("name") == "whole matrix, rounded")
    assert low < min(whole["x"]) and max(whole["x"]) < high
    (best,) = (frame.value for frame in at.dataframe)
    assert best["bytes a site"].is_monotonic_increasing
    assert best["survives, %"].is_monotonic_increasing


def test_settings_that_cannot_run_are_a_table_with_reasons(open_page):
    at = finished(open_page("explore/bytes", repetitions="1", components="40"))
    assert not at.error
    (reasons,) = (d.value["skipped"] for d in at.dataframe if "skipped" in d.value)
    assert all("intermediate_dim must be" in reason for reason in reasons)


def test_a_budget_nothing_covers_is_said(open_page):
    at = finished(open_page("explore/bytes", repetitions="1", calibration="classic", epsilon="5"))
    assert len(at.error) == 1 and "epsilon must be" in at.error[0].value
