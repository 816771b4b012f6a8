"""What the aggregator does: average what the sites sent and take the leading directions.

Algorithm 1, steps 9 to 11, of Imtiaz & Sarwate (2018). The aggregator sees messages and nothing
else, so all of this is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpcore.errors import ParameterError
from dpcore.pca.site import SiteMessage
from dpcore.spectra import leading_eigenpairs, leading_eigenpairs_from_proxies


def aggregate(
    messages: Sequence[SiteMessage], n_components: int, *, ranking: str = "magnitude"
) -> tuple[np.ndarray, np.ndarray]:
    """Top-K subspace of the average of what the sites sent, weighted by n_s / N.

    Parameters
    ----------
    messages : sequence of SiteMessage
        All proxies or all whole matrices, with the same number of features.
    n_components : int
        K. If the proxies together span fewer directions, the rest of the subspace is arbitrary.
    ranking : {"magnitude", "value"}
        How eigenvalues of an average of whole matrices are ranked; an average of proxies has
        none below zero.

    Returns
    -------
    eigenvalues : ndarray of shape (n_components,)
    components : ndarray of shape (n_components, n_features)

    Raises
    ------
    ParameterError
        If there are no messages, or they differ in kind or in number of features.
    """
    if not messages:
        raise ParameterError("messages", "at least one", 0)
    if len({(message.whole, message.n_features) for message in messages}) > 1:
        raise ParameterError(
            "messages",
            "all of one kind and of one number of features",
            sorted({(m.whole, m.n_features) for m in messages}),
        )
    counts = np.array([message.n_samples for message in messages], dtype=float)
    weights = counts / counts.sum()
    if messages[0].whole:
        average = sum(
            message.values * message.values.dtype.type(weight)
            for message, weight in zip(messages, weights, strict=True)
        )
        return leading_eigenpairs(average, n_components, by=ranking)
    return leading_eigenpairs_from_proxies(
        [message.values.T for message in messages], weights, n_components
    )
