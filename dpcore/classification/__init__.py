"""Private linear and kernel classifiers by output and objective perturbation."""

from dpcore.classification.estimators import KERNELS, PrivateLogisticRegression, PrivateSVM
from dpcore.classification.fitting import fit_many
from dpcore.classification.minimise import NotConverged
from dpcore.classification.perturbation import METHODS, Perturbation, calibrate
from dpcore.classification.training import PrivateFits

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
