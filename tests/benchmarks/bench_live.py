"""A live run and a published panel on MNIST, each against what it cannot do without.

    OPENBLAS_NUM_THREADS=1 python tests/benchmarks/bench_live.py [--repetitions 10] [--rounds 9]

Live run: four protocols, S = 10, K = 50, R = 100, site moments in the cache (DESIGN section 6),
against the bare LAPACK calls it needs on the same noisy matrices: ten top-100 and three top-50
eigendecompositions in float32 by `scipy.linalg.eigh(subset_by_index=...)`; for the ranking by
magnitude, which that call cannot select, a full `scipy.linalg.eigh`, and both ends as the cheaper
alternative where they are.
Target: at most 1.3 times. Both are timed in turn, so that other load hits both alike.

Panel: nine epsilons, `--repetitions` draws, four protocols, against a plain transliteration of
Algorithm 1 with `numpy.linalg.svd` in float64, from the same site moments. Target: 8 times faster.

Needs the MNIST files in the data home (DPCORE_DATA); prints, never asserts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median

import numpy as np
from scipy.linalg import eigh
from threadpoolctl import threadpool_limits

from dpcore.experiments.papers import paper_figure
from dpcore.experiments.problem import Problem
from dpcore.experiments.run import draw_subspaces, local_problem, run_repetition
from dpcore.experiments.spec import RunSpec
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.pca import Draw
from dpcore.privacy import PrivacyBudget, published_sigma
from dpcore.streams import Repetition

K, R, S = 50, 100, 10
LIVE = RunSpec(
    "mnist",
    samples=10_000,
    sites=S,
    components=K,
    intermediate_dim=R,
    epsilon=1.0,
    reference="all",
    repetitions=1,
)
SETTINGS = {
    "psd, isometric": {"truncation": "psd", "noise": "isometric"},
    "svd, triangle": {"truncation": "svd", "noise": "triangle"},
}


def seconds_of(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def bare_calls(spec: RunSpec, problem: Problem) -> Callable[[], None]:
    """The decompositions a live run needs, on matrices noised beforehand, and nothing else."""
    settings = spec.settings(problem.n_features, problem.default_components)
    draw = Draw(problem.moments, settings, Repetition(0))
    matrices = [
        A
        + symmetric_gaussian_noise(
            len(A), scale.moment, shape=spec.noise, rng=np.random.default_rng(s), dtype=A.dtype
        )
        for s, (A, scale) in enumerate(
            zip(problem.moments.second_moments, draw.scales, strict=True)
        )
    ]
    size = len(matrices[0])

    def top(matrix: np.ndarray, n: int) -> None:
        ends = [(size - n, size - 1)]
        if spec.truncation == "svd":
            values = eigh(matrix, eigvals_only=True, check_finite=False)
            n_negative = int((np.argsort(-np.abs(values))[:n] < size // 2).sum())
            ends = [(0, n_negative - 1)] if n_negative else []
            ends += [(size - n + n_negative, size - 1)] if n_negative < n else []
        for end in ends:
            eigh(matrix, subset_by_index=end, check_finite=False)

    def work() -> None:
        for matrix in matrices:
            top(matrix, R)
        for matrix in matrices[:3]:  # full, local and pooled, of the same kind
            top(matrix, K)

    return work
