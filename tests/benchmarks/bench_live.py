"""Times of a live run and of a published panel on MNIST, relative to their decompositions.

    OPENBLAS_NUM_THREADS=1 python -m tests.benchmarks.bench_live [--rounds 9] [--repetitions 1]

Live run: four protocols, S = 10, K = 50, R = 100, site moments in the cache,
against the bare LAPACK calls it needs on matrices that already carry their noise: ten times the
top 100 and three times the top 50 by `scipy.linalg.eigh(subset_by_index=...)` in float32. For the
ranking by magnitude that is a lower bound: it takes one end of the spectrum only. Target: at most
1.3 times. Wall time as the app sees it (sites in threads), and processor time, in which threads
gain nothing and the load of the machine costs little.

Denoised: a live run of DPdisPCA, whole matrices, a secure sum and the pooled one on all of MNIST,
fully private at epsilon = 1, with denoising beside without, in turn. Target: at most 1.15 times.

Panel: nine epsilons, `--repetitions` draws, four protocols, against a plain transliteration of
Algorithm 1 from the rows, `numpy.linalg.svd` and float64, as its authors' code goes. Target: 8
times faster.

Needs the MNIST files in the data home (DPCORE_DATA); prints, never asserts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.linalg import eigh
from threadpoolctl import threadpool_limits

from dpcore.experiments.pca import RunSpec, run, run_repetitions
from dpcore.experiments.pca.problem import Problem, load_prepared, local_problem, sites_of
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.papers.dpdispca import paper_figure
from dpcore.pca import Draw
from dpcore.privacy import PrivacyBudget, published_sigma
from dpcore.streams import Repetition

K, R, S = 50, 100, 10
LIVE = RunSpec.published(
    dataset="mnist",
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


def seconds_of(work: Callable[[], object]) -> tuple[float, float]:
    """Return wall and processor time of a call."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def bare_calls(spec: RunSpec, problem: Problem) -> Callable[[], None]:
    """Run only the decompositions that a live run needs."""
    draw = Draw(
        problem.moments,
        spec.settings(problem.n_features, problem.default_components),
        Repetition(0),
    )
    matrices = []
    for site, second_moment in enumerate(problem.moments.second_moments):
        noise = symmetric_gaussian_noise(
            len(second_moment),
            draw.scales[site].moment,
            shape=spec.noise,
            rng=np.random.default_rng(site),
            dtype=second_moment.dtype,
        )
        matrices.append(second_moment + noise)
    last = len(matrices[0]) - 1

    def work() -> None:
        for matrix in matrices:
            eigh(matrix, subset_by_index=(last - R + 1, last), check_finite=False)
        # The aggregator's average, that of whole matrices, and the pooled one.
        for matrix in matrices[:3]:
            eigh(matrix, subset_by_index=(last - K + 1, last), check_finite=False)

    return work


def live(rounds: int) -> None:
    problem = local_problem(LIVE.problem_key())
    print(f"live run, S = {S}, K = {K}, R = {R}, D = {problem.n_features}, best of {rounds}, ms")
    print(f"{'':18}{'run':>16}{'bare LAPACK':>16}{'ratio':>16}")
    print(f"{'':18}{'wall':>8}{'cpu':>8}{'wall':>8}{'cpu':>8}{'wall':>8}{'cpu':>8}")
    for name, changes in SETTINGS.items():
        spec = replace(LIVE, **changes)
        bare = bare_calls(spec, problem)
        ours, theirs = [], []
        for repetition in range(rounds):
            ours.append(seconds_of(partial(run_repetitions, [spec], problem, repetition)))
            theirs.append(seconds_of(bare))
        run_times, bare_times = np.min(ours, axis=0), np.min(theirs, axis=0)
        cells = [*run_times * 1e3, *bare_times * 1e3]
        print(
            f"{name:18}"
            + "".join(f"{cell:8.0f}" for cell in cells)
            + "".join(f"{ratio:8.2f}" for ratio in run_times / bare_times)
        )


def denoised(rounds: int) -> None:
    specs = {
        choice: RunSpec(
            dataset="mnist",
            protocols=("dpdis", "full", "securesum", "pooled"),
            sites=S,
            components=K,
            intermediate_dim=R,
            epsilon=1.0,
            delta=1e-5,
            repetitions=1,
            denoise=choice,
        )
        for choice in ("none", "auto")
    }
    problem = local_problem(specs["none"].problem_key())
    times: dict[str, list[float]] = {choice: [] for choice in specs}
    for repetition in range(-1, rounds):
        for choice, spec in specs.items():
            wall, _ = seconds_of(partial(run_repetitions, [spec], problem, max(repetition, 0)))
            if repetition >= 0:  # the first fills caches
                times[choice].append(wall)
    without, with_it = (float(np.median(seconds)) for seconds in times.values())
    print(
        f"live run of all people, median of {rounds}: {without * 1e3:.0f} ms without denoising, "
        f"{with_it * 1e3:.0f} ms with it: {with_it / without:.2f} times"
    )


def algorithm_1(
    rows: np.ndarray, sites: tuple[np.ndarray, ...], epsilon: float, rng: np.random.Generator
) -> None:
    """Run Algorithm 1 and the three protocols of its comparison, step by step."""

    def noisy(matrix: np.ndarray, n_samples: int) -> np.ndarray:
        sigma = published_sigma(PrivacyBudget(epsilon, 0.01), n_samples)
        E = np.triu(sigma * rng.standard_normal(matrix.shape))
        return matrix + E + np.triu(E, 1).T

    proxies = full = 0.0
    for site, members in enumerate(sites):
        X = rows[members]
        A = noisy(X.T @ X / len(X), len(X))
        U, values, _ = np.linalg.svd(A)
        P = U[:, :R] * np.sqrt(values[:R])
        proxies = proxies + P @ P.T / len(sites)
        full = full + A / len(sites)
        if site == 0:
            np.linalg.svd(A)  # the first site on its own, as the authors' code runs it
    np.linalg.svd(proxies)
    np.linalg.svd(full)
    np.linalg.svd(noisy(rows.T @ rows / len(rows), len(rows)))


def panel(repetitions: int) -> None:
    figure = paper_figure("fig1-b")
    cells = [replace(cell, repetitions=repetitions) for cell in figure.cells()]
    prepared = load_prepared("mnist", "published")
    members = sites_of(cells[0].problem_key(), prepared)
    everybody = np.concatenate(members)
    rows = prepared.X[everybody].astype(np.float64)
    of_rows = {person: row for row, person in enumerate(everybody)}
    sites = tuple(np.array([of_rows[person] for person in people]) for people in members)
    local_problem(replace(LIVE, reference="all").problem_key())  # reads the file, not timed
    ours = seconds_of(lambda: [list(run(cell)) for cell in cells])
    rng = np.random.default_rng(0)
    theirs = seconds_of(
        lambda: [
            algorithm_1(rows, sites, cell.epsilon, rng)
            for cell in cells
            for _ in range(repetitions)
        ]
    )
    print(f"panel fig1-b, {repetitions} draws at {len(cells)} epsilons, 4 protocols")
    for kind, own, plain in zip(("wall", "cpu"), ours, theirs, strict=True):
        print(
            f"  {kind:4} {own:6.1f} s, Algorithm 1 with svd {plain:6.1f} s: {plain / own:.1f} times"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--repetitions", type=int, default=1)
    arguments = parser.parse_args()
    with threadpool_limits(1):
        live(arguments.rounds)
        denoised(arguments.rounds)
        panel(arguments.repetitions)


if __name__ == "__main__":
    main()
