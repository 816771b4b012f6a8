"""What was spent, from what a visitor has looked at."""

from __future__ import annotations

import re
import time

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.privacy import PrivacyBudget, composed_mu, gaussian_epsilon, gaussian_mu
from tests.pages.looking import go_to

LEDGER = "ledger"
FEW = {"repetitions": "2"}


@pytest.fixture
def open_page(open_on_digits):
    return open_on_digits


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))


def total(at: AppTest) -> str:
    return next(c.value for c in at.sidebar.caption if "On real data" in c.value)


def button(at: AppTest, label: str):
    return next(b for b in at.button if b.label.startswith(label))


def ledger(at: AppTest, number: int = 0):
    """The ledger's table of one data set, after a visit to its page."""
    go_to(at, LEDGER).run()
    assert not at.exception
    return at.dataframe[number].value


def spent(at: AppTest) -> float:
    """The epsilon the ledger page says, in its largest letters."""
    return float(re.search(r"ε = ([\d.,]+)<", "".join(each.body for each in at.get("html")))[1])


def gaussian_total(*epsilons: float) -> float:
    """Of Gaussian releases that each hold these epsilons at delta = 0.01."""
    mus = (gaussian_mu(PrivacyBudget(epsilon, 0.01)) for epsilon in epsilons)
    return gaussian_epsilon(0.01, 1.0, composed_mu(*mus))


def test_nothing_shown_is_nothing_spent(open_page):
    at = open_page("learn/stories")
    go_to(at, LEDGER).run()
    assert not at.exception
    # And what one would do about it is a link away.
    links = {each.proto.page for each in at.main.get("page_link")}
    assert len(links & {"", "play", "statistics", "classification", "central"}) == 4


def test_an_epsilon_that_is_said_in_powers_of_ten_has_its_place_in_the_table():
    def page():
        import math

        from pages.use.ledger import table

        row = {"draws": 1, "released": "mean", "mechanism": "laplace", "mu": None}
        table([row | {"epsilon": 1.7049e-4, "total_epsilon": math.inf}])

    at = AppTest.from_function(page).run()
    assert not at.exception
    assert list(at.dataframe[0].value["epsilon"]) == [pytest.approx(1.71e-4)]


def test_looking_twice_is_paid_once_and_redrawing_again(open_page):
    at = open_page("explore/play")
    first = total(at)
    # Ten draws of the sites' noise, of the holder's, and of the first site's around its own mean.
    assert "30 releases" in first
    assert total(at.run()) == first
    button(at, "New noise").click().run()
    assert "60 releases" in total(at)


def test_other_directions_of_the_same_noise_are_free(open_page):
    at = open_page("explore/play")
    first = total(at)
    at.slider(key="intermediate").set_value(30).run()
    assert total(at) == first


def test_published_choices_shown_for_comparison_are_paid(open_page):
    at = open_page("explore/play", **FEW, compare="true", protocols="DPdisPCA")
    table = ledger(at)
    assert list(table["draws"]) == [2, 2]
    assert table["epsilon"].tolist() == pytest.approx([1.0, 0.811], rel=1e-3)


def test_noise_held_while_epsilon_moves_is_said_in_red(open_page):
    """The total is that of fresh noise; what was shown shares it, and hides nothing."""
    at = open_page("explore/play", **FEW)
    ledger(at)
    assert not any("Noise that was held" in m.value for m in at.markdown)
    at = open_page("explore/eigen_images")
    ledger(at)
    (said,) = [m.value for m in at.markdown if "Noise that was held" in m.value]
    assert "infinite ε, not a sum" in said


def test_eigenvalues_come_with_the_components(open_page):
    table = ledger(open_page("explore/eigen_images"))
    assert set(table["released"]) == {"components, eigenvalues"}
    # Exact components, at ε = ∞, are in no budget.
    assert table["epsilon"].tolist() == pytest.approx([10, 2, 0.1], rel=1e-6)


