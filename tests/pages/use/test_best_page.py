"""What is best for my ε? The ranking fills in, agrees with the Playground, and opens there."""

from __future__ import annotations

import json
import time

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.experiments import targets
from dpcore.experiments.pca import RunSpec, run
from dpcore.experiments.summaries import percent


@pytest.fixture
def open_page(open_on_digits):
    return open_on_digits


@pytest.fixture(autouse=True)
def few_protocols(monkeypatch, tmp_path):
    """Chains take longer than all the others."""
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))
    few = {
        key: targets.PROTOCOLS[key] for key in ("dpdis", "full", "pooled", "cape", "sulq", "exact")
    }
    monkeypatch.setattr(targets, "PROTOCOLS", few)


def finished(at: AppTest) -> AppTest:
    for _ in range(3000):
        assert not at.exception
        if not any(button.label == "Stop" for button in at.button):
            return at
        time.sleep(0.1)
        at.run()
    pytest.fail("the ranking did not end")


def texts(at: AppTest) -> str:
    return "\n".join(element.value for element in at.markdown)


QUICK = {"repetitions": "3", "components": "5", "epsilon": "0.5", "preparation": "published"}


def test_the_ranking_is_that_of_the_runs_and_opens_in_the_playground(open_page):
    at = finished(open_page("use/best", **QUICK))
    assert not at.error
    table = at.dataframe[0].value
    assert len(table) == 30  # five protocols, three preparations, with public frequencies or not
    assert table["kept on average, %"].is_monotonic_decreasing
    assert set(table["draws"]) == {3}
    best = table.iloc[0]
    spec = RunSpec(epsilon=0.5, components=5, intermediate_dim=20, repetitions=3,
                   protocols=("pooled",), preparation="sphere")  # fmt: skip
    energies = [row["energy_ratio"] for row in run(spec)]
    assert best["protocol"] == "Pooled, trusted"
    assert best["kept on average, %"] == pytest.approx(100 * sum(energies) / 3)
    assert "survives with **Pooled, trusted (sphere)**, the most of 30 ways" in texts(at)
    assert any(percent(sum(energies) / 3) in each.proto.body for each in at.get("html"))
    figure = json.loads(at.get("plotly_chart")[0].proto.spec)
    assert figure["data"][0]["name"] == "Pooled, trusted"
    left_out = at.dataframe[1].value
    assert "promises nothing" in " ".join(left_out["why"])

    opening = next(b for b in at.button if b.label.startswith("Open Full matrices (sphere)"))
    opening.click().run()
    assert not at.exception
    state = at.session_state
    asked = {"protocols": ["full"], "preparation": "sphere", "knowledge": "none", "epsilon": 0.5,
             "components": 5, "intermediate": 20, "calibration": "analytic", "repetitions": 3,
             "seed": 0, "sites": 5}  # fmt: skip
    assert {name: state[name] for name in asked} == asked
    assert at.title[0].value == "Play"


def test_settings_that_cannot_run_are_listed_with_reasons(open_page):
    at = finished(open_page("use/best", repetitions="1", components="20"))
    why = at.dataframe[1].value["why"]
    assert any("n_features=13" in reason for reason in why)
    assert len(at.dataframe[0].value) == 15


def test_larger_data_wait_to_be_asked(open_page):
    at = open_page("use/best", dataset="synthetic")
    assert not at.exception
    assert any(button.label == "Run" for button in at.button)


def test_what_stood_stays_until_its_successor_is_there(open_page):
    """Of settings that wait to be asked, the former ranking is still on the page."""
    at = finished(open_page("use/best", repetitions="1"))
    at.selectbox(key="dataset").set_value("synthetic").run()
    assert not at.exception
    assert any(button.label == "Run" for button in at.button)
    assert "Below, greyed: what the settings before gave." in [each.value for each in at.caption]
    assert "the most of 30 ways" in texts(at)
