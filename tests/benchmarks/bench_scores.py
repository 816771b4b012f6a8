"""Distance of private score plots from the exact ones, pooled and at five sites.

Prints the total variation distance between the people of the private picture and the exact counts
in the same cells, by group, as the mean of several draws. Run from the root of the repository:

    python -m tests.benchmarks.bench_scores
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpcore.experiments.pca import RunSpec, draw_subspaces
from dpcore.experiments.pca.problem import load_prepared, local_problem
from dpcore.experiments.pca.score_plot import plot_scores
from dpcore.statistics import private_scores

DRAWS = 5
EPSILONS = (0.5, 1.0, 3.0)


def distance(spec: RunSpec, epsilon: float) -> tuple[float, int]:
    """Return the mean distance over draws, and the number of cells along an axis."""
    key = spec.problem_key()
    prepared, problem = load_prepared(*key.data), local_problem(key)
    collected = []
    for draw in range(DRAWS):
        drawn = replace(spec, seed=draw)
        subspace = draw_subspaces([drawn], problem, 0)[0][spec.protocols[0]]
        plot = plot_scores(drawn, prepared, problem, subspace, epsilon=epsilon, by_group=True)
        released = plot.released
        exact = private_scores(
            plot.points,
            limits=(released.edges[0, -1], released.edges[1, -1]),
            epsilon=math.inf,
            bins=released.n_bins,
            groups=plot.groups,
            labels=range(len(plot.names)),
            rng=np.random.default_rng(0),
        )
        collected.append(np.abs(released.density - exact.counts).sum() / 2 / len(plot.points))
    return float(np.mean(collected)), released.n_bins


def main() -> None:
    """Print one line per data set, protocol and epsilon."""
    print(f"{'data set':<15}{'protocol':<11}{'ε':>5}{'cells':>7}{'distance':>10}")
    for dataset in ("digits", "breast-cancer"):
        for protocol in ("pooled", "securesum", "dpdis"):
            for epsilon in EPSILONS:
                spec = RunSpec.improved(dataset=dataset, protocols=(protocol,), epsilon=epsilon)
                far, bins = distance(replace(spec, delta=1e-5), epsilon)
                print(f"{dataset:<15}{protocol:<11}{epsilon:>5g}{bins:>4} ² {far:>9.2f}")


if __name__ == "__main__":
    main()
