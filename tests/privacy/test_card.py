"""The card never states more than the guarantee."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.privacy import (
    EXPLANATIONS,
    Adversary,
    Against,
    Assumption,
    Guarantee,
    PrivacyBudget,
    describe,
    gaussian_epsilon,
    l2_sensitivity_of_second_moment,
    published_sigma,
)
from dpcore.privacy.budget import SMALLEST_DELTA
from dpcore.privacy.guarantee_in_words import one_in, say_delta, say_factor, say_number


def published(epsilon: float) -> Guarantee:
    budget, sensitivity = PrivacyBudget(epsilon, 0.01), l2_sensitivity_of_second_moment(1000)
    sigma = published_sigma(budget, 1000)
    exact = gaussian_epsilon(0.01, sigma, sensitivity)
    return Guarantee(
        budget, exact, 0.01, "gaussian", "each site", sensitivity, sigma, tuple(Assumption)
    )


def values(guarantee: Guarantee) -> dict[str, str]:
    return {row.label: row.value for row in describe(guarantee).rows}


def badges(guarantee: Guarantee) -> list[str]:
    return [badge.text for badge in describe(guarantee).badges]


def test_published_noise_at_one():
    card = describe(published(1.0))
    assert card.headline == (
        "Nothing anyone could conclude about you becomes more than 2.3 times as likely because "
        "your record was used. δ adds at most 1 percentage point."
    )
    rows = values(published(1.0))
    assert rows["Requested"] == "ε = 1, δ = 0.01"
    assert rows["Delivered"] == (
        "ε = 0.811 at δ = 0.01; dropping directions afterwards reveals nothing more"
    )
    assert "Protects against" not in rows
    assert rows["Strongest test"] == (
        "catches at most 12 in 100 people, and wrongly accuses 5 in 100"
    )
    assert badges(published(1.0)) == ["private", "stronger than requested"]
    assert card.assumptions == tuple(Assumption)


def holding_against(**epsilons: float) -> Guarantee:
    against = tuple(
        Against(Adversary(who), f"what {who} sees", epsilon, is_trusted=math.isinf(epsilon))
        for who, epsilon in epsilons.items()
    )
    return replace(published(1.0), against=against)


def test_a_card_names_those_it_holds_against():
    """One epsilon if it is the same for all adversaries, else one for each, the worst first."""
    alike = holding_against(aggregator=0.8, site=0.8, outsider=0.8)
    assert values(alike)["Protects against"] == (
        "the aggregator; a participating site; a reader of the result"
    )
    unlike = holding_against(aggregator=0.7, site=0.8, outsider=0.5)
    assert values(unlike)["Protects against"] == (
        "a participating site, ε = 0.8; the aggregator, ε = 0.7; a reader of the result, ε = 0.5"
    )
    trusting = holding_against(aggregator=math.inf, outsider=0.8)
    assert values(trusting)["Protects against"] == (
        "a reader of the result; the aggregator is trusted"
    )
    assert describe(trusting).sights == (
        "The aggregator sees what aggregator sees, and is trusted.",
        "A reader of the result sees what outsider sees, and faces ε = 0.8.",
    )


def test_published_noise_at_ten_breaks_its_guarantee():
    assert badges(published(10.0)) == ["weak guarantee", "weaker than requested"]


def test_pure_privacy_has_no_percentage_points():
    card = describe(Guarantee(PrivacyBudget(0.8), 0.8, 0.0, "exponential", "the draw"))
    assert card.headline == (
        "Nothing anyone could conclude about you becomes more than 2.3 times as likely because "
        "your record was used."
    )
    assert [badge.text for badge in card.badges] == ["private", "pure: δ = 0"]


@pytest.mark.parametrize("mechanism", ["gaussian", "composed", "exponential"])
def test_no_line_grows_as_epsilon_falls(mechanism):
    """The chance of leaving a factor of e^epsilon did: 1 in 52 at 10 and 1 in 4 at 0.2."""
    delta = 0.0 if mechanism == "exponential" else 0.01
    for epsilon in (0.2, 1.0, 10.0):
        labels = values(Guarantee(None, epsilon, delta, mechanism, "the site"))
        assert "Odds" not in labels and not any("up or down" in said for said in labels.values())


def test_no_noise_has_no_guarantee():
    card = describe(Guarantee(None, math.inf, 0.0, "none", "nobody"))
    assert card.headline.startswith("No guarantee")
    assert [(badge.text, badge.tone) for badge in card.badges] == [("not private", "bad")]
    assert [row.label for row in card.rows] == ["Delivered"]


def test_a_result_without_data():
    card = describe(Guarantee(None, 0.0, 0.0, "data-independent", "nobody"))
    assert "does not depend on the data" in card.headline


def test_epsilon_zero_at_a_generous_delta():
    card = describe(Guarantee(PrivacyBudget(1, 0.01), 0.0, 0.01, "gaussian", "the site"))
    assert "becomes likelier because" in card.headline


@given(
    st.floats(1e-3, 200),
    st.just(0.0) | st.floats(SMALLEST_DELTA, 0.9),
    st.sampled_from(["gaussian", "laplace"]),
)
def test_every_guarantee_has_a_card(epsilon, delta, mechanism):
    if mechanism == "gaussian" and delta == 0:
        epsilon = math.inf
    card = describe(Guarantee(PrivacyBudget(1.0), epsilon, delta, mechanism, "the site"))
    assert re.fullmatch(r"[A-Z].*\.", card.headline)
    assert all(row.explanation in EXPLANATIONS for row in card.rows)
    assert "nan" not in str(card)


def test_assumptions_are_sentences_with_a_key():
    for assumption in Assumption:
        assert re.fullmatch(r"[A-Z].*\.", assumption)
        assert assumption == Assumption[assumption.name]


@given(st.floats(1e-14, 1.0))
def test_one_in_never_understates(chance):
    said = one_in(chance)
    numerator, denominator = re.fullmatch(r"([\d.]+) in ([\d,]+)", said).groups()
    stated = float(numerator) / int(denominator.replace(",", ""))
    assert stated >= chance * (1 - 1e-8)
    assert stated <= chance * 1.5 + 1e-12


@pytest.mark.parametrize(
    ("chance", "said"),
    [
        (0, "never"),
        (0.01, "1 in 100"),
        (1e-5, "1 in 100,000"),
        (0.03, "1 in 33"),
        (0.6, "60 in 100"),
    ],
)
def test_chances_in_words(chance, said):
    assert one_in(chance) == said


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        (1.0, "1"),
        (1.0202, "1.021"),
        (2.25, "2.3"),
        (99.2, "100"),
        (1234, "1,300"),
        (5.31e8, "540 million"),
        (9.99e11, "1 trillion"),
        (1e20, "10²⁰"),
        (5.18e21, "5.2·10²¹"),
        (math.inf, "any number"),
    ],
)
def test_factors_in_words(factor, said):
    assert say_factor(factor) == said


def test_numbers_round_up_but_forgive_rounding_errors():
    assert say_number(0.81101) == "0.812"
    assert say_number(1 + 1e-13) == "1"
    assert say_number(0) == "0"
    assert say_number(1.2341e-6) == "1.24·10⁻⁶"
    assert say_number(math.inf) == "∞"


@pytest.mark.parametrize(
    ("delta", "said"),
    [(0.0, "0"), (0.01, "0.01"), (1e-3, "0.001"), (1e-5, "10⁻⁵"), (2.5e-6, "2.5·10⁻⁶"),
     (1e-10, "10⁻¹⁰"), (1.2345612e-6, "1.23457·10⁻⁶"), (9.9999e-5, "9.9999·10⁻⁵")],
)  # fmt: skip
def test_a_small_delta_reads_as_on_paper(delta, said):
    assert say_delta(delta) == said
