"""PPCA's Markov chains, watched: energy traces, and diagnostics as they would have read earlier."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.engine.work_units import one_blas_thread
from dpcore.experiments.pca.problem import Problem
from dpcore.experiments.pca.spec import RunSpec
from dpcore.mechanisms import bulk_ess, rank_normalized_r_hat, sample_matrix_bingham, tail_ess
from dpcore.mechanisms.bingham import BinghamDraw
from dpcore.spectra import leading_eigenpairs
from dpcore.streams import Purpose, Repetition

MAX_R_HAT, MIN_ESS = 1.05, 50.0
FEWEST_SWEEPS = 8
# Of the SUBSPACE streams; see `dpcore.experiments.central.runs`.
_WATCHED = 4


@dataclass(frozen=True)
class WatchedChains:
    """Chains on one law, and what was seen of them. Functions of the data: not for release.

    shares: shape (n_chains, n_sweeps + 1). Captured energy as a share of exact PCA's, from the
        start on.
    starts: tuple of {"random", "mode"}
    random_share: What a uniformly random subspace captures on average.
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

    def mean_of(self, start: str) -> float:
        """Mean share over the second half of the chains that started there."""
        half = self.shares[:, self.shares.shape[1] // 2 :]
        return fmean(half[chain].mean() for chain, own in enumerate(self.starts) if own == start)


def watch(
    spec: RunSpec, problem: Problem, *, n_chains: int, n_sweeps: int | None = None
) -> WatchedChains:
    """Run chains for so many sweeps, or until the diagnostics pass.

    The chains of one spec are the same however long they run: a longer run begins with a shorter
    one.

    spec: From `dpcore.experiments.central.runs.central_spec`.
    n_chains: At least 2, half of them from a uniformly random subspace, half from the exact one.
    n_sweeps: At least 8.
    Raises `ParameterError` if K is the number of features: the only subspace there is needs no
        chain.
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
            rng=Repetition(spec.seed).rng(Purpose.SUBSPACE, _WATCHED),
            method="rotation",
            n_chains=n_chains,
            max_r_hat=MAX_R_HAT,
            **limits,
        )
    return _watched(draw, moment, settings.n_components, concentration)


def _watched(
    draw: BinghamDraw, moment: FloatArray, n_components: int, concentration: float
) -> WatchedChains:
    optimum = float(leading_eigenpairs(moment, n_components)[0].sum())
    ess = min(draw.ess_bulk, draw.ess_tail)
    floor = n_components / len(moment) * float(moment.trace()) / optimum
    return WatchedChains(
        shares=draw.energies / (concentration * optimum),
        starts=draw.starts,
        random_share=floor,
        converged=draw.r_hat < MAX_R_HAT and ess >= MIN_ESS,
        r_hat=draw.r_hat,
        ess=ess,
    )


def running_diagnostics(chains: WatchedChains, n_points: int = 24) -> list[Row]:
    """What split R-hat and effective sample sizes would have said after fewer sweeps.

    Rows of sweeps, r_hat and ess, over the second half of each trace, as the sampler looks.
    """
    last = chains.n_sweeps
    first = min(FEWEST_SWEEPS, last)
    sweeps = np.unique(np.geomspace(first, last, n_points).round().astype(int))
    return [_diagnosed(chains.shares[:, : t + 1]) for t in sweeps.tolist()]


def _diagnosed(shares: FloatArray) -> Row:
    kept = shares[:, shares.shape[1] // 2 :]
    return {
        "sweeps": shares.shape[1] - 1,
        "r_hat": rank_normalized_r_hat(kept),
        "ess": min(bulk_ess(kept), tail_ess(kept)),
    }
