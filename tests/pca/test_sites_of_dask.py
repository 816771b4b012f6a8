"""Sites of `DistributedPCA` from a Dask table or from a column of a data frame."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.pca import DistributedPCA

LENGTHS = (40, 25, 35)
ROWS = np.random.default_rng().normal(size=(100, 4)) / 10
LABELS = np.repeat(np.arange(3), LENGTHS)


def fitted(X, sites):
    return DistributedPCA(2, epsilon=1.0, random_state=0).fit(X, sites=sites)


def test_each_part_of_a_dask_array_is_a_site():
    array = pytest.importorskip("dask.array").from_array(ROWS, chunks=(LENGTHS, 2))
    from_dask, from_memory = fitted(array, "parts"), fitted(ROWS, LABELS)
    np.testing.assert_allclose(from_dask.components_, from_memory.components_, atol=1e-9)
    assert from_dask.sites_.tolist() == [0, 1, 2]


def test_each_part_of_a_dask_frame_is_a_site():
    frame = pytest.importorskip("pandas").DataFrame(ROWS, columns=list("abcd"))
    parts = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=4)
    lengths = [len(part) for part in parts.partitions]
    from_memory = fitted(ROWS, np.repeat(np.arange(len(lengths)), lengths))
    np.testing.assert_allclose(
        fitted(parts, "parts").components_, from_memory.components_, atol=1e-9
    )


@pytest.mark.parametrize("is_dask", [False, True])
def test_a_column_of_a_frame_names_the_sites(is_dask):
    frame = pytest.importorskip("pandas").DataFrame(ROWS, columns=list("abcd"))
    frame["hospital"] = np.array(["x", "y", "z"])[LABELS]
    if is_dask:
        frame = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=4)
    from_dask, from_memory = fitted(frame, "hospital"), fitted(ROWS, LABELS)
    np.testing.assert_allclose(from_dask.components_, from_memory.components_, atol=1e-9)
    assert from_dask.sites_.tolist() == ["x", "y", "z"]
    assert from_dask.n_features_in_ == 4


def test_other_names_are_a_sentence():
    with pytest.raises(ParameterError, match="sites must be labels, a column of X, or 'parts'"):
        fitted(ROWS, "parts")
