"""Rows in blocks: moments add up, and the noise is drawn once at the end."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from dpcore.errors import ParameterError
from dpcore.pca import AnalyzeGaussPCA


@pytest.mark.parametrize("preparation", ["bounded", "none"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_of_rows_are_one_release(preparation, dtype):
    """The result equals that of all rows together, except for the order of additions."""
    X = np.random.default_rng(0).normal(scale=np.arange(1, 7) / 9, size=(5000, 6)).astype(dtype)
    settings = dict(epsilon=0.5, preparation=preparation, row_norm_bound=2.0, random_state=3)
    whole = AnalyzeGaussPCA(2, **settings).fit(X)
    streamed = AnalyzeGaussPCA(2, **settings)
    for start in range(0, len(X), 700):
        streamed.partial_fit(X[start : start + 700])
        with pytest.raises(NotFittedError):
            streamed.transform(X)
        assert "_running" not in pickle.loads(pickle.dumps(streamed)).__dict__
    streamed.release()
    np.testing.assert_allclose(streamed.components_, whole.components_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(streamed.mean_, whole.mean_, rtol=1e-4, atol=1e-6)
    assert streamed.guarantee_ == whole.guarantee_
    assert streamed.components_.dtype == dtype and "_running" not in vars(streamed)
    with pytest.raises(ParameterError, match="passed to partial_fit"):
        streamed.release()
    # Another stream is another release, of other rows.
    streamed.partial_fit(X[:700]).release()
    assert (streamed.components_ != whole.components_).any()


def test_the_sphere_is_read_twice_and_has_no_partial_fit():
    with pytest.raises(AttributeError, match="reads them twice"):
        AnalyzeGaussPCA(2).partial_fit(np.eye(3))


def test_later_blocks_are_bounded_in_the_first_ones_data_type():
    X = np.random.default_rng(0).normal(size=(40, 3))
    pca = AnalyzeGaussPCA(1, preparation="none", row_norm_bound=0.5)
    pca.partial_fit(X.astype(np.float32)).partial_fit(X)
    assert pca._running.dtype == np.float32
    moment, _ = pca._running.averages()
    assert np.trace(moment) <= 0.25
    with pytest.raises(ValueError, match="features"):
        pca.partial_fit(X[:, :2])
