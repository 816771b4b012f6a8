"""What ε promises, as a visitor sees it."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from scipy.stats import binom

from dpcore.privacy import ASSUMED, STATED, PrivacyBudget, best_guess, gaussian_mu, guarantee_mu
from dpcore.privacy.guarantee_in_words import gaussian_exceedance
from dpcore.teaching.adversary_test import promise, rounds_of_game


@pytest.fixture
def open_page(open_on_digits):
    return open_on_digits


def spoken(at) -> str:
    return "\n".join(element.value for element in [*at.markdown, *at.error])


def chart(at, number: int) -> dict:
    return json.loads(at.get("plotly_chart")[number].proto.spec)


def component(at, name: str) -> dict:
    """What a component of the page is handed."""
    (found,) = (
        each.proto for each in at.get("bidi_component") if each.proto.component_name == name
    )
    return json.loads(found.json)


def test_it_begins_with_a_game_whose_releases_are_drawn_afresh(open_page):
    first, second = (component(open_page("learn/promise"), "promise_game") for _ in "12")
    assert len(first["isIn"]) == len(first["releases"]) == 100
    assert first["releases"] != second["releases"]
    assert first["mu"] == pytest.approx(gaussian_mu(PrivacyBudget(1.0, 0.01)))
    assert first["boundSaid"] == 61


def test_a_game_goes_on_while_other_controls_move_and_ends_with_its_promise(open_page):
    at = open_page("learn/promise")
    game = component(at, "promise_game")
    at.slider(key="promise_false_alarms").set_value(10).run()
    assert component(at, "promise_game") == game
    at.select_slider(key="epsilon").set_value(0.1).run()
    assert component(at, "promise_game")["game"] != game["game"]


def test_the_best_attackers_rate_is_the_bounds(false_alarm):
    """Above mu / 2 he says "in"; his hits are binomial with the chance the page calls the bound."""
    n_rounds = 40_000
    guarantee = promise(PrivacyBudget(1.0, 0.01))
    mu = guarantee_mu(guarantee)
    is_in, releases = rounds_of_game(mu, n_rounds, np.random.default_rng(7))
    chance = best_guess(guarantee)
    hits = int(np.sum((releases > mu / 2) == is_in))
    low, high = binom.interval(1 - false_alarm, n_rounds, chance)
    assert low <= hits <= high


def test_it_keeps_its_figures(open_page):
    at = open_page("learn/promise")
    assert not at.exception
    assert len(at.get("plotly_chart")) == 3
    names = [trace["name"] for trace in chart(at, 1)["data"]]
    assert names == [
        "blind guess",
        "pure ε = 1",
        "(ε, δ) = (1, 0.01)",
        "this noise, μ = 0.53",
        "this threshold",
    ]


def test_two_hundred_attackers_have_one_denominator(open_page):
    at = open_page("learn/promise")
    assert "wrongly accuses **5 in 100**" in spoken(at)
    assert "at most **14 in 100** who are" in spoken(at)


def test_delta_is_not_said_to_be_the_chance_that_odds_move_further(open_page):
    """That chance is seven times as large where the controls begin."""
    at = open_page("learn/promise")
    asked = PrivacyBudget(1.0, 0.01)
    assert gaussian_exceedance(1.0, gaussian_mu(asked)) > 0.069
    (delta,) = (each for each in at.select_slider if each.key == "delta")
    assert (
        "how far the promise may fail" in delta.label
        and "chance" not in delta.label
        and "not the chance" in delta.help
    )


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


def test_the_exact_direction_follows_the_person_and_the_private_one_hardly(open_page):
    circle = component(open_page("learn/promise"), "promise_circle")
    frames = {frame["degrees"]: frame for frame in circle["frames"]}
    assert circle["begins"] == 70
    assert frames[0]["exact"] == pytest.approx(0, abs=5)
    assert frames[70]["exact"] > 60
    shifts = [int(re.search(r"([0-9]+) points", frame["told"])[1]) for frame in frames.values()]
    assert frames[0]["told"].count("<strong>0 points") == 1
    assert max(shifts) <= 21
    assert "The promise allows 21." in frames[70]["told"]


def test_every_line_of_a_card_leads_to_a_paragraph_drawn_here(open_page):
    at = open_page("learn/promise")
    bodies = "".join(element.proto.body for element in at.get("html"))
    drawn = set(re.findall(r"<h3 id=[a-z-]+>([^<]*)</h3>", bodies))
    assert drawn == {each.title for each in (*STATED.values(), *ASSUMED.values())}
    anchors = {each.anchor for each in (*STATED.values(), *ASSUMED.values())}
    followed = re.findall(r"promise(?:\?[^#\s]*)?#([a-z-]*)", spoken(at) + bodies)
    assert set(followed) <= anchors
    # The lines of the card, and what noise added by whoever holds the rows takes for granted.
    assert len(followed) == len(STATED) + 7
