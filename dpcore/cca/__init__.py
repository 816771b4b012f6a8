"""Private canonical correlation analysis of two views, central and distributed."""

from dpcore.cca.bounds import BoundedViews, bound_views
from dpcore.cca.canonical import (
    MeasuredCorrelations,
    canonical_pairs,
    measured_correlations,
    noise_floor,
)
from dpcore.cca.clustering import ClusterScores, cluster_scores
from dpcore.cca.distributed import CanonicalPairs, distributed_cca
from dpcore.cca.estimator import PrivateCCA
from dpcore.cca.protocols import PROTOCOLS
from dpcore.cca.release import joint_moment_sigma

__all__ = [
    "PROTOCOLS",
    "BoundedViews",
    "CanonicalPairs",
    "ClusterScores",
    "MeasuredCorrelations",
    "PrivateCCA",
    "bound_views",
    "canonical_pairs",
    "cluster_scores",
    "distributed_cca",
    "joint_moment_sigma",
    "measured_correlations",
    "noise_floor",
]