def test_a_mean_is_a_line_with_its_epsilon_and_a_variance_another(open_page):
    at = open_page("explore/statistics", epsilon="0.5")
    assert "real data 1 release of" in total(at)
    at.button_group(key="stat_kind").set_value("variance").run()
    assert "2 releases" in total(at)
    assert "at most" in total(at)
    at.button_group(key="stat_kind").set_value("mean").run()
    assert "2 releases" in total(at)
    table = ledger(at)
    assert list(table["released"]) == ["mean", "variance"]
    assert list(table["epsilon"]) == [0.5, 0.5]
    assert list(table["mechanism"]) == ["laplace", "laplace"]
    assert 0.5 < spent(at) <= 1.0
    assert "True values, errors, bias" in "".join(m.value for m in at.markdown)


def test_typed_numbers_are_people_too(open_page):
    at = open_page("explore/statistics", stat_source="Typed numbers")
    assert "On real data 1 release of the typed numbers would" in total(at)
    ledger(at)
    assert any("each person in the typed numbers" in m.value for m in at.markdown)


def test_every_stage_of_every_classifier_on_the_page_is_a_line(open_page):
    at = open_page("explore/classification", class_draws="2")
    table = ledger(at)
    # The rule buys a private mean out of what the components of a pipeline may spend.
    bought = ["mean", "components"]
    assert list(table["released"]) == [*bought, *bought, "classifier", "classifier"]
    mus = table["mu"][:4].astype(float)
    for start, epsilon in ((0, 1.0), (2, 0.3)):
        together = composed_mu(*mus[start : start + 2])
        # The table has three digits.
        assert gaussian_epsilon(0.01, 1.0, together) == pytest.approx(epsilon, rel=0.01)
    assert table["epsilon"][4:].tolist() == pytest.approx([0.7, 1.0], rel=1e-6)
    assert set(table["draws"]) == {2}
    gaussian = gaussian_total(1.0, 1.0, 0.3, 0.3)
    assert gaussian < spent(at) <= gaussian + 2 * 0.7 + 2 * 1.0 + 0.01
    said = "".join(m.value for m in at.markdown)
    assert "Classifiers trained without noise" in said


def test_a_look_inside_is_free_but_for_what_is_trained_anew(open_page):
    at = open_page("explore/classification", class_draws="2")
    before = total(at)
    assert "12 releases" in before
    at.button_group(key="class_view").set_value("inside").run()
    assert not at.exception
    # The same pipeline with two components only trains once more, on the same noisy moment.
    assert "13 releases" in total(at)
    at.button_group(key="class_pipeline").set_value("exact").run()
    assert "13 releases" in total(at)
    at.button_group(key="class_view").set_value("split").run()
    assert "13 releases" in total(at)


def test_central_algorithms_pay_purely_or_not(open_page):
    at = open_page("explore/central", repetitions="4", components="2", central_variants="true")
    table = ledger(at).set_index("seen_as")
    assert (table["draws"] == 4).all()
    assert table.loc["PPCA", "mechanism"] == "exponential"
    assert (table.loc["PPCA", "epsilon"], table.loc["PPCA", "delta"]) == (1.0, 0.0)
    assert len(table.loc[["Analyze Gauss"]]) == 6
    assert table.loc["PPCA", "mu"] == "–"
    assert list(table.loc["Wishart difference", ["mechanism", "epsilon"]]) == ["laplace", 1.0]
    assert float(table.loc["SuLQ", "mu"]) < float(table.loc["MOD-SuLQ", "mu"]) < 0.01
    assert spent(at) <= gaussian_total(*table.loc["Analyze Gauss", "epsilon"].tolist() * 4) + 8.01


def test_pairs_are_paid_by_the_people_the_playground_is_about(open_page):
    at = open_page("explore/play", **FEW, protocols="Pooled, trusted", sites="1")
    go_to(at, "cca").run()
    assert not at.exception
    assert "On real data 4 releases of Digits 8 × 8" in total(at)
    table = ledger(at)
    assert list(table["released"]) == ["components", "canonical pairs"]
    assert spent(at) == pytest.approx(gaussian_total(1.0, 1.0, 1.0, 1.0), rel=5e-3)


