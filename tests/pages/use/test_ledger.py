"""Ledger: totals of the results that a visitor has seen, and the cap."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.privacy import PrivacyBudget, composed_mu, gaussian_epsilon, gaussian_mu
from tests.pages.opening import texts, visit, wait_for_jobs, with_known_components

LEDGER, TABLE = "ledger", "breast-cancer"


def spent(at: AppTest) -> float:
    """Return the total in the title of the ledger page."""
    at = visit(at, LEDGER)
    assert not at.exception
    return float(re.match(r"ε = ([\d.]+)", at.title[0].value)[1])


def with_charges(open_page, *epsilons: float, delta: float = 1e-5) -> AppTest:
    """Open the ledger page of a session with Gaussian releases of one data set."""
    from dpcore.experiments.pca import RunSpec
    from dpcore.privacy import Accountant

    at = open_page(LEDGER)
    accountant = Accountant(TABLE)
    for seed, epsilon in enumerate(epsilons):
        spec = RunSpec(
            dataset=TABLE, protocols=("pooled",), epsilon=epsilon, delta=delta, seed=seed,
            repetitions=1, calibration="analytic", preparation="none",
        )  # fmt: skip
        accountant.charge(*spec.charges({"pooled": spec.guarantee("pooled")}, 1))
    at.session_state["_accountants"] = {TABLE: accountant}
    return at


def test_nothing_spent_opens_with_an_example(open_page):
    at = open_page(LEDGER)
    assert not at.exception
    assert at.title[0].value.startswith("ε = 0:")
    assert len(at.get("plotly_chart")) == 1 and "10 releases at ε = 1" in texts(at)


def test_the_total_composes_and_the_adaptive_one_is_larger(open_page):
    at = with_charges(open_page, 1.0, 1.0, 0.5)
    total = spent(at)
    delta = at.session_state["_selection"].spec.delta
    mus = [gaussian_mu(PrivacyBudget(epsilon, 1e-5)) for epsilon in (1.0, 1.0, 0.5)]
    assert total == pytest.approx(gaussian_epsilon(delta, 1.0, composed_mu(*mus)), rel=0.01)
    adaptive = float(re.search(r"adaptively: ε = ([\d.]+\d)", texts(at))[1])
    assert adaptive > total
    table = at.dataframe[0].value
    assert table["epsilon"].tolist() == pytest.approx([1.0, 1.0, 0.5], rel=0.01)
    assert table["total_epsilon"].is_monotonic_increasing
    assert len(at.get("plotly_chart")) == 1
    assert not any("CSV" in element.label for element in at.get("download_button"))


def test_a_page_that_shows_results_is_in_the_ledger_and_can_be_cleared(open_page):
    at = open_page("decide")
    wait_for_jobs(at)
    assert spent(at) > 0
    assert "not private" in texts(at)
    (clear,) = (button for button in at.button if button.label == "Clear these lines")
    clear.click().run()
    assert not at.exception and at.title[0].value.startswith("ε = 0:")


def test_a_cap_is_set_shown_and_removed(open_page):
    at = with_charges(open_page, 0.5)
    at = visit(at, LEDGER)
    at.select_slider(key="ledger_cap_epsilon").set_value(1.0).run()
    at.button(key="ledger_cap_set").click().run()
    assert not at.exception
    assert "1 release came before the cap" in texts(at)
    (remove,) = (button for button in at.button if button.label == "Remove the cap")
    remove.click().run()
    assert not at.exception and not any(button.label == "Remove the cap" for button in at.button)


def test_a_cap_refuses_results_beyond_it(open_page):
    at = open_page(LEDGER)
    at.select_slider(key="ledger_cap_epsilon").set_value(0.1).run()
    at.button(key="ledger_cap_set").click().run()
    at = visit(at, "own_table")
    assert not at.exception
    assert any(warning.value.startswith("Not computed") for warning in at.warning)
    assert not at.get("plotly_chart")


def test_epsilons_far_from_one_have_their_place_in_the_table():
    def page():
        import math

        from pages.use.ledger import draw_table

        row = {"draws": 1, "released": "mean", "mechanism": "laplace", "mu": None}
        draw_table([row | {"epsilon": 1.7049e-4, "total_epsilon": math.inf}])

    at = with_known_components(AppTest.from_function(page, default_timeout=180)).run()
    assert not at.exception
    assert list(at.dataframe[0].value["epsilon"]) == [pytest.approx(1.71e-4)]
