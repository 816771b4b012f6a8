"""Energies of pictures for the laws of the improved method (`docs/algorithms/denoising.md`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.experiments.pca.problem import local_problem
from dpcore.experiments.pca.runs import RunSpec, floor_of, run_repetitions

PROTOCOLS = ("pooled", "full", "coded", "dpdis", "local")
# (K, denoising, protocol) -> energy of each run, relative to exact PCA.
Energies = dict[tuple[int, str, str], FloatArray]


def energies_of_pictures(
    dataset: str,
    epsilon: float,
    *,
    runs: int,
    components: Sequence[int],
    denoise: Sequence[str] = ("auto",),
    protocols: Sequence[str] = PROTOCOLS,
    sites: int = 5,
    samples: int | None = None,
    seed: int = 90_917,
) -> Energies:
    """Return energies of paired runs: all settings of a run share their noise."""
    spec = RunSpec(
        dataset=dataset, protocols=tuple(protocols), epsilon=epsilon, delta=1e-5, sites=sites,
        samples=samples, seed=seed, repetitions=runs,
    )  # fmt: skip
    specs = [replace(spec, components=k, denoise=choice) for k in components for choice in denoise]
    problem = local_problem(spec.problem_key())
    by_key: dict[tuple[int, str, str], list[float]] = {}
    for run in range(runs):
        for rows in run_repetitions(specs, problem, run):
            for row in rows:
                key = row["components"], row["denoise"], row["protocol"]
                by_key.setdefault(key, []).append(row["energy_ratio"])
    return {key: np.array(values) for key, values in by_key.items()}


def constant_of(dataset: str, n_components: int) -> float:
    """Return the captured energy of the public constant."""
    spec = RunSpec(dataset=dataset, components=n_components)
    return floor_of(spec, local_problem(spec.problem_key()))
