"""Charges: each draw of noise once; pictures of a charged draw cost nothing."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import ParameterError
from dpcore.experiments.pca import RunSpec, draw_subspaces
from dpcore.experiments.pca.problem import local_problem
from dpcore.privacy import (
    EVERYONE,
    Accountant,
    BeyondCap,
    Bound,
    Cap,
    Charge,
    Guarantee,
    PrivacyBudget,
    Release,
    composed_mu,
    gaussian_epsilon,
    gaussian_mu,
    odometer_epsilon,
)

DELTA = 0.01
THREE = frozenset(range(3))
SPEC = RunSpec(calibration="analytic", noise="isometric", truncation="psd", repetitions=1)


def guarantees(spec: RunSpec) -> dict[str, Guarantee]:
    subspaces = draw_subspaces([spec], local_problem(spec.problem_key()), 0)[0]
    return {key: subspace.guarantee for key, subspace in subspaces.items()}


def shown(*specs: RunSpec, draws: int = 1) -> Accountant:
    account = Accountant("digits")
    for spec in specs:
        for charge in spec.charges(guarantees(spec), draws):
            account.charge(charge)
    return account


def epsilon(account: Accountant) -> float:
    return account.total(DELTA)


def test_protocols_that_read_the_same_noise_share_a_payment():
    spec = replace(SPEC, protocols=("dpdis", "full", "local"), preparation="bounded")
    account = shown(spec)
    assert account.n_releases == 1
    assert epsilon(account) == pytest.approx(1.0, rel=1e-6)
    (row,) = account.rows(DELTA)
    assert row["who_pays"] == "all people"
    assert row["seen_as"] == "DPdisPCA, Full matrices, One site alone"


def test_noise_of_their_own_is_paid_by_itself():
    account = shown(replace(SPEC, protocols=("dpdis", "pooled", "cape")))
    mus = [charge.release.mu for charge in account.charges.values()]
    assert len(mus) == 3
    expected = gaussian_epsilon(DELTA, 1.0, composed_mu(*mus))
    assert epsilon(account) == pytest.approx(expected, rel=1e-9)


def test_more_draws_pay_for_the_difference_and_fewer_for_nothing():
    spec = replace(SPEC, protocols=("dpdis",))
    account = Accountant("digits")
    (one,), (four,) = (spec.charges(guarantees(spec), draws) for draws in (1, 4))
    assert account.charge(one)
    assert account.charge(four)
    assert not account.charge(one)
    assert account.n_releases == 4
    assert account.composed().mu == pytest.approx(2 * one.release.mu)


def test_a_site_alone_spares_the_people_of_the_others():
    account = shown(replace(SPEC, protocols=("local",)))
    by_site = account.epsilon_by_site(DELTA)
    assert by_site[0] == pytest.approx(1.0, rel=1e-6)
    assert by_site[None] == 0
    assert epsilon(account) == by_site[0]
    assert account.rows(DELTA)[0]["who_pays"] == "people of site 1"


def test_a_site_alone_around_its_own_mean_reads_noise_of_its_own():
    """On the sphere; otherwise one release could be subtracted from the other."""
    account = shown(replace(SPEC, protocols=("dpdis", "local"), preparation="sphere"))
    assert account.n_releases == 2


def test_a_site_alone_costs_nothing_more_once_all_have_sent():
    bounded = replace(SPEC, preparation="bounded")
    alone, together = (replace(bounded, protocols=(key,)) for key in ("local", "dpdis"))
    for order in ((alone, together), (together, alone)):
        account = shown(*order)
        assert account.n_releases == 1
        assert epsilon(account) == pytest.approx(1.0, rel=1e-6)
        assert account.epsilon_by_site(DELTA) == {}


mus = st.floats(0.01, 2.0)
entries = st.lists(
    st.tuples(mus, st.integers(1, 4), st.sampled_from([None, 0, 1])), min_size=1, max_size=8
)


@given(entries)
def test_running_totals_are_those_of_the_ledger_of_all_draws(entries):
    account, releases = Accountant("digits"), []
    for number, (mu, draws, site) in enumerate(entries):
        release = Release(
            key=str(number),
            label="",
            dataset="digits",
            mechanism="gaussian",
            epsilon=gaussian_epsilon(DELTA, 1.0, mu),
            delta=DELTA,
            mu=mu,
            partition=EVERYONE if site is None else "split",
            sites=None if site is None else (site,),
        )
        account.charge(Charge(release, frozenset(range(draws))))
        releases += [replace(release, key=f"{number}-{draw}") for draw in range(draws)]
        total = account.rows(DELTA)[-1]["total_epsilon"]
        naive = Accountant("digits")
        naive.charge(*map(Charge, releases))
        expected = naive.total(DELTA)
        assert total == pytest.approx(expected, rel=1e-9)


def test_mixed_noise_composes_to_no_more_than_the_quick_bound():
    account = shown(replace(SPEC, protocols=("dpdis",)))
    laplace = Guarantee(None, 0.5, 0.0, "laplace", "the curator")
    account.charge(Charge(Release.of(laplace, key="mean", label="", dataset="digits"), THREE))
    spent = account.composed()
    assert spent.epsilon(DELTA) <= spent.basic_bound(DELTA)
    assert spent.basic_bound(DELTA) == pytest.approx(2.5, rel=1e-6)


CAP = Cap(2.0, DELTA)


def laplace(key: str, amount: float) -> Charge:
    return Charge(Release(key, key, "digits", "laplace", amount, 0.0))


def gaussian(key: str, amount: float, draws: int = 1, **who) -> Charge:
    mu = gaussian_mu(PrivacyBudget(amount, DELTA))
    release = Release(key, key, "digits", "gaussian", amount, DELTA, mu, **who)
    return Charge(release, frozenset(range(draws)))


def test_what_would_exceed_the_cap_is_refused_and_nothing_is_entered():
    account = Accountant("digits", cap=CAP)
    account.charge(gaussian("first", 1.0))
    entered = dict(account.charges)
    with pytest.raises(BeyondCap, match=r"asks for ε = 2\.02, and ε = 1\.49 is left"):
        account.charge(gaussian("small", 0.1), gaussian("large", 2.0))
    assert account.charges == entered
    with pytest.raises(BeyondCap):
        account.require(gaussian("large", 2.0))
    account.require(gaussian("small", 0.1))
    assert account.charges == entered
    assert account.charge(gaussian("small", 0.1))


def test_what_is_paid_may_be_shown_again_whatever_is_left():
    account = Accountant("digits", cap=CAP)
    account.charge(gaussian("all of it", 2.0))
    assert not account.charge(gaussian("all of it", 2.0))
    with pytest.raises(BeyondCap):
        account.charge(gaussian("all of it", 2.0, draws=2))


def test_a_cap_counts_from_when_it_is_set():
    account = Accountant("digits")
    account.charge(gaussian("before", 5.0, draws=3))
    account.set_cap(CAP)
    assert account.bound_under_cap() == Bound()
    assert not account.charge(gaussian("before", 5.0, draws=3))
    account.charge(gaussian("after", 2.0))
    assert CAP.share(account.bound_under_cap()) == pytest.approx(1)
    with pytest.raises(BeyondCap):
        account.charge(gaussian("before", 5.0, draws=4))


def test_old_draws_that_others_pay_now_count_for_them():
    account = Accountant("digits")
    account.charge(gaussian("alone", 5.0, partition="split", sites=(0,)))
    account.set_cap(CAP)
    with pytest.raises(BeyondCap):
        account.charge(gaussian("alone", 5.0))


def test_no_cap_admits_what_has_no_guarantee():
    account = Accountant("digits", cap=Cap(50.0, 0.1))
    with pytest.raises(BeyondCap):
        account.charge(laplace("broken", math.inf))


def test_payments_about_other_people_are_refused():
    with pytest.raises(ParameterError, match="dataset"):
        Accountant("mnist").charge(laplace("mean", 1.0))


def test_for_whoever_stops_when_it_suits():
    account = Accountant("digits")
    assert account.total(DELTA, stopping=True) == 0
    account.charge(laplace("mean", 0.5), laplace("variance", 0.5))
    # A pure release never loses more than its epsilon, at any time.
    assert account.total(DELTA, stopping=True) == 1.0
    assert account.total(0.0, stopping=True) == 1.0
    account.charge(gaussian("components", 1.0))
    total = account.total(DELTA)
    bound = account.bound_under_cap()
    assert account.total(DELTA, stopping=True) == odometer_epsilon(bound.mu, DELTA) > total
    assert account.total(0.0, stopping=True) == math.inf
    account.charge(Charge(Release("c", "c", "digits", "composed", 0.1, 1e-6)))
    assert account.total(DELTA, stopping=True) == math.inf
