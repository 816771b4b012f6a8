"""Private PCA: central and distributed."""

from importlib import import_module

from dpcore.pca.aggregator import Subspace, aggregate
from dpcore.pca.draw import Draw
from dpcore.pca.messages import MessageError, decode_message, encode_message
from dpcore.pca.settings import MASKS, TRUNCATIONS, ReleaseSettings
from dpcore.pca.site import SiteMessage, site_message

__all__ = [
    "MASKS",
    "TRUNCATIONS",
    "AnalyzeGaussPCA",
    "DistributedPCA",
    "Draw",
    "ExponentialPCA",
    "MessageError",
    "ModSulqPCA",
    "ReleaseSettings",
    "SiteMessage",
    "Subspace",
    "SulqPCA",
    "aggregate",
    "decode_message",
    "encode_message",
    "site_message",
]

_ESTIMATORS = (
    "AnalyzeGaussPCA",
    "DistributedPCA",
    "ExponentialPCA",
    "ModSulqPCA",
    "SulqPCA",
)


def __getattr__(name: str) -> type:
    # The estimators' base classes take longer to import than all of dpcore, and neither the
    # dashboard nor the command line needs them.
    if name in _ESTIMATORS:
        estimator: type = getattr(import_module("dpcore.pca.estimators"), name)
        return estimator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
