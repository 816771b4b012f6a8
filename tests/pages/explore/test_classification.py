"""The classification page: its three views, and data sets it cannot use."""

from __future__ import annotations

import re
import time

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.experiments.classification_runs import Best
from pages.explore.classification import ties_said


@pytest.fixture
def open_page(open_on_digits):
    return open_on_digits


@pytest.fixture
def page(open_page) -> AppTest:
    return open_page("explore/classification")


def said(page: AppTest) -> str:
    return "\n".join(element.value for element in (*page.markdown, *page.caption))


def charts(page: AppTest) -> int:
    return len(page.get("plotly_chart"))


def group(page: AppTest, key: str):
    return next(group for group in page.button_group if group.key == key)


def test_a_split_that_is_still_drawn_says_so():
    best = Best(0.05, 0.26, (0.3,))
    assert ties_said(best, 10, 10) == "Over 10 runs these cannot be told from it: 30\u00a0%."
    assert ties_said(best, 4.5, 10).startswith("So far, over 4 of 10 runs, these")


def test_the_default_answers(page):
    assert not page.exception and not page.error
    assert "of 89 test pictures are misclassified" in said(page)
    assert "A **random** subspace gets" in said(page)
    assert "1,348 people learn; 449 others" in said(page)
    # The mean is paid out of what PCA has, as public numbers decide.
    parts = re.search(r"\*\*ε = centring ([\d.]+) \+ PCA ([\d.]+) \+ training 0.7 = 1", said(page))
    assert parts is not None and sum(map(float, parts.groups())) == pytest.approx(0.3, abs=2e-3)
    assert "A part of this budget pays for the private mean" in said(page)


def look_until(page: AppTest, n_charts: int) -> None:
    """Look at a page that fills in until it has so many charts, for four minutes at most."""
    deadline = time.monotonic() + 240
    while charts(page) < n_charts and time.monotonic() < deadline:
        time.sleep(0.1)
        page.run()
        assert not page.exception and not page.error
    assert charts(page) == n_charts


def test_the_curve_fills_in(page):
    look_until(page, 1)


def test_a_figure_that_is_stopped_goes_on_when_asked(open_page, tmp_path, monkeypatch):
    # Rows that an earlier run left on disk would end it before anybody can stop it.
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))
    page = open_page("explore/classification", seed="7501", class_draws="50")
    look_until(page, 1)
    press = next(button for button in page.button if button.label == "Stop")
    press.click().run()
    held = [button.label for button in page.button]
    assert "Go on" in held and "Stop" not in held
    next(button for button in page.button if button.label == "Go on").click().run()
    assert "Go on" not in [button.label for button in page.button]


def test_ten_classes_say_what_each_costs(page):
    group(page, "class_task").set_value("all").run()
    assert not page.exception
    assert "each of the 10 costs ε = 0.07" in said(page)


@pytest.mark.parametrize("protocol", ["dpdis", "full", "cape"])
def test_any_protocol(page, protocol):
    page.selectbox(key="class_protocol").set_value(protocol).run()
    assert not page.exception and not page.error
    assert "Sites protect the subspace themselves" in said(page)


def test_split_the_budget(page):
    group(page, "class_view").set_value("split").run()
    look_until(page, 1)
    assert "makes the fewest mistakes" in said(page)


@pytest.mark.parametrize("pipeline", ["private", "subspace", "exact"])
def test_look_inside(page, pipeline):
    group(page, "class_view").set_value("inside").run()
    group(page, "class_pipeline").set_value(pipeline).run()
    assert not page.exception and not page.error
    assert charts(page) == 2
    assert "Who is taken for whom" in said(page)


def test_centring_is_stated_and_leaves_something_for_training(page):
    page.select_slider(key="class_pca_share").set_value(0.8)
    page.select_slider(key="class_centring_share").set_value(0.5).run()
    assert not page.exception and not page.error
    assert "Centring gets 15%" in said(page)
    assert "compose exactly" in said(page)


@pytest.mark.parametrize("preparation", ["bounded", "none", "published"])
def test_other_preparations_answer_too(page, preparation):
    group(page, "class_preparation").set_value(preparation).run()
    assert not page.exception and not page.error
    assert ("centring not private" in said(page)) == (preparation == "published")


def test_the_posters_noise_says_what_it_promises(page):
    page.toggle(key="class_as_printed").set_value(True).run()
    assert not page.exception and not page.error
    page.select_slider(key="class_centring_share").set_value(0.1).run()
    assert [error.value for error in page.error] == [
        "calibration must be analytic where rows are centred, got 'published'"
    ]


def test_a_data_set_without_labels_is_one_sentence(page):
    page.selectbox(key="dataset").set_value("synthetic-2012").run()
    assert not page.exception
    (error,) = page.error
    assert "one with labels of two kinds or more" in error.value
    assert error.value.endswith("got 'Synthetic (2012 paper)'")


def test_an_absent_data_set_says_how_to_get_it(page):
    page.selectbox(key="dataset").set_value("mnist").run()
    assert not page.exception
    assert "is not on this machine" in page.info[0].value
