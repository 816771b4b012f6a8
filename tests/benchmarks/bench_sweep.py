"""Times of sweeps relative to a plain version of Algorithm 1, of one and two workers, and memory.

    DPCORE_DATA=... python -m tests.benchmarks.bench_sweep [draws]

The baseline does what the paper prints, in float64 with `numpy.linalg.svd`, one cell after the
other, with as many BLAS threads as there are processors. It is given the site moments. Both run
the same cells; rounds are interleaved, so that a busy machine slows both alike, and the best
round counts. A ratio is the baseline's time over ours: above 1 ours is faster.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from dpcore.experiments.engine.sweep import collect
from dpcore.experiments.engine.units import Unit, run_unit, units_of
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.pca.problem import Problem, local_problem
from dpcore.papers.dpdispca import PaperFigure, paper_figure

ROOT = Path(__file__).parents[2]
ROUNDS = 2


def transliterated(spec: RunSpec, problem: Problem, moments: np.ndarray, seed: int) -> list[float]:
    """Run one cell of DPdisPCA, full, local and pooled as printed in the paper."""
    settings = spec.settings(problem.n_features, problem.default_components)
    K, R = settings.n_components, settings.intermediate_dim
    S, D, _ = moments.shape
    rng = np.random.default_rng(seed)

    def noise(n_samples: float) -> np.ndarray:
        scale = math.sqrt(2 * math.log(1.25 / spec.delta)) / (n_samples * spec.epsilon)
        upper = np.triu(rng.normal(0, scale, (D, D)))
        return upper + np.triu(upper, 1).T

    def energy(matrix: np.ndarray) -> float:
        V = np.linalg.svd(matrix)[0][:, :K]
        return float(np.trace(V.T @ problem.reference @ V))

    n_site = problem.n_samples / S
    A_c, A_full = np.zeros((D, D)), np.zeros((D, D))
    for A_s in moments:
        noisy = A_s + noise(n_site)
        U, sigma, _ = np.linalg.svd(noisy)
        P = U[:, :R] @ np.diag(np.sqrt(sigma[:R]))
        A_c += P @ P.T / S
        A_full += noisy / S
    local = moments[0] + noise(n_site)
    pooled = moments.mean(axis=0) + noise(problem.n_samples)
    return [energy(matrix) for matrix in (A_c, A_full, local, pooled)]


def panel(figure: PaperFigure) -> None:
    cells = list(figure.cells())
    problem = local_problem(cells[0].problem_key())
    moments = problem.moments.second_moments.astype(np.float64)
    processors = os.cpu_count() or 1

    def baseline() -> None:
        with threadpool_limits(processors, user_api="blas"):
            for repetition in range(figure.base.repetitions):
                for cell in cells:
                    transliterated(cell, problem, moments, repetition)

    times = best_of(
        {
            "plain": baseline,
            "one": lambda: collect(figure.sweep, workers=1),
            "two": lambda: collect(figure.sweep, workers=2),
        }
    )
    print(
        f"{figure.name}: {len(cells)} values x {figure.base.repetitions} draws"
        f" | transliteration {times['plain']:.1f} s"
        f" | one worker {times['one']:.2f} s = {times['plain'] / times['one']:.1f}x"
        f" | two workers {times['two']:.2f} s = {times['plain'] / times['two']:.1f}x"
    )


def workers(figure: PaperFigure) -> None:
    """Measure threads and processes on equal units; processes keep the moments between rounds."""
    units = units_of(dict(enumerate(figure.cells())))
    with Parallel(n_jobs=2, backend="loky") as processes:
        processes(delayed(_in_process)(unit) for unit in units[:4])
        times = best_of(
            {
                "one": lambda: collect(figure.sweep, workers=1),
                "threads": lambda: collect(figure.sweep, workers=2),
                "processes": lambda: processes(delayed(_in_process)(unit) for unit in units),
            }
        )
    print(
        f"{figure.name}: one worker {times['one']:.2f} s"
        f" | two threads {times['threads']:.2f} s = {times['one'] / times['threads']:.2f}x"
        f" | two processes {times['processes']:.2f} s = {times['one'] / times['processes']:.2f}x"
    )


def _in_process(unit: Unit) -> tuple:
    # Imported there: what this script holds would be sent along, locks and all.
    from dpcore.experiments.pca.problem import local_problem as problems_there

    return run_unit(unit, problems_there)


def memory(name: str) -> None:
    """Return the peak memory of a process that runs a panel, above its memory after imports."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.bench_sweep", "--memory", name],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    print(done.stdout.strip())


def _measured_memory(name: str) -> None:
    before = _peak()
    figure = paper_figure(name).with_changes(repetitions=2)
    collect(figure.sweep, workers=2)
    peak = _peak() - before
    problem = local_problem(next(figure.cells()).problem_key())
    n_features, itemsize = problem.n_features, problem.moments.second_moments.itemsize
    rows = 60_000 * n_features * itemsize
    # Two workers may be at two problems, the last draws of one and the first of the next.
    problems = {cell.problem_key(): cell.sites for cell in figure.cells()}
    at_once = sum(sorted(problems.values())[-2:]) if len(problems) > 1 else max(problems.values())
    moments = at_once * n_features**2 * itemsize
    print(
        f"{name}: peak {peak / 1e6:.0f} MB over the imports, X {rows / 1e6:.0f} MB, "
        f"moments {moments / 1e6:.0f} MB; (peak - moments) / X = {(peak - moments) / rows:.2f}"
    )


def _peak() -> int:
    # Not ru_maxrss, which counts what the process that started this one had.
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])


def best_of(functions: dict[str, Callable[[], object]]) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(ROUNDS):
        for name, function in functions.items():
            started = time.perf_counter()
            function()
            times[name].append(time.perf_counter() - started)
    return {name: min(values) for name, values in times.items()}


def main() -> None:
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    for name in ("fig1-b", "fig1-k"):
        panel(paper_figure(name).with_changes(repetitions=draws))
    workers(paper_figure("fig1-b").with_changes(repetitions=max(2, draws)))
    for name in ("fig1-b", "fig1-h", "fig1-e"):
        memory(name)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory"]:
        _measured_memory(sys.argv[2])
    else:
        main()
