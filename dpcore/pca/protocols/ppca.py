"""PPCA: the exponential mechanism over subspaces, at a trusted holder of all rows.

Chaudhuri, Sarwate & Sinha (2012), Algorithm 2. Rows are not centred by a private mean, so
`ReleaseSettings.mean_share` has no effect.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.errors import ParameterError
from dpcore.mechanisms.bingham import BinghamDraw, sample_matrix_bingham
from dpcore.pca.aggregator import Subspace
from dpcore.pca.draw import Draw
from dpcore.pca.protocols.protocol import (
    AT_AGGREGATOR,
    HOLDER,
    Kind,
    Look,
    NoiseIdentity,
    Protocol,
    Where,
    raw_row_bytes,
)
from dpcore.pca.protocols.register import register
from dpcore.pca.settings import ReleaseSettings
from dpcore.privacy import Assumption, Guarantee, PrivacyBudget
from dpcore.streams import Purpose

_CHAIN_ASSUMPTIONS = (Assumption.EXACT_DRAWS, Assumption.VERDICT_WITH_HOLDER)


@dataclass(frozen=True)
class PpcaRelease:
    """Private components with the diagnostics of their draw and their guarantee.

    components: shape (n_components, n_features), orthonormal rows. Only their span is meaningful:
        within it the rows are uniform.
    draw: Diagnostics. Traces, states, R-hat, sample sizes, the number of sweeps and `converged` are
        functions of the rows that epsilon does not cover: only for the aggregator, unless the data
        are public.
    guarantee: Pure epsilon, or infinite epsilon if the chains did not converge. Which of the two
        depends on the rows as well.
    """

    components: np.ndarray
    draw: BinghamDraw
    guarantee: Guarantee


def draw_ppca(
    second_moment: np.ndarray,
    n_samples: int,
    epsilon: float,
    n_components: int,
    *,
    row_norm_bound: float = 1.0,
    rng: np.random.Generator,
    **sampler: Any,
) -> PpcaRelease:
    """Draw a random subspace with a density that is exponential in its captured energy.

    The score of a frame V is u(V) = tr(V^T X^T X V) = n tr(V^T A V), the sum of the squared lengths
    of the rows' projections. Each term is between 0 and c^2 for any number of components, so
    replacing a row moves u by at most Delta = c^2, and the exponential mechanism exp(epsilon u / (2
    Delta)) is pure epsilon-differentially private under replace-one (theorem 2). This is the matrix
    Bingham law with B = n epsilon / (2 c^2) A, without division by K.

    The theorem assumes an exact draw. One component, or all but one, is drawn exactly, up to
    floating point. Otherwise the draw is the end of a Markov chain whose convergence is diagnosed
    but not proven.

    second_moment: shape (n_features, n_features), or (n_features,) if diagonal. A = X^T X / n over
        rows of norm at most `row_norm_bound`.
    epsilon: Positive and finite.
    row_norm_bound: c, public.
    **sampler: Arguments of `sample_matrix_bingham`: `method`, `n_chains`, `max_r_hat`, `min_ess`,
        `max_sweeps`.
    Raises `ParameterError` if an argument is outside its range.
    """
    budget = PrivacyBudget(epsilon)
    if budget.is_noiseless:
        raise ParameterError("epsilon", "finite for PPCA", epsilon)
    if not row_norm_bound > 0:
        raise ParameterError("row_norm_bound", "greater than 0", row_norm_bound)
    concentration = n_samples * epsilon / (2 * row_norm_bound**2)
    draw = sample_matrix_bingham(
        concentration * np.asarray(second_moment, dtype=float), n_components, rng=rng, **sampler
    )
    guarantee = ppca_guarantee(budget, is_chain=draw.method == "rotation", converged=draw.converged)
    return PpcaRelease(draw.components, draw, guarantee)


def ppca_guarantee(budget: PrivacyBudget, *, is_chain: bool, converged: bool = True) -> Guarantee:
    """Return pure epsilon for an exact draw or converged chains, and infinite epsilon otherwise."""
    epsilon = budget.epsilon if converged else math.inf
    return Guarantee(
        requested=budget,
        epsilon=epsilon,
        delta=0.0,
        mechanism="exponential",
        noise_added_by="the aggregator, who holds all rows and draws the subspace at random",
        assumptions=(*AT_AGGREGATOR, *_CHAIN_ASSUMPTIONS) if is_chain else AT_AGGREGATOR,
        against=HOLDER.against(dict.fromkeys(HOLDER.sees, epsilon)),
    )


# Stream of SUBSPACE; lower numbers belong to `references`.
_PPCA = 1


def guarantee_of_ppca(
    settings: ReleaseSettings, _n_samples: Sequence[int], n_features: int
) -> Guarantee:
    """Return pure epsilon, assuming that chains converge; K = 1 and K = D - 1 need no chains."""
    is_chain = settings.n_components not in (1, n_features - 1, n_features)
    return ppca_guarantee(PrivacyBudget(settings.budget.epsilon), is_chain=is_chain)


def ppca(draw: Draw) -> Subspace:
    """Draw a subspace by PPCA, with pure epsilon.

    Eigenvalues are NaN: none are released, and the subspace's own energies would not be private.
    """
    settings = draw.settings
    release = draw_ppca(
        draw.pooled_moment,
        draw.n_people,
        settings.budget.epsilon,
        settings.n_components,
        row_norm_bound=settings.row_norm_bound,
        rng=draw.repetition.rng(Purpose.SUBSPACE, _PPCA),
    )
    chains = release.draw
    return Subspace(
        components=release.components,
        eigenvalues=np.full(settings.n_components, np.nan),
        guarantee=release.guarantee,
        bytes_sent=raw_row_bytes(draw),
        diagnostics={
            "method": chains.method,
            "converged": chains.converged,
            "r_hat": chains.r_hat,
            "ess_bulk": chains.ess_bulk,
            "ess_tail": chains.ess_tail,
            "sweeps": chains.n_sweeps,
            "seconds": chains.seconds,
        },
    )


register(
    Protocol(
        "ppca",
        "PPCA",
        "Central: draws a subspace at random, likelier the more variation it captures.",
        ppca,
        guarantee_of_ppca,
        Kind.PURE,
        Where.HOLDER,
        # The number of chains changes every chain's draw, because chains share their planes.
        NoiseIdentity(
            "ppca", "the choice of a subspace", ("components", "chains", "dropped_sites")
        ),
        silent_because="it releases only a subspace, from which its captured energy cannot be "
        "estimated; a separate estimate would need its own budget",
        look=Look("#AA4499", "star"),
    )
)
