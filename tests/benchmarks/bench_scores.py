"""Distance of private score plots from the exact ones, pooled and at five sites.

Prints the total variation distance between the people of the private picture and the exact counts
in the same cells, by group, as the mean of several draws. The last two columns compare cells of
15 x 15 with the additive histogram of R's dppca (Jo & Kim 2026), which sets negative counts to 0
and scales the others; dppca also spends a part of epsilon on its frame, which is free here. Run
from the root of the repository:

    python -m tests.benchmarks.bench_scores
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from dpcore.experiments.pca import RunSpec, draw_subspaces
from dpcore.experiments.pca.problem import load_prepared, local_problem
from dpcore.experiments.pca.score_plot import plot_scores
from dpcore.statistics import private_scores

DRAWS = 5
EPSILONS = (0.5, 1.0, 3.0)
# Cells along an axis in the vignettes of dppca.
CELLS_OF_DPPCA = 15


def distances(spec: RunSpec, epsilon: float, bins: int | None) -> tuple[float, float, int]:
    """Return the mean distances of the picture and of the additive one, and the number of cells."""
    key = spec.problem_key()
    prepared, problem = load_prepared(*key.data), local_problem(key)
    collected = []
    for draw in range(DRAWS):
        drawn = replace(spec, seed=draw)
        subspace = draw_subspaces([drawn], problem, 0)[0][spec.protocols[0]]
        plot = plot_scores(drawn, prepared, problem, subspace, epsilon=epsilon, by_group=True)
        count = partial(
            private_scores,
            plot.points,
            limits=(plot.released.edges[0, -1], plot.released.edges[1, -1]),
            groups=plot.groups,
            labels=range(len(plot.names)),
            rng=np.random.default_rng(draw),
        )
        released = plot.released
        if bins is not None:
            released = count(epsilon=epsilon, delta=spec.delta, bins=bins)
        exact = count(epsilon=math.inf, bins=released.n_bins).counts
        clipped = np.maximum(released.counts, 0)
        additive = clipped * len(plot.points) / clipped.sum()
        collected.append(
            [
                np.abs(people - exact).sum() / 2 / len(plot.points)
                for people in (released.density, additive)
            ]
        )
    ours, theirs = np.mean(collected, axis=0).tolist()
    return ours, theirs, released.n_bins


def main() -> None:
    """Print one line per data set, protocol and epsilon."""
    heads = f"{'data set':<15}{'protocol':<11}{'ε':>5}{'cells':>7}{'distance':>10}"
    print(heads + f"{'15²':>6}{'dppca':>7}")
    for dataset in ("digits", "breast-cancer"):
        for protocol in ("pooled", "securesum", "dpdis"):
            for epsilon in EPSILONS:
                spec = RunSpec.improved(dataset=dataset, protocols=(protocol,), epsilon=epsilon)
                spec = replace(spec, delta=1e-5)
                own_cells, _, bins = distances(spec, epsilon, None)
                ours, theirs, _ = distances(spec, epsilon, CELLS_OF_DPPCA)
                print(
                    f"{dataset:<15}{protocol:<11}{epsilon:>5g}{bins:>4} ² {own_cells:>9.2f}"
                    f"{ours:>6.2f}{theirs:>7.2f}"
                )


if __name__ == "__main__":
    main()
