"""Losses and the batched minimiser, against independent ones."""

import math

import numpy as np
import pytest
from scipy import optimize

from dpcore.classification import NotConverged
from dpcore.classification.minimization import (
    LOGISTIC,
    _data_term,
    gradient_rounding,
    huber_hinge,
    minimize,
)

LOSSES = [LOGISTIC, huber_hinge(0.5), huber_hinge(0.1)]


def certified(X, signs, loss, strength, tilt, gradient_norm):
    """Minimise, and check every certificate in extended precision."""
    result = minimize(
        X,
        signs,
        loss,
        strength=strength,
        tilt=tilt,
        start=np.zeros_like(tilt),
        gradient_norm=gradient_norm,
        norm_bound=np.linalg.norm(X, axis=1).max(),
    )
    for task, (w, pull) in enumerate(zip(result.astype(np.longdouble), tilt, strict=True)):
        sign = signs[:, task % signs.shape[1]]
        _, slope = loss.value_and_slope(sign * (X @ w))
        gradient = (slope * sign) @ X / len(X) + pull + strength[task] * w
        assert np.sqrt(gradient @ gradient) <= gradient_norm
    return result


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_have_the_slopes_and_curvatures_they_claim(loss):
    z = np.linspace(-30, 30, 60_001)
    step = 1e-5
    _value, slope = loss.value_and_slope(z)
    (above, slope_above), (below, slope_below) = (
        loss.value_and_slope(z + s) for s in (step, -step)
    )
    np.testing.assert_allclose((above - below) / (2 * step), slope, atol=1e-4)
    assert slope.min() >= -1 and slope.max() <= 0
    curvature = (slope_above - slope_below) / (2 * step)
    smooth = np.abs(np.abs(1 - z) - 0.5) > 2 * step
    smooth &= np.abs(np.abs(1 - z) - 0.1) > 2 * step
    np.testing.assert_allclose(curvature[smooth], loss.curvature_at(z)[smooth], atol=1e-4)
    assert loss.curvature_at(z).max() == pytest.approx(loss.curvature)


def test_loss_values():
    z = np.array([-800.0, -1.0, 0.0, 0.7, 1.2, 3.0, 800.0])
    np.testing.assert_allclose(LOGISTIC.value_and_slope(z)[0], np.logaddexp(0, -z), atol=1e-15)
    hinge = [801, 2, 1, 0.8**2 / 2, 0.3**2 / 2, 0, 0]
    np.testing.assert_allclose(huber_hinge(0.5).value_and_slope(z)[0], hinge, atol=1e-13)


@pytest.mark.parametrize("loss", LOSSES)
def test_against_scipy(loss):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 4)) / 3
    signs = np.where(X[:, :2] + rng.normal(size=(300, 2)) / 4 > 0, 1.0, -1.0)
    strength = np.array([1e-3, 1e-2, 0.1, 1.0])
    tilt = rng.standard_normal((4, 4)) / 50
    result = certified(X, signs, loss, strength, tilt, 1e-11)
    for task in range(4):

        def objective(w, task=task):
            value, slope = loss.value_and_slope(signs[:, task % 2] * (X @ w))
            gradient = (slope * signs[:, task % 2]) @ X / len(X)
            return (
                value.mean() + tilt[task] @ w + strength[task] / 2 * w @ w,
                gradient + tilt[task] + strength[task] * w,
            )

        best = optimize.minimize(
            objective, np.zeros(4), jac=True, method="L-BFGS-B", options=dict(ftol=0, gtol=1e-10)
        )
        np.testing.assert_allclose(result[task], best.x, atol=1e-6)


def test_a_task_alone_and_in_company():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, 5)) / 3
    signs = np.where(X[:, :1] > 0, 1.0, -1.0)
    strength, tilt = np.geomspace(1e-4, 1, 30), rng.standard_normal((30, 5)) / 100
    together = certified(X, signs, LOGISTIC, strength, tilt, 1e-12)
    for task in (0, 17, 29):
        one = slice(task, task + 1)
        alone = certified(X, signs, LOGISTIC, strength[one], tilt[one], 1e-12)
        assert np.linalg.norm(alone[0] - together[task]) <= 2e-12 / strength[task]


def test_separable_rows_and_next_to_no_regularization():
    # L-BFGS does not converge here; the Newton steps do, and the certificate confirms it.
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30, 40)) * np.geomspace(1, 1e-3, 40) / 4
    signs = np.where(rng.random((30, 1)) > 0.5, 1.0, -1.0)
    strength = np.array([1e-7])
    # Within 1e-5 of the minimiser, whose length is about 500.
    certified(X, signs, LOGISTIC, strength, np.zeros((1, 40)), 1e-12)


def test_what_cannot_be_certified_is_not_returned():
    X = np.random.default_rng(4).standard_normal((20, 3))
    zeros = np.zeros((1, 3))
    with pytest.raises(NotConverged, match="the solver could not certify tol"):
        minimize(
            X,
            np.where(X[:, :1] > 0, 1.0, -1.0),
            LOGISTIC,
            strength=np.array([0.1]),
            tilt=zeros,
            start=zeros,
            gradient_norm=1e-16,
            norm_bound=4.0,
        )


@pytest.mark.parametrize("loss", [LOGISTIC, huber_hinge(0.5), huber_hinge(1e-4)])
@pytest.mark.parametrize("strength", [1e-9, 1e-6, 1e-2])
@pytest.mark.parametrize("kind", ["noise", "ill-conditioned", "alike", "lattice"])
def test_the_solver_arrives_wherever_it_starts(loss, strength, kind):
    """Inputs that one person might cause: almost no regularization, flat parts, kinks."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 8))
    if kind == "ill-conditioned":
        X *= np.geomspace(1, 1e-6, 8)
    elif kind == "alike":
        X = np.outer(rng.standard_normal(60), X[0])
    elif kind == "lattice":
        X = np.round(X)
    X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
    signs = np.where(rng.random((60, 1)) > 0.5, 1.0, -1.0)
    asked = dict(length=math.sqrt(2 / strength), strength=strength, tilt_length=0.0)
    reachable = 2 * gradient_rounding(loss, 1.0, n_samples=60, n_features=8, **asked)
    certified(X, signs, loss, np.array([strength]), np.zeros((1, 8)), reachable)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_tasks", [1, 300])
def test_computed_gradients_are_as_exact_as_is_said(loss, n_tasks):
    rng = np.random.default_rng(6)
    n, d = 50_000, 5
    X = rng.uniform(-1, 1, (n, d)) / math.sqrt(d)
    signs = np.where(rng.random((n, 1)) > 0.5, 1.0, -1.0)
    points = rng.standard_normal((n_tasks, d)) * np.geomspace(1, 1e6, n_tasks)[:, None]
    _, result = _data_term(X, signs, np.zeros(n_tasks, dtype=int), loss, points)
    for task in (0, n_tasks - 1):
        w = points[task].astype(np.longdouble)
        _, slope = loss.value_and_slope(signs[:, 0] * (X @ w))
        exact = (slope * signs[:, 0]) @ X / n
        bound = gradient_rounding(
            loss,
            1.0,
            n_samples=n,
            n_features=d,
            length=float(np.linalg.norm(points[task])),
            strength=0.0,
            tilt_length=0.0,
        )
        assert np.sqrt(np.sum((result[task] - exact) ** 2)) <= bound < 1e-6
