"""Page about ε: the game, the circle, the attackers, and the drawer."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from scipy.stats import binom

from dpcore.privacy import ASSUMED, STATED, PrivacyBudget, best_guess, gaussian_mu, guarantee_mu
from dpcore.teaching.adversary_test import guarantee_of_noise, rounds_of_game
from tests.pages.opening import texts


def component(at, name: str) -> dict:
    """Return the data of a component."""
    (proto,) = (
        element.proto
        for element in at.get("bidi_component")
        if element.proto.component_name == name
    )
    return json.loads(proto.json)


def test_each_visit_plays_new_releases(open_page):
    first, second = (component(open_page("promise", delta="0.01"), "game") for _ in "12")
    assert len(first["isIn"]) == len(first["releases"]) == 100
    assert first["releases"] != second["releases"]
    assert first["mu"] == pytest.approx(gaussian_mu(PrivacyBudget(1.0, 0.01)))
    assert first["boundText"] == 61


def test_a_game_survives_other_controls_and_ends_with_its_epsilon(open_page):
    at = open_page("promise", delta="0.01")
    game = component(at, "game")
    at.slider(key="promise_false_alarms").set_value(10).run()
    assert component(at, "game") == game
    at.select_slider(key="epsilon").set_value(0.1).run()
    assert component(at, "game")["game"] != game["game"]
    assert at.title[0].value.startswith("At ε = 0.1 the best attacker")


def test_the_best_attackers_hits_are_binomial_with_the_bound(false_alarm):
    n_rounds = 40_000
    guarantee = guarantee_of_noise(PrivacyBudget(1.0, 0.01))
    mu = guarantee_mu(guarantee)
    is_in, releases = rounds_of_game(mu, n_rounds, np.random.default_rng(7))
    hits = int(np.sum((releases > mu / 2) == is_in))
    low, high = binom.interval(1 - false_alarm, n_rounds, best_guess(guarantee))
    assert low <= hits <= high


def test_two_hundred_attackers_have_one_denominator(open_page):
    shown_texts = texts(open_page("promise", delta="0.01"))
    assert "wrongly accuses **5 in 100**" in shown_texts
    assert "at most **14 in 100**" in shown_texts


def test_the_threshold_changes_both_errors(open_page):
    at = open_page("promise", delta="0.01")
    (threshold,) = (slider for slider in at.slider if slider.key.startswith("promise_threshold"))
    threshold.set_value(2.0).run()
    assert not at.exception
    assert "accuses wrongly in **2.3\u00a0%**" in texts(at)


@pytest.mark.parametrize("epsilon", ["0.001", "50"])
@pytest.mark.parametrize("delta", ["0.1", "0.000000001"])
def test_the_ends_of_the_sliders_work(open_page, epsilon, delta):
    at = open_page("promise", epsilon=epsilon, delta=delta)
    assert not at.exception and not at.error
    assert len(at.get("plotly_chart")) == 3


def test_the_exact_direction_follows_the_person_and_the_private_one_hardly(open_page):
    circle = component(open_page("promise", delta="0.01"), "circle")
    frames = {frame["degrees"]: frame for frame in circle["frames"]}
    assert circle["begins"] == 70
    assert frames[0]["exact"] == pytest.approx(0, abs=5)
    assert frames[70]["exact"] > 60
    shifts = [int(re.search(r"([0-9]+) points", frame["text"])[1]) for frame in frames.values()]
    assert shifts[45] == 0 and max(shifts) <= 21
    assert "(21 allowed)" in frames[70]["text"]


def test_every_line_of_a_card_has_its_paragraph_here(open_page):
    bodies = "".join(element.proto.body for element in open_page("promise").get("html"))
    for paragraph in (*STATED.values(), *ASSUMED.values()):
        assert f"id={paragraph.anchor}>" in bodies
