"""A decision: options follow from a search, and only fresh runs recommend one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.data import dataset_status
from dpcore.errors import ParameterError
from dpcore.experiments.decide.decision import (
    PROTOCOL_FOR,
    Option,
    answer,
    count_kept_factors,
    count_strong_factors,
    decide,
    epsilon_of_breach,
    is_recommended_for_bytes,
    people_factor,
    remedies,
    share_recognised,
    spec_of_trust,
    with_coded_messages,
    with_more_sites,
)
from dpcore.experiments.decide.ranking import Trusted, trusted_by
from dpcore.experiments.pca import RunSpec, draw_subspaces, run
from dpcore.experiments.pca.problem import load_prepared, local_problem
from dpcore.params import DELTAS, usual_delta
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import PrivacyBudget, guarantee_mu, icon_counts
from dpcore.privacy.gaussian import gaussian_mu

N = 1797
SPEC = spec_of_trust(RunSpec(dataset="digits", components=5), Trusted.HOLDER, N)


def _option(epsilon, most_right, searched, fresh=None):
    rows = tuple({"energy_ratio": e, "repetition": n} for n, e in enumerate(searched))
    fresh_rows = tuple(
        {"energy_ratio": e, "repetition": 10 + n} for n, e in enumerate(fresh or searched)
    )
    return Option(replace(SPEC, epsilon=epsilon), rows, fresh_rows, most_right)


def test_each_epsilon_is_chosen_by_ten_runs_and_confirmed_by_ten_others():
    options = list(decide(SPEC, epsilons=(5.0, 1.0)))
    assert [option.epsilon for option in options] == [1.0, 5.0]
    again = run(replace(SPEC, epsilon=5.0, repetitions=20))
    assert options[1].energies == [row["energy_ratio"] for row in again][:10]
    assert [row["repetition"] for row in options[1].fresh] == list(range(10, 20))
    guarantee = options[1].spec.guarantee("pooled", dataset_status("digits"))
    assert options[1].most_right == icon_counts(guarantee)[0]


def test_coded_messages_are_recommended_where_they_are_smaller_and_no_worse():
    spec = spec_of_trust(RunSpec(dataset="digits", sites=5, samples=600), Trusted.NOBODY, 600)
    (option,) = decide(spec, epsilons=(1.0,))
    coded = with_coded_messages(option)
    again = run(replace(option.spec, protocols=("coded",)))
    assert coded.energies == [row["energy_ratio"] for row in again]
    assert coded.bytes_per_site < option.bytes_per_site / 3
    dataset = dataset_status("digits")
    assert coded.spec.guarantee("coded", dataset) == option.spec.guarantee("dpdis", dataset)
    percents = [round(100 * member.mean) for member in (coded, option)]
    assert is_recommended_for_bytes(coded, option) == (percents[0] >= percents[1])
    worse = replace(coded, searched=tuple(row | {"energy_ratio": 0.0} for row in coded.searched))
    assert not is_recommended_for_bytes(worse, option)


options_of_any_kind = st.lists(
    st.tuples(st.integers(51, 100), st.lists(st.floats(0, 1), min_size=10, max_size=10)),
    min_size=1,
    max_size=6,
)


@given(options_of_any_kind)
def test_answers_are_monotone_along_both_sliders(drawn):
    """More harm never gives less use, and more use never needs a smaller epsilon or less harm."""
    harms = sorted(harm for harm, _ in drawn)
    options = [
        _option(float(n + 1), harm, energies)
        for n, (harm, (_, energies)) in enumerate(zip(harms, drawn, strict=True))
    ]
    tolerated = [answer(options, most_right=n, target=0.5).tolerated for n in range(50, 101)]
    use = [0.0 if option is None else option.mean for option in tolerated]
    assert use == sorted(use)
    needed = [answer(options, most_right=100, target=t / 100).needed for t in range(1, 100)]
    epsilons = [math.inf if option is None else option.epsilon for option in needed]
    harm = [math.inf if option is None else option.most_right for option in needed]
    assert epsilons == sorted(epsilons) and harm == sorted(harm)


def test_the_most_private_option_that_does_both_is_chosen_else_the_most_use():
    weak = _option(1.0, 56, [0.7] * 10)
    missed = _option(2.0, 60, [0.95] * 10, [0.95] * 8 + [0.8] * 2)
    reached = _option(5.0, 72, [0.95] * 9 + [0.8])
    more = _option(10.0, 85, [0.99] * 10)
    options = (weak, missed, reached, more)
    both = answer(options, most_right=90, target=0.9)
    assert both.do_meet and both.chosen is reached and both.options == (reached, more)
    apart = answer(options, most_right=60, target=0.9)
    assert not apart.do_meet and apart.chosen is apart.tolerated is missed
    assert apart.needed is reached and apart.options == (missed, reached)
    assert answer(options, most_right=50, target=0.9).chosen is None
    assert reached.hits(0.9) == 9 and more.least_share(0.9) == pytest.approx(0.05 ** (1 / 10))


def test_where_harm_and_use_do_not_meet_more_trust_or_fewer_components_are_tried():
    """On 569 patients at five sites, trust in masks reaches 85 % where no trust does not."""
    spec = spec_of_trust(RunSpec(dataset="breast-cancer"), Trusted.NOBODY, 569)
    result = answer(list(decide(spec, epsilons=(2.0, 10.0))), most_right=60, target=0.85)
    assert not result.do_meet and result.tolerated.epsilon == 2.0
    (more_trust, *_) = remedies(spec, Trusted.NOBODY, result)
    assert more_trust.trusted is Trusted.OTHER_SITES
    assert more_trust.option.has_reached(0.85) and more_trust.option.most_right <= 60
    status = dataset_status("breast-cancer")
    now, wanted = (
        replace(spec, epsilon=epsilon).guarantee("dpdis", status) for epsilon in (2.0, 10.0)
    )
    assert 3 < people_factor(now, wanted) == pytest.approx(now.sigma / wanted.sigma)


def test_the_usual_delta_is_a_step_below_a_tenth_of_one_in_n():
    usual = {n: usual_delta(n) for n in (569, 10_000, 10_001, 60_000, 199_523)}
    assert usual == {569: 1e-5, 10_000: 1e-5, 10_001: 1e-6, 60_000: 1e-6, 199_523: 1e-7}
    assert usual_delta(10**9) == min(DELTAS)


@pytest.mark.parametrize("trusted", Trusted)
def test_a_breach_of_trust_leaves_the_noise_of_ones_own_site_or_nothing(trusted):
    spec = spec_of_trust(RunSpec(dataset="digits"), trusted, N)
    key = PROTOCOL_FOR[trusted]
    assert trusted_by(PROTOCOLS[key]) is trusted
    guarantee = spec.guarantee(key, dataset_status("digits"))
    left = epsilon_of_breach(guarantee)
    if trusted is Trusted.HOLDER:
        assert math.isinf(left)
    elif trusted is Trusted.NOBODY:
        assert left == pytest.approx(guarantee.epsilon)
    else:
        # The worst adversary lacks the noise of four of five sites; then of one.
        alone = gaussian_mu(PrivacyBudget(left, guarantee.delta))
        assert (alone / guarantee_mu(guarantee)) ** 2 == pytest.approx(4, rel=1e-6)


def test_a_classifier_sees_people_through_the_release_alone():
    rng = np.random.default_rng()
    labels = np.arange(400) % 2
    X = np.zeros((400, 3))
    X[:, 1] = np.where(labels, 0.5, -0.5)
    X[:, 2] = rng.normal(scale=0.01, size=400)
    told, blind = np.eye(3)[1:2], np.eye(3)[2:3]
    assert share_recognised(X, labels, told, np.zeros(3), rng=rng) == 1.0
    assert share_recognised(X, labels, blind, np.zeros(3), rng=rng) < 0.8


def test_a_factor_is_kept_with_its_sign_and_among_the_strongest():
    exact = np.array([[0.7, -0.5, 0.4, 0.3]])
    assert count_kept_factors(-exact, exact, 3) == 3
    assert count_kept_factors(exact * [1, -1, 1, 1], exact, 3) == 2
    assert count_kept_factors(np.array([[0.6, -0.3, 0.2, 0.7]]), exact, 3) == 2


def test_factors_with_almost_no_loading_are_not_counted():
    """Their order is that of the noise, so more ε did not keep more of them."""
    assert count_strong_factors(np.array([[0.87, -0.49, 0.04, 0.01, 0.0]]), 10) == 2
    assert count_strong_factors(np.full((1, 5), 5**-0.5), 10) == 5
    assert count_strong_factors(np.full((1, 5), 5**-0.5), 3) == 3


def test_recognition_of_hard_cases_grows_with_epsilon():
    """Easy rows are recognised at every epsilon, so that all rows together hide the difference."""
    dataset = load_prepared("mnist-small", "sphere")
    shares = []
    for epsilon in (0.02, 1.0, 5.0):
        # Denoised components are the public ones at the smallest epsilon, which recognise well.
        spec = RunSpec(
            dataset="mnist-small",
            protocols=("dpdis",),
            epsilon=epsilon,
            delta=1e-5,
            denoise="none",
        )
        problem = local_problem(spec.problem_key())
        subspace = draw_subspaces([spec], problem, 0)[0]["dpdis"]
        of_splits = [
            share_recognised(
                dataset.X,
                dataset.labels,
                subspace.components,
                np.asarray(subspace.centre),
                rng=np.random.default_rng(split),
            )
            for split in range(4)
        ]
        shares.append(np.mean(of_splits))
    # Three standard errors of a difference of two shares of 2,000 rows.
    assert min(shares[1:]) > shares[0] + 3 * (2 * 0.25 / 2000) ** 0.5


@pytest.mark.parametrize("target", [0.0, 1.0])
def test_targets_out_of_range_are_refused(target):
    with pytest.raises(ParameterError, match="target"):
        answer([], most_right=75, target=target)
    with pytest.raises(ParameterError, match="most_right"):
        answer([], most_right=49, target=0.9)


def test_more_sites_reach_the_target_at_the_same_guarantee():
    spec = spec_of_trust(RunSpec(dataset="breast-cancer"), Trusted.NOBODY, 569)
    (tolerated,) = decide(spec, epsilons=(2.0,))
    assert not tolerated.has_reached(0.9)
    more = with_more_sites(spec, tolerated, 0.9)
    assert more.has_reached(0.9) and more.epsilon == 2.0
    assert more.spec.sites > spec.sites and more.spec.sites % spec.sites == 0
    assert more.most_right == tolerated.most_right
    # One team has no noise of each site that could be averaged.
    assert with_more_sites(replace(spec, protocols=("pooled",)), tolerated, 0.9) is None
