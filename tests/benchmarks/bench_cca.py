"""One private CCA fit on a 300 x 300 joint moment, against the bare LAPACK calls it needs.

Run by hand, one BLAS thread: OPENBLAS_NUM_THREADS=1 python tests/benchmarks/bench_cca.py
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from dpcore.cca import PrivateCCA, canonical_pairs, distributed_cca, noise_floor
from dpcore.data.catalog_tables import synthetic_views
from dpcore.pca import ReleaseSettings
from dpcore.privacy import PrivacyBudget
from dpcore.spectra import site_moments
from dpcore.streams import Repetition

N_X, N_Y, REPEATS = 150, 150, 30


def seconds(work) -> float:
    """Median over the repeats, after one call to warm up."""
    work()
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def main() -> None:
    views = synthetic_views(5000, N_X, N_Y, 5, 0.5, rng=np.random.default_rng(0))
    rows = np.hstack([views.X, views.Y])
    rows /= np.linalg.norm(rows, axis=1).max()
    moments = site_moments(rows, (np.arange(len(rows)),))
    settings = ReleaseSettings(PrivacyBudget(1.0, 0.01), 5, 20, truncation="svd")

    def fit():
        return distributed_cca(moments, N_X, settings, protocol="pooled", repetition=Repetition(0))

    pairs = fit()
    noisy = pairs.joint_moment

    def lapack():
        np.linalg.eigh(noisy)
        np.linalg.eigh(noisy[:N_X, :N_X])
        np.linalg.eigh(noisy[N_X:, N_X:])
        np.linalg.svd(noisy[:N_X, N_X:])

    estimator = PrivateCCA(
        5,
        epsilon=1.0,
        delta=0.01,
        row_norm_bound=(views.x_norm_bound, views.y_norm_bound),
        random_state=0,
    )
    sigma = pairs.sigma_of_average
    baseline = seconds(lapack)
    for name, work in (
        ("bare LAPACK calls", lapack),
        ("noise_floor", lambda: noise_floor(noisy, sigma, noise="isometric")),
        ("canonical_pairs", lambda: canonical_pairs(noisy, N_X, 5, floor=pairs.floor)),
        ("private fit from the moment", fit),
        ("PrivateCCA.fit, 5000 rows", lambda: estimator.fit(views.X, views.Y)),
    ):
        took = seconds(work)
        print(f"{name:30s} {1e3 * took:7.1f} ms  {took / baseline:5.2f} x")


if __name__ == "__main__":
    main()
