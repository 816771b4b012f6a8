"""Captured energy against other libraries' private PCA, at one exact promise, in one run.

    python tests/benchmarks/bench_peers.py --diffprivlib PYTHON --opendp PYTHON
        [--datasets digits,insurance] [--epsilons 0.3,1,3] [--components K] [--draws 10]

PYTHON are interpreters of environments of their own: `pip install diffprivlib scikit-learn==1.6.1`
and `pip install 'opendp[scikit-learn]'`. Everybody gets the same rows, in units of the same public
bound about the same public middle, knows n, and promises replace-one at delta = 1e-5:

- this project: the exact profile of the Gaussian mechanism; and its pure-epsilon release.
- diffprivlib and OpenDP promise pure epsilon, which holds for every delta and is more than is
  asked. Their second line gets the largest total whose parts, split as the library splits it, are
  (epsilon, 1e-5) together, by the privacy loss distributions of dp-accounting. OpenDP counts
  additions and removals: a replaced row is two of them.
- dppca (R, Kim and Jung 2025), transliterated: the spherical Kendall matrix of all pairs of rows
  and isometric Gaussian noise. Its sensitivity under replace-one is 2 sqrt(2) / n, attained where
  all others are near one point; the package takes 2 / n and the classic calibration.

Energy is that of the page: captured on the exact centred second moment, over the optimum. Mean and
standard error of the draws.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.common import DifferentialPrivacyParameters
from scipy.optimize import brentq

from dpcore.arrays import FloatArray
from dpcore.data import Prepared, load_dataset
from dpcore.experiments.pca import RunSpec, run
from dpcore.experiments.problem import Problem, load_prepared, local_problem
from dpcore.privacy import PrivacyBudget, gaussian_epsilon, gaussian_mu
from dpcore.spectra import captured_energy, leading_eigenpairs

DELTA = 1e-5
_GRID = 5e-6
_PAIRS_AT_ONCE = 1 << 24
_OURS = {
    "this project, `sphere`": ("pooled", "sphere"),
    "this project, `bounded`": ("pooled", "bounded"),
    "this project, pure ε, `sphere`": ("wishart", "sphere"),
}


def spherical_kendall(rows: FloatArray) -> FloatArray:
    """Mean of u u^T, u = (x_i - x_j) / |x_i - x_j| over all pairs i < j, as dppca's `tau_sph`.

    With w_ij = 1 / |x_i - x_j|^2 the sum is X^T (diag(w 1) - w) X. The package refuses tables with
    two equal rows, which tells of them; here such a pair counts as zero.
    """
    n_rows = len(rows)
    squared, weights, start = np.einsum("nd,nd->n", rows, rows), np.zeros(n_rows), 0
    crossed = np.zeros((rows.shape[1],) * 2)
    while start < n_rows:
        own, others = rows[start : start + max(1, _PAIRS_AT_ONCE // (n_rows - start))], rows[start:]
        distance = own @ others.T
        distance *= -2
        distance += squared[start : start + len(own), None] + squared[start:]
        weight = np.divide(1, distance, out=np.zeros_like(distance), where=distance > 1e-5)
        weight[:, : len(own)] /= 2  # pairs within the block are met twice
        weights[start : start + len(own)] += weight.sum(axis=1)
        weights[start:] += weight.sum(axis=0)
        crossed += own.T @ (weight @ others)
        start += len(own)
    total = (rows * weights[:, None].astype(rows.dtype)).T @ rows - crossed - crossed.T
    return total * (2 / (n_rows * (n_rows - 1)))


def with_dppca(
    kendall: FloatArray, sigma: float, n_components: int, rng: np.random.Generator
) -> FloatArray:
    """dppca's `mech_tau_sph`: sigma on the diagonal, sigma / sqrt(2) beside it, mirrored."""
    noise = rng.standard_normal(kendall.shape) * sigma / math.sqrt(2)
    noise = np.triu(noise, 1)
    noise += noise.T + np.diag(rng.standard_normal(len(kendall)) * sigma)
    return leading_eigenpairs(kendall + noise, n_components)[1]


@lru_cache
def largest_total(peer: str, epsilon: float, n_features: int, n_components: int) -> float:
    """The pure epsilon to ask of a library so that its parts are (epsilon, DELTA) together."""

    def excess(total: float) -> float:
        if peer == "diffprivlib":
            # Half for the mean, a Laplace noise a column; of the rest a part for all eigenvalues.
            mean = pld.from_laplace_mechanism(
                2 * n_features / total, value_discretization_interval=_GRID
            ).self_compose(n_features)
            one = total / 2 / (n_components + 1)
            vectors = _pure(one).self_compose(n_components + 1)
            return float(mean.compose(vectors).get_delta_for_epsilon(epsilon)) - DELTA
        vectors = _pure(total / 3 / n_components).self_compose(n_components)
        both = _pure(total / 3).self_compose(2)
        return float(both.compose(vectors).get_delta_for_epsilon(epsilon)) - DELTA

    high = epsilon
    while excess(2 * high) < 0:
        high *= 2
    # Less than what is asked it never is: parts that are pure together keep every delta.
    return max(epsilon, float(brentq(excess, high, 2 * high, rtol=1e-3)) * (1 - 2e-3))


