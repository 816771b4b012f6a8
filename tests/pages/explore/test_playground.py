"""The pages of the main job, without a browser: what they answer, and to bad input."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from pages.server import result_cache
from tests.pages import looking


@pytest.fixture(autouse=True)
def no_data_files(monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))


def opened(page: str = "explore/playground", **query: str) -> AppTest:
    at = looking.opened(page, **query)
    assert not at.exception
    return at


def words(at: AppTest) -> str:
    said = [element.value for element in at.markdown]
    return "\n".join([*said, *(element.proto.body for element in at.get("html"))])


def traces(at: AppTest, index: int) -> list[dict]:
    return json.loads(at.get("plotly_chart")[index].proto.spec)["data"]


def test_the_default_page_shows_a_result_at_once():
    at = opened()
    assert "of the energy that exact PCA captures is kept by **DPdisPCA**" in words(at)
    every_draw, means = traces(at, -1)
    assert len(every_draw["x"]) == 40 and len(means["x"]) == 4


def test_the_curve_fills_in_over_runs_and_then_rests():
    at = opened(repetitions="2", seed="77")
    counts = []
    for _ in range(60):
        at.run()
        charts = at.get("plotly_chart")
        if len(charts) > 1:
            counts.append(max(len(trace["x"]) for trace in traces(at, 0) if trace.get("name")))
        if counts and counts[-1] == 12:
            break
    assert counts[-1] == 12
    assert counts == sorted(counts)


def test_an_answer_from_the_first_draws_says_so_and_has_them_all_a_moment_later(monkeypatch):
    monkeypatch.setattr(result_cache, "_FIRST_SECONDS", 0.0)
    at = opened(repetitions="3", seed="78")
    (bar,) = (element.proto for element in at.get("progress") if "so far" in element.proto.text)
    assert bar.text == "From 1 of 3 draws so far" and bar.value == 33
    assert len(traces(at, -1)[0]["x"]) == 4 and "over 3 draws" not in words(at)
    at.run()
    assert len(traces(at, -1)[0]["x"]) == 12 and "over 3 draws" in words(at)
    assert not [element for element in at.get("progress") if "so far" in element.proto.text]


def test_moving_epsilon_moves_the_answer():
    at = opened()
    at.select_slider(key="epsilon").set_value(10.0).run()
    assert "ε = 10" in words(at)


def test_more_people_than_there_are_is_said_and_the_page_goes_on():
    at = opened(people="200", sites="20")
    assert "20 sites × 200 people need 4,000" in at.warning[0].value
    assert "with 20 sites of 89 people" in words(at)


def test_sending_fewer_directions_than_wanted_says_what_it_costs():
    at = opened(intermediate="4")
    assert "R = 4 is below K = 10" in at.warning[0].value
    assert "of the energy" in words(at)


def test_classic_noise_above_one_is_one_sentence_beside_working_controls():
    at = opened(epsilon="5", calibration="classic")
    assert "epsilon must be at most 1" in at.error[0].value
    at.select_slider(key="epsilon").set_value(1.0).run()
    assert not at.error
    assert "of the energy" in words(at)


def test_an_absent_data_set_says_how_to_get_it():
    at = opened(dataset="mnist")
    assert "train-images-idx3-ubyte" in at.info[0].value
    assert not at.error


def test_data_without_pictures_shows_loadings():
    at = opened(dataset="synthetic-2012")
    assert "of the energy" in words(at)
    assert any(trace["type"] == "bar" for trace in traces(at, -2))


def test_the_published_promise_shows_what_it_really_is():
    at = opened(epsilon="10", calibration="published")
    assert "20.2" in words(at)
    assert "breaks what was asked" in words(at)


def test_published_preparation_is_never_called_private():
    at = opened()
    assert "preparation not private" in words(at)
    at = opened(preparation="private")
    assert "preparation not private" not in words(at)


def test_eigen_images_have_a_row_for_each_epsilon():
    at = opened("explore/eigen_images")
    text = words(at)
    for row in ("Exact PCA", "ε = ∞", "ε = 10", "ε = 2", "ε = 0.1"):
        assert f">{row}</figcaption>" in text


def test_rebuilding_from_more_components_misses_less():
    at = opened("explore/eigen_images")

    def missing() -> float:
        line = next(v for v in (m.value for m in at.markdown) if v.startswith("Missing from"))
        return float(line.split("**")[1].removesuffix(" %"))

    everything = missing()
    at.slider(key="rebuilt_from").set_value(1).run()
    assert missing() > everything


def test_start_maps_every_page_and_every_data_set():
    from pages.sidebar.navigation import PAGES

    at = opened("learn/start")
    text = words(at)
    assert all(place.about in text for place in PAGES.values())
    listed = at.dataframe[0].value
    assert {"Digits 8 × 8", "MNIST"} <= set(listed["Data set"])


def test_the_readme_names_every_page():
    from pages.sidebar.navigation import PAGES

    readme = (looking.APP.parent / "README.md").read_text()
    assert [p.title for p in PAGES.values() if f"**{p.title}**" not in readme] == []


def test_sites_that_drop_out_are_asked_for_in_the_address():
    at = opened(dropped_sites="2", protocols="Chain of sites", repetitions="2")
    assert not at.warning
    assert "kept by **Chain of sites**" in words(at)
    (table,) = (each for each in words(at).split("\n") if each.startswith("| Chain of sites"))
    assert "| 5 |" in table  # rounds, in the table of messages
    at = opened(dropped_sites="9", sites="4", repetitions="2")
    assert "Of 4 sites at most 3 can drop out" in at.warning[0].value


def test_a_chain_refuses_more_components_than_it_hands_on():
    at = opened(protocols="Chain of sites", intermediate="3", repetitions="2")
    assert "in a chain, whose last site holds no more directions" in words(at) + "".join(
        each.value for each in (*at.error, *at.warning)
    )


def test_masks_of_a_missing_site_would_stay():
    at = opened(protocols="CAPE", dropped_sites="1", repetitions="2")
    assert "masks cancel only where every site answers" in words(at) + "".join(
        each.value for each in (*at.error, *at.warning)
    )


def test_eigenvalues_of_those_who_answered_are_drawn():
    opened("explore/eigen_images", dropped_sites="2", method="Full matrices")
