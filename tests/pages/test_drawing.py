"""Draw yourself in: what the browser gets, and how it follows ε."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.privacy import PrivacyBudget, gaussian_epsilon, gaussian_mu
from dpcore.privacy.guarantee_in_words import say_number
from dpcore.teaching.drawn_person import DATASET
from tests.pages.opening import texts
from tests.pages.test_promise import component


def test_a_view_has_ten_pictures_and_is_kept_until_something_changes(open_page):
    at = open_page("drawing", epsilon="2")
    assert not at.exception and not at.error
    view = component(at, "drawing")
    assert len(view["pictures"]) == 10 and len(view["leanings"]) == len(view["isIn"]) == 100
    assert 0.5 < view["bound"] < 1 and float(view["best"]) <= 100 * view["bound"] + 1
    at.run()
    assert component(at, "drawing") == view


def test_suspects_caption_and_title_follow_epsilon(open_page):
    at = open_page("drawing", epsilon="0.1")
    for epsilon, belief in ((0.1, "10\u00a0%"), (50.0, "over 99.9 %")):
        at.select_slider(key="epsilon").set_value(epsilon).run()
        private = component(at, "drawing")["private"]
        assert f"is {belief} sure of your drawing;" in at.title[0].value
        assert private["caption"].endswith(f"you {belief}") and private["beliefs"][0] == belief


def test_no_suspect_is_prominent_at_a_tiny_epsilon(open_page):
    """A mixture of the suspects, stretched to full ink, showed the drawing without any leak."""
    view = component(open_page("drawing", epsilon="0.001"), "drawing")
    suspects = np.array(view["private"]["suspects"])
    assert suspects.shape == (10, 196) and view["private"]["beliefs"] == ["10\u00a0%"] * 10
    assert np.linalg.norm(suspects, axis=1) == pytest.approx(1.0, abs=0.01)
    # The drawing is one of ten different pictures.
    assert (suspects[1:] @ suspects[0] < 0.9).all()


def test_the_noise_stays_while_epsilon_moves_and_returns(open_page):
    at = open_page("drawing", epsilon="10")
    before = component(at, "drawing")["private"]
    at.select_slider(key="epsilon").set_value(20.0).run()
    assert component(at, "drawing")["private"] != before
    at.select_slider(key="epsilon").set_value(10.0).run()
    assert component(at, "drawing")["private"] == before


def test_the_attacker_is_right_more_often_at_larger_epsilon(open_page):
    less, more = (component(open_page("drawing", epsilon=e), "drawing") for e in ("1", "10"))
    assert less["bound"] < more["bound"] and float(less["best"]) < float(more["best"])


def test_ten_results_cost_what_ten_gaussian_releases_compose_to(open_page):
    at = open_page("drawing", epsilon="1", delta="1e-5")
    mu = gaussian_mu(PrivacyBudget(1.0, 1e-5))
    together = say_number(gaussian_epsilon(1e-5, 1.0, 10**0.5 * mu))
    assert f"10 results of one game would together cost ε = {together}" in texts(at)


def test_exact_results_are_recorded_as_not_covered(open_page):
    at = open_page("drawing")
    assert at.session_state["_accountants"][DATASET].uncovered
    assert "not private" in component(at, "drawing")["exact"]["caption"]


@pytest.mark.parametrize("epsilon", ["0.001", "50"])
def test_the_ends_of_the_slider_work(open_page, epsilon):
    assert not open_page("drawing", epsilon=epsilon).exception
