"""Other analyses, statistics: real columns, typed numbers, histograms."""

from __future__ import annotations

import json
import re

import pytest

from tests.pages.opening import texts


def test_it_opens_with_the_age_of_patients(open_page):
    at = open_page("statistics")
    assert not at.exception
    assert [title.value for title in at.title if "mean of age" in title.value]
    private, true = re.search(r"is ([\d.]+) at ε = 1; the true one is ([\d.]+)", texts(at)).groups()
    assert len(private.partition(".")[2]) == len(true.partition(".")[2])
    figure = json.loads(at.get("plotly_chart")[0].proto.spec)
    assert figure["layout"]["xaxis"]["title"]["text"] == "error (years)"


def test_typed_numbers_give_their_mean_and_stay_out_of_the_address(open_page):
    at = open_page("statistics", stat_source="typed")
    at.text_area(key="stat_numbers").set_value("1, 2, 3, 4").run()
    assert not at.exception
    assert "the true one is 2.5" in texts(at)
    assert "stat_numbers" not in at.query_params


def test_numbers_have_a_minus_sign_and_separated_thousands(open_page):
    at = open_page("statistics", stat_source="typed")
    at.number_input(key="stat_low_typed").set_value(-3000.0).run()
    at.text_area(key="stat_numbers").set_value("-1400, -1600").run()
    assert not at.exception
    assert "the true one is −1,500" in texts(at)


@pytest.mark.parametrize("numbers", ["", "1, x", "nan, 2"])
def test_unreadable_numbers_give_one_sentence(open_page, numbers):
    at = open_page("statistics", stat_source="typed")
    at.text_area(key="stat_numbers").set_value(numbers).run()
    assert not at.exception
    assert len(at.error) == 1 and "numbers must be" in at.error[0].value
    assert len(at.title) == 1


def test_bounds_in_the_wrong_order_give_one_sentence(open_page):
    at = open_page("statistics", stat_source="typed")
    at.number_input(key="stat_low_typed").set_value(200.0).run()
    assert not at.exception
    assert len(at.error) == 1
    assert len(at.title) == 1


@pytest.mark.parametrize("kind", ["mean", "variance", "histogram"])
@pytest.mark.parametrize("source", ["digits", "diabetes"])
def test_every_statistic_runs_on_every_kind_of_column(open_page, kind, source):
    at = open_page("statistics", stat_source=source, stat_kind=kind)
    assert not at.exception and not at.error


def test_edges_from_the_data_are_marked_as_not_private(open_page):
    at = open_page("statistics", stat_kind="histogram")
    assert "smallest and the largest value" not in texts(at)
    at.toggle(key="stat_mistake").set_value(True).run()
    assert "smallest and the largest value" in texts(at)


def test_the_guarantee_names_its_adversary_and_the_trusted_holder(open_page):
    at = open_page("statistics")
    assert "Protects against every reader of the result; the holder of all rows is trusted" in (
        texts(at)
    )
