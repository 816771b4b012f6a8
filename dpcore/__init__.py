"""Differentially private distributed PCA and its relatives: a pure numerical core.

Each row is one person, neighbours differ in one row (replace-one), and each result has a
`Guarantee`. Frequently used names are available here: `dpcore.DistributedPCA` is
`dpcore.pca.DistributedPCA`. Subpackages are imported on first use.

>>> import dpcore
>>> X = dpcore.prepare(dpcore.load_dataset("digits"), mode="bounded").X
>>> pca = dpcore.DistributedPCA(10, epsilon=1.0, delta=0.01).fit(X, sites=[0, 1, 2] * 599)
>>> pca.components_.shape, pca.guarantee_.keeps_requested
((10, 64), True)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.2.0"

# Sorted by import time; the slowest ones import scikit-learn.
_SUBPACKAGES = (
    "errors",
    "privacy",
    "data",
    "mechanisms",
    "spectra",
    "statistics",
    "pca",
    "cca",
    "classification",
    "release",
)

__all__ = [
    "Accountant",
    "AnalyzeGaussPCA",
    "DataUnavailable",
    "Dataset",
    "DistributedPCA",
    "ExponentialPCA",
    "Guarantee",
    "ModSulqPCA",
    "ParameterError",
    "PreparationWarning",
    "PrivacyBudget",
    "PrivateCCA",
    "PrivateLogisticRegression",
    "PrivateSVM",
    "SulqPCA",
    "__version__",
    "aggregate",
    "captured_energy",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_sigma",
    "leading_eigenpairs",
    "list_datasets",
    "load_dataset",
    "load_release",
    "prepare",
    "principal_angles",
    "private_histogram",
    "private_mean",
    "private_scores",
    "private_variance",
    "sample_matrix_bingham",
    "second_moment",
    "site_message",
    "split_sites",
    "symmetric_gaussian_noise",
]

if TYPE_CHECKING:  # static types only; at run time names are imported on first use
    from dpcore.cca import PrivateCCA
    from dpcore.classification import PrivateLogisticRegression, PrivateSVM
    from dpcore.data import Dataset, list_datasets, load_dataset, prepare, split_sites
    from dpcore.errors import DataUnavailable, ParameterError, PreparationWarning
    from dpcore.mechanisms import sample_matrix_bingham, symmetric_gaussian_noise
    from dpcore.pca import (
        AnalyzeGaussPCA,
        DistributedPCA,
        ExponentialPCA,
        ModSulqPCA,
        SulqPCA,
        aggregate,
        site_message,
    )
    from dpcore.privacy import (
        Accountant,
        Guarantee,
        PrivacyBudget,
        gaussian_delta,
        gaussian_epsilon,
        gaussian_sigma,
    )
    from dpcore.release import load_release
    from dpcore.spectra import captured_energy, leading_eigenpairs, principal_angles, second_moment
    from dpcore.statistics import (
        private_histogram,
        private_mean,
        private_scores,
        private_variance,
    )
else:

    def __getattr__(name):
        if name in _SUBPACKAGES:
            return import_module(f"dpcore.{name}")
        for package in _SUBPACKAGES if name in __all__ else ():
            module = import_module(f"dpcore.{package}")
            if name in getattr(module, "__all__", vars(module)):
                return getattr(module, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted((*__all__, *_SUBPACKAGES))
