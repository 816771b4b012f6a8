"""Captured energy of denoising if parts of the exact second moment were known.

    python -m tests.benchmarks.bench_oracles [--datasets digits,insurance] [--runs 20]
        [--protocols dpdis,pooled] [--epsilons 0.1,0.3,1] [--sites 5] [--seed 26] [--seconds 10]

A simulation: the oracles read the exact second moment A of all sites around the released centre.
Data sets, settings and draws of noise are those of `bench_denoise`. Columns:

none, auto
    Without denoising, and with the default.
profile
    Denoising as by default, with columns denoised in every table, and with the diagonal of A in
    place of the fitted variances a_i of each basis.
filter
    Entries of M in the public basis (cosines of pictures, columns of tables), multiplied by
    B_ij^2 / (B_ij^2 + v_ij). B is A in this basis, and v_ij the variance of the average's noise.
top R
    M projected on the leading R directions of A.
noiseless
    No noise in the second moments. The loss is due to the cut to R directions, and to rows of
    length 1 around a noisy centre.

A row that takes longer than `--seconds` per column stops after fewer runs, but not before two. The
last lines state how much of the gap between "none" and "noiseless" is closed by "auto".
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from statistics import fmean
from typing import Any
from unittest.mock import patch

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.experiments.pca import RunSpec, draw_subspaces
from dpcore.experiments.pca.problem import Problem, local_problem
from dpcore.pca import Draw
from dpcore.spectra import COLUMNS, PublicBasis, Spectrum, denoising
from dpcore.streams import Repetition
from tests.benchmarks.bench_denoise import find_data, format_share, make_spec, relative_energies

_FEWEST = 2
Oracle = Callable[[FloatArray, int], ExitStack]


def true_profile(exact: FloatArray, _: int) -> ExitStack:
    """Replace the fitted variances of `denoise` by the diagonal of the exact matrix."""

    def variances(basis: PublicBasis) -> FloatArray:
        return np.maximum(np.diagonal(basis.to_basis(exact)), 0)

    fit_residual, fit_variances = denoising._residual_entries, denoising._fit_variances

    def residual_entries(
        residual: FloatArray, basis: PublicBasis, *arguments: Any
    ) -> tuple[denoising._Entries, float]:
        fitted, _ = fit_residual(residual, basis, *arguments)
        diagonal = np.diagonal(fitted.noisy).astype(np.float64)
        overall, coupling = denoising._fit_coupling(
            basis, fitted.noisy, diagonal, variances(basis), fitted.noise_variance
        )
        return fitted._replace(variances=variances(basis), coupling=coupling), overall

    def fit(basis: PublicBasis, *arguments: Any) -> denoising._Fit:
        return fit_variances(basis, *arguments)._replace(variances=variances(basis))

    stack = ExitStack()
    stack.enter_context(patch.object(denoising, "_residual_entries", residual_entries))
    stack.enter_context(patch.object(denoising, "_fit_variances", fit))
    # Columns are the only basis that follows another.
    of_columns = variances(COLUMNS)
    stack.enter_context(patch.object(denoising, "_posterior_variances", lambda *_: of_columns))
    return stack


def _replaced(denoise: Callable[..., FloatArray]) -> ExitStack:
    stack = ExitStack()
    stack.enter_context(patch("dpcore.spectra.eigen.denoise", denoise))
    return stack


def true_filter(exact: FloatArray, _: int) -> ExitStack:
    """Replace `denoise` by the Wiener filter of each entry, whose variance is its exact square."""

    def denoise(
        noisy: FloatArray,
        sigma: float,
        *,
        bases: tuple[PublicBasis, ...],
        sigma_of_average: float | None = None,
        **_: Any,
    ) -> FloatArray:
        basis, average = bases[0], sigma_of_average or sigma
        squares = basis.to_basis(exact) ** 2
        noise = np.full(squares.shape, average**2 / 2)
        np.fill_diagonal(noise, average**2)
        weights = (squares / (squares + noise)).astype(noisy.dtype)
        return basis.from_basis(weights * basis.to_basis(noisy))

    return _replaced(denoise)


def true_directions(exact: FloatArray, intermediate_dim: int) -> ExitStack:
    """Replace `denoise` by the projection on the leading R directions of the exact matrix."""
    directions = Spectrum(exact).leading(intermediate_dim)[1]

    def denoise(noisy: FloatArray, *_: Any, **__: Any) -> FloatArray:
        basis = directions.astype(noisy.dtype)
        return basis.T @ (basis @ noisy @ basis.T) @ basis

    return _replaced(denoise)


def noiseless(_: FloatArray, __: int) -> ExitStack:
    """Replace the noisy matrix of a site or of the holder by the exact one, without denoising."""
    stack = _replaced(lambda noisy, *_, **__: noisy)
    for name in ("draw.noisy_second_moment", "protocols.pooled_release.add_noise"):
        stack.enter_context(patch(f"dpcore.pca.{name}", lambda exact, *_, **__: exact))
    return stack


ORACLES: dict[str, Oracle] = {
    "profile": true_profile,
    "filter": true_filter,
    "top R": true_directions,
    "noiseless": noiseless,
}


@contextmanager
def _columns_always() -> Iterator[None]:
    """Denoise columns in every table."""
    with (
        patch("dpcore.pca.draw.columns_differ", lambda *_: True),
        patch("dpcore.pca.assessment.basis_choice.columns_differ", lambda *_: True),
    ):
        yield


def exact_moment(spec: RunSpec, problem: Problem, repetition: int) -> FloatArray:
    """Return the exact second moment of all sites around the centre that a protocol releases."""
    (subspaces,) = draw_subspaces([spec], problem, repetition)
    settings = spec.settings(problem.n_features, problem.default_components)
    draw = Draw(problem.moments, settings, Repetition(spec.seed, repetition))
    (subspace,) = subspaces.values()
    return draw.moment_around(subspace.centre)


def measure_oracles(spec: RunSpec, problem: Problem, repetition: int) -> dict[str, float]:
    """Return the captured energy of one protocol in each column, on the same draw of noise."""
    specs = [replace(spec, denoise="none"), spec]
    (key,) = spec.protocols
    without, default = relative_energies(specs, problem, repetition)
    energies = {"none": without[key], "auto": default[key]}
    exact = exact_moment(spec, problem, repetition)
    dimension = spec.settings(problem.n_features, problem.default_components).intermediate_dim
    for name, oracle in ORACLES.items():
        with _columns_always(), oracle(exact, dimension):
            (ratios,) = relative_energies([spec], problem, repetition)
        energies[name] = ratios[key]
    return energies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", help="names separated by commas; all by default")
    parser.add_argument("--protocols", default="dpdis,pooled")
    parser.add_argument("--epsilons", default="0.1,0.3,1")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--sites", type=int)
    parser.add_argument("--seed", type=int, default=26)
    parser.add_argument("--seconds", type=float, default=10.0, help="per column and row")
    arguments = parser.parse_args()
    columns = ["none", "auto", *ORACLES]
    print(f"| data set | protocol | ε | {' | '.join(columns)} |")
    print(f"| --- | --- | --- |{' --- |' * len(columns)}")
    rows: list[tuple[str, dict[str, float]]] = []
    for data in find_data(arguments.datasets):
        began = time.perf_counter()
        for epsilon in map(float, arguments.epsilons.split(",")):
            spec = make_spec(data, epsilon, arguments)
            problem = local_problem(spec.problem_key())
            for key in spec.protocols:
                runs: list[dict[str, float]] = []
                until = time.perf_counter() + arguments.seconds * len(columns)
                for index in range(arguments.runs):
                    if len(runs) >= _FEWEST and time.perf_counter() > until:
                        break
                    runs.append(measure_oracles(replace(spec, protocols=(key,)), problem, index))
                means = {name: fmean(run[name] for run in runs) for name in columns}
                rows.append((key, means))
                n_runs = "" if len(runs) == arguments.runs else f" ({len(runs)} runs)"
                cells = " | ".join(map(format_share, means.values()))
                print(f"| {data.name}{n_runs} | {key} | {epsilon:g} | {cells} |", flush=True)
        print(f"{data.name}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
    for key in arguments.protocols.split(","):
        own = [means for row, means in rows if row == key]
        gaps = [sum(row[name] - row["none"] for row in own) for name in ("auto", "noiseless")]
        print(f"{key}: {gaps[0] / gaps[1]:.0%} of the gap closed")


if __name__ == "__main__":
    main()
