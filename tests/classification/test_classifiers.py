"""The estimators: agreement without noise, promises, bounds, randomness, refusals."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpcore.classification import PrivateLogisticRegression, PrivateSVM, fit_many
from dpcore.classification.perturbation import unit_noise
from dpcore.classification.training import BoundedFeatures
from dpcore.data import load_dataset, prepare
from dpcore.errors import ParameterError
from dpcore.spectra import leading_eigenpairs, second_moment
from dpcore.streams import Purpose, stream

BOTH = [PrivateLogisticRegression, PrivateSVM]


@parametrize_with_checks(
    [
        PrivateLogisticRegression(),
        PrivateLogisticRegression(epsilon=math.inf),
        PrivateLogisticRegression(method="output"),
        PrivateSVM(),
        PrivateSVM(epsilon=math.inf),
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)


def unit_rows(load):
    X, y = load(return_X_y=True)
    return X / np.linalg.norm(X, axis=1).max(), y


@pytest.mark.parametrize("regularization", [1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_agrees_with_scikit_learn_without_noise(regularization, fit_intercept):
    X, y = unit_rows(load_breast_cancer)
    ours = PrivateLogisticRegression(
        epsilon=math.inf, regularization=regularization, fit_intercept=fit_intercept, tol=1e-7
    ).fit(X, y)
    # Their own intercept is not regularised; as a constant feature it is.
    rows = np.hstack([X, np.ones((len(X), 1))]) if fit_intercept else X
    theirs = LogisticRegression(
        C=1 / (len(X) * regularization), fit_intercept=False, tol=1e-10, max_iter=10_000
    ).fit(rows, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_[:, : X.shape[1]], atol=1e-4)
    if fit_intercept:
        np.testing.assert_allclose(ours.intercept_, theirs.coef_[:, -1], atol=1e-4)


def test_agrees_with_scikit_learn_one_against_the_rest():
    X, y = unit_rows(load_digits)
    ours = PrivateLogisticRegression(
        epsilon=math.inf, regularization=1e-4, fit_intercept=False, tol=1e-7
    ).fit(X, y)
    for digit in (0, 3, 8):
        theirs = LogisticRegression(
            C=1 / (len(X) * 1e-4), fit_intercept=False, tol=1e-10, max_iter=10_000
        ).fit(X, y == digit)
        np.testing.assert_allclose(ours.coef_[digit], theirs.coef_[0], atol=1e-4)
    assert ours.coef_.shape == (10, 64)


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize("method", ["output", "objective"])
def test_units_do_not_matter(estimator, method):
    rng = np.random.default_rng(1)
    X = rng.uniform(-0.6, 0.6, size=(400, 2))
    y = X[:, 0] > 0.1
    settings = dict(epsilon=2.0, method=method)
    # An integer would draw other noise in other units: they are another release.
    first, second = (
        model.fit_with_noise(rows, y, rng=np.random.default_rng(7))
        for model, rows in (
            (estimator(**settings, regularization=0.01), X),
            (estimator(**settings, regularization=1.0, row_norm_bound=10), 10 * X),
        )
    )
    np.testing.assert_allclose(first.coef_, 10 * second.coef_, rtol=1e-4)
    np.testing.assert_allclose(first.intercept_, second.intercept_, rtol=1e-4)


@pytest.mark.parametrize("estimator", BOTH)
def test_long_rows_are_shortened(estimator):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((500, 3))
    y = X[:, 0] > 0
    norms = np.linalg.norm(X, axis=1)
    truncate_text = X / np.maximum(1, norms)[:, None]
    first, second = (estimator(random_state=3).fit(rows, y) for rows in (X, truncate_text))
    np.testing.assert_allclose(first.coef_, second.coef_, rtol=1e-5)
    np.testing.assert_allclose(first.decision_function(X), second.decision_function(truncate_text))
    np.testing.assert_allclose(
        second.decision_function(truncate_text),
        (truncate_text @ second.coef_.T + second.intercept_)[:, 0],
    )


@pytest.mark.parametrize("estimator", BOTH)
def test_on_the_sphere_the_length_of_a_row_does_not_count(estimator):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((500, 3))
    X[7] = 0
    y = X[:, 0] > 0
    lengths = 10.0 ** rng.integers(-3, 200, size=(500, 1))
    sphere = estimator(preparation="sphere", random_state=3)
    first, second = (sphere.fit(rows, y).coef_ for rows in (X, lengths * X))
    np.testing.assert_allclose(first, second, rtol=1e-5)
    assert sphere.guarantee_ == estimator(random_state=3).fit(X, y).guarantee_
    assert sphere.score(lengths * X, y) > 0.9


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("on_sphere", [False, True])
def test_features_keep_their_bound(fit_intercept, on_sphere):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((300, 5)) * 10.0 ** rng.integers(-3, 6, size=(300, 1))
    mapped = BoundedFeatures(2.5, fit_intercept, on_sphere)
    norms = np.linalg.norm(mapped.transform(X), axis=1)
    assert norms.max() <= mapped.norm_bound
    assert norms.max() == pytest.approx(mapped.norm_bound)


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize("method", ["output", "objective"])
def test_guarantee(estimator, method):
    X, y = unit_rows(load_digits)
    ten = estimator(epsilon=2.0, method=method).fit(X, y)
    assert (ten.guarantee_.epsilon, ten.guarantee_.delta) == (2.0, 0.0)
    assert ten.guarantee_.keeps_requested
    assert ten.perturbation_.epsilon == pytest.approx(0.2)
    assert "10 one-against-the-rest" in ten.guarantee_.noise_added_by
    two = estimator(epsilon=2.0, method=method).fit(X, y == 0)
    assert two.perturbation_.epsilon == 2.0
    assert two.coef_.shape == (1, 64) and two.intercept_.shape == (1,)
    off = estimator(epsilon=math.inf, method=method).fit(X, y == 0)
    assert not off.guarantee_.is_private
    if method == "output":
        sensitivity = 2 * math.sqrt(2) * (1 + two.tol) / (len(X) * two.regularization)
        assert two.guarantee_.l2_sensitivity == pytest.approx(sensitivity)


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize("method", ["output", "objective"])
def test_a_cell_alone_and_in_a_sweep(estimator, method):
    X, y = unit_rows(load_digits)
    model = estimator(method=method, tol=1e-7)
    rngs = [stream(3, Purpose.TRAINING, part) for part in (0, 1, 2)]
    fits = fit_many(model, X, y, epsilons=[0.5, 5.0], rngs=rngs)
    assert fits.weights.shape == (2, 3, 10, 65)
    drawn_on = stream(3, Purpose.TRAINING, 1)
    for _ in range(1 if method == "output" else 2):
        unit_noise(10, 65, drawn_on)  # what the fit at 0.5 took
    alone = model.set_params(epsilon=5.0).fit_with_noise(X, y, rng=drawn_on)
    np.testing.assert_allclose(fits.weights[1, 1, :, :-1], alone.coef_, rtol=1e-5, atol=1e-6)
    assert fits.score(X, y)[1, 1] == pytest.approx(alone.score(X, y), abs=2 / len(X))
    assert fits.guarantees[1] == alone.guarantee_


def test_random_states():
    X, y = unit_rows(load_breast_cancer)

    def coefficients(random_state):
        return PrivateSVM(random_state=random_state).fit(X, y).coef_

    np.testing.assert_array_equal(coefficients(1), coefficients(1))
    for make in (np.random.default_rng, np.random.RandomState):
        np.testing.assert_array_equal(coefficients(make(1)), coefficients(make(1)))
        shared = make(1)
        assert np.any(coefficients(shared) != coefficients(shared))
    assert np.any(coefficients(None) != coefficients(None))


def test_in_a_pipeline():
    X, y = load_digits(return_X_y=True)
    # A pixel's largest value is public. A scaler that looks for it would have to be paid for.
    pipeline = make_pipeline(
        FunctionTransformer(lambda pixels: pixels / 16.0),
        PrivateLogisticRegression(epsilon=math.inf, row_norm_bound=8.0),
    )
    assert pipeline.fit(X, y).score(X, y) > 0.95
    chances = pipeline.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    np.testing.assert_array_equal(pipeline.classes_[chances.argmax(axis=1)], pipeline.predict(X))


@pytest.mark.parametrize(
    ("changed", "parameter"),
    [
        (dict(epsilon=0), "epsilon"),
        (dict(epsilon="1"), "epsilon"),
        (dict(method="gradient"), "method"),
        (dict(regularization=0), "regularization"),
        (dict(row_norm_bound=-1), "row_norm_bound"),
        (dict(preparation="published"), "preparation"),
        (dict(row_norm_bound=math.inf), "row_norm_bound"),
        (dict(tol=0), "tol"),
        (dict(random_state=-1), "random_state"),
        (dict(huber_width=0), "huber_width"),
    ],
)
def test_refusals(changed, parameter):
    with pytest.raises(ParameterError) as caught:
        PrivateSVM(**changed).fit([[0.0], [1.0]], [0, 1])
    assert caught.value.parameter == parameter


def test_one_class_is_refused():
    with pytest.raises(ParameterError, match="^y must be labels of two classes or more"):
        PrivateSVM().fit([[0.0], [1.0]], [1, 1])


def test_zero_against_the_rest_of_mnist(datasets_home):
    dataset = load_dataset("mnist", datasets_home, download=False)
    prepared = prepare(dataset, mode="published")
    X, y = prepared.X.astype(float), prepared.labels == 0
    _, components = leading_eigenpairs(second_moment(X), 20)
    rows, held_out = X @ components.T, slice(50_000, None)
    fits = fit_many(
        PrivateLogisticRegression(),
        rows[:50_000],
        y[:50_000],
        epsilons=[1.0],
        rngs=[np.random.default_rng(draw) for draw in range(5)],
    )
    # Always "not zero" is right on 0.90; draws spread by about 0.002 around 0.98.
    assert fits.score(rows[held_out], y[held_out]).min() > 0.95
