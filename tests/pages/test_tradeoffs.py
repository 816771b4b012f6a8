"""Trade-offs: every axis draws, values are checked, points lead to Explore."""

from __future__ import annotations

import time

import pytest

from dpcore.errors import ParameterError
from pages import background
from pages.explore import tradeoffs
from tests.pages.opening import texts

QUICK = {"dataset": "digits", "repetitions": "1", "components": "4", "compare": "Pooled, trusted"}


def finish(at, seconds: float = 60):
    deadline = time.monotonic() + seconds
    while running := [job for job in background._jobs.values() if job.is_running]:
        assert time.monotonic() < deadline
        for job in running:
            job.touch()  # as a browser does, which draws the fragment repeatedly
        time.sleep(0.1)
    return at.run()


@pytest.mark.parametrize("field", [*tradeoffs.TITLES, tradeoffs.NEEDED])
def test_every_axis_shows_a_figure_and_its_finding(open_page, field):
    # Samples needed are found by runs at many sizes, of which a small table has few.
    quick = QUICK | {"dataset": "breast-cancer"} if field == tradeoffs.NEEDED else QUICK
    at = finish(open_page("tradeoffs", **quick, tradeoffs_field=field))
    assert not at.exception
    assert at.get("plotly_chart")
    assert "Waiting" not in texts(at)


def test_axes_are_drawn_before_the_first_run(open_page):
    at = open_page("tradeoffs", **QUICK)
    assert at.get("plotly_chart")


@pytest.mark.parametrize(
    "text", ["", "1", "a, b", "1, -2", "1, 1e30", "1.5, 2", ", ".join(map(str, range(1, 40)))]
)
def test_values_that_cannot_be_read_are_refused(text):
    with pytest.raises(ParameterError):
        tradeoffs.parse_values("sites", text)


def test_values_are_sorted_and_each_is_used_once():
    assert tradeoffs.parse_values("sites", "8, 2,2 , 4") == (2, 4, 8)


def test_invalid_values_are_one_sentence(open_page):
    at = open_page("tradeoffs", **QUICK, tradeoffs_field="sites", tradeoffs_values_sites="two")
    assert not at.exception
    assert "separated by commas" in at.error[0].value


def test_published_choices_are_compared(open_page):
    at = finish(open_page("tradeoffs", **QUICK, tradeoffs_published="true"))
    assert "largest difference to published choices" in texts(at)


def test_every_point_is_charged(open_page):
    at = finish(open_page("tradeoffs", **QUICK, tradeoffs_field="epsilon"))
    account = at.session_state["_accountants"]["digits"]
    values = tradeoffs.parse_values("epsilon", tradeoffs.AXES["epsilon"].values)
    assert account.n_releases == 2 * len(values)
