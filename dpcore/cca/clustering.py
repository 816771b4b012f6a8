"""How well people's scores separate into groups. Reads people's rows: not private."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import calinski_harabasz_score, normalized_mutual_info_score
from threadpoolctl import threadpool_limits

from dpcore.errors import ParameterError


@dataclass(frozen=True, eq=False)
class ClusterScores:
    """k-means of projected people against their labels.

    Attributes
    ----------
    nmi : float
        Normalised mutual information of clusters and labels, in [0, 1].
    calinski_harabasz : float
        Of the clusters: how compact and far apart k-means finds them in this projection.
    calinski_harabasz_of_labels : float
        Of the true groups in this projection. Both are ratios of variances, so projections of
        one dimension can be compared whatever their scale.
    clusters : ndarray of int, shape (n_samples,)
    """

    nmi: float
    calinski_harabasz: float
    calinski_harabasz_of_labels: float
    clusters: np.ndarray


def cluster_scores(
    scores: np.ndarray,
    labels: np.ndarray,
    *,
    n_clusters: int | None = None,
    rng: np.random.Generator,
) -> ClusterScores:
    """Cluster people by k-means in a projected space and compare with their labels.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_dimensions)
        Scores of one view, or of both side by side.
    labels : ndarray of int, shape (n_samples,)
        At least two different ones.
    n_clusters : int, optional
        The number of different labels by default.
    rng : numpy.random.Generator
        Chooses where k-means starts.

    Raises
    ------
    ParameterError
        If there are fewer than two labels, or fewer different rows than clusters.
    """
    n_labels = len(np.unique(labels))
    if n_labels < 2:
        raise ParameterError("labels", "of at least two groups", n_labels)
    n_clusters = n_labels if n_clusters is None else n_clusters
    n_rows = len(np.unique(scores, axis=0))
    if not 2 <= n_clusters < n_rows:
        raise ParameterError("n_clusters", f"in [2, {n_rows - 1}] for these rows", n_clusters)
    kmeans = KMeans(n_clusters, n_init=4, random_state=int(rng.integers(2**31)))
    # Rows this few are done before a second thread has woken up; on a busy machine the threads
    # wait for each other up to fifty times as long as the work takes.
    with threadpool_limits(1, user_api="openmp"):
        clusters = kmeans.fit_predict(scores)
    return ClusterScores(
        nmi=float(normalized_mutual_info_score(labels, clusters)),
        calinski_harabasz=float(calinski_harabasz_score(scores, clusters)),
        calinski_harabasz_of_labels=float(calinski_harabasz_score(scores, labels)),
        clusters=clusters,
    )
