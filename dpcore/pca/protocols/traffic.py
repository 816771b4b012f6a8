"""What travels in a draw, in bytes and in messages one after the other."""

from __future__ import annotations

import numpy as np

from dpcore.arrays import IntArray
from dpcore.pca.draw import Draw
from dpcore.pca.messages.encoding import message_length


def whole_matrix_bytes(draw: Draw) -> IntArray:
    """(S,) bytes of each site's message when it sends its whole noisy matrix as it is."""
    n_features, itemsize = draw.moments.n_features, draw.moments.dtype.itemsize
    length = message_length(n_features, n_features, itemsize, whole=True)
    return np.full(draw.moments.n_sites, length + traffic_of_means(draw)[0])


def raw_row_bytes(draw: Draw) -> IntArray:
    """(S,) bytes of each site's rows, sent as they are."""
    return draw.moments.n_samples * draw.moments.n_features * draw.moments.dtype.itemsize


def traffic_of_means(draw: Draw, *, come_back: bool = False) -> tuple[int, int]:
    """Bytes that a site's private mean takes, and messages that go before the site's own.

    The average of all means comes back to where it is needed for what is sent next: to sites
    that cut their matrix, and on the sphere to all.
    """
    if draw.of_sites.mean_share == 0:
        return 0, 0
    one_way = draw.moments.n_features * draw.moments.dtype.itemsize
    return (2 * one_way, 2) if come_back or draw.settings.on_sphere else (one_way, 0)
