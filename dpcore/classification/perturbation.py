"""How much noise a private minimiser takes, and what it promises.

Chaudhuri, Monteleoni & Sarwate (2011), under replace-one neighbours, for

    J(w) = mean_i loss(y_i x_i . w) + Lambda / 2 |w|^2

with a convex loss, |loss'| <= 1 and loss'' <= c. The paper has |x| <= 1; here |x| <= B, which is
the same problem in the units x / B (c becomes c B^2, noise on a sum of gradients grows by B).

Their theorems speak of the exact minimiser w*. A solver stops at some w' nearby, where exactly
depends on everybody's rows, and the difference is covered here too. Whatever the solver does, it
certifies that the gradient at w' is no longer than g, a length fixed beforehand, so that
|w' - w*| <= g / (Lambda + extra) =: r by strong convexity.

Output perturbation. Neighbours' minimisers are at most 2 B / (n Lambda) apart, so what the solver
finds is at most 2 (B / n + g) / Lambda apart, and the noise is made for that.

Objective perturbation. Release w' + b', b' of density proportional to exp(-beta' |b'|) with
beta' = epsilon' / (2 r). This is epsilon-DP if releasing w* is (epsilon - epsilon')-DP:
approximate minima perturbation (Iyengar and others 2019, algorithm 1), with pure noise. Proof.
On data D the noise determines w* and, one to one, is determined by it, so that the solver's
answer is a function s_D(w*) with |s_D(w) - w| <= r for every w. Let p_D be the density of w*. At
any z, the release has the density

    integral of p_D(w) q(z - s_D(w)) dw,    q the density of b'.

For a neighbour D', p_D <= exp(epsilon - epsilon') p_D', and q(z - s_D(w)) <= exp(epsilon')
q(z - s_D'(w)) because s_D(w) and s_D'(w) are both within r of w. Multiply. Several tasks solved
together, each from what the others' noise made of the arithmetic, are one such w, with one r and
one q a task.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.privacy import Assumption, Guarantee, PrivacyBudget

METHODS = ("output", "objective")
# Of epsilon, under objective perturbation: what hides where the solver stopped.
_SOLVER_SHARE = 0.01


@dataclass(frozen=True)
class Perturbation:
    """Calibrated noise for one minimisation.

    The noise vector b has density proportional to exp(-beta |b|). Output perturbation adds it to
    what the solver found; objective perturbation adds b . w / n + extra / 2 |w|^2 to J before
    minimising, and a little noise of rate `distance_beta` to what the solver found.

    Parameters
    ----------
    method : {"output", "objective"}
    epsilon : float
        What this one minimisation promises, pure.
    beta : float
        Rate of the noise; ``inf`` means none.
    extra_regularization : float
        What objective perturbation adds to Lambda; 0 unless epsilon is small for n Lambda.
    gradient_norm : float
        What the solver has to certify, or there is no promise.
    distance_beta : float
        Rate of the noise that hides where the solver stopped; ``inf`` means none of its own.
    """

    method: str
    epsilon: float
    beta: float
    extra_regularization: float
    gradient_norm: float
    distance_beta: float


def minimiser_sensitivity(
    n_samples: int, regularization: float, norm_bound: float, gradient_norm: float = 0.0
) -> float:
    """How far one person can move what the solver finds: 2 (B / n + g) / Lambda.

    With g = 0 it is the exact minimiser (their corollary 8).
    """
    return 2.0 * (norm_bound / n_samples + gradient_norm) / regularization


def calibrate(
    method: str,
    epsilon: float,
    *,
    n_samples: int,
    regularization: float,
    curvature: float,
    norm_bound: float,
    tol: float,
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
    tol : float
        Length of the gradient at which the solver may stop, in units of B / n, the most that one
        row adds to it. Public.
    """
    gradient_norm = tol * norm_bound / n_samples
    if method == "output":
        sensitivity = minimiser_sensitivity(n_samples, regularization, norm_bound, gradient_norm)
        return Perturbation(method, epsilon, epsilon / sensitivity, 0.0, gradient_norm, math.inf)
    for_solver = _SOLVER_SHARE * epsilon
    for_minimiser = epsilon - for_solver if epsilon < math.inf else epsilon
    curvature = curvature * norm_bound**2
    # Algorithm 2 step 1, whose 1 + 2c / (n Lambda) + c^2 / (n Lambda)^2 is a square. It adds
    # regularization only once that logarithm has used up all of epsilon, so that the noise grows
    # without bound just before. Here it is added as soon as half is used up: the same Delta, for
    # which the same proof holds, and noise that is continuous in every parameter.
    extra = max(0.0, curvature / (n_samples * _expm1(for_minimiser / 4)) - regularization)
    strength = regularization + extra
    share = for_minimiser - 2.0 * math.log1p(curvature / (n_samples * strength))
    # Replacing a person moves the sum of gradients, and so b, by at most 2 B.
    beta = share / (2.0 * norm_bound)
    distance_beta = for_solver * strength / (2.0 * gradient_norm)
    return Perturbation(method, epsilon, beta, extra, gradient_norm, distance_beta)


def _expm1(x: float) -> float:
    # exp overflows at 710; any epsilon that large asks for the same.
    return math.expm1(min(x, 700.0))


def unit_noise(n_tasks: int, n_features: int, rng: np.random.Generator) -> FloatArray:
    """Vectors (n_tasks, n_features) of density proportional to exp(-|b|).

    The direction is uniform and the norm Gamma(n_features, 1); divided by beta they have the law
    of `Perturbation`. Each release needs a draw of its own: two that share one, at different
    beta, can be solved for what the noise should hide.
    """
    directions = rng.standard_normal((n_tasks, n_features))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions * rng.standard_gamma(n_features, size=(n_tasks, 1))


def longest_unit_noise(n_features: int) -> float:
    """A length that `unit_noise` exceeds with a chance below e^-100 (Chernoff, Gamma law)."""
    return 2.0 * n_features + 200.0


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
    where = (
        "to the minimiser, as near as the solver certifies"
        if output
        else "to the objective, before it is minimised, and a little to the weights found"
    )
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
            minimiser_sensitivity(n_samples, regularization, norm_bound, perturbation.gradient_norm)
            if output
            else None
        ),
        assumptions=(
            Assumption.ONE_ROW_A_PERSON,
            Assumption.ROW_OF_ONE_PERSON,
            Assumption.PUBLIC_COUNTS,
            Assumption.PUBLIC_LABELS,
            Assumption.PUBLIC_BOUND,
            Assumption.TRUSTED_HOLDER,
            Assumption.SECRET_SEED,
            Assumption.FLOAT_ARITHMETIC,
        ),
    )
