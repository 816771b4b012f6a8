"""The poster's findings in numbers: shares against epsilon and N, and the tail's slopes.

Run by hand: OPENBLAS_NUM_THREADS=1 python tests/benchmarks/bench_cca_findings.py [data home]
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from dpcore.data import load_dataset, synthetic_views, two_views
from dpcore.experiments.cca_runs import (
    CcaSpec,
    build_cca_problem,
    epsilon_reaching,
    run_cca_repetition,
)
from dpcore.experiments.once_cache import OnceCache
from dpcore.experiments.sweep import Sweep, collect

EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
REACH = np.logspace(4, 9, 6)


def shares_against_epsilon(name, views, components, sizes) -> None:
    for noise in ("triangle", "isometric"):
        for samples in sizes:
            spec = CcaSpec.published(samples=samples, components=components, noise=noise)
            problems = OnceCache(lambda key: build_cca_problem(views, key), keep=1)
            rows = collect(Sweep(spec, (("epsilon", EPSILONS),)), problems=problems).rows
            means = [
                np.mean([row["correlation_share"] for row in rows if row["epsilon"] == epsilon])
                for epsilon in EPSILONS
            ]
            print(
                f"{name:14s} {noise:9s} N={samples:<6d} random {rows[0]['random_share']:.2f}  "
                + " ".join(f"{mean:.3f}" for mean in means)
                + f"  half at epsilon {epsilon_reaching(rows):.3g}"
            )


def slopes(views) -> None:
    spec = CcaSpec.published()
    problem = build_cca_problem(views, spec)
    errors, losses = [], []
    for samples in REACH:
        moments = replace(problem.moments, n_samples=np.array([int(samples)]))
        cell = replace(problem, moments=moments)
        rows = [row for r in range(10) for row in run_cca_repetition(spec, cell, r)]
        errors.append(np.mean([row["estimate_error"] for row in rows]))
        losses.append(np.mean([row["exact_total"] - row["measured_total"] for row in rows]))
    for name, values in (("estimate error", errors), ("measured loss", losses)):
        local = np.diff(np.log10(values)) / np.diff(np.log10(REACH))
        print(f"{name}: slopes between decades of N epsilon from 1e4:", local.round(3))


def main() -> None:
    synthetic = synthetic_views(60_000, 50, 50, 5, 0.5, rng=np.random.default_rng(0))
    mfeat = load_dataset("mfeat", *sys.argv[1:2], download=False)
    print("columns: epsilon", *EPSILONS)
    shares_against_epsilon("synthetic", synthetic, 5, (1000, 5000, 20_000, 60_000))
    for pair in (("fou", "kar"), ("pix", "fac")):
        shares_against_epsilon("-".join(pair), two_views(mfeat, pair), 3, (500, 1000, 2000))
    shares_against_epsilon("digits halves", two_views(load_dataset("digits")), 3, (450, 900, 1797))
    slopes(synthetic_views(20_000, 20, 20, 4, 0.4, rng=np.random.default_rng(0)))


if __name__ == "__main__":
    main()
