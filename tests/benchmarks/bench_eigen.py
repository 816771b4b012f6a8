"""Leading eigenpairs against SciPy's and NumPy's, on noisy symmetric matrices.

    OPENBLAS_NUM_THREADS=1 python -m tests.benchmarks.bench_eigen

Milliseconds a matrix: the median of interleaved rounds, so that a busy machine slows every column
alike. A ratio is a baseline's time over ours, in the same rounds: above 1 ours is faster. The
baselines are `scipy.linalg.eigh(subset_by_index)`, `numpy.linalg.eigh` (float64 inside, whatever
it is given) and `numpy.linalg.svd`, as a plain transliteration of Algorithm 1 uses it. By
magnitude, `subset_by_index` finds one end of the spectrum only, so it is called for both.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import statistics
import time
from collections.abc import Callable

import numpy as np
import scipy.linalg

from dpcore.spectra import (
    Spectrum,
    leading_eigenpairs,
    second_moment,
    site_moments,
)

SIZES = ((64, 20), (200, 50), (784, 100), (784, 784))  # n_features, n_components
N_SITES = 10


def milliseconds(tasks: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    times = {name: [] for name in tasks}
    for task in tasks.values():
        task()
    for _ in range(rounds):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            times[name].append(1e3 * (time.perf_counter() - start))
    return {name: statistics.median(samples) for name, samples in times.items()}


def noisy_matrix(rng: np.random.Generator, n_features: int, dtype: type) -> np.ndarray:
    noise = rng.standard_normal((n_features, n_features))
    signal = np.diag(np.geomspace(5, 1e-3, n_features))
    return ((noise + noise.T) / np.sqrt(2 * n_features) + signal).astype(dtype)


def one_matrix(rng: np.random.Generator, n_features: int, n_components: int, dtype: type) -> None:
    matrix = noisy_matrix(rng, n_features, dtype)
    top = [n_features - n_components, n_features - 1]
    bottom = [0, n_components - 1]

    def scipy_subset(ends: list[list[int]]) -> None:
        for end in ends:
            scipy.linalg.eigh(matrix, subset_by_index=end, check_finite=False)

    times = milliseconds(
        {
            "value": lambda: leading_eigenpairs(matrix, n_components),
            "magnitude": lambda: leading_eigenpairs(matrix, n_components, by="magnitude"),
            "scipy": lambda: scipy_subset([top]),
            "scipy both": lambda: scipy_subset([top] if n_components == n_features
                                               else [bottom, top]),
            "numpy eigh": lambda: np.linalg.eigh(matrix),
            "svd": lambda: np.linalg.svd(matrix),
        },
        rounds=5 if n_features > 500 else 31,
    )  # fmt: skip
    print(
        f"{n_components:4d} of {n_features:3d} {np.dtype(dtype).name}"
        f" | by value {times['value']:7.2f}, scipy {times['scipy']:7.2f}"
        f" = {times['scipy'] / times['value']:4.2f}x"
        f" | by magnitude {times['magnitude']:7.2f}, scipy {times['scipy both']:7.2f}"
        f" = {times['scipy both'] / times['magnitude']:4.2f}x,"
        f" svd {times['svd']:7.2f} = {times['svd'] / times['magnitude']:4.2f}x"
        f" | numpy eigh {times['numpy eigh']:7.2f}"
        f" = {times['numpy eigh'] / times['magnitude']:4.2f}x"
    )


def several(rng: np.random.Generator, n_features: int, asked: tuple[int, ...]) -> None:
    matrix = noisy_matrix(rng, n_features, np.float32)

    def shared() -> None:
        spectrum = Spectrum(matrix)
        for n_components in asked:
            spectrum.leading(n_components, by="magnitude")

    times = milliseconds(
        {
            "shared": shared,
            "apart": lambda: [leading_eigenpairs(matrix, n, by="magnitude") for n in asked],
        },
        rounds=5,
    )
    print(
        f"{', '.join(map(str, asked))} of {n_features}, by magnitude, float32"
        f" | one spectrum {times['shared']:6.2f}, each alone {times['apart']:6.2f}"
        f" = {times['apart'] / times['shared']:4.2f}x"
    )


def moments(rng: np.random.Generator) -> None:
    X = rng.random((60000, 784), dtype=np.float32)
    sites = np.array_split(rng.permutation(len(X)), N_SITES)
    times = milliseconds(
        {
            "one": lambda: second_moment(X),
            "sites": lambda: site_moments(X, sites),
            "product": lambda: X.T @ X,
        },
        rounds=3,
    )
    print(
        f"moments of 60000 x 784 float32 | all {times['one']:.0f}, {N_SITES} shuffled sites"
        f" {times['sites']:.0f}, one bare product {times['product']:.0f}"
        f" = {times['product'] / times['one']:4.2f}x and {times['product'] / times['sites']:4.2f}x"
    )


def main() -> None:
    rng = np.random.default_rng(1)
    for n_features, n_components in SIZES:
        for dtype in (np.float32, np.float64):
            one_matrix(rng, n_features, n_components, dtype)
    several(rng, 784, (25, 50, 75, 100, 125, 150, 175, 200))
    moments(rng)


if __name__ == "__main__":
    main()
