"""Composition against closed forms and against the optimal composition theorem."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpcore.errors import ParameterError
from dpcore.privacy import (
    Accountant,
    Charge,
    Composition,
    Guarantee,
    Release,
    gaussian_epsilon,
)

DELTA = 1e-5


def gaussian(key: str, mu: float, **where) -> Release:
    guarantee = Guarantee(None, gaussian_epsilon(DELTA, 1.0, mu), DELTA, "gaussian", "the site")
    return Release.of(guarantee, key=key, label=key, dataset="digits", **where)


def pure(key: str, epsilon: float, **where) -> Release:
    guarantee = Guarantee(None, epsilon, 0.0, "laplace", "the curator")
    return Release.of(guarantee, key=key, label=key, dataset="digits", **where)


def accountant(*releases: Release) -> Accountant:
    accountant = Accountant("digits")
    accountant.charge(*map(Charge, releases))
    return accountant


def person(*releases: Release) -> Composition:
    return accountant(*releases).composed()


def test_gaussian_releases_compose_exactly():
    spent = person(gaussian("a", 0.3), gaussian("b", 0.4))
    assert spent.mu == pytest.approx(0.5, rel=1e-8)
    assert spent.epsilon(DELTA) == pytest.approx(gaussian_epsilon(DELTA, 1.0, 0.5), rel=1e-8)


def test_the_same_draw_is_paid_once():
    once = accountant(gaussian("a", 0.3))
    before = once.composed()
    assert not once.charge(Charge(gaussian("a", 0.3)))
    assert (once.composed(), once.n_releases) == (before, 1)


def test_nothing_charged_costs_nothing():
    assert accountant().total(0.0) == accountant().total(1e-5, stopping=True) == 0.0


def test_disjoint_sites_do_not_add_up():
    where = {"partition": "S=3"}
    total = accountant(
        gaussian("0", 0.3, sites=[0], **where),
        gaussian("1", 0.4, sites=[1], **where),
        gaussian("2", 0.1, sites=[2], **where),
    )
    assert total.composed().mu == pytest.approx(0.4, rel=1e-8)
    assert total.composed(partition="S=3", site=2).mu == pytest.approx(0.1, rel=1e-8)
    assert total.composed(partition="S=3", site=9).mu == 0


def test_everyone_pays_for_what_every_site_releases():
    total = accountant(
        gaussian("all", 0.3, partition="S=3"),
        gaussian("one", 0.4, partition="S=3", sites=[1]),
        gaussian("pooled", 1.2),
    )
    assert total.composed().mu == pytest.approx(1.3, rel=1e-8)
    assert total.composed(partition="S=3", site=0).mu == pytest.approx(
        math.hypot(0.3, 1.2), rel=1e-8
    )


def test_different_splits_do_add_up():
    """A person may be at the most charged site of both splits."""
    total = accountant(
        gaussian("a", 0.3, partition="S=3", sites=[0]),
        gaussian("b", 0.4, partition="S=5", sites=[4]),
    )
    assert total.composed().mu == pytest.approx(0.5, rel=1e-8)
    assert total.composed(partition="S=3", site=1).mu == pytest.approx(0.4, rel=1e-8)


def test_a_site_of_the_latest_split_is_told_apart():
    total = accountant(
        gaussian("a", 0.3, partition="S=3", sites=[0]),
        gaussian("b", 0.4, partition="S=5", sites=[4]),
    )
    assert total.latest_partition == "S=5"
    assert total.total(DELTA, site=4) == pytest.approx(total.total(DELTA), rel=1e-8)
    assert total.total(DELTA, site=0) == pytest.approx(gaussian_epsilon(DELTA, 1.0, 0.3), rel=1e-8)


def optimal_epsilon(epsilon: float, k: int, delta: float) -> float:
    """Solve theorem 3.3 of Kairouz, Oh & Viswanath (2015) by bisection on its delta."""

    def slack(x: float) -> float:
        heads = stats.binom(k, 1 / (1 + math.exp(-epsilon)))
        return sum(
            heads.pmf(i) * max(0.0, -math.expm1(x - (2 * i - k) * epsilon)) for i in range(k + 1)
        )

    low, high = 0.0, k * epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if slack(middle) > delta else (low, middle)
    return high


@pytest.mark.parametrize(("epsilon", "k"), [(0.1, 2), (0.5, 10), (1.0, 3), (0.01, 100), (2.0, 1)])
def test_pure_releases_compose_optimally(epsilon, k):
    total = person(*(pure(str(i), epsilon) for i in range(k))).epsilon(1e-4)
    best = optimal_epsilon(epsilon, k, 1e-4)
    assert best * (1 - 1e-9) <= total <= best * 1.005


@settings(max_examples=15, deadline=None)
@given(st.floats(0.05, 3), st.lists(st.floats(0.05, 3), min_size=1, max_size=4))
def test_mixed_totals_lie_between_their_parts_and_their_sum(mu, epsilons):
    others = tuple(sorted(((e, 0.0) for e in epsilons), reverse=True))
    total = Composition(mu, others).epsilon(DELTA)
    alone = gaussian_epsilon(DELTA, 1.0, mu)
    assert total >= max(alone, Composition(0.0, others).epsilon(DELTA)) * (1 - 1e-3)
    assert total <= alone + sum(epsilons) + 1e-9


def test_two_gaussians_through_the_accountant_agree_with_the_exact_rule():
    """If one of the two is entered as (epsilon, delta), the total can only be larger."""
    exact = Composition(math.hypot(1.0, 0.5)).epsilon(1e-4)
    disguised = Composition(1.0, ((gaussian_epsilon(1e-5, 1.0, 0.5), 1e-5),)).epsilon(1e-4)
    assert exact < disguised < 2 * exact


def test_what_cannot_be_guaranteed_is_infinite():
    assert person(pure("a", math.inf)).epsilon(0.5) == math.inf
    assert Composition(math.inf).epsilon(0.5) == math.inf
    assert Composition(0.0, ((1.0, 1e-3),)).epsilon(1e-4) == math.inf
    assert Composition(0.0, ((1.0, 1e-3),)).epsilon(1e-3) == pytest.approx(1.0)
    assert Composition(0.0, ((1e-3, 0.0),)).epsilon(0.1) == 0.0
    assert Composition(0.0, ((0.0, 0.01), (0.0, 0.01))).epsilon(0.02) == 0.0
    with pytest.raises(ParameterError, match="delta must be in"):
        Composition(1.0).epsilon(1.0)


def test_one_of_several_bounds_them_all():
    joined = Composition(0.3, ((2.0, 0.0), (1.0, 0.0))).or_else(Composition(0.5, ((1.5, 1e-6),)))
    assert joined == Composition(0.5, ((2.0, 1e-6), (1.0, 0.0)))


def test_every_row_has_the_total_up_to_it():
    """The total of each row is that of an accountant with the earlier Gaussian releases."""
    releases = [
        gaussian("a", 0.3, partition="S=3", sites=[0]),
        gaussian("b", 0.4),
        gaussian("c", 0.5, partition="S=3", sites=[0]),
        gaussian("d", 0.6, partition="S=3", sites=[1]),
        gaussian("e", 0.7, partition="S=5", sites=[2]),
    ]
    rows = accountant(*releases).rows(DELTA)
    assert [row["noise_on"] for row in rows] == ["a", "b", "c", "d", "e"]
    for count, row in enumerate(rows, start=1):
        expected = accountant(*releases[:count]).total(DELTA)
        assert row["total_epsilon"] == pytest.approx(expected, rel=1e-8)
