"""No row exceeds its bound in exact arithmetic, and none makes the arithmetic fail."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcore.cca import PrivateCCA, bound_views
from dpcore.classification import PrivateLogisticRegression, PrivateSVM
from dpcore.classification.training import BoundedFeatures
from dpcore.data import Dataset, prepare
from dpcore.data.row_bounds import shorten
from dpcore.errors import ParameterError
from dpcore.pca import AnalyzeGaussPCA, DistributedPCA, ModSulqPCA, SulqPCA
from dpcore.pca.estimators import bounded_rows
from dpcore.spectra import second_moment

DTYPES = [np.float32, np.float64]


def exact_square(row) -> Fraction:
    return sum(Fraction(float(entry)) ** 2 for entry in row)


def magnitudes(dtype):
    """Draw numbers of every size of the data type, including its largest and its subnormal ones."""
    limits = np.finfo(dtype)
    width = 8 * np.dtype(dtype).itemsize
    largest = float(limits.max)
    return st.one_of(
        st.floats(width=width, allow_nan=False, allow_infinity=False),
        st.sampled_from([0.0, largest, -largest, float(limits.smallest_subnormal), 1.0, -3.5]),
    )


def rows_of(dtype):
    shape = st.tuples(st.integers(2, 5), st.integers(1, 5))
    return hnp.arrays(dtype, shape, elements=magnitudes(dtype))


def data_set(X, bound=5.0):
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    return Dataset(
        name="made",
        title="Made",
        X=X,
        feature_names=names,
        default_components=1,
        provenance="Made.",
        public_norm_bound=bound,
    )


bounds = st.one_of(st.floats(1e-15, 1e15), st.sampled_from([1e-15, 1.0, 1e15]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_shortened_rows_are_within_the_bound_and_keep_their_direction(dtype):
    @given(rows_of(dtype), bounds)
    def check(X, bound):
        rows, n_long = shorten(X, bound)
        assert rows.dtype == dtype and 0 <= n_long <= len(X)
        tight = 1 - 40 * float(np.finfo(dtype).eps)
        for row, given_row in zip(rows, X, strict=True):
            assert exact_square(row) <= Fraction(bound) ** 2
            if exact_square(given_row) >= Fraction(bound) ** 2:
                assert exact_square(row) >= Fraction(tight * bound) ** 2
                largest = np.abs(given_row).argmax()
                before, after = (r.astype(np.float64) / r[largest] for r in (given_row, row))
                np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-25)
            elif exact_square(given_row) <= Fraction(tight * bound) ** 2:
                assert np.array_equal(row, given_row)

    check()


@pytest.mark.parametrize("dtype", DTYPES)
def test_prepared_rows_are_within_one(dtype):
    @given(rows_of(dtype), bounds)
    def check(X, bound):
        prepared = prepare(data_set(X), mode="bounded", norm_bound=bound)
        assert prepared.X.dtype == dtype
        assert all(exact_square(row) <= 1 for row in prepared.X)

    check()


@pytest.mark.parametrize("dtype", DTYPES)
def test_joined_views_are_within_one(dtype):
    @given(rows_of(dtype), bounds, bounds, st.floats(0.01, 0.99), st.floats(-1e15, 1e15))
    def check(X, x_bound, y_bound, share, centre):
        views = bound_views(
            X,
            X[::-1, :1],
            x_share=share,
            x_norm_bound=x_bound,
            y_norm_bound=y_bound,
            x_centre=centre,
        )
        assert views.joined.dtype == dtype
        assert all(exact_square(row) <= 1 for row in views.joined)

    check()


@given(rows_of(np.float64), bounds, st.booleans())
def test_features_are_within_their_bound(X, bound, intercept):
    mapped = BoundedFeatures(bound, intercept)
    for row in mapped.transform(X):
        assert exact_square(row) <= Fraction(mapped.norm_bound) ** 2


def test_wide_rows_of_the_largest_number():
    """A norm has hundreds of roundings, and a square overflows."""
    rng = np.random.default_rng(1)
    for dtype in DTYPES:
        X = np.full((4, 800), np.finfo(dtype).max)
        X[1:] = rng.standard_normal((3, 800))
        X[2] /= np.linalg.norm(X[2])
        rows, _ = shorten(X, 1.0)
        for row in rows:
            assert math.sqrt(exact_square(row)) >= 1 - 1e-5 and exact_square(row) <= 1


EXTREME = [
    (np.float32, 3e38),
    (np.float32, 1e-44),
    (np.float64, 3e38),
    (np.float64, 1.7e308),
    (np.float64, 1e-320),
]
ESTIMATORS = {
    "pca": lambda X, Y, y: AnalyzeGaussPCA(1, row_norm_bound=1e-3).fit(X),
    "sulq": lambda X, Y, y: SulqPCA(1).fit(X),
    "modsulq": lambda X, Y, y: ModSulqPCA(1).fit(X),
    "distributed": lambda X, Y, y: DistributedPCA(1, intermediate_dim=2).fit(X, sites=y),
    "cca": lambda X, Y, y: PrivateCCA(1, row_norm_bound=(1e-3, 1e3)).fit(X, Y),
    "logistic": lambda X, Y, y: PrivateLogisticRegression(regularization=0.1).fit(X, y),
    "output": lambda X, Y, y: PrivateSVM(method="output", regularization=0.1).fit(X, y),
}


@pytest.mark.parametrize(("dtype", "entry"), EXTREME)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_one_person_cannot_abort_a_release(estimator, dtype, entry):
    rng = np.random.default_rng(2)
    X, Y = (rng.uniform(-0.5, 0.5, (60, width)).astype(dtype) for width in (4, 3))
    X[0] = dtype(entry) * np.array([1, -1, 1, 0.5], dtype=dtype)
    fitted = ESTIMATORS[estimator](X, Y, np.arange(60) % 2)
    released = getattr(fitted, "coef_", getattr(fitted, "components_", None))
    released = fitted.joint_moment_ if released is None else released
    assert np.isfinite(released).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bound", [1e-3, 1.0, 1e3])
def test_sensitivity_is_attained_and_never_exceeded(dtype, bound):
    """The value sqrt(2) c^2 / n is attained by orthogonal rows at any distance beyond the bound."""
    moments = []
    for axis in (0, 1):
        X = np.zeros((5, 3), dtype=dtype)
        X[0, axis] = np.finfo(dtype).max
        rows, n_long = bounded_rows(X, bound, on_long_rows="clip")
        assert n_long == 1
        moments.append(second_moment(rows).astype(float))
    moved = np.linalg.norm(moments[0] - moments[1])
    most = math.sqrt(2) * bound**2 / 5
    assert moved <= most * (1 + 1e-15) if dtype == np.float64 else moved <= most
    assert moved >= most * (1 - 1e-5)


@pytest.mark.parametrize("bound", [1e-16, 1e16, 0.0, -1.0, math.inf, math.nan])
def test_bounds_beyond_what_arithmetic_keeps_are_refused(bound):
    X = np.eye(3)
    for attempt in (
        lambda: prepare(data_set(X), mode="bounded", norm_bound=bound),
        lambda: bounded_rows(X, bound, on_long_rows="clip"),
        lambda: bound_views(X, X, x_norm_bound=bound),
        lambda: PrivateSVM(row_norm_bound=bound).fit(X, [0, 1, 1]),
    ):
        with pytest.raises(ParameterError, match="norm_bound must be"):
            attempt()
