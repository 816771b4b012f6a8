"""Private PCA: central and distributed."""

from dpcore.pca.aggregator import aggregate
from dpcore.pca.messages import MessageError, decode_message, encode_message
from dpcore.pca.rounds import Draw
from dpcore.pca.settings import MASKS, TRUNCATIONS, ReleaseSettings
from dpcore.pca.site import SiteMessage, site_message
from dpcore.pca.subspace import Subspace

__all__ = [
    "MASKS",
    "TRUNCATIONS",
    "Draw",
    "MessageError",
    "ReleaseSettings",
    "SiteMessage",
    "Subspace",
    "aggregate",
    "decode_message",
    "encode_message",
    "site_message",
]
