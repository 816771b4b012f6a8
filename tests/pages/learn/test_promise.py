"""What ε promises, as a visitor sees it."""

from __future__ import annotations

import json
import re

import pytest

from dpcore.privacy import ASSUMED, STATED, PrivacyBudget, gaussian_mu
from dpcore.privacy.meaning import gaussian_exceedance


def spoken(at) -> str:
    return "\n".join(element.value for element in [*at.markdown, *at.error])


def chart(at, number: int) -> dict:
    return json.loads(at.get("plotly_chart")[number].proto.spec)


def test_it_answers_first_and_keeps_its_figures(open_page):
    at = open_page("learn/promise")
    assert not at.exception
    assert "guesses about you can be right" in at.markdown[0].value
    assert len(at.get("plotly_chart")) == 5
    names = [trace["name"] for trace in chart(at, 1)["data"]]
    assert names == [
        "blind guess",
        "pure ε = 1",
        "(ε, δ) = (1, 0.01)",
        "this noise, μ = 0.53",
        "this threshold",
    ]


def test_delta_is_not_said_to_be_the_chance_that_odds_move_further(open_page):
    """That chance is seven times as large where the controls begin."""
    at = open_page("learn/promise")
    asked = PrivacyBudget(1.0, 0.01)
    assert gaussian_exceedance(1.0, gaussian_mu(asked)) > 0.069
    (delta,) = (each for each in at.select_slider if each.key == "delta")
    assert "slack" in delta.label and "chance" not in delta.label and "not the chance" in delta.help


def test_the_threshold_moves_the_point(open_page):
    at = open_page("learn/promise")
    before = chart(at, 1)["data"][-1]
    at.slider(key="promise_threshold").set_value(2.0).run()
    assert not at.exception
    after = chart(at, 1)["data"][-1]
    assert after != before
    assert "accuses wrongly **2.3 %**" in spoken(at)


def test_published_noise_is_shown_to_break_its_promise(open_page):
    at = open_page("learn/promise", epsilon="10", promise_calibration="published")
    assert not at.exception
    assert "breaks what was asked" in spoken(at)


def test_classic_above_one_is_one_sentence(open_page):
    at = open_page("learn/promise", epsilon="10", promise_calibration="classic")
    assert not at.exception
    assert len(at.error) == 1
    assert "classic" in at.error[0].value


@pytest.mark.parametrize("epsilon", ["0.001", "50"])
@pytest.mark.parametrize("delta", ["0.1", "0.000000001"])
def test_the_ends_of_the_sliders_work(open_page, epsilon, delta):
    at = open_page("learn/promise", epsilon=epsilon, delta=delta)
    assert not at.exception
    assert not at.error


def test_moving_the_person_turns_the_exact_direction(open_page):
    at = open_page("learn/promise")
    at.slider(key="promise_angle").set_value(0).run()
    assert "turns by **0°**" in spoken(at)


def test_every_line_of_a_card_leads_to_a_paragraph_drawn_here(open_page):
    at = open_page("learn/promise")
    bodies = "".join(element.proto.body for element in at.get("html"))
    drawn = set(re.findall(r"<h3 id=[a-z-]+>([^<]*)</h3>", bodies))
    assert drawn == {each.title for each in (*STATED.values(), *ASSUMED.values())}
    anchors = {each.anchor for each in (*STATED.values(), *ASSUMED.values())}
    followed = re.findall(r"promise#([a-z-]*)", spoken(at) + bodies)
    assert set(followed) <= anchors
    # The lines of the card, and what noise added by whoever holds the rows takes for granted.
    assert len(followed) == len(STATED) + 7
