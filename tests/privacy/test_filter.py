"""A cap fixed beforehand: admitted releases, and its delta for adaptively chosen requests."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import ParameterError
from dpcore.privacy import (
    Accountant,
    BeyondCap,
    BeyondReserve,
    Bound,
    Cap,
    Charge,
    PrivacyBudget,
    Release,
    gaussian_epsilon,
    gaussian_mu,
    gaussian_trade_off,
    pure_mu,
    trade_off,
)

PEOPLE = "digits"
EPSILONS = st.floats(1e-4, 30)


def release(key: str, epsilon: float = 0.0, *, mu: float | None = None, **options) -> Release:
    return Release(key, key, PEOPLE, "gaussian" if mu else "laplace", epsilon, 0.0, mu, **options)


def accountant(*releases: Release) -> Accountant:
    accountant = Accountant(PEOPLE)
    accountant.charge(*map(Charge, releases))
    return accountant


def bound(*releases: Release) -> Bound:
    return accountant(*releases).bound_under_cap()


@given(EPSILONS, st.floats(0, 1))
def test_a_gaussian_of_pure_mu_tells_people_apart_at_least_as_well(epsilon, type_one):
    # Its trade-off curve lies below: smaller errors of the second kind at every level.
    mu = pure_mu(epsilon)
    assert gaussian_trade_off(type_one, mu) <= trade_off(type_one, epsilon) + 1e-12


@given(EPSILONS)
def test_no_smaller_gaussian_does(epsilon):
    corner = 1 / (1 + math.exp(epsilon))
    assert gaussian_trade_off(corner, 0.999 * pure_mu(epsilon)) > trade_off(corner, epsilon)


def test_pure_mu_at_its_ends():
    assert pure_mu(0) == 0
    assert pure_mu(math.inf) == math.inf
    assert pure_mu(800) == pytest.approx(2 * math.sqrt(2 * 800), rel=0.01)
    with pytest.raises(ParameterError, match="epsilon"):
        pure_mu(-1)


@pytest.mark.parametrize(
    ("mus", "pure"),
    [((0.3,), (0.5,)), ((), (0.5,) * 10), ((0.1,) * 20, (0.2, 0.2, 1.0)), ((0.5, 1.0), (2.0,))],
)
@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_a_filter_never_counts_less_than_the_accountant(mus, pure, delta):
    gaussian = [release(f"g{n}", mu=mu) for n, mu in enumerate(mus)]
    charged = accountant(*gaussian, *(release(f"p{n}", e) for n, e in enumerate(pure)))
    counted = gaussian_epsilon(delta, 1.0, charged.bound_under_cap().mu)
    # The accountant rounds losses up by a hundred-thousandth of their range each.
    assert counted >= charged.total(delta) * (1 - 1e-3)


def test_gaussian_releases_fill_the_cap_exactly():
    cap = Cap(2.0, 1e-5)
    part = gaussian_mu(PrivacyBudget(2.0, 1e-5)) / 2
    four = [release(str(n), mu=part) for n in range(4)]
    assert cap.admits(bound(*four))
    assert not cap.admits(bound(*four, release("more", mu=part / 1000)))
    assert cap.share(bound(*four[:2])) == pytest.approx(0.5)
    left = cap.remaining(bound(*four[:3]))
    assert left == pytest.approx(gaussian_epsilon(1e-5, 1.0, part), rel=1e-9)
    assert cap.remaining(bound(*four)) == pytest.approx(0, abs=1e-4)


def test_pure_releases_alone_add_up_to_epsilon_itself():
    cap = Cap(1.0, 1e-5)
    four = [release(str(n), 0.25) for n in range(4)]
    assert bound(*four).mu > cap.mu
    assert cap.admits(bound(*four))
    assert not cap.admits(bound(*four, release("more", 0.01)))
    # With one Gaussian release among them, only the filter's own sum counts.
    assert not cap.admits(bound(*four, release("gaussian", mu=1e-6)))


def test_disjoint_sites_do_not_add_up_under_a_cap():
    cap = Cap(1.0, 1e-5)
    whole = [release(str(site), mu=cap.mu, partition="split", sites=(site,)) for site in range(5)]
    assert cap.admits(bound(*whole))
    assert not cap.admits(bound(*whole, release("again", mu=0.1 * cap.mu)))
    other = release("elsewhere", mu=0.1 * cap.mu, partition="another split", sites=(7,))
    assert not cap.admits(bound(*whole, other))
    laplace = [release(f"p{s}", 1.0, partition="split", sites=(s,)) for s in range(2)]
    assert bound(*laplace).epsilon == 1.0


def test_nothing_charged_is_nothing_bound():
    assert bound() == Bound()


def test_the_distance_of_what_is_drawn_needs_a_reserve():
    near = Release("n", "n", PEOPLE, "gaussian", 0.5, 1e-6, 0.1, distance=1e-9)
    assert bound(near, release("ideal", mu=0.1)).distance == 1e-9
    assert Cap(1.0, 1e-5, reserve=1e-8).admits(bound(near))
    assert not Cap(1.0, 1e-5).admits(bound(near))
    with pytest.raises(BeyondReserve, match="of larger δ"):
        Cap(1.0, 1e-5).require(Bound(), bound(near), bound(near))


def test_approximate_releases_need_a_reserve():
    loose = Release("c", "c", PEOPLE, "composed", 0.1, 1e-6)
    assert bound(loose).delta == 1e-6
    assert not Cap(1.0, 1e-5).admits(bound(loose))
    assert Cap(1.0, 1e-5, reserve=1e-6).admits(bound(loose))
    assert Cap(1.0, 1e-5, reserve=1e-6).mu < Cap(1.0, 1e-5).mu


@pytest.mark.parametrize("mechanism", ["gaussian", "exponential"])
def test_what_has_no_guarantee_is_never_admitted(mechanism):
    mu = math.inf if mechanism == "gaussian" else None
    nothing = Release("x", "x", PEOPLE, mechanism, math.inf, 0.0, mu)
    assert not Cap(50.0, 0.1).admits(bound(nothing))


def test_a_refusal_says_what_was_asked_what_is_left_and_the_cap():
    cap = Cap(2.0, 0.01)
    spent, asked = release("a", mu=cap.mu), release("b", mu=gaussian_mu(PrivacyBudget(1.0, 0.01)))
    with pytest.raises(BeyondCap) as refused:
        cap.require(bound(spent), bound(spent, asked), bound(asked))
    said = "This asks for ε = 1, and ε = 0 is left of the cap of ε = 2 at δ = 0.01."
    assert str(refused.value) == said
    pure = release("p", 0.7)
    with pytest.raises(BeyondCap, match="a pure ε = 0.7, which counts as ε = 1.9"):
        cap.require(bound(spent), bound(spent, pure), bound(pure))
    with pytest.raises(BeyondCap, match="a pure ε = 0.7, .* and ε = 0.6 is left"):
        Cap(1.0, 0.01).require(
            bound(release("q", 0.4)), bound(release("q", 0.4), pure), bound(pure)
        )


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ((0.0, 0.01), "epsilon"),
        ((math.inf, 0.01), "epsilon"),
        ((1.0, 0.0), "delta"),
        ((1.0, 1.0), "delta"),
        ((1.0, 0.01, 0.01), "reserve"),
        ((1.0, 0.01, -0.1), "reserve"),
    ],
)
def test_a_cap_out_of_range_is_refused(arguments, parameter):
    with pytest.raises(ParameterError, match=parameter):
        Cap(*arguments)


# Adaptive strategies: share of the remaining M^2 that the next release uses.
STRATEGIES = {
    "bold when losing": lambda loss, left: left if loss < 0 else left / 8,
    "bold when winning": lambda loss, left: left if loss > 0 else left / 8,
    "stops when ahead": lambda loss, left: np.where(loss > 1.0, 0.0, left / 4),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_cap_keeps_its_delta_whatever_is_asked_next(strategy):
    cap, n_runs, n_steps = Cap(1.0, 0.05), 40_000, 12
    steer = np.vectorize(STRATEGIES[strategy])
    rng = np.random.default_rng(7)
    loss, left = np.zeros(n_runs), np.full(n_runs, cap.mu**2)
    for _ in range(n_steps):
        squares = np.minimum(steer(loss, left), left)
        loss += squares / 2 + np.sqrt(squares) * rng.standard_normal(n_runs)
        left -= squares
    # E[(1 - e^(epsilon - L))+] is the delta that holds; its terms lie in [0, 1], so that
    # Hoeffding's margin is exceeded with probability 1e-6.
    margin = math.sqrt(math.log(1e6) / (2 * n_runs))
    assert np.maximum(0.0, 1 - np.exp(cap.epsilon - loss)).mean() <= cap.delta + margin
