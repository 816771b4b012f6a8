"""Captured energy with and without denoising, on the same draws of noise, for all data sets.

    python -m tests.benchmarks.bench_denoise [--datasets digits,insurance] [--runs 20] [--sites 5]
        [--protocols dpdis,pooled,full,coded] [--views] [--epsilons 0.1,0.3,1] [--seconds 10]
        [--against none]

With --views, the share of the exact correlation that three private canonical pairs of halves of
pictures capture.

The data sets are those of the catalogue that are at hand (set DPCORE_DATA) and `ADDED`, small ones
first: fully private on the sphere at delta = 1e-5, K the data set's default and R = 2 K. There are
five sites by default, three for fewer than 500 rows and ten for 60,000 pictures. The table has one
row per data set and epsilon: mean captured energy without and with denoising, relative to exact
PCA, and the standard error of the paired difference in units of the last digit. The row "floor"
has the captured energy without any data. A row that takes longer than `--seconds` per protocol
stops after fewer runs, but not before three, and states their number. All data sets take about 20
minutes on two cores. `--against cosines` compares with denoising of pictures without a prior mean.

A cell that loses more than a standard error is marked with *. These cells are listed at the end,
and the script ends with code 1 if one loses more than three standard errors.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.data import Dataset, DatasetStatus, list_datasets
from dpcore.data.dataset import HeldTable
from dpcore.data.two_views import HALVES
from dpcore.experiments.cca import CcaSpec
from dpcore.experiments.cca.problem import local_cca_problem
from dpcore.experiments.cca.views import CutViews
from dpcore.experiments.pca import RunSpec, draw_subspaces, floor_of
from dpcore.experiments.pca.problem import Problem, local_problem
from dpcore.spectra import captured_energy
from tests.benchmarks.bench_assessment import rows_of

# Data sets of `bench_assessment`: names in the table -> names there.
ADDED = {"wine": "wine", "diabetes-scaled": "diabetes", "olivetti-8": "olivetti-8"}
# K of data sets of the catalogue that have no default.
N_COMPONENTS = {"diabetes": 3}
PROTOCOLS = ("dpdis", "pooled", "full", "coded")
_PICTURES = ("digits", "mnist-small", "patches")
_MANY = 3.0
_FEWEST = 3


class NamedData(NamedTuple):
    """A data set of the benchmark: its name in the table, and the name and K of a spec."""

    name: str
    key: str
    n_components: int | None
    n_sites: int


_held_tables: dict[str, HeldTable] = {}


def find_data(names: str | None) -> list[NamedData]:
    """Return the data sets of these names, or all at hand, in the order of their cost."""
    at_hand = {status.name: status for status in list_datasets() if status.ready}
    has_k = [
        status
        for status in at_hand.values()
        if status.default_components or status.name in N_COMPONENTS
    ]
    has_k.sort(key=lambda status: status.n_samples * status.n_features**2)
    usual = [*ADDED, *(status.name for status in has_k)]
    selected = usual if names is None else names.split(",")
    collected = []
    for name in selected:
        if name in ADDED:
            collected.append(_added(name))
            continue
        status = at_hand[name]
        collected.append(NamedData(name, name, N_COMPONENTS.get(name), _usual_sites(status)))
    return collected


def _usual_sites(status: DatasetStatus) -> int:
    if status.n_samples < 500:
        return 3
    return 10 if status.image_shape is not None and status.n_samples >= 60_000 else 5


def _added(name: str) -> NamedData:
    if name not in _held_tables:
        rows, n_components, side = rows_of(ADDED[name])
        n_features = rows.shape[1]
        # Tables are scaled to [-1, 1] by their own ranges; pictures have values in [0, 1].
        low = -1.0 if side is None else 0.0
        limits = np.tile([low, 1.0], (n_features, 1))
        table = Dataset(
            X=rows,
            feature_names=tuple(map(str, range(n_features))),
            image_shape=None if side is None else (side, side),
            default_components=n_components,
            provenance="Benchmark data.",
            public_norm_bound=float(np.sqrt(n_features)),
            column_limits=limits,
        )
        _held_tables[name] = HeldTable(table, ending=name)
    return NamedData(name, _held_tables[name].name, None, 3)


def make_spec(data: NamedData, epsilon: float, arguments: argparse.Namespace) -> RunSpec:
    """Return the spec of one row of the table, with denoising."""
    return RunSpec(
        dataset=data.key,
        protocols=tuple(arguments.protocols.split(",")),
        epsilon=epsilon,
        delta=1e-5,
        sites=arguments.sites or data.n_sites,
        components=data.n_components,
        repetitions=arguments.runs,
        seed=arguments.seed,
    )


def relative_energies(
    specs: Sequence[RunSpec], problem: Problem, repetition: int
) -> list[dict[str, float]]:
    """Return the captured energy of each protocol, relative to exact PCA, one dict per spec."""
    return [
        {
            key: captured_energy(subspace.components, problem.reference)
            / float(problem.optimum[len(subspace.components) - 1])
            for key, subspace in subspaces.items()
        }
        for subspaces in draw_subspaces(specs, problem, repetition)
    ]


def measure_energies(data: NamedData, epsilon: float, arguments: argparse.Namespace) -> FloatArray:
    """Return captured energies of shape (2, n_runs, n_protocols), denoised by default last."""
    spec = make_spec(data, epsilon, arguments)
    specs = [replace(spec, denoise=arguments.against), spec]
    problem = local_problem(spec.problem_key())
    runs: list[list[list[float]]] = []
    until = time.perf_counter() + arguments.seconds * len(spec.protocols)
    for index in range(arguments.runs):
        if len(runs) >= _FEWEST and time.perf_counter() > until:
            break
        runs.append([list(energy.values()) for energy in relative_energies(specs, problem, index)])
    return np.array(runs).swapaxes(0, 1)


def measure_floor(data: NamedData, arguments: argparse.Namespace) -> float:
    """Return the captured energy without any data."""
    spec = make_spec(data, 1.0, arguments)
    return floor_of(spec, local_problem(spec.problem_key()))


def shares_of_views(cut: CutViews, epsilon: float, arguments: argparse.Namespace) -> FloatArray:
    """Return captured correlations of shape (2, n_runs, n_protocols)."""
    problem = None
    shares = []
    for choice in (arguments.against, "auto"):
        spec = CcaSpec.improved(
            source=cut,
            protocols=tuple(arguments.protocols.split(",")),
            sites=arguments.sites or 5,
            epsilon=epsilon,
            delta=1e-5,
            repetitions=arguments.runs,
            seed=arguments.seed,
            denoise=choice,
        )
        problem = problem or local_cca_problem(spec.problem_key())
        rows = [spec.rows(problem, index) for index in range(arguments.runs)]
        shares.append([[row["correlation_share"] for row in of_draw] for of_draw in rows])
    return np.array(shares)


def format_share(value: float) -> str:
    """Return three decimals without a leading zero."""
    return f"{value:.3f}".removeprefix("0")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", help="names separated by commas; all by default")
    parser.add_argument("--protocols", default=",".join(PROTOCOLS))
    parser.add_argument("--epsilons", default="0.1,0.3,1")
    parser.add_argument("--against", default="none", help="denoising to compare with")
    parser.add_argument("--views", action="store_true", help="halves of pictures (CCA)")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--sites", type=int, help="by default as many as the data set needs")
    parser.add_argument("--seed", type=int, default=26)
    parser.add_argument("--seconds", type=float, default=10.0, help="per protocol and row")
    arguments = parser.parse_args()
    if arguments.views and arguments.protocols == ",".join(PROTOCOLS):
        arguments.protocols = "pooled,full,dpdis"
    cells = {}
    if arguments.views:
        pictures = arguments.datasets.split(",") if arguments.datasets else _PICTURES
        cells = {
            f"{name}, {how}": partial(shares_of_views, CutViews(name, how))
            for name in pictures
            for how in HALVES
        }
    data = (
        {}
        if arguments.views
        else {dataset.name: dataset for dataset in find_data(arguments.datasets)}
    )
    cells |= {name: partial(measure_energies, dataset) for name, dataset in data.items()}
    protocols = arguments.protocols.split(",")
    print(f"| data set | ε | {' | '.join(protocols)} |")
    print(f"| --- | --- |{' --- |' * len(protocols)}")
    lost = []
    for name, measure in cells.items():
        began = time.perf_counter()
        for epsilon in map(float, arguments.epsilons.split(",")):
            without, denoised = measure(epsilon, arguments)
            gain = denoised - without
            error = gain.std(axis=0, ddof=1) / np.sqrt(len(gain))
            entries = []
            for at, protocol in enumerate(protocols):
                is_lost = gain[:, at].mean() < -error[at]
                before, after = map(format_share, (without[:, at].mean(), denoised[:, at].mean()))
                in_last_digit = f"{1e3 * error[at]:.0f}"
                stated = "" if in_last_digit == "0" else f" ({in_last_digit})"
                entries.append(f"{before} → {after}{stated}{' *' if is_lost else ''}")
                if is_lost:
                    lost.append((name, epsilon, protocol, gain[:, at].mean(), error[at]))
            runs = "" if len(gain) == arguments.runs else f" ({len(gain)} runs)"
            print(f"| {name}{runs} | {epsilon:g} | {' | '.join(entries)} |", flush=True)
        if name in data:
            floor = format_share(measure_floor(data[name], arguments))
            print(f"| {name} | floor | {' | '.join([floor] * len(protocols))} |", flush=True)
        print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
    for name, epsilon, protocol, mean, error in lost:
        print(f"lost: {name}, ε = {epsilon:g}, {protocol}: {mean:+.4f} ± {error:.4f}")
    return int(any(-mean > _MANY * error for *_, mean, error in lost))


if __name__ == "__main__":
    sys.exit(main())
