"""PPCA: the exponential mechanism over subspaces (Chaudhuri, Sarwate & Sinha 2012, Algorithm 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.errors import ParameterError
from dpcore.mechanisms.bingham import BinghamDraw, sample_matrix_bingham
from dpcore.pca.protocols.guarantees import AT_AGGREGATOR, HOLDER
from dpcore.privacy import Assumption, Guarantee, PrivacyBudget

_OF_CHAINS = (Assumption.EXACT_DRAWS, Assumption.VERDICT_WITH_HOLDER)


@dataclass(frozen=True)
class PpcaRelease:
    """Private components, how they were drawn and what is promised.

    components: shape (n_components, n_features), orthonormal rows. Only their span means anything:
        within it the rows are uniform.
    draw: Diagnostics. Traces, states, R-hat, sample sizes, the number of sweeps and `converged` are
        functions of the rows that epsilon does not cover: for the aggregator's eyes, unless the
        data are public.
    guarantee: Pure epsilon, or nothing (infinite epsilon) where the chains did not converge: which
        of the two it says depends on the rows as well.
    """

    components: np.ndarray
    draw: BinghamDraw
    guarantee: Guarantee


def ppca(
    second_moment: np.ndarray,
    n_samples: int,
    epsilon: float,
    n_components: int,
    *,
    row_norm_bound: float = 1.0,
    rng: np.random.Generator,
    **sampler: Any,
) -> PpcaRelease:
    """A random subspace, exponentially likelier the more energy it captures.

    The score of a frame V is u(V) = tr(V^T X^T X V) = n tr(V^T A V), the sum of the squared
    lengths of the rows' projections. Each term is between 0 and c^2 whatever the number of
    components, so replacing a row moves u by at most Delta = c^2, and the exponential mechanism
    exp(epsilon u / (2 Delta)) is pure epsilon-differentially private under replace-one (theorem
    2). That is the matrix Bingham law with B = n epsilon / (2 c^2) A; nothing is divided by K.

    The theorem is about an exact draw. One component, or all but one, is drawn exactly, up to
    floating point; otherwise the draw is the end of a Markov chain whose convergence is
    diagnosed, not proven, and the promise holds as far as that goes.

    second_moment: shape (n_features, n_features), or (n_features,) if diagonal. A = X^T X / n over
        rows of norm at most `row_norm_bound`.
    epsilon: Positive and finite.
    row_norm_bound: c, public.
    **sampler: Passed on to `sample_matrix_bingham`: `method`, `n_chains`, `max_r_hat`, `min_ess`,
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
    """Pure epsilon, of a draw that is exact or that its chains' diagnostics pass for one."""
    epsilon = budget.epsilon if converged else math.inf
    return Guarantee(
        asked=budget,
        epsilon=epsilon,
        delta=0.0,
        mechanism="exponential",
        noise_added_by="the aggregator, who holds all rows and draws the subspace at random",
        assumptions=(*AT_AGGREGATOR, *_OF_CHAINS) if is_chain else AT_AGGREGATOR,
        against=HOLDER.against(dict.fromkeys(HOLDER.sees, epsilon)),
    )
