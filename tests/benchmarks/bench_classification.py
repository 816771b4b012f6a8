"""A sweep of 10 epsilons x 10 draws on MNIST 60000 x 50, against fitting one by one with SciPy.

The baseline is algorithm 2 of Chaudhuri, Monteleoni & Sarwate (2011) written down plainly: the
same noise, `scipy.optimize.minimize` for every fit. It is timed on every tenth fit and multiplied.

Run by hand: DPCORE_DATA=... OPENBLAS_NUM_THREADS=1 python tests/benchmarks/bench_classification.py
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import numpy as np
from scipy import optimize
from scipy.special import expit

from dpcore.classification import PrivateLogisticRegression, PrivateSVM, fit_many
from dpcore.classification.perturbation import unit_noise
from dpcore.data import load_dataset, prepare
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.privacy import PrivacyBudget, second_moment_sigma
from dpcore.spectra import leading_eigenpairs, second_moment
from dpcore.streams import Purpose, stream

EPSILONS = np.geomspace(0.01, 10, 10)
DRAWS = 10


def projected_mnist() -> tuple[np.ndarray, np.ndarray]:
    """Rows on 50 private components (epsilon 1, delta 1e-5), and which are zeros."""
    home = os.environ.get("DPCORE_DATA") or ROOT.parent / "shared" / "datasets"
    prepared = prepare(load_dataset("mnist", home, download=False), mode="published")
    moment = second_moment(prepared.X)
    sigma = second_moment_sigma(
        PrivacyBudget(1.0, 1e-5), prepared.n_samples, calibration="analytic"
    )
    noise = symmetric_gaussian_noise(
        len(moment), sigma, shape="isometric", rng=stream(0, Purpose.POOLED_NOISE)
    )
    _, components = leading_eigenpairs(moment + noise, 50)
    return prepared.X.astype(float) @ components.T, prepared.labels == 0


def plain_fit(rows, signs, perturbation, noise, regularization) -> np.ndarray:
    n = len(rows)
    strength = regularization + perturbation.extra_regularization
    tilt = noise / perturbation.beta / n

    def objective(w):
        margins = signs * (rows @ w)
        gradient = (-signs * expit(-margins)) @ rows / n
        value = np.logaddexp(0, -margins).mean() + tilt @ w + strength / 2 * w @ w
        return value, gradient + tilt + strength * w

    options = dict(ftol=0, gtol=1e-6 * strength, maxiter=10_000, maxfun=10_000)
    start = np.zeros(rows.shape[1])
    return optimize.minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x


def main() -> None:
    rows, zeros = projected_mnist()
    signs = np.where(zeros, 1.0, -1.0)
    with_constant = np.column_stack([rows, np.ones(len(rows))])
    for regularization in (1e-3, 1e-4):
        for estimator in (PrivateLogisticRegression, PrivateSVM):
            for method in ("output", "objective"):
                model = estimator(method=method, regularization=regularization)
                rngs = [stream(0, Purpose.TRAINING, draw) for draw in range(DRAWS)]
                started = time.perf_counter()
                fits = fit_many(model, rows, zeros, epsilons=EPSILONS, rngs=rngs)
                took = time.perf_counter() - started
                line = f"{estimator.__name__} {method} Lambda={regularization:g}: {took:.2f} s"
                if estimator is PrivateLogisticRegression and method == "objective":
                    started = time.perf_counter()
                    furthest = 0.0
                    for cell, perturbation in enumerate(fits.perturbations):
                        noise = unit_noise(1, 51, stream(0, Purpose.TRAINING, 0))[0]
                        plain = plain_fit(with_constant, signs, perturbation, noise, regularization)
                        ours = fits.weights[cell, 0, 0]
                        distance = np.linalg.norm(ours - plain) / max(1, np.linalg.norm(ours))
                        furthest = max(furthest, distance)
                    baseline = (time.perf_counter() - started) * DRAWS
                    line += (
                        f"; plain {baseline:.1f} s, ratio {baseline / took:.1f},"
                        f" relative distance at most {furthest:.1e}"
                    )
                print(line, flush=True)


if __name__ == "__main__":
    main()
