"""Private linear classifiers by output and objective perturbation."""

from dpcore.classification.classifiers import (
    PrivateLogisticRegression,
    PrivateSVM,
    fit_many,
)
from dpcore.classification.minimization import NotConverged
from dpcore.classification.perturbation import METHODS, Perturbation, calibrate
from dpcore.classification.training import PrivateFits

__all__ = [
    "METHODS",
    "NotConverged",
    "Perturbation",
    "PrivateFits",
    "PrivateLogisticRegression",
    "PrivateSVM",
    "calibrate",
    "fit_many",
]
