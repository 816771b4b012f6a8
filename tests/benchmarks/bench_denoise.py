"""What denoising keeps, beside what is kept without it, on the same draws of noise.

    python -m tests.benchmarks.bench_denoise [--datasets digits,insurance] [--runs 10] [--sites 5]
        [--protocols dpdis,pooled,full,securesum] [--views] [--epsilons 0.1,0.3,1,3] [--seconds 60]

With --views the same of halves of pictures: the share of the exact correlation that three private
canonical pairs capture.

Every data set at hand, small ones first, fully private on the sphere at delta = 1e-5, K the data
set's default and R = 2 K. A line a data set and epsilon, as a row of a table: without -> with,
captured energy over the exact optimum, means over the runs, and the standard error of the paired
difference in units of the last digit. A row that takes longer than `--seconds` for each protocol
stops after fewer runs, three at least, and says how many. A cell where denoising loses by more than
a standard error is marked with *; they are listed at the end, and the script ends with code 1 if
one loses by more than three of them.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from dpcore.data import list_datasets
from dpcore.data.two_views import HALVES
from dpcore.experiments.cca import CcaSpec
from dpcore.experiments.cca_problem import local_cca_problem
from dpcore.experiments.cca_views import CutViews
from dpcore.experiments.pca import RunSpec, run_repetitions
from dpcore.experiments.problem import local_problem

_PICTURES = ("digits", "mnist-small", "patches")
_PROTOCOLS = ("dpdis", "pooled", "full", "securesum")
_MANY = 3.0
_FEWEST = 3


def ratios(dataset: str, epsilon: float, arguments: argparse.Namespace) -> np.ndarray:
    """Captured energy of shape (2, n_runs, n_protocols): without denoising, and with it."""
    protocols = tuple(arguments.protocols.split(","))
    specs = [
        RunSpec(
            dataset=dataset,
            protocols=protocols,
            epsilon=epsilon,
            delta=1e-5,
            sites=arguments.sites,
            repetitions=arguments.runs,
            seed=arguments.seed,
            denoise=choice,
        )
        for choice in ("none", "auto")
    ]
    problem = local_problem(specs[0].problem_key())
    runs = []
    until = time.perf_counter() + arguments.seconds * len(protocols)
    for index in range(arguments.runs):
        if len(runs) >= _FEWEST and time.perf_counter() > until:
            break
        runs.append(run_repetitions(specs, problem, index))
    # One run, two specs on one draw, a row a protocol.
    return np.array(
        [[[row["energy_ratio"] for row in rows] for rows in both] for both in runs]
    ).swapaxes(0, 1)


def shares_of_views(cut: CutViews, epsilon: float, arguments: argparse.Namespace) -> np.ndarray:
    """Captured correlation, of the same shape."""
    problem = None
    shares = []
    for choice in ("none", "auto"):
        spec = CcaSpec.recommended(
            source=cut,
            protocols=tuple(arguments.protocols.split(",")),
            sites=arguments.sites,
            epsilon=epsilon,
            delta=1e-5,
            repetitions=arguments.runs,
            seed=arguments.seed,
            denoise=choice,
        )
        problem = problem or local_cca_problem(spec.problem_key())
        rows = [spec.rows(problem, index) for index in range(arguments.runs)]
        shares.append([[row["correlation_share"] for row in each] for each in rows])
    return np.array(shares)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", help="all with a default K by default")
    parser.add_argument("--protocols", default=",".join(_PROTOCOLS))
    parser.add_argument("--epsilons", default="0.1,0.3,1,3")
    parser.add_argument("--views", action="store_true", help="halves of pictures (CCA)")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--sites", type=int, default=5)
    parser.add_argument("--seed", type=int, default=26)
    parser.add_argument("--seconds", type=float, default=60.0)
    arguments = parser.parse_args()
    if arguments.views and arguments.protocols == ",".join(_PROTOCOLS):
        arguments.protocols = "pooled,full,dpdis"
    at_hand = [each for each in list_datasets() if each.ready and each.default_components]
    at_hand.sort(key=lambda each: each.n_samples * each.n_features**2)
    names = arguments.datasets.split(",") if arguments.datasets else [each.name for each in at_hand]
    if arguments.views:
        pictures = arguments.datasets.split(",") if arguments.datasets else _PICTURES
        names = [f"{name}, {how}" for name in pictures for how in HALVES]
    protocols = arguments.protocols.split(",")
    print(f"| data set | ε | {' | '.join(protocols)} |")
    print(f"| --- | --- |{' --- |' * len(protocols)}")
    lost = []
    for name in names:
        for epsilon in map(float, arguments.epsilons.split(",")):
            if arguments.views:
                cut = CutViews(*name.split(", "))
                without, denoised = shares_of_views(cut, epsilon, arguments)
            else:
                without, denoised = ratios(name, epsilon, arguments)
            gain = denoised - without
            error = gain.std(axis=0, ddof=1) / np.sqrt(len(gain))
            cells = []
            for at, protocol in enumerate(protocols):
                is_lost = gain[:, at].mean() < -error[at]
                before, after = without[:, at].mean(), denoised[:, at].mean()
                star = " *" if is_lost else ""
                cells.append(f"{before:.4f} → {after:.4f} ({1e4 * error[at]:.0f}){star}")
                if is_lost:
                    lost.append((name, epsilon, protocol, gain[:, at].mean(), error[at]))
            runs = "" if len(gain) == arguments.runs else f" ({len(gain)} runs)"
            print(f"| {name}{runs} | {epsilon:g} | {' | '.join(cells)} |", flush=True)
    for name, epsilon, protocol, mean, error in lost:
        print(f"lost: {name}, ε = {epsilon:g}, {protocol}: {mean:+.4f} ± {error:.4f}")
    return int(any(-mean > _MANY * error for *_, mean, error in lost))


if __name__ == "__main__":
    sys.exit(main())
