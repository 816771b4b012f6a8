"""An exact release at D = 784 from 60,000 rows: its noise, the whole command, and what it gives up.

    python tests/benchmarks/bench_release.py [--dataset mnist]

The float laboratory beside it is the same mechanism at the same mu with NumPy's noise on real
numbers: private sum and count, rows on the sphere around the centre, isometric noise.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from dpcore.data import load_dataset
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.releases import Column, Dictionary, calibrated, release
from dpcore.releases.exact.integer_moments import noisy_second_moment
from dpcore.releases.exact.integer_rows import GRID, LENGTH
from dpcore.releases.measurement import _centre
from dpcore.spectra import captured_energy, leading_eigenpairs

DELTA, REPETITIONS = 1e-5, 4


def laboratory(X, scales, n_components, rng):
    """Components by floating-point arithmetic, in units where a column reaches to 1."""
    noisy = X.sum(axis=0) + rng.normal(scale=scales.sum_sigma / GRID, size=X.shape[1])
    n = len(X) + rng.normal(scale=scales.sum_sigma / scales.count_weight)
    centred = X - _centre(noisy * GRID, n, scales.sum_sigma) / GRID
    centred /= np.linalg.norm(centred, axis=1)[:, None]
    sigma = scales.moment_sigma * 2**0.5 / LENGTH**2
    noise = symmetric_gaussian_noise(X.shape[1], sigma, shape="isometric", rng=rng)
    return leading_eigenpairs(centred.T @ centred + noise, n_components)[1]


def _cpu() -> float:
    """Seconds of the processor, of this process and those it waited for."""
    return sum(os.times()[:4])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--rows", type=int, default=60_000)
    arguments = parser.parse_args()
    X = load_dataset(arguments.dataset).X[: arguments.rows].astype(float)
    limit = 255.0 if X.max() > 1 else 1.0  # what the encoding can hold
    K = min(50, X.shape[1] // 2)
    dictionary = Dictionary(
        tuple(Column(f"pixel{i}", 0, limit, 0) for i in range(X.shape[1])), norm_bound=12.0
    )
    scaled = X / limit
    A = np.cov(scaled.T)
    best = leading_eigenpairs(A, K)[0].sum()
    scales = calibrated(dictionary, epsilon=1.0, delta=DELTA)
    for _ in range(3):
        start = _cpu()
        noisy_second_moment(np.zeros((X.shape[1],) * 2, dtype=np.int64), scales.moment_sigma)
        print(f"noise {_cpu() - start:.3f} s of one core")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        np.savez(home / "table.npz", X=X.astype(np.float32))
        (home / "dictionary.toml").write_text(dictionary.toml(), encoding="utf-8")
        start = _cpu()
        command = [sys.executable, "-m", "dpcore", "release", "--data", str(home / "table.npz"),
                   "--dictionary", str(home / "dictionary.toml"), "--epsilon", "1", "--delta",
                   str(DELTA), "--components", str(K), "--project", str(home / "command"),
                   "--name", "one", "--cap", "1.1", str(DELTA)]  # fmt: skip
        subprocess.run(command, check=True)
        print(f"whole command {_cpu() - start:.2f} s of one core")
        for epsilon in (0.3, 1.0):
            scales = calibrated(dictionary, epsilon=epsilon, delta=DELTA)
            exact, floating = [], []
            for repetition in range(REPETITIONS):
                released = release(
                    X, dictionary, epsilon=epsilon, delta=DELTA, n_components=K,
                    project=home / f"{epsilon}-{repetition}", name="one", cap=(1.1, DELTA),
                )  # fmt: skip
                exact.append(captured_energy(released.components_, A) / best)
                V = laboratory(scaled, scales, K, np.random.default_rng(repetition))
                floating.append(captured_energy(V, A) / best)
            gap = np.mean(floating) - np.mean(exact)
            error = np.hypot(np.std(exact), np.std(floating)) / REPETITIONS**0.5
            print(f"ε = {epsilon}: exact {np.mean(exact):.5f}, laboratory {np.mean(floating):.5f}, "
                  f"given up {gap:.5f} ± {error:.5f}")  # fmt: skip


if __name__ == "__main__":
    main()
