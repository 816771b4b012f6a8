"""Private linear and kernel classifiers by output and objective perturbation."""

from dpcore.classification.classifiers import (
    KERNELS,
    PrivateLogisticRegression,
    PrivateSVM,
    fit_many,
)
from dpcore.classification.training import (
    METHODS,
    NotConverged,
    Perturbation,
    PrivateFits,
    calibrate,
)

__all__ = [
    "KERNELS",
    "METHODS",
    "NotConverged",
    "Perturbation",
    "PrivateFits",
    "PrivateLogisticRegression",
    "PrivateSVM",
    "calibrate",
    "fit_many",
]
