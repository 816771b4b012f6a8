"""All private estimators and statistics use the same names for the same parameters."""

from __future__ import annotations

import importlib
import inspect
import math

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from dpcore.errors import ParameterError
from dpcore.pca import DistributedPCA, ExponentialPCA
from dpcore.privacy import Guarantee, PrivacyBudget
from dpcore.statistics import private_histogram, private_mean, private_variance

ROOMS = [importlib.import_module(f"dpcore.{room}") for room in ("pca", "cca", "classification")]
ESTIMATORS = [
    getattr(room, name)
    for room in ROOMS
    for name in room.__all__
    if isinstance(getattr(room, name), type) and issubclass(getattr(room, name), BaseEstimator)
]
DEFAULTS = {
    "epsilon": 1.0,
    "delta": 1e-5,
    "calibration": "analytic",
    "noise": "isometric",
    "truncation": "psd",
    "row_norm_bound": 1.0,
    "on_long_rows": "clip",
    "random_state": None,
}
EVERYWHERE = {"epsilon", "row_norm_bound", "on_long_rows", "random_state"}
N = 60
ROWS = np.random.default_rng(0).uniform(-0.3, 0.3, size=(N, 5))
LABELS = ROWS[:, 0] > ROWS[:, 1]
SITES = np.arange(N) % 3


def parameters_of(kind: type) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(kind).parameters)


def fitted(kind: type, rows: np.ndarray = ROWS, **changes: object) -> BaseEstimator:
    small = {"n_components": 1} if "n_components" in parameters_of(kind) else {}
    model = kind(**small, **changes)
    return model.fit(rows, LABELS.astype(float) if "CCA" in kind.__name__ else LABELS)


def test_all_of_them_are_looked_at():
    assert len(ESTIMATORS) == 8


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_parameters_have_one_name_and_one_default(kind):
    parameters = parameters_of(kind)
    assert set(parameters) >= EVERYWHERE
    assert list(parameters)[-1] == "random_state"
    for name, parameter in parameters.items():
        by_position = name == "n_components"
        assert (parameter.kind is parameter.POSITIONAL_OR_KEYWORD) == by_position
        assert parameter.annotation is not inspect.Parameter.empty, name
        assert parameter.default == DEFAULTS.get(name, parameter.default), name


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_default_keeps_its_guarantee_and_says_how_much_noise_that_took(kind):
    model = fitted(kind)
    assert isinstance(model.guarantee_, Guarantee)
    assert model.guarantee_.requested == PrivacyBudget(1.0, model.get_params().get("delta", 0.0))
    assert model.guarantee_.keeps_requested and model.guarantee_.is_private
    # A delta is a parameter where the promise has one, and nowhere else.
    assert (model.guarantee_.delta > 0) == ("delta" in model.get_params())
    assert isinstance(model.noise_scale_, np.ndarray)
    assert model.noise_scale_.shape == (1,) and model.noise_scale_ > 0
    assert fitted(kind, epsilon=0.5).noise_scale_ > model.noise_scale_


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_without_noise_the_scale_is_zero(kind):
    if kind is ExponentialPCA:
        with pytest.raises(ParameterError, match="epsilon must be finite"):
            fitted(kind, epsilon=math.inf)
    else:
        assert fitted(kind, epsilon=math.inf).noise_scale_ == [0.0]


@pytest.mark.parametrize("protocol", ["dpdis", "full", "cape"])
def test_sites_that_add_noise_each_have_a_scale(protocol):
    model = DistributedPCA(1, protocol=protocol).fit(ROWS, sites=SITES)
    assert model.noise_scale_.shape == (3,)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_long_rows_are_clipped_or_refused(kind):
    long = ROWS.copy()
    long[7] *= 1e6
    assert fitted(kind, long).guarantee_.keeps_requested
    with pytest.raises(ParameterError, match=r"^X must be .* row_norm_bound=.*, got '1 longer"):
        fitted(kind, long, on_long_rows="refuse")
    with pytest.raises(ParameterError, match="on_long_rows must be one of clip, refuse"):
        fitted(kind, on_long_rows="drop")
    with pytest.raises(ParameterError, match=r"^row_norm_bound must be"):
        fitted(kind, row_norm_bound=-1.0)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_what_is_not_refused_is_what_would_have_been_released(kind):
    """Otherwise one seed would draw two noises for one release."""
    clipped, refused = (
        fitted(kind, on_long_rows=how, random_state=3) for how in ("clip", "refuse")
    )
    for name in ("components_", "x_rotations_", "coef_"):
        if hasattr(clipped, name):
            np.testing.assert_array_equal(getattr(clipped, name), getattr(refused, name))


@pytest.mark.parametrize(
    "kind", [kind for kind in ESTIMATORS if "calibration" in parameters_of(kind)]
)
def test_what_was_published_is_asked_for_by_name(kind):
    published = fitted(kind, epsilon=10.0, calibration="published")
    assert not published.guarantee_.keeps_requested


@pytest.mark.parametrize("release", [private_mean, private_variance, private_histogram])
def test_statistics_use_the_same_words(release):
    parameters = inspect.signature(release).parameters
    first, *others = parameters.values()
    assert first.name == "values"
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in others)
    assert {"epsilon", "delta", "mechanism", "rng"} <= parameters.keys()
    public = {"edges": [-1, 0, 1]} if release is private_histogram else {"bounds": (-1, 1)}
    for values, shape in ((ROWS[:, 0], ()), (ROWS, (5,))):
        result = release(values, epsilon=1.0, rng=np.random.default_rng(0), **public)
        assert result.guarantee.keeps_requested
        assert np.shape(result.noise_scale) == shape and np.all(result.noise_scale > 0)
