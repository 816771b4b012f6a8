"""The noise of an exact release beside OpenDP's discrete Gaussian: time, law, energy, promise.

    PYTHONPATH=. python tests/benchmarks/bench_exact_noise.py --opendp PYTHON [--dataset mnist]

PYTHON is the interpreter of an environment of its own: `pip install 'opendp[scikit-learn]'`. Both
draw the noise of a second moment at the data set's D and the same whole sigma, in one run; seconds
are the processor's. Laws: each against its own exact chances, and both against each other. Round(Z)
and the discrete Gaussian differ by about 0.02 / sigma^2 in total variation, at the sigma of a
release by nothing. Energy is that of `bench_release.py`: exact, and on real numbers around the same
centre and under the same noise.
"""

from __future__ import annotations

import argparse
import math
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from bench_peers import of_peer
from bench_release import DELTA, energies
from scipy import stats

from dpcore.arrays import IntArray
from dpcore.data import load_dataset
from dpcore.privacy import gaussian_epsilon
from dpcore.release import Column, Dictionary, calibrated
from dpcore.release.integer_moments import diagonal_sigma, noisy_second_moment
from dpcore.release.integer_rows import LENGTH
from dpcore.release.normal_sampler import rounded_normal
from dpcore.spectra import leading_eigenpairs

_SMALL, _N_SMALL = 3, 200_000


def from_opendp(python: str, size: int, sigma: int, sensitivity: int = 0) -> dict:
    asked = {"size": size, "sigma": sigma, "sensitivity": sensitivity, "delta": DELTA}
    return of_peer("discrete-gaussian", python, asked)


def symmetric(above: IntArray, diagonal: IntArray) -> IntArray:
    """As `noisy_second_moment` lays its draws out."""
    noise = np.zeros((len(diagonal),) * 2, dtype=np.int64)
    noise[np.triu_indices(len(diagonal), 1)] = above
    return noise + noise.T + np.diag(diagonal)


def against_the_normal(draws: IntArray, sigma: int) -> float:
    """p of a chi-squared test on 64 cells of equal chance."""
    cells = np.floor(64 * stats.norm.cdf(draws / sigma)).astype(int)
    return float(stats.chisquare(np.bincount(cells, minlength=64)).pvalue)


def against_chances(draws: IntArray, chances: np.ndarray, most: int) -> float:
    """p of a chi-squared test on every whole number up to `most`, and the rest."""
    observed = np.bincount(np.clip(draws, -most - 1, most + 1) + most + 1, minlength=2 * most + 3)
    return float(stats.chisquare(observed, len(draws) * chances / chances.sum()).pvalue)


def laws(python: str) -> None:
    """Where sigma is small enough to tell the two laws by their chances."""
    most = 4 * _SMALL
    values = np.arange(-40, 41)
    rounded = np.diff(stats.norm.cdf((np.arange(-41, 41) + 0.5) / _SMALL))
    discrete = np.exp(-(values**2) / 2 / _SMALL**2)
    ours, theirs = (
        np.array(
            [law[values < -most].sum(), *law[np.abs(values) <= most], law[values > most].sum()]
        )
        for law in (rounded / rounded.sum(), discrete / discrete.sum())
    )
    print(f"σ = {_SMALL}: total variation of the laws {np.abs(ours - theirs).sum() / 2:.1e}")
    own = against_chances(rounded_normal(_N_SMALL, _SMALL), ours, most)
    drawn = from_opendp(python, _N_SMALL, _SMALL)["draws"]
    print(f"  chi-squared, {_N_SMALL:,} draws, each against its own: ours p = {own:.3f}, "
          f"OpenDP p = {against_chances(drawn, theirs, most):.3f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--opendp", required=True, help="interpreter")
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--epsilons", default="0.1,0.3,1")
    parser.add_argument("--repetitions", type=int, default=3)
    asked = parser.parse_args()
    X = load_dataset(asked.dataset).X.astype(float)
    X /= X.max()  # pictures: the encoding's scale, not the rows'
    D, K = X.shape[1], min(50, X.shape[1] // 2)
    pixels = tuple(Column(f"pixel{i}", 0, 1, 0) for i in range(D))
    dictionary = Dictionary(pixels, norm_bound=12.0)
    A = np.cov(X.T)
    best, size = leading_eigenpairs(A, K)[0].sum(), D * (D - 1) // 2
    laws(asked.opendp)
    for epsilon in map(float, asked.epsilons.split(",")):
        scales = calibrated(dictionary, epsilon=epsilon, delta=DELTA)
        sigma, found = scales.moment_sigma, []
        for _ in range(asked.repetitions):
            start = time.process_time()
            noise = noisy_second_moment(np.zeros((D, D), dtype=np.int64), sigma)
            seconds = time.process_time() - start
            above = from_opendp(asked.opendp, size, sigma, LENGTH**2)
            diagonal = from_opendp(asked.opendp, D, diagonal_sigma(sigma))["draws"]
            own = list(energies(X, A, dictionary, scales, K, noise))
            matrix = symmetric(above["draws"], diagonal)
            theirs = list(energies(X, A, dictionary, scales, K, matrix))
            found.append([*own, *theirs, seconds, above["seconds"]])
        ours = noise[np.triu_indices(D, 1)]
        exact, real, discrete, _, seconds, slow = np.mean(found, axis=0)
        exact, real, discrete = exact / best, real / best, discrete / best
        spread = np.std(np.array(found)[:, [0, 2]], axis=0, ddof=1) / best
        holds = gaussian_epsilon(DELTA, sigma, LENGTH**2)
        said = float(above["epsilon"])
        print(
            f"ε = {epsilon:g}: σ = {sigma} = 2^{math.log2(sigma):.1f}, {size:,} draws\n"
            f"  time: ours {seconds:.3f} s, OpenDP {above['versions']} {slow:.2f} s\n"
            f"  law: KS of the two p = {stats.ks_2samp(ours, above['draws']).pvalue:.3f};"
            f" chi-squared against the normal: ours p = {against_the_normal(ours, sigma):.3f},"
            f" OpenDP p = {against_the_normal(above['draws'], sigma):.3f}\n"
            f"  energy: exact {exact:.4f} ± {spread[0]:.4f}, real numbers {real:.4f} (gives up"
            f" {real - exact:.1e}), OpenDP's noise {discrete:.4f} ± {spread[1]:.4f}\n"
            f"  ε of the moment alone at this σ: {holds:.4f} by the exact profile, {said:.4f} by"
            " OpenDP's map",
            flush=True,
        )


if __name__ == "__main__":
    main()
