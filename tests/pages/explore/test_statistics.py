"""The statistics page: answers, the mistake it shows, and what it says to bad input."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest


@pytest.fixture
def open_page(open_on_digits):
    return open_on_digits


@pytest.fixture
def page(open_page) -> AppTest:
    return open_page("explore/statistics")


def said(page: AppTest) -> str:
    return "\n".join(element.value for element in (*page.main.markdown, *page.main.caption))


def charts(page: AppTest) -> int:
    return len(page.get("plotly_chart"))


def group(page: AppTest, key: str):
    return next(group for group in page.button_group if group.key == key)


def number(page: AppTest, key: str):
    return next(field for field in page.number_input if field.key == key)


def test_the_default_answers(page):
    assert not page.exception and not page.error
    assert "private mean of **pixel_3_4** over 1,797 pictures" in said(page)
    assert charts(page) == 3
    assert "not private" in said(page)


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("kind", ["mean", "variance", "histogram"])
def test_every_statistic_with_every_noise(page, kind, mechanism):
    group(page, "stat_kind").set_value(kind)
    group(page, "stat_mechanism").set_value(mechanism).run()
    assert not page.exception and not page.error
    assert charts(page) == 3
    assert "pictures** are needed for an error below" in said(page)


def test_edges_from_the_data_are_shown_as_a_mistake(page):
    group(page, "stat_kind").set_value("histogram").run()
    page.toggle(key="stat_mistake").set_value(True).run()
    assert not page.exception
    assert "Edges read from the data" in said(page)
    assert "**0** and **16**" in said(page)


def test_typed_numbers(page):
    group(page, "stat_source").set_value("typed").run()
    assert "over 20 people" in said(page)
    page.text_area(key="stat_numbers").set_value("10 20 30 40").run()
    assert not page.exception and "over 4 people" in said(page)


def test_typed_numbers_are_in_the_address(open_page):
    at = open_page("explore/statistics", stat_source="typed", stat_numbers="10, 20\n30 40")
    assert not at.error and "over 4 people" in said(at)
    at.text_area(key="stat_numbers").set_value("1 2 3").run()
    assert at.query_params["stat_numbers"] == "1 2 3"
    # Nothing else keeps them: another session that the address opens has them all.
    again = open_page("explore/statistics", **at.query_params)
    assert said(again) == said(at)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("12, abc, 3", "Numbers must be finite numbers with commas or blanks between, got 'abc'."),
        ("", "Numbers must be at least two, one a person, got 0."),
    ],
)
def test_what_is_no_number_is_one_sentence(page, text, sentence):
    group(page, "stat_source").set_value("typed").run()
    page.text_area(key="stat_numbers").set_value(text).run()
    assert not page.exception
    assert [error.value for error in page.error] == [sentence]


def test_bounds_the_wrong_way_round_are_one_sentence(page):
    number(page, "stat_high_digits").set_value(-1.0).run()
    assert not page.exception
    assert [error.value for error in page.error] == [
        "Upper bound must be above the lower bound, 0, got -1.0."
    ]


def test_another_draw_and_back(page):
    before = said(page)
    page.button[0].click().run()
    assert said(page) != before
    number(page, "seed").set_value(0).run()
    assert said(page) == before