def test_going_back_and_forth_adds_nothing(open_page):
    pages = ("explore/statistics", "explore/classification", "explore/central", "explore/cca")
    at = open_page("explore/play", **FEW)
    for page in pages:
        go_to(at, page).run()
    first = ledger(at)
    everything = spent(at)
    for page in reversed(pages):
        go_to(at, page).run()
        assert not at.exception
    assert ledger(at).equals(first)
    assert spent(at) == everything


def until(at: AppTest, is_over) -> AppTest:
    for _ in range(3000):
        if is_over(at):
            return at
        time.sleep(0.1)
        at.run()
    pytest.fail("the run did not end")


def test_a_sweep_is_paid_also_by_somebody_who_does_not_wait_for_it(open_page):
    at = open_page("explore/tradeoffs", **FEW, tradeoffs_values_epsilon="0.5, 1, 2")
    go_to(at, LEDGER).run()
    until(at, lambda at: at.dataframe and at.dataframe[0].value["draws"].sum() == 18)
    table = at.dataframe[0].value
    # On so many lines as looks it arrived in.
    assert table.groupby("epsilon")["draws"].sum().to_dict() == {0.5: 6, 1: 6, 2: 6}
    everything = spent(at)
    # The Playground at the middle value shows draws of the sweep.
    go_to(at, "play").run()
    ledger(at)
    assert spent(at) == everything


def test_a_search_is_paid_and_messages_of_one_noise_once(open_page):
    at = open_page("explore/bytes", **FEW)
    until(at, lambda at: not any(b.label == "Stop" for b in at.button))
    assert "On real data 2 releases of Digits 8 × 8" in total(at)
    go_to(at, "plan").run()
    until(at, lambda at: not any(b.label == "Stop" for b in at.button))
    assert not at.exception
    # Every epsilon of the search is another noise, and so is every number of people of the map.
    table = ledger(at)
    assert len(table) > 10
    assert not table[["noise_on", "delta"]].duplicated().any()


def test_a_published_figure_is_paid_on_its_own_data(open_page):
    at = open_page("use/reproduce_2012")
    button(at, "Run").click().run()
    go_to(at, LEDGER).run()
    until(at, lambda at: at.dataframe and at.dataframe[0].value["draws"].sum() == 9 * 2 * 20)
    assert any("Synthetic (2012 paper)" in m.value for m in at.markdown)
    assert set(at.dataframe[0].value["seen_as"]) == {"PPCA", "MOD-SuLQ"}


def test_demonstrations_are_not_entered(open_page):
    at = open_page("learn/promise")
    for page in ("learn/audit", "learn/tutorials", "explore/sample_complexity", "learn/stories"):
        go_to(at, page).run()
    go_to(at, LEDGER).run()
    assert not at.dataframe
    assert any("Nothing private has been shown" in m.value for m in at.markdown)


def test_the_page_shows_it_and_forgets_only_by_hand(open_page):
    at = open_page("explore/play", preparation="published")
    go_to(at, "eigen_images").run()
    table = ledger(at)
    said = "\n".join(m.value for m in at.markdown)
    assert "is what a plan of exactly these" in said
    assert "Published centring and scaling" in said
    assert (table["total_epsilon"].diff().dropna() >= 0).all()
    at.run()
    assert len(at.dataframe[0].value) == len(table)
    button(at, "Forget everything").click().run()
    assert not at.dataframe
    assert any("Nothing private has been shown" in m.value for m in at.markdown)


def test_forgetting_empties_the_books_of_one_data_set_whatever_is_in_them(open_page):
    at = open_page("explore/statistics")
    for page in ("explore/classification", "explore/central", "explore/cca"):
        go_to(at, page).run()
    at.button_group(key="cca_cut").set_value("left and right").run()
    go_to(at, "statistics").run()
    at.button_group(key="stat_source").set_value("typed").run()
    ledger(at)
    assert len(at.dataframe) == 2
    button(at, "Forget everything shown of Digits").click().run()
    assert len(at.dataframe) == 1
    go_to(at, "statistics").run()
    assert "On real data 1 release of the typed numbers would" in total(at)
