"""Attributes of a fitted estimator are noisy, or do not depend on the rows.

A recipient gets the whole object, so an exact count, a number of iterations or a loss in it is a
release that no ledger charges.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dpcore.cca import PrivateCCA
from dpcore.classification import PrivateLogisticRegression, PrivateSVM
from dpcore.pca import AnalyzeGaussPCA, DistributedPCA, ExponentialPCA, ModSulqPCA, SulqPCA
from dpcore.statistics import private_histogram, private_mean, private_variance

N = 40
NOISY = {
    "mean_",
    "components_",
    "eigenvalues_",
    "assessment_",
    "x_rotations_",
    "y_rotations_",
    "correlations_",
    "x_mean_",
    "y_mean_",
    "joint_moment_",
    "floor_",
    "coef_",
    "intercept_",
}
ESTIMATORS = [
    *(DistributedPCA(2, protocol=how) for how in ("dpdis", "full", "local", "pooled", "cape")),
    AnalyzeGaussPCA(2),
    SulqPCA(2),
    ModSulqPCA(2),
    ExponentialPCA(1),
    PrivateCCA(1),
    PrivateLogisticRegression(),
    PrivateLogisticRegression(method="output", regularization=0.1),
    PrivateSVM(),
]


def fitted(estimator, rows, seed):
    """Return all attributes that fitting has set, by name."""
    labels = np.arange(N) % 2
    estimator = estimator.__class__(**{**estimator.get_params(), "random_state": seed})
    if isinstance(estimator, DistributedPCA):
        estimator.fit(rows, sites=labels)
    elif isinstance(estimator, PrivateCCA):
        estimator.fit(rows[:, :2], rows[:, 2:])
    else:
        estimator.fit(rows, labels)
    return {
        name: pickle.dumps(value)
        for name, value in vars(estimator).items()
        if name not in estimator.get_params()
    }


def neighbours(n_pairs):
    """Return rows, and rows with one person moved: far beyond the bound, to 0, to the middle."""
    rng = np.random.default_rng(6)
    for pair in range(n_pairs):
        rows = rng.uniform(-0.4, 0.4, (N, 4))
        other = rows.copy()
        other[pair % N] *= [0.0, 1e3, -1.0, 1e200][pair % 4]
        yield rows, other


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_what_is_not_noisy_does_not_depend_on_anybody(estimator):
    moved = set()
    for rows, other in neighbours(8):
        first, second = (fitted(estimator, data, seed=1) for data in (rows, other))
        assert first.keys() == second.keys()
        moved |= {name for name in first if first[name] != second[name]}
        assert moved <= NOISY
    redrawn = fitted(estimator, rows, seed=2)
    for name in moved:
        assert redrawn[name] != first[name], f"{name} has no noise of its own"


@pytest.mark.parametrize("release", [private_mean, private_variance, private_histogram])
def test_nor_does_what_a_statistic_carries_beside_its_value(release):
    values = np.linspace(0, 10, N)
    other = values.copy()
    other[3] = 1e6
    public = {"edges": [0, 5, 10]} if release is private_histogram else {"bounds": (0, 10)}
    first, second = (
        vars(release(data, epsilon=1.0, rng=np.random.default_rng(0), **public))
        for data in (values, other)
    )
    for name in first.keys() - {"value"}:
        assert pickle.dumps(first[name]) == pickle.dumps(second[name]), name
