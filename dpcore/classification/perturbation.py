"""Output and objective perturbation: noise of a private minimisation, and its guarantee.

Chaudhuri, Monteleoni & Sarwate (2011), "Differentially private empirical risk minimization",
JMLR 12, for replace-one neighbours and

    J(w) = mean_i loss(y_i x_i . w) + Lambda / 2 |w|^2

with a convex loss, |loss'| <= 1, loss'' <= c and rows |x| <= B. The paper has B = 1, which is the
same problem in the units x / B: c becomes c B^2, and noise on a sum of gradients grows by B.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.privacy import Assumption, Guarantee, PrivacyBudget

METHODS = ("output", "objective")
# Share of epsilon, under objective perturbation, for the noise that hides the solver's error.
_SOLVER_SHARE = 0.01


@dataclass(frozen=True)
class Perturbation:
    """Calibrated noise of one minimisation.

    The noise vector b has a density proportional to exp(-beta |b|). Output perturbation adds b to
    the solver's result. Objective perturbation adds b . w / n + extra / 2 |w|^2 to J before
    minimising, and noise with rate `distance_beta` to the solver's result.

    Parameters
    ----------
    method : {"output", "objective"}
    epsilon : float
        Pure epsilon of this minimisation.
    beta : float
        Rate of the noise; ``inf`` means no noise.
    extra_regularization : float
        Regularization added to Lambda by objective perturbation; 0 unless epsilon is small for
        n Lambda.
    gradient_norm : float
        Largest gradient norm that the solver may certify. The guarantee depends on it.
    distance_beta : float
        Rate of the noise that hides the solver's error; ``inf`` means no such noise.
    """

    method: str
    epsilon: float
    beta: float
    extra_regularization: float
    gradient_norm: float
    distance_beta: float


def minimizer_sensitivity(
    n_samples: int, regularization: float, norm_bound: float, gradient_norm: float = 0.0
) -> float:
    """Return the l2 sensitivity of the solver's result, 2 (B / n + g) / Lambda.

    Neighbours change mean loss gradients by at most 2 B / n, so by strong convexity their exact
    minimisers differ by at most 2 B / (n Lambda) (corollary 8). The solver certifies a gradient of
    length at most g, fixed in advance, so its result is within g / Lambda of the exact minimiser:
    this adds g / Lambda on each side.
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
    """Compute the noise that makes one minimisation epsilon-DP.

    Parameters
    ----------
    method : {"output", "objective"}
        Algorithm 1 (theorem 6) or algorithm 2 (theorem 9) of the paper.
    epsilon : float
        Positive; ``inf`` for no noise.
    n_samples : int
    regularization : float
        Lambda.
    curvature : float
        c, the largest second derivative of the loss.
    norm_bound : float
        B, the bound on every row of features, the constant feature included.
    tol : float
        Largest gradient norm at which the solver may stop, in units of B / n, the largest
        contribution of one row. Public.
    """
    gradient_norm = tol * norm_bound / n_samples
    if method == "output":
        sensitivity = minimizer_sensitivity(n_samples, regularization, norm_bound, gradient_norm)
        # The densities of w* + b under neighbours differ by a factor of at most
        # exp(beta sensitivity) = exp(epsilon) at any point (algorithm 1, theorem 6).
        return Perturbation(method, epsilon, epsilon / sensitivity, 0.0, gradient_norm, math.inf)
    return _calibrate_objective(
        epsilon, n_samples, regularization, curvature, norm_bound, gradient_norm
    )


