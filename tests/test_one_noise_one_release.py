"""No stream serves two releases: one seed gives other noise for every other request."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, clone

from dpcore.cca import PrivateCCA
from dpcore.classification import PrivateLogisticRegression, PrivateSVM, fit_many
from dpcore.pca import AnalyzeGaussPCA, DistributedPCA, ExponentialPCA, ModSulqPCA, SulqPCA
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.spectra import projector_distance

FALSE_ALARM = 1e-9
N_SAMPLES, N_FEATURES = 20_000, 12
ROWS = np.random.default_rng(1).uniform(-1, 1, (N_SAMPLES, N_FEATURES)) / math.sqrt(N_FEATURES)
SITES = np.arange(N_SAMPLES) % 2
LABELS = ROWS[:, 0] > ROWS[:, 1]
# Off the diagonal, where both shapes of noise have entries of one law.
UPPER = np.triu_indices(N_FEATURES, 1)


@dataclass(frozen=True)
class Noisy:
    """Estimator that releases the whole array to which it adds noise.

    `released` reads that off a fitted one; `arguments` go to `fit`; `changes` are settings that
    make another release of the same people.
    """

    estimator: BaseEstimator
    released: Callable[[BaseEstimator], np.ndarray]
    arguments: dict[str, object]
    changes: tuple[dict[str, object], ...]

    def at(self, **settings: object) -> np.ndarray:
        model = clone(self.estimator).set_params(random_state=7, **settings)
        return self.released(model.fit(ROWS, **self.arguments))


def moment_of(model: BaseEstimator) -> np.ndarray:
    """Return the entries above the diagonal of the noisy second moment, from all eigenpairs."""
    return ((model.components_.T * model.eigenvalues_) @ model.components_)[UPPER]


def weights_of(model: BaseEstimator) -> np.ndarray:
    return model.coef_.ravel()


_BUDGET = ({"epsilon": 2.0}, {"delta": 1e-3})
_PCA = (*_BUDGET, {"row_norm_bound": 1.5}, {"preparation": "none"})
_SHAPED = (
    *_PCA,
    {"calibration": "published"},
    {"noise": "triangle"},
    {"preparation": "bounded"},
    {"mean_share": 0.3},
)
_LINEAR = (
    {"epsilon": 2.0},
    {"regularization": 0.2},
    {"row_norm_bound": 1.5},
)
NOISY = {
    protocol: Noisy(
        DistributedPCA(N_FEATURES, protocol=protocol, truncation="svd"),
        moment_of,
        {"sites": SITES},
        _SHAPED,
    )
    for protocol, entry in PROTOCOLS.items()
    if entry.has_sites
} | {
    "analyze-gauss": Noisy(AnalyzeGaussPCA(N_FEATURES, truncation="svd"), moment_of, {}, _SHAPED),
    "sulq": Noisy(SulqPCA(N_FEATURES, truncation="svd"), moment_of, {}, _PCA),
    "modsulq": Noisy(ModSulqPCA(N_FEATURES, truncation="svd"), moment_of, {}, _PCA),
    "cca": Noisy(
        PrivateCCA(1, mean_share=0.0, floor=1e-3),
        lambda model: model.joint_moment_[np.triu_indices(len(model.joint_moment_), 1)],
        {"y": ROWS[:, :6]},
        (*_BUDGET, {"calibration": "published"}, {"noise": "triangle"}),
    ),
    "logistic regression, output": Noisy(
        PrivateLogisticRegression(method="output", regularization=0.1, fit_intercept=False),
        weights_of,
        {"y": LABELS},
        _LINEAR,
    ),
    "SVM, output": Noisy(
        PrivateSVM(method="output", regularization=0.1, fit_intercept=False),
        weights_of,
        {"y": LABELS},
        (*_LINEAR, {"huber_width": 0.4}),
    ),
}
each_noisy = pytest.mark.parametrize("noisy", NOISY.values(), ids=NOISY)


def correlation_bound(n_entries: int, n_pairs: int) -> float:
    """Return a limit that |cos| of independent isotropic vectors exceeds with chance `FALSE_ALARM`
    / all pairs.

    cos sqrt(m - 1) / sqrt(1 - cos^2) has Student's law with m - 1 degrees of freedom.
    """
    t = stats.t.isf(FALSE_ALARM / n_pairs / 2, n_entries - 1)
    return t / math.hypot(t, math.sqrt(n_entries - 1))


def cosine(first: np.ndarray, second: np.ndarray) -> float:
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))


@each_noisy
def test_two_epsilons_under_one_seed_cannot_be_solved(noisy):
    """Scales s and t with unit noise in common give A = (t M_s - s M_t) / (t - s).

    Whatever ratio of scales c in (0, 1) is tried, errors e and f leave |f - c e| / (1 - c), which
    is at least |f| times the sine of the angle between them.
    """
    exact = noisy.at(epsilon=math.inf)
    first, second = noisy.at(epsilon=1.0), noisy.at(epsilon=2.0)
    error = np.linalg.norm(second - exact)
    sine = math.sqrt(1 - correlation_bound(len(exact), 1) ** 2)
    for scale in (error / np.linalg.norm(first - exact), *np.linspace(0.05, 0.95, 19)):
        solved = (second - scale * first) / (1 - scale)
        assert np.linalg.norm(solved - exact) > sine * error


@each_noisy
def test_whatever_else_is_released_has_noise_of_its_own(noisy):
    noises = [
        noisy.at(**settings) - noisy.at(**settings | {"epsilon": math.inf})
        for settings in ({}, *noisy.changes)
    ]
    pairs = list(combinations(noises, 2))
    bound = correlation_bound(len(noises[0]), len(pairs))
    assert max(abs(cosine(*pair)) for pair in pairs) < bound


def test_other_mechanisms_people_and_data_types_have_noise_of_their_own():
    noises = [
        NOISY[key].at() - NOISY[key].at(epsilon=math.inf)
        for key in ("full", "pooled", "cape", "analyze-gauss", "sulq", "modsulq")
    ]
    for rows in (ROWS.astype(np.float32), ROWS[: N_SAMPLES // 2]):
        one, exact = (
            moment_of(AnalyzeGaussPCA(N_FEATURES, epsilon=epsilon, random_state=7).fit(rows))
            for epsilon in (1.0, math.inf)
        )
        noises.append(one - exact)
    pairs = list(combinations(noises, 2))
    bound = correlation_bound(len(noises[0]), len(pairs))
    assert max(abs(cosine(*pair)) for pair in pairs) < bound


def test_ways_of_reading_one_noisy_matrix_share_its_noise():
    """K, R, truncation, and proxies or whole matrices are computed from one release."""
    whole = DistributedPCA(N_FEATURES, protocol="full", denoise="none", random_state=7)
    whole.fit(ROWS, sites=SITES)
    proxies = clone(whole).set_params(protocol="dpdis").fit(ROWS, sites=SITES)
    np.testing.assert_allclose(moment_of(proxies), moment_of(whole), atol=1e-12)
    for settings in ({}, {"truncation": "svd"}, {"intermediate_dim": 5}):
        few = clone(whole).set_params(n_components=3, **settings).fit(ROWS, sites=SITES)
        assert projector_distance(few.components_, whole.components_[:3]) < 1e-8
    # On the sphere a single site has its own centre, and therefore its own matrix and noise.
    alone = clone(whole).set_params(preparation="bounded").fit(ROWS)
    for settings in ({"protocol": "dpdis", "intermediate_dim": 5}, {"protocol": "local"}):
        few = clone(alone).set_params(n_components=3, **settings).fit(ROWS)
        assert projector_distance(few.components_, alone.components_[:3]) < 1e-8
    views = ROWS, ROWS[:, :6]
    pairs = PrivateCCA(2, random_state=7).fit(*views)
    for settings in ({"n_components": 1}, {"floor": 1e-2}):
        again = clone(pairs).set_params(**settings).fit(*views)
        np.testing.assert_array_equal(again.joint_moment_, pairs.joint_moment_)


def test_random_subspaces_of_two_epsilons_do_not_turn_together():
    """There are so few people that each law is uniform up to 1e-6; one stream would draw one
    direction.
    """
    rows = np.random.default_rng(2).uniform(-1e-2, 1e-2, (2, 60))
    directions = [
        ExponentialPCA(1, epsilon=epsilon, random_state=7).fit(rows).components_[0]
        for epsilon in (1.0, 2.0, 3.0)
    ]
    pairs = list(combinations(directions, 2))
    assert max(abs(cosine(*pair)) for pair in pairs) < correlation_bound(60, len(pairs))


def tilt_of(
    model: BaseEstimator, rows: np.ndarray, labels: np.ndarray, weights: np.ndarray, extra: float
) -> np.ndarray:
    """Return the noise vector of an objective, from its gradient at the minimum."""
    signs = np.where(labels, 1.0, -1.0)
    slopes = model.loss().value_and_slope(signs * (rows @ weights))[1]
    return -(rows.T @ (signs * slopes)) - len(rows) * (model.regularization + extra) * weights


@pytest.mark.parametrize("estimator", [PrivateLogisticRegression, PrivateSVM])
def test_objectives_of_two_epsilons_are_tilted_apart(estimator):
    model = estimator(regularization=0.1, fit_intercept=False, random_state=7)
    tilts = []
    for epsilon in (0.5, 1.0, 2.0):
        fitted = clone(model).set_params(epsilon=epsilon).fit(ROWS, LABELS)
        extra = fitted.perturbation_.extra_regularization
        tilts.append(tilt_of(model, ROWS, LABELS, fitted.coef_[0], extra))
    pairs = list(combinations(tilts, 2))
    assert max(abs(cosine(*pair)) for pair in pairs) < correlation_bound(N_FEATURES, len(pairs))


@pytest.mark.parametrize("method", ["output", "objective"])
def test_many_fits_at_once_are_as_many_releases(method):
    rows = np.random.default_rng(3).uniform(-0.1, 0.1, (2000, 80))
    labels = rows[:, 0] > 0
    model = PrivateLogisticRegression(method=method, regularization=0.1, fit_intercept=False)
    exact = clone(model).set_params(epsilon=math.inf).fit(rows, labels).coef_[0]
    fits = fit_many(
        model, rows, labels, epsilons=[1.0, 2.0, 4.0], rngs=np.random.default_rng().spawn(3)
    )
    noises = [
        weights - exact
        if method == "output"
        else tilt_of(model, rows, labels, weights, perturbation.extra_regularization)
        for perturbation, draws in zip(fits.perturbations, fits.weights[:, :, 0], strict=True)
        for weights in draws
    ]
    pairs = list(combinations(noises, 2))
    assert max(abs(cosine(*pair)) for pair in pairs) < correlation_bound(80, len(pairs))