def _pure(epsilon: float) -> pld.PrivacyLossDistribution:
    return pld.from_privacy_parameters(
        DifferentialPrivacyParameters(epsilon, 0), value_discretization_interval=_GRID
    )


def question(
    name: str, prepared: Prepared, epsilon: float, n_components: int, asked: argparse.Namespace
) -> dict[str, object]:
    limits = load_dataset(name).column_limits
    # Without limits a column holds what is from 0 to 1: encoded levels and scaled numbers.
    low, high = (np.zeros(prepared.n_features), 1.0) if limits is None else limits.T
    return {
        "rows": prepared.X.astype(float),
        "lower": (low - prepared.mean) / prepared.scale,
        "upper": (high - prepared.mean) / prepared.scale,
        "epsilon": epsilon,
        "n_components": n_components,
        "draws": asked.draws,
        "seconds": asked.seconds,
    }


def of_peer(peer: str, python: str, asked: dict[str, object]) -> dict[str, FloatArray]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        np.savez(home / "asked.npz", **asked)
        script = Path(__file__).with_name("peers.py")
        command = [python, "-W", "ignore", script, peer, home / "asked.npz", home / "found.npz"]
        subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
        with np.load(home / "found.npz") as found:
            return dict(found)


def lines(name: str, epsilon: float, asked: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """What stands in this data set's column, a line at a time."""
    spec = RunSpec(
        dataset=name, epsilon=epsilon, delta=DELTA, components=asked.components,
        protocols=("pooled",), repetitions=asked.draws,
    )  # fmt: skip
    problem = local_problem(spec.problem_key())
    n_components = spec.settings(problem.n_features, problem.default_components).n_components
    by_chance = n_components / problem.n_features * np.trace(problem.reference)
    yield "components", str(n_components)
    yield "a random subspace", f"{by_chance / problem.optimum[n_components - 1]:.3f}"
    for label, (protocol, preparation) in _OURS.items():
        ours = RunSpec(**{**vars(spec), "protocols": (protocol,), "preparation": preparation})
        yield label, _said([row["energy_ratio"] for row in run(ours)])
    prepared = load_prepared(name, "bounded")
    yield from _of_dppca(prepared, problem, epsilon, n_components, asked.draws)
    for peer in ("diffprivlib", "opendp"):
        python = getattr(asked, peer)
        if python is None:
            continue
        total = largest_total(peer, epsilon, problem.n_features, n_components)
        for label, is_mended, pure in (
            ("pure ε, as it is", False, epsilon),
            ("pure ε, sampler mended", True, epsilon),
            ("(ε, δ), sampler mended", True, total),
        ):
            put = question(name, prepared, pure, n_components, asked)
            found = of_peer(peer, python, put | {"is_mended": is_mended})
            ratios = [_ratio(each, problem) for each in found["components"]]
            said = _said(ratios) if ratios else str(found["failed"])
            of_what = f"asked {pure:.3g}, {found['seconds']:.1f} s a draw, {found['versions']}"
            yield f"{peer}, {label}", f"{said} | {of_what}"


def _of_dppca(
    prepared: Prepared, problem: Problem, epsilon: float, n_components: int, draws: int
) -> Iterator[tuple[str, str]]:
    n_samples, kendall = prepared.n_samples, _kendall_of(prepared.name)
    rng = np.random.default_rng(0)
    sensitivity = 2 * math.sqrt(2) / n_samples
    exact = sensitivity / gaussian_mu(PrivacyBudget(epsilon, DELTA))
    shipped = 2 * math.sqrt(2 * math.log(1.25 / DELTA)) / (n_samples * epsilon)
    holds = gaussian_epsilon(DELTA, shipped, sensitivity)
    for label, sigma in (("exact σ", exact), (f"its own σ, which holds ε = {holds:.3g}", shipped)):
        drawn = (with_dppca(kendall, sigma, n_components, rng) for _ in range(draws))
        yield f"dppca, {label}", _said([_ratio(each, problem) for each in drawn])


@lru_cache(1)
def _kendall_of(name: str) -> FloatArray:
    return spherical_kendall(load_prepared(name, "bounded").X)


def _ratio(components: FloatArray, problem: Problem) -> float:
    energy = captured_energy(components, problem.reference)
    return float(energy / problem.optimum[len(components) - 1])


def _said(ratios: list[float]) -> str:
    error = np.std(ratios, ddof=1) / math.sqrt(len(ratios)) if len(ratios) > 1 else math.nan
    return f"{np.mean(ratios):.3f} ± {error:.3f} ({len(ratios)} draws)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--diffprivlib", help="interpreter")
    parser.add_argument("--opendp", help="interpreter")
    parser.add_argument("--datasets", default="digits,insurance,mnist")
    parser.add_argument("--epsilons", default="0.3,1,3")
    parser.add_argument("--components", type=int, help="the data set's own by default")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument(
        "--seconds", type=float, default=60, help="of the processor, that a peer's draw may take"
    )
    asked = parser.parse_args()
    for name in asked.datasets.split(","):
        for epsilon in map(float, asked.epsilons.split(",")):
            print(f"\n{name}, ε = {epsilon:g}, δ = {DELTA:g}")
            for label, said in lines(name, epsilon, asked):
                print(f"| {label} | {said} |", flush=True)


if __name__ == "__main__":
    main()
