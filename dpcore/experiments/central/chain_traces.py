"""Traces and diagnostics of PPCA's Markov chains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.experiments.engine.blas_threads import one_blas_thread
from dpcore.experiments.engine.spec import Row
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.pca.problem import Problem
from dpcore.mechanisms import bulk_ess, rank_normalized_r_hat, sample_matrix_bingham, tail_ess
from dpcore.spectra import leading_eigenpairs
from dpcore.streams import Purpose, Repetition

MAX_R_HAT, MIN_ESS = 1.05, 50.0
FEWEST_SWEEPS = 8
# Number of the SUBSPACE stream.
_TRACES = 4


@dataclass(frozen=True)
class WatchedChains:
    """Traces and diagnostics of Markov chains on one distribution.

    The traces depend on the data and must not be released.

    shares: shape (n_chains, n_sweeps + 1). Captured energy as a share of exact PCA's, including the
        start.
    starts: tuple of {"random", "mode"}
    random_share: Mean captured energy of a uniformly random subspace.
    converged: Whether the last diagnostics passed.
    r_hat, ess: The last split R-hat, and the smaller of bulk and tail effective sample size.
    """

    shares: FloatArray
    starts: tuple[str, ...]
    random_share: float
    converged: bool
    r_hat: float
    ess: float

    @property
    def n_sweeps(self) -> int:
        return int(self.shares.shape[1] - 1)


def watch(
    spec: RunSpec, problem: Problem, *, n_chains: int, n_sweeps: int | None = None
) -> WatchedChains:
    """Run chains for this number of sweeps, or until the diagnostics pass.

    The chains of a spec do not depend on the number of sweeps: a longer run begins with a shorter
    one.

    spec: Result of `central_spec`.
    n_chains: Number of chains, at least 2. Half start at a uniformly random subspace, half at the
        exact one.
    n_sweeps: Number of sweeps, at least 8.
    Raises `ParameterError` if K is the number of features, because there is only one such subspace.
    """
    settings = spec.settings(problem.n_features, problem.default_components)
    if settings.n_components == problem.n_features:
        raise ParameterError(
            "components", f"below n_features={problem.n_features}", settings.n_components
        )
    # Rows have norm at most 1, so that the score moves by at most 1 (theorem 2).
    concentration = problem.n_samples * spec.epsilon / 2
    limits: dict[str, Any] = {"min_ess": MIN_ESS}
    if n_sweeps is not None:
        limits = {"min_ess": np.inf, "max_sweeps": n_sweeps}
    moment = problem.holders_moment
    with one_blas_thread():
        draw = sample_matrix_bingham(
            concentration * moment,
            settings.n_components,
            rng=Repetition(spec.seed).rng(Purpose.SUBSPACE, _TRACES),
            method="rotation",
            n_chains=n_chains,
            max_r_hat=MAX_R_HAT,
            **limits,
        )
    optimum = float(leading_eigenpairs(moment, settings.n_components)[0].sum())
    ess = min(draw.ess_bulk, draw.ess_tail)
    return WatchedChains(
        shares=draw.energies / (concentration * optimum),
        starts=draw.starts,
        random_share=settings.n_components / len(moment) * float(moment.trace()) / optimum,
        converged=draw.r_hat < MAX_R_HAT and ess >= MIN_ESS,
        r_hat=draw.r_hat,
        ess=ess,
    )


def running_diagnostics(chains: WatchedChains, n_points: int = 24) -> list[Row]:
    """Compute split R-hat and effective sample sizes after fewer sweeps.

    Rows contain sweeps, r_hat and ess over the second half of each trace, as in the sampler.
    """
    last = chains.n_sweeps
    first = min(FEWEST_SWEEPS, last)
    sweeps = np.unique(np.geomspace(first, last, n_points).round().astype(int))
    return [_diagnostics(chains.shares[:, : t + 1]) for t in sweeps.tolist()]


def _diagnostics(shares: FloatArray) -> Row:
    half = shares[:, shares.shape[1] // 2 :]
    return {
        "sweeps": shares.shape[1] - 1,
        "r_hat": rank_normalized_r_hat(half),
        "ess": min(bulk_ess(half), tail_ess(half)),
    }
