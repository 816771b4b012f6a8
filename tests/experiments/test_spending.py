"""What is paid: draws of noise, once each; pictures of a paid draw are free."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.experiments.payments import of_run
from dpcore.experiments.run import draw_subspaces, local_problem
from dpcore.experiments.spec import RunSpec
from dpcore.experiments.spending import Account, Payment
from dpcore.privacy import EVERYONE, Guarantee, Ledger, Release, composed_mu, gaussian_epsilon

DELTA = 0.01
PEOPLE = 1797
THREE = frozenset(range(3))
SPEC = RunSpec(calibration="analytic", noise="isometric", truncation="psd", repetitions=1)


def guarantees(spec: RunSpec) -> dict[str, Guarantee]:
    subspaces = draw_subspaces(spec, local_problem(spec.problem_key()), 0)
    return {key: subspace.guarantee for key, subspace in subspaces.items()}


def shown(*specs: RunSpec, draws: int = 1) -> Account:
    account = Account("digits")
    for spec in specs:
        for payment in of_run(spec, guarantees(spec), PEOPLE, draws):
            account.pay(payment)
    return account


def epsilon(account: Account) -> float:
    return account.spent_by_person().epsilon(DELTA)


def test_protocols_that_read_the_same_noise_share_a_payment():
    spec = replace(SPEC, protocols=("dpdis", "full", "local"))
    account = shown(spec)
    assert account.n_releases == 1
    assert epsilon(account) == pytest.approx(1.0, rel=1e-6)
    (row,) = account.rows(DELTA)
    assert row["who_pays"] == "everybody"
    assert row["seen_as"] == "DPdisPCA, Full matrices, One site alone"


def test_noise_of_their_own_is_paid_by_itself():
    account = shown(replace(SPEC, protocols=("dpdis", "pooled", "cape")))
    mus = [payment.release.mu for payment in account.payments.values()]
    assert len(mus) == 3
    expected = gaussian_epsilon(DELTA, 1.0, composed_mu(*mus))
    assert epsilon(account) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "change", [{"components": 5}, {"intermediate_dim": 30}, {"truncation": "svd"}]
)
def test_cutting_the_same_noisy_matrix_differently_is_free(change):
    spec = replace(SPEC, protocols=("dpdis",))
    assert shown(spec, replace(spec, **change)).n_releases == 1


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"epsilon": 2.0},
        {"delta": 0.001},
        {"noise": "triangle"},
        {"calibration": "published"},
        {"sites": 4},
    ],
)
def test_other_noise_is_another_release(change):
    spec = replace(SPEC, protocols=("dpdis",))
    assert shown(spec, replace(spec, **change)).n_releases == 2


def test_more_draws_pay_for_the_difference_and_fewer_for_nothing():
    spec = replace(SPEC, protocols=("dpdis",))
    account = Account("digits")
    (one,), (four,) = (of_run(spec, guarantees(spec), PEOPLE, draws) for draws in (1, 4))
    assert account.pay(one)
    assert account.pay(four)
    assert not account.pay(one)
    assert account.n_releases == 4
    assert account.spent_by_person().mu == pytest.approx(2 * one.release.mu)


def test_a_site_alone_spares_the_people_of_the_others():
    account = shown(replace(SPEC, protocols=("local",)))
    by_site = account.epsilon_by_site(DELTA)
    assert by_site[0] == pytest.approx(1.0, rel=1e-6)
    assert by_site[None] == 0
    assert epsilon(account) == by_site[0]
    assert account.rows(DELTA)[0]["who_pays"] == "people of site 1"


def test_a_site_alone_costs_nothing_more_once_all_have_sent():
    alone, together = (replace(SPEC, protocols=(key,)) for key in ("local", "dpdis"))
    for order in ((alone, together), (together, alone)):
        account = shown(*order)
        assert account.n_releases == 1
        assert epsilon(account) == pytest.approx(1.0, rel=1e-6)
        assert account.epsilon_by_site(DELTA) == {}


def test_what_promises_nothing_or_reads_nothing_is_no_payment():
    assert not shown(replace(SPEC, protocols=("exact", "random"))).payments


mus = st.floats(0.01, 2.0)
entries = st.lists(
    st.tuples(mus, st.integers(1, 4), st.sampled_from([None, 0, 1])), min_size=1, max_size=8
)


@given(entries)
def test_running_totals_are_those_of_the_ledger_of_all_draws(entries):
    account, releases = Account("digits"), []
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
        account.pay(Payment(release, frozenset(range(draws))))
        releases += [replace(release, key=f"{number}-{draw}") for draw in range(draws)]
        total = account.rows(DELTA)[-1]["total_epsilon"]
        expected = Ledger(tuple(releases)).spent_by_person("digits").epsilon(DELTA)
        assert total == pytest.approx(expected, rel=1e-9)


def test_mixed_noise_composes_to_no_more_than_the_quick_bound():
    account = shown(replace(SPEC, protocols=("dpdis",)))
    laplace = Guarantee(None, 0.5, 0.0, "laplace", "the curator")
    account.pay(Payment(Release.of(laplace, key="mean", label="", dataset="digits"), THREE))
    spent = account.spent_by_person()
    assert spent.epsilon(DELTA) <= spent.added_up(DELTA)
    assert spent.added_up(DELTA) == pytest.approx(2.5, rel=1e-6)
