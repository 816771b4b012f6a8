"""An exact release at D = 784 from 60,000 rows: time of its noise and of the command, lost energy.

    OPENBLAS_NUM_THREADS=1 python -m tests.benchmarks.bench_release [--dataset mnist]

The laboratory beside it is the same mechanism at the same mu on real numbers. Both get one draw of
the centre and of the noise, whose laws are the same, so that the difference in energy is what whole
numbers cost.
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
from dpcore.release import Column, Dictionary, Reading, Table, calibrated
from dpcore.release.integer_moments import noisy_second_moment
from dpcore.release.integer_rows import GRID, LENGTH
from dpcore.release.measurement import moment_around, noisy_centre, sum_and_count
from dpcore.spectra import captured_energy, leading_eigenpairs

DELTA, REPETITIONS = 1e-5, 3


def energies(X, A, dictionary, scales, n_components, noise):
    """Return the captured energy of an exact release and of real numbers, with one centre and
    noise.
    """
    table = Table(X, dictionary.keys)
    total = sum_and_count(table, dictionary, scales, Reading())
    centre, _ = noisy_centre(total, scales)
    exact = moment_around(table, dictionary, scales, centre, on_sphere=True) + noise
    unit = X - centre / GRID
    unit /= np.linalg.norm(unit, axis=1)[:, None]
    for matrix in (exact / LENGTH**2, unit.T @ unit + noise / LENGTH**2):
        yield captured_energy(leading_eigenpairs(matrix, n_components)[1], A)


def _cpu() -> float:
    """Return the processor time of this process and of its finished children."""
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
    unit = Dictionary(tuple(Column(c.name, 0, 1, 0) for c in dictionary.columns), norm_bound=12.0)
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
    for epsilon in (0.1, 0.3, 1.0):
        scales = calibrated(dictionary, epsilon=epsilon, delta=DELTA)
        nothing = np.zeros_like(A, dtype=np.int64)
        noises = (noisy_second_moment(nothing, scales.moment_sigma) for _ in range(REPETITIONS))
        runs = [list(energies(scaled, A, unit, scales, K, noise)) for noise in noises]
        exact, real = np.mean(runs, axis=0) / best
        gap = real - exact
        print(f"ε = {epsilon}: exact {exact:.6f}, real numbers {real:.6f}, gives up {gap:.1e}")


if __name__ == "__main__":
    main()
