"""Private canonical correlation analysis of two views, central and distributed."""

from dpcore.cca.bounded_views import BoundedViews, bound_views
from dpcore.cca.canonical import (
    MeasuredCorrelations,
    canonical_pairs,
    measured_correlations,
    noise_floor,
)
from dpcore.cca.distributed import PROTOCOLS, CanonicalPairs, distributed_cca, joint_moment_sigma

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


def __getattr__(name: str) -> object:
    # Both import scikit-learn, which takes longer than the import of all of dpcore.
    if name == "PrivateCCA":
        from dpcore.cca.estimator import PrivateCCA

        return PrivateCCA
    if name in ("ClusterScores", "cluster_scores"):
        from dpcore.cca import estimator

        return getattr(estimator, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
