"""The noise follows its law, and the released minimiser keeps the promised odds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit

from dpcore.classification import PrivateLogisticRegression, PrivateSVM, calibrate, fit_many
from dpcore.classification.perturbation import minimiser_sensitivity, unit_noise

FALSE_ALARM = 1e-9


def ks_bound(n):
    """Dvoretzky-Kiefer-Wolfowitz-Massart: P(D > t) <= 2 exp(-2 n t^2), at every n."""
    return math.sqrt(math.log(2 / FALSE_ALARM) / (2 * n))


@pytest.mark.parametrize("n_features", [1, 3, 51])
def test_noise_law(n_features):
    n = 20_000
    draws = unit_noise(n, n_features, np.random.default_rng(5))
    norms = np.linalg.norm(draws, axis=1)
    law = stats.gamma(n_features)
    assert stats.kstest(norms, law.cdf).statistic <= ks_bound(n)
    # A coordinate u of a uniform direction has (u + 1) / 2 ~ Beta((D - 1) / 2, (D - 1) / 2).
    cosines = draws[:, 0] / norms
    if n_features > 1:
        half = (n_features - 1) / 2
        statistic = stats.kstest((cosines + 1) / 2, stats.beta(half, half).cdf).statistic
        assert statistic <= ks_bound(n)
    # E b_j = 0 and E |b|^2 = D (D + 1); normal limits with the exact standard errors, and 6.5
    # where the 1e-9 quantile is 6.11 (n is 20000; D + 1 statistics share the alarm).
    square = n_features * (n_features + 1)
    fourth = square * (n_features + 2) * (n_features + 3)
    assert np.all(np.abs(draws.mean(axis=0)) <= 6.5 * math.sqrt(square / n_features / n))
    assert abs((norms**2).mean() - square) <= 6.5 * math.sqrt((fourth - square**2) / n)


def asked(**changed):
    return dict(n_samples=1000, regularization=0.01, curvature=0.25, norm_bound=1.0) | changed


def test_calibration_by_hand():
    output = calibrate("output", 0.5, **asked())
    assert (output.beta, output.extra_regularization) == (1000 * 0.01 * 0.5 / 2, 0)
    assert calibrate("output", 0.5, **asked(norm_bound=2)).beta == pytest.approx(output.beta / 2)
    objective = calibrate("objective", 0.5, **asked())
    spent = math.log(1 + 2 * 0.25 / 10 + 0.25**2 / 10**2)
    assert objective.beta == pytest.approx((0.5 - spent) / 2)
    assert objective.extra_regularization == 0
    tight = calibrate("objective", 0.01, **asked())
    extra = 0.25 / (1000 * (math.exp(0.01 / 4) - 1)) - 0.01
    assert tight.extra_regularization == pytest.approx(extra)
    assert tight.beta == pytest.approx(0.01 / 2 / 2)
    for method in ("output", "objective"):
        off = calibrate(method, math.inf, **asked())
        assert (off.beta, off.extra_regularization) == (math.inf, 0)
    assert calibrate("objective", 1e4, **asked()).extra_regularization == 0


@given(
    epsilon=st.floats(1e-4, 20),
    n_samples=st.integers(1, 10**6),
    regularization=st.floats(1e-9, 10),
    curvature=st.floats(0.1, 50),
    norm_bound=st.floats(0.01, 100),
)
def test_objective_spends_exactly_epsilon(
    epsilon, n_samples, regularization, curvature, norm_bound
):
    noise = calibrate(
        "objective",
        epsilon,
        n_samples=n_samples,
        regularization=regularization,
        curvature=curvature,
        norm_bound=norm_bound,
    )
    strength = n_samples * (regularization + noise.extra_regularization)
    jacobian = 2 * math.log1p(curvature * norm_bound**2 / strength)
    gradients = 2 * norm_bound * noise.beta
    assert noise.extra_regularization >= 0
    assert jacobian + gradients == pytest.approx(epsilon, rel=1e-9)
    assert gradients >= epsilon / 2 * (1 - 1e-9)


def one_dimensional_law(model, x, y, epsilon):
    """(w -> log density, w -> cdf) of objective perturbation's weight, for rows of one number.

    Written out from the definition: the weight w that is released solves b = -B(w), B increasing,
    with b of density beta / 2 exp(-beta |b|).
    """
    n = len(x)
    huber = isinstance(model, PrivateSVM)
    width = model.huber_width if huber else None
    noise = calibrate(
        "objective",
        epsilon,
        n_samples=n,
        regularization=model.regularization,
        curvature=1 / (2 * width) if huber else 0.25,
        norm_bound=model.row_norm_bound,
    )

    def slope(z):
        return -np.clip((1 + width - z) / (2 * width), 0, 1) if huber else -expit(-z)

    def curvature(z):
        inside = np.abs(1 - z) < width if huber else None
        return inside / (2 * width) if huber else expit(z) * expit(-z)

    def pull(w):
        margins = y * x * w[:, None]
        strength = model.regularization + noise.extra_regularization
        return (y * x * slope(margins)).sum(axis=1) + n * strength * w

    def log_density(w):
        margins = y * x * w[:, None]
        strength = model.regularization + noise.extra_regularization
        jacobian = (x**2 * curvature(margins)).sum(axis=1) + n * strength
        return np.log(noise.beta / 2) - noise.beta * np.abs(pull(w)) + np.log(jacobian)

    def cdf(w):
        return stats.laplace(scale=1 / noise.beta).cdf(pull(np.atleast_1d(w)))

    return log_density, cdf


ONE_DIMENSIONAL = [
    PrivateLogisticRegression(regularization=0.02, row_norm_bound=1.5, fit_intercept=False),
    PrivateSVM(regularization=0.02, row_norm_bound=1.5, fit_intercept=False, huber_width=0.3),
]


@pytest.mark.parametrize("model", ONE_DIMENSIONAL, ids=["logistic", "svm"])
@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 30),
    epsilon=st.floats(0.05, 4),
    extreme=st.booleans(),
)
def test_objective_perturbation_keeps_the_odds(model, seed, n, epsilon, extreme):
    rng = np.random.default_rng(seed)
    rows = rng.choice([-1.5, 1.5], n + 1) if extreme else rng.uniform(-1.5, 1.5, n + 1)
    labels = rng.choice([-1.0, 1.0], n + 1)
    first, _ = one_dimensional_law(model, rows[:n], labels[:n], epsilon)
    second, _ = one_dimensional_law(model, rows[1:], labels[1:], epsilon)
    grid = np.concatenate([np.linspace(-5, 5, 1001), np.geomspace(1e-3, 1e4, 200)])
    grid = np.concatenate([grid, -grid])
    assert np.max(np.abs(first(grid) - second(grid))) <= epsilon * (1 + 1e-9)


def test_objective_odds_are_nearly_attained():
    # One person says the opposite where the hinge is straight for both: no curvature differs, and
    # the noise has to hide a move of 2 B.
    model = PrivateSVM(regularization=10.0, row_norm_bound=1.0, fit_intercept=False)
    first, _ = one_dimensional_law(model, np.array([1.0] * 10), np.ones(10), 1.0)
    second, _ = one_dimensional_law(model, np.array([-1.0] + [1.0] * 9), np.ones(10), 1.0)
    inside = np.array([0.3])
    assert np.abs(first(inside) - second(inside)) >= 0.97


@pytest.mark.parametrize("model", ONE_DIMENSIONAL, ids=["logistic", "svm"])
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_objective_fits_follow_their_law(model, epsilon):
    rng = np.random.default_rng(8)
    x = rng.uniform(-1.5, 1.5, 40)
    y = np.where(x + rng.normal(size=40) > 0, 1, -1)
    draws = 2000
    fits = fit_many(model, x[:, None], y, epsilons=[epsilon], rngs=[rng] * draws)
    _, cdf = one_dimensional_law(model, x, y, epsilon)
    assert stats.kstest(fits.weights.ravel(), cdf).statistic <= ks_bound(draws)


@pytest.mark.parametrize("model", [PrivateLogisticRegression(), PrivateSVM()])
def test_output_fits_follow_their_law(model):
    rng = np.random.default_rng(9)
    X = rng.uniform(-0.5, 0.5, size=(60, 3))
    y = X[:, 0] > 0
    model.set_params(method="output", regularization=0.05)
    draws = 2000
    fits = fit_many(model, X, y, epsilons=[0.8, math.inf], rngs=[rng] * draws)
    moved = np.linalg.norm(fits.weights[0, :, 0] - fits.weights[1, :, 0], axis=1)
    # The intercept is a fourth feature and makes the rows sqrt(2) longer.
    beta = 60 * 0.05 * 0.8 / (2 * math.sqrt(2))
    assert stats.kstest(moved, stats.gamma(4, scale=1 / beta).cdf).statistic <= ks_bound(draws)
    assert np.ptp(fits.weights[1], axis=0).max() == 0


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 20),
    regularization=st.sampled_from([0.01, 0.1, 1.0]),
    intercept=st.booleans(),
    huber=st.booleans(),
)
def test_minimisers_of_neighbours_stay_within_the_sensitivity(
    seed, n, regularization, intercept, huber
):
    rng = np.random.default_rng(seed)
    # Rows of any length: the bound has to be kept by the estimator, not by the caller.
    X = rng.standard_normal((n, 2)) * rng.choice([0.1, 1, 10], size=(n, 1))
    y = rng.permutation(np.arange(n) % 2)
    model = (PrivateSVM if huber else PrivateLogisticRegression)(
        epsilon=math.inf, regularization=regularization, fit_intercept=intercept, tol=1e-9
    )
    other_X, other_y = X.copy(), y.copy()
    other_X[0] = rng.standard_normal(2) * 10
    other_y[0] = 1 - y[0] if n > 3 else y[0]
    first, second = (
        fit_many(model, *data, epsilons=[math.inf], rngs=[rng])
        for data in ((X, y), (other_X, other_y))
    )
    moved = np.linalg.norm(first.weights - second.weights)
    bound = first.features.norm_bound
    scale = max(1.0, np.linalg.norm(first.weights), np.linalg.norm(second.weights))
    assert moved <= minimiser_sensitivity(n, regularization, bound) + 2e-9 * scale


def test_sensitivity_of_the_minimiser_is_attained():
    # Everybody else is at the origin and pulls at nothing; the hinge is straight below 1 - h.
    X = np.zeros((10, 2))
    X[0] = [1.0, 0.0]
    y = np.arange(10) % 2
    model = PrivateSVM(epsilon=math.inf, regularization=0.5, fit_intercept=False, tol=1e-12)
    first = model.fit(X, y).coef_.copy()
    X[0] = [-1.0, 0.0]
    second = model.fit(X, y).coef_
    assert np.linalg.norm(first - second) == pytest.approx(minimiser_sensitivity(10, 0.5, 1.0))
