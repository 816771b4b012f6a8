"""The guarantee of a plan, and plans that are refused."""

from __future__ import annotations

import json
import math

import pytest

from dpcore.errors import ParameterError
from dpcore.federated.certificate import epsilon_of_attempts
from dpcore.federated.demo import digits_plan
from dpcore.federated.plan import PROTOCOLS, nodes_from, plan_from
from dpcore.privacy import Adversary, CapeScales, cape_mu, gaussian_epsilon
from dpcore.release.scales import VOTE


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_plan_survives_its_file(plan_with, protocol):
    plan = plan_with(protocol=protocol)
    assert plan_from(plan.json()) == plan and plan_from(plan.json()).digest == plan.digest


@pytest.mark.parametrize("fewest", [2, 3, 4])
@pytest.mark.parametrize("honest", [1, 2, 3, 4])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_epsilon_holds_against_the_strongest_adversary(plan_with, fewest, honest, protocol):
    plan = plan_with(fewest=fewest, honest=honest, protocol=protocol)
    epsilons = [plan.epsilon_against(who) for who in Adversary]
    assert max(epsilons) == pytest.approx(1.0, abs=1e-6) and max(epsilons) <= 1.0
    counted_on = max(1, honest - (4 - fewest))
    # A secure sum is CAPE with masks of infinite variance.
    mus = cape_mu(1.0, CapeScales(math.inf, 1.0), fewest, counted_on) if plan.is_masked else {}
    for who in Adversary:
        mu = plan.scales_against(who).mu
        # Scales are rounded to integers.
        assert mu == pytest.approx(mus.get(who, 1.0) * plan.scales.mu, rel=1e-6)
    assert plan.worst_mu == max(plan.scales_against(who).mu for who in Adversary)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_components_and_score_plot_keep_epsilon_together(plan_with, protocol):
    plan, without = plan_with(protocol=protocol, scores_share=0.3), plan_with(protocol=protocol)
    # Sums of rounded noises are as private as rounded sums only for scales of 2^10 and more.
    assert plan_with(protocol=protocol, epsilon=12.0, scores_share=0.3).score_sigma > 2**10
    assert 0.9999 < max(plan.epsilon_against(who) for who in Adversary) <= 1.0
    of_components = max(plan.scales_against(who).mu for who in Adversary)
    assert of_components**2 == pytest.approx(0.7 * without.worst_mu**2, rel=1e-3)
    noises = min(plan.unknown_noises(who) for who in Adversary)
    of_plot = math.sqrt(2 / noises) * VOTE / plan.score_sigma
    assert math.hypot(of_components, of_plot) == pytest.approx(plan.worst_mu, rel=1e-6)
    assert plan.distance > without.distance


def test_epsilon_of_all_attempts_holds_under_adaptive_stopping(plan_with, delta_of_best_stopping):
    """The aggregator sees all messages before it starts the next attempt."""
    plan = plan_with()
    mus, shown = (
        [plan.worst_mu] * 20,
        [epsilon_of_attempts(plan, count) for count in range(1, 21)],
    )
    assert delta_of_best_stopping(mus, shown) <= plan.delta
    # The epsilon of a fixed number of attempts needs more than twice the delta.
    planned = [gaussian_epsilon(plan.delta, 1.0, mus[0] * count**0.5) for count in range(1, 21)]
    assert delta_of_best_stopping(mus, planned) > 2.3 * plan.delta
    assert all(e < epsilon < 1.3 * e for epsilon, e in zip(shown, planned, strict=True))
    # The samplers' distance uses up delta.
    assert math.isinf(epsilon_of_attempts(plan_with(epsilon=12.0), 99))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"fewest": 1}, "fewest"),
        ({"fewest": 5}, "fewest"),
        ({"honest": 0}, "honest"),
        ({"n_components": 5}, "n_components"),
        ({"n_components": True}, "n_components"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1e-26}, "delta"),
        ({"protocol": "local"}, "protocol"),
        ({"intermediate_dim": 0}, "intermediate_dim"),
        ({"protocol": "dpdis", "first_view": 2}, "protocol"),
        ({"first_view": 4}, "first_view"),
        ({"first_view": 1}, "n_components"),
        ({"preparation": "published"}, "preparation"),
        ({"scores_share": 1.0}, "scores_share"),
        ({"scores_share": -0.1}, "scores_share"),
        ({"scores_share": 0.1, "n_components": 1}, "scores_share"),
        ({"round_seconds": math.nan}, "round_seconds"),
    ],
)
def test_values_out_of_range_are_refused(plan_with, change, named):
    with pytest.raises(ParameterError, match=named):
        plan_with(**change)


def test_a_file_that_is_no_plan(plan_with):
    content = json.loads(plan_with().json())
    wrong = [b"\xff", b"[]", b"[" * 100_000, b"{}", json.dumps(content | {"extra": 1}),
             json.dumps({key: content[key] for key in content if key != "epsilon"}),
             json.dumps(content | {"sites": ["one", "One"]}),
             json.dumps(content | {"sites": ["../one", "two"]})]  # fmt: skip
    for text in wrong:
        with pytest.raises(ParameterError):
            plan_from(text)


def test_pixels_are_denoised_as_pictures():
    plan = digits_plan(3)
    assert plan_from(plan.json()).bases == plan.bases
    assert [basis.name for basis in plan.bases] == ["pictures", "columns"]


def test_node_identifiers_are_read_from_pairs():
    assert nodes_from("oslo=12, porto=34", ["oslo", "porto"]) == {"oslo": 12, "porto": 34}
    assert nodes_from("", ["oslo"]) == {}


@pytest.mark.parametrize("text", ["oslo", "oslo=NUMBER", "berlin=12", "oslo=-1"])
def test_a_pair_of_another_form_or_an_unknown_site_is_refused(text):
    with pytest.raises(ParameterError, match="nodes must be SITE=NUMBER"):
        nodes_from(text, ["oslo", "porto"])