def _calibrate_objective(
    epsilon: float,
    n_samples: int,
    regularization: float,
    curvature: float,
    norm_bound: float,
    gradient_norm: float,
) -> Perturbation:
    """Compute the noise of objective perturbation (algorithm 2, theorem 9).

    It minimises J(w) + b . w / n + extra / 2 |w|^2. The exact minimiser w* is epsilon_w-DP with
    epsilon_w = epsilon - epsilon_r (`minimizer_epsilon`, `solver_epsilon`). Proof:

    1. The map from b to w* is a bijection, b = -n grad(J + extra / 2 |w|^2), so the density of w*
       is the density of b at that point times the Jacobian determinant.
    2. Replacing a row changes the Hessian of the sum by two rank-one terms of size at most c B^2,
       so the determinants differ by a factor of at most (1 + c B^2 / (n strength))^2, with
       strength = Lambda + extra: variable `determinant_share`.
    3. Replacing a row moves b by at most 2 B, so the densities of b differ by a factor of at most
       exp(2 B beta): the remaining epsilon gives `beta`.

    The theorem assumes the exact minimiser. A solver stops at a nearby w' that depends on all rows
    and certifies a gradient of length at most g there, with g fixed in advance, so strong convexity
    gives |w' - w*| <= r := g / strength. The release is w' + b', with density of b' proportional to
    exp(-beta' |b'|) and beta' = epsilon_r / (2 r), called `distance_beta` (approximate minima
    perturbation, Iyengar et al. 2019, algorithm 1, with pure noise). Pure epsilon-DP. Proof:

    1. On data D the noise b determines w* and w* determines b, so the solver's result is a function
       s_D(w*) with |s_D(w) - w| <= r for every w.
    2. With the density p_D of w* and the density q of b', the release has the density
       integral of p_D(w) q(z - s_D(w)) dw at z.
    3. For a neighbour D', p_D <= exp(epsilon_w) p_D' by theorem 9. Since s_D(w) and s_D'(w) are
       both within r of w, q(z - s_D(w)) <= exp(2 r beta') q(z - s_D'(w)) =
       exp(epsilon_r) q(z - s_D'(w)).
    4. The factors multiply to exp(epsilon). Tasks that are solved together form one such w, with
       one r and one q per task.
    """
    solver_epsilon = _SOLVER_SHARE * epsilon
    minimizer_epsilon = epsilon - solver_epsilon if epsilon < math.inf else epsilon
    curvature = curvature * norm_bound**2
    # The paper adds regularization once the determinant has used up all of epsilon, so its noise
    # diverges just before that point. Here regularization is added once half is used up: the same
    # Delta, the same proof, and noise that is continuous in every parameter.
    extra = max(0.0, curvature / (n_samples * _expm1(minimizer_epsilon / 4)) - regularization)
    strength = regularization + extra
    determinant_share = 2.0 * math.log1p(curvature / (n_samples * strength))
    beta = (minimizer_epsilon - determinant_share) / (2.0 * norm_bound)
    distance_beta = solver_epsilon * strength / (2.0 * gradient_norm)
    return Perturbation("objective", epsilon, beta, extra, gradient_norm, distance_beta)


def _expm1(x: float) -> float:
    # exp overflows at 710. All larger epsilons need the same regularization.
    return math.expm1(min(x, 700.0))


def unit_noise(n_tasks: int, n_features: int, rng: np.random.Generator) -> FloatArray:
    """Draw vectors of shape (n_tasks, n_features) with density proportional to exp(-|b|).

    The direction is uniform and the norm is Gamma(n_features, 1) distributed. Divided by beta,
    the vectors have the distribution of `Perturbation`. Every release needs its own draw: two
    releases of one draw at different beta reveal the noise.
    """
    directions = rng.standard_normal((n_tasks, n_features))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions * rng.standard_gamma(n_features, size=(n_tasks, 1))


def unit_noise_quantile(n_features: int) -> float:
    """Return a length that `unit_noise` exceeds with probability below e^-100 (Chernoff bound)."""
    return 2.0 * n_features + 200.0


def perturbation_guarantee(
    perturbation: Perturbation,
    epsilon: float,
    *,
    n_tasks: int,
    n_samples: int,
    regularization: float,
    norm_bound: float,
) -> Guarantee:
    """Return the joint guarantee of `n_tasks` minimisations over the same rows."""
    budget = PrivacyBudget(epsilon)
    if budget.is_noiseless:
        return Guarantee(budget, math.inf, 0.0, "none", "no one")
    is_output = perturbation.method == "output"
    place = (
        "to the minimiser, as near as the solver certifies"
        if is_output
        else "to the objective, before it is minimised, and a little to the weights found"
    )
    if n_tasks > 1:
        place += (
            f", in each of {n_tasks} one-against-the-rest tasks at epsilon / {n_tasks} ="
            f" {perturbation.epsilon:.4g}, which add up"
        )
    return Guarantee(
        budget,
        epsilon,
        0.0,
        f"{perturbation.method} perturbation",
        f"the curator, {place}",
        l2_sensitivity=(
            minimizer_sensitivity(n_samples, regularization, norm_bound, perturbation.gradient_norm)
            if is_output
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
