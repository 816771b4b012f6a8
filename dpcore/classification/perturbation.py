"""How much noise a private minimiser takes, and what it promises.

Chaudhuri, Monteleoni & Sarwate (2011), under replace-one neighbours, for

    J(w) = mean_i loss(y_i x_i . w) + Lambda / 2 |w|^2

with a convex loss, |loss'| <= 1 and loss'' <= c. The paper has |x| <= 1; here |x| <= B, which is
the same problem in the units x / B (c becomes c B^2, noise on a sum of gradients grows by B).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcore.privacy import Assumption, Guarantee, PrivacyBudget

METHODS = ("output", "objective")


@dataclass(frozen=True)
class Perturbation:
    """Calibrated noise for one minimisation.

    The noise vector b has density proportional to exp(-beta |b|). Output perturbation adds it to
    the minimiser; objective perturbation adds b . w / n + extra / 2 |w|^2 to J before minimising.

    Parameters
    ----------
    method : {"output", "objective"}
    epsilon : float
        What this one minimisation promises, pure.
    beta : float
        Rate of the noise; ``inf`` means none.
    extra_regularization : float
        What objective perturbation adds to Lambda; 0 unless epsilon is small for n Lambda.
    """

    method: str
    epsilon: float
    beta: float
    extra_regularization: float


def minimiser_sensitivity(n_samples: int, regularization: float, norm_bound: float) -> float:
    """2 B / (n Lambda): how far one person can move the minimiser (their corollary 8)."""
    return 2.0 * norm_bound / (n_samples * regularization)


def calibrate(
    method: str,
    epsilon: float,
    *,
    n_samples: int,
    regularization: float,
    curvature: float,
    norm_bound: float,
) -> Perturbation:
    """The noise that makes one minimisation epsilon-DP.

    Parameters
    ----------
    method : {"output", "objective"}
        Their algorithm 1 (theorem 6) or algorithm 2 (theorem 9).
    epsilon : float
        Positive; ``inf`` for no noise.
    n_samples : int
    regularization : float
        Lambda.
    curvature : float
        c, the largest second derivative of the loss.
    norm_bound : float
        B, on every row of features, the constant included.
    """
    if method == "output":
        sensitivity = minimiser_sensitivity(n_samples, regularization, norm_bound)
        return Perturbation(method, epsilon, epsilon / sensitivity, 0.0)
    curvature = curvature * norm_bound**2
    # Algorithm 2 step 1, whose 1 + 2c / (n Lambda) + c^2 / (n Lambda)^2 is a square. It adds
    # regularization only once that logarithm has used up all of epsilon, so that the noise grows
    # without bound just before. Here it is added as soon as half is used up: the same Delta, for
    # which the same proof holds, and noise that is continuous in every parameter.
    extra = max(0.0, curvature / (n_samples * _expm1(epsilon / 4)) - regularization)
    strength = n_samples * (regularization + extra)
    share = epsilon - 2.0 * math.log1p(curvature / strength)
    # Replacing a person moves the sum of gradients, and so b, by at most 2 B.
    return Perturbation(method, epsilon, share / (2.0 * norm_bound), extra)


def _expm1(x: float) -> float:
    # exp overflows at 710; any epsilon that large asks for the same.
    return math.expm1(min(x, 700.0))


def unit_noise(n_tasks: int, n_features: int, rng: np.random.Generator) -> np.ndarray:
    """Vectors (n_tasks, n_features) of density proportional to exp(-|b|).

    The direction is uniform and the norm Gamma(n_features, 1); divided by beta they have the law
    of `Perturbation`. Each release needs a draw of its own: two that share one, at different
    beta, can be solved for what the noise should hide.
    """
    directions = rng.standard_normal((n_tasks, n_features))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions * rng.standard_gamma(n_features, size=(n_tasks, 1))


def promise(
    perturbation: Perturbation,
    epsilon: float,
    *,
    n_tasks: int,
    n_samples: int,
    regularization: float,
    norm_bound: float,
) -> Guarantee:
    """What `n_tasks` such minimisations over the same people promise together."""
    asked = PrivacyBudget(epsilon)
    if asked.is_noiseless:
        return Guarantee(asked, math.inf, 0.0, "none", "nobody")
    output = perturbation.method == "output"
    where = "to the minimiser" if output else "to the objective, before it is minimised"
    if n_tasks > 1:
        where += (
            f", in each of {n_tasks} one-against-the-rest tasks at epsilon / {n_tasks} ="
            f" {perturbation.epsilon:.4g}, which add up"
        )
    return Guarantee(
        asked,
        epsilon,
        0.0,
        f"{perturbation.method} perturbation",
        f"the curator, {where}",
        l2_sensitivity=(
            minimiser_sensitivity(n_samples, regularization, norm_bound) if output else None
        ),
        assumptions=(
            Assumption.ONE_ROW_A_PERSON,
            Assumption.ROW_OF_ONE_PERSON,
            Assumption.PUBLIC_COUNTS,
            Assumption.PUBLIC_LABELS,
            Assumption.PUBLIC_BOUND,
            Assumption.EXACT_OPTIMUM,
            Assumption.TRUSTED_HOLDER,
            Assumption.SECRET_SEED,
            Assumption.FLOAT_ARITHMETIC,
        ),
    )
