"""k-means in the projected space, against labels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import calinski_harabasz_score

from dpcore.cca import cluster_scores
from dpcore.errors import ParameterError


def three_groups(spread):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 40)
    return 10 * np.eye(3)[labels, :2] + spread * rng.standard_normal((120, 2)), labels


def test_well_separated_groups_are_found_whatever_their_numbers():
    scores, labels = three_groups(0.5)
    scores_of_clusters = cluster_scores(scores, 7 - labels, rng=np.random.default_rng(1))
    assert scores_of_clusters.nmi == pytest.approx(1.0)
    assert scores_of_clusters.calinski_harabasz == pytest.approx(
        calinski_harabasz_score(scores, labels)
    )
    assert scores_of_clusters.calinski_harabasz == pytest.approx(
        scores_of_clusters.calinski_harabasz_of_labels
    )


def test_scale_does_not_matter_and_mixed_groups_score_low():
    scores, labels = three_groups(0.5)
    shuffled = np.random.default_rng(2).permutation(labels)
    scores_of_clusters = cluster_scores(1e-4 * scores, shuffled, rng=np.random.default_rng(1))
    assert (
        scores_of_clusters.nmi < 0.2
        and scores_of_clusters.calinski_harabasz_of_labels < scores_of_clusters.calinski_harabasz
    )


def test_refusals():
    scores, labels = three_groups(0.5)
    with pytest.raises(ParameterError, match="labels"):
        cluster_scores(scores, np.zeros(120), rng=np.random.default_rng(0))
    with pytest.raises(ParameterError, match="n_clusters"):
        cluster_scores(np.zeros((120, 2)), labels, rng=np.random.default_rng(0))
