"""Draw yourself in, as a visitor gets it from the server."""

from __future__ import annotations

import pytest

from dpcore.privacy import PrivacyBudget, gaussian_epsilon, gaussian_mu
from dpcore.privacy.guarantee_in_words import say_number
from dpcore.teaching.adversary_test import DATASET
from pages.widgets.session_ledger import _ACCOUNTANTS
from tests.pages.learn.test_promise import component


def test_ten_results_and_a_bound_are_handed_over_and_kept(open_page):
    at = open_page("learn/drawing", epsilon="2")
    assert not at.exception and not at.error
    sent = component(at, "drawing")
    assert len(sent["pictures"]) == 10 and len(sent["leanings"]) == len(sent["isIn"]) == 100
    assert 0.5 < sent["bound"] < 1 and float(sent["best"]) <= 100 * sent["bound"] + 1
    assert sent["epsilon"] == "2"
    at.run()
    assert component(at, "drawing") == sent


@pytest.mark.parametrize("epsilons", [("1", "10")])
def test_more_epsilon_lets_the_attacker_be_right_more_often(open_page, epsilons):
    less, more = (component(open_page("learn/drawing", epsilon=e), "drawing") for e in epsilons)
    assert less["bound"] < more["bound"] and float(less["best"]) < float(more["best"])


def test_ten_results_cost_what_ten_gaussian_releases_compose_to(open_page):
    """The card is for one result, and ten are shown."""
    at = open_page("learn/drawing", epsilon="1", delta="1e-5")
    mu = gaussian_mu(PrivacyBudget(1.0, 1e-5))
    together = say_number(gaussian_epsilon(1e-5, 1.0, 10**0.5 * mu))
    assert any(f"10 results of a game together would cost everybody ε = {together}" in each.value
               for each in at.markdown)  # fmt: skip


def test_exact_lines_are_entered_as_beyond_any_budget(open_page):
    at = open_page("learn/drawing")
    assert at.session_state[_ACCOUNTANTS][DATASET].uncovered
    assert any("not private" in each.value for each in at.markdown)
