"""Mechanisms with a known flaw, for testing the audit. None of them may protect data.

Each was published or shipped, and each represents another kind of flaw.
"""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from functools import partial

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.audit_cases.neighbours import (
    BUDGET,
    TURN,
    make_samplers,
    projection_on,
    worst_second_moments,
)
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.privacy import (
    Adversary,
    PrivacyBudget,
    gaussian_sigma,
    l2_sensitivity_of_second_moment,
    published_sigma,
)
from dpcore.privacy.audit import AuditCase
from dpcore.statistics import private_scores

FAMILY = "Flawed"
_N_SAMPLES = 20
_MOMENT, _MOMENT_PRIME = worst_second_moments(3, _N_SAMPLES)
_OTHER_SITE = np.eye(3) / 3
_score = projection_on(_MOMENT - _MOMENT_PRIME)


def flawed_cases() -> tuple[AuditCase, ...]:
    """Return all flawed cases in the order of the page."""
    cases = (
        published_noise_at_its_requested_epsilon(),
        wishart_noise(),
        one_seed_for_all_sites(),
        masks_that_forget_the_sites(),
        noise_on_upper_triangle(),
        scaling_by_the_largest_norm(),
        one_budget_for_two_releases(),
        bingham_by_wrong_acceptance(),
        solver_that_stops_early(),
        limits_read_from_the_rows(),
    )
    return tuple(replace(case, family=FAMILY) for case in cases)


def published_noise_at_its_requested_epsilon(epsilon: float = 10.0) -> AuditCase:
    """Return a case of the published sigma, with the requested epsilon as the claim.

    The sigma is that of Algorithm 1 in Imtiaz & Sarwate (2018).
    """
    budget = PrivacyBudget(epsilon, 0.01)
    moment, moment_prime = worst_second_moments(4, _N_SAMPLES)
    noisy = partial(_add_noise, published_sigma(budget, _N_SAMPLES))
    return AuditCase(
        name=f"published noise, requested ε = {epsilon:g}",
        **asdict(budget),
        **make_samplers(noisy, moment, moment_prime),
        statistic=projection_on(moment - moment_prime),
        is_gaussian=True,
        neighbours=TURN,
        flaw="The formula is proven up to ε = 1 only, and takes a sensitivity √2 too small.",
    )


def wishart_noise() -> AuditCase:
    """Return a case of n A + W with Wishart noise.

    W has D + 1 degrees of freedom and scale 3 / (2 epsilon).

    Jiang, Xie & Zhang (2016), "Wishart mechanism for differentially private principal components
    analysis", claims pure epsilon. There is one row, D = 2, and A is the outer product of the row.
    """
    scale = math.sqrt(1.5)

    def draws(row: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        factors = scale * rng.standard_normal((n, 3, 2))
        return np.outer(row, row) + factors.swapaxes(1, 2) @ factors

    first, second = np.eye(2)

    def least_eigenvalue_of_the_rest(releases: FloatArray) -> FloatArray:
        return np.linalg.eigvalsh(releases - np.outer(first, first))[:, 0]

    return AuditCase(
        name="Wishart noise",
        epsilon=1.0,
        delta=0.0,
        **make_samplers(draws, first, second),
        statistic=least_eigenvalue_of_the_rest,
        neighbours="The only row turns from the first axis to the second.",
        flaw="The noise is never negative, so a release below your outer product rules you out.",
    )


def one_seed_for_all_sites() -> AuditCase:
    """Return a case of two sites with one seed; the aggregator subtracts their messages."""

    def draws(first_site: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        noise = symmetric_gaussian_noise(3, _sigma(), rng=rng, size=n)
        return np.stack((first_site + noise, _OTHER_SITE + noise), axis=1)

    return AuditCase(
        name="one seed for all sites",
        **asdict(BUDGET),
        **make_samplers(draws, _MOMENT, _MOMENT_PRIME),
        statistic=lambda messages: _score(messages[:, 0] - messages[:, 1]),
        adversary=Adversary.AGGREGATOR,
        sees="both sites' messages",
        neighbours="One person's row at the first site turns from the first axis to the second.",
        flaw="Both sites draw the same noise, so it cancels in the difference of their messages.",
    )


def masks_that_forget_the_sites() -> AuditCase:
    """Return a case of CAPE with two sites and noise that only protects against the aggregator.

    With masks without bound the aggregator learns the sum, and each site adds half of the variance
    that protects it. The other site subtracts its own half.
    """
    sigma = _sigma() / math.sqrt(2)

    def draws(first_site: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        noises = symmetric_gaussian_noise(3, sigma, rng=rng, size=2 * n).reshape(n, 2, 3, 3)
        result = (first_site + _OTHER_SITE + noises.sum(axis=1)) / 2
        return np.stack((result, noises[:, 1]), axis=1)

    return AuditCase(
        name="masks that forget the sites",
        **asdict(BUDGET),
        adversary=Adversary.SITE,
        sees="the result, its own rows and its own noise",
        **make_samplers(draws, _MOMENT, _MOMENT_PRIME),
        statistic=lambda views: _score(2 * views[:, 0] - views[:, 1]),
        is_gaussian=True,
        neighbours="One person's row at the first site turns from the first axis to the second.",
        flaw="A site knows its own noise, so only the others' hides you: the real ε is 1.586.",
    )


def noise_on_upper_triangle() -> AuditCase:
    """Return a case of noise on the upper triangle that is not mirrored."""
    rest = np.diag([0.2, 0.2, 0.5])

    def draws(row: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        moment = rest + np.outer(row, row) / _N_SAMPLES
        return moment + np.triu(symmetric_gaussian_noise(3, _sigma(), rng=rng, size=n))

    return AuditCase(
        name="lower triangle without noise",
        **asdict(BUDGET),
        **make_samplers(
            draws,
            np.array([1.0, 1.0, 0.0]) / math.sqrt(2.0),
            np.array([1.0, -1.0, 0.0]) / math.sqrt(2.0),
        ),
        neighbours="One person's second feature changes sign.",
        flaw="The matrix is symmetric, so its lower triangle gives away the upper one.",
    )


def scaling_by_the_largest_norm() -> AuditCase:
    """Return a case of rows divided by their largest norm, with noise for a bound of 1."""
    short, long = np.array([0.0, 0.1]), np.array([1.0, 0.0])

    def draws(last_row: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        rows = np.vstack([np.tile(short, (_N_SAMPLES - 1, 1)), last_row])
        rows = rows / np.linalg.norm(rows, axis=1).max()
        return _add_noise(_sigma(), rows.T @ rows / _N_SAMPLES, rng, n)

    return AuditCase(
        name="scaling by the largest norm",
        **asdict(BUDGET),
        **make_samplers(draws, long, short),
        neighbours="One person ten times larger than the rest becomes like the rest.",
        flaw="The divisor is read from the private rows, so one person moves the rows of all.",
    )


def one_budget_for_two_releases() -> AuditCase:
    """Return a case of components and eigenvalues from two draws, each with the whole budget."""
    pair_of_matrices, pair_of_matrices_prime = (
        np.stack((matrix, matrix)) for matrix in (_MOMENT, _MOMENT_PRIME)
    )
    return AuditCase(
        name="one ε spent on two plots",
        **asdict(BUDGET),
        **make_samplers(partial(_add_noise, _sigma()), pair_of_matrices, pair_of_matrices_prime),
        statistic=lambda pairs: _score(pairs[:, 0] + pairs[:, 1]),
        sees="both releases",
        is_gaussian=True,
        neighbours=TURN,
        flaw="Two releases of the same data compose, and only one of them is counted.",
    )


def bingham_by_wrong_acceptance(
    n_features: int = 10, n_others: int = 200, epsilon: float = 1.0
) -> AuditCase:
    """Return a case of the exponential mechanism for one direction, by a wrong rejection sampler.

    Kent, Ganeiber & Mardia (2018) propose x from the angular central Gaussian of precision Omega
    and accept with a probability proportional to exp(-x^T A x) (x^T Omega x)^(D/2). Two libraries
    divide by that power, with A = epsilon / 4 (lambda_max I - X^T X), where epsilon / 2 would be
    proven. The claim holds at D = 2, and the excess grows with D.

    Here `n_others` + 1 rows lie along the first axis, `n_others` along the second, and one row
    turns from the first axis to the second. The two data sets mirror each other, so their laws have
    one constant, and the largest ratio of densities is epsilon / 4 + D log(1 + epsilon / (2 b)).
    """
    spectrum = epsilon / 4 * np.array([0.0, 1.0, *[n_others + 1.0] * (n_features - 2)])
    b = envelope_scale(spectrum)

    def draws(axis: int, rng: np.random.Generator, n: int) -> FloatArray:
        squares = sample_by_wrong_acceptance(spectrum, n, rng=rng)
        squares[:, [0, axis]] = squares[:, [axis, 0]]
        return squares

    def log_density(squares: FloatArray) -> FloatArray:
        t = squares @ spectrum
        density: FloatArray = -t - n_features * np.log1p(2 * t / b)
        return density

    def log_ratio(squares: FloatArray) -> FloatArray:
        mirrored = squares.copy()
        mirrored[:, [0, 1]] = squares[:, [1, 0]]
        return log_density(squares) - log_density(mirrored)

    return AuditCase(
        name="Bingham by wrong acceptance",
        epsilon=epsilon,
        delta=0.0,
        **make_samplers(draws, 0, 1),
        statistic=log_ratio,
        neighbours=f"Of {2 * n_others + 1} people on two axes of {n_features}, one turns from the "
        "first, which has one more, to the second.",
        flaw="The sampler divides where it should multiply, and draws from a sharper law.",
    )


def envelope_scale(spectrum: FloatArray) -> float:
    """Return b of Kent, Ganeiber & Mardia, with sum_i 1 / (b + 2 a_i) = 1.

    spectrum: Eigenvalues a_i >= 0 of A, of which the smallest is 0.
    """
    from scipy.optimize import brentq  # slow

    n_features = len(spectrum)
    if not spectrum.any():
        return float(n_features)
    scale: float = brentq(lambda b: np.sum(1 / (b + 2 * spectrum)) - 1, 1 - 1e-12, n_features)
    return scale


def sample_by_wrong_acceptance(
    spectrum: FloatArray, n: int, *, rng: np.random.Generator
) -> FloatArray:
    """Draw squared coordinates of unit vectors, density proportional to exp(-t) (1 + 2 t / b)^-D.

    This is the law of accepted draws if t = x^T A x and the probability is divided by (1 + 2 t /
    b)^(D/2). The envelope of the paper may need thousands of proposals per draw; the envelope (c +
    t)^(-D/2) is closer to the law.

    spectrum: Eigenvalues of A, of which the smallest is 0.
    Returns: ndarray of shape (n, n_features)
    """
    n_features, b = len(spectrum), envelope_scale(spectrum)
    c, log_peak = _nearest_envelope(spectrum, b)
    accepted, n_accepted = [], 0
    while n_accepted < n:
        squares = rng.standard_normal((4 * n, n_features)) ** 2 / (c + spectrum)
        squares /= squares.sum(axis=1, keepdims=True)
        log_chance = _log_over_envelope(squares @ spectrum, n_features, b, c) - log_peak
        accepted.append(squares[np.log1p(-rng.random(4 * n)) < log_chance])
        n_accepted += len(accepted[-1])
    return np.concatenate(accepted)[:n]


def _nearest_envelope(spectrum: FloatArray, b: float) -> tuple[float, float]:
    """Return the c with the highest acceptance rate, and the largest log ratio to the law."""
    from scipy.optimize import minimize_scalar  # slow

    def log_peak(c: float) -> float:
        # Zero of the derivative in t: 4 t^2 + linear t + constant = 0.
        d = len(spectrum)
        linear, constant = 2 * b + 4 * c + 2 * d, 2 * b * c + 4 * d * c - d * b
        root = (math.sqrt(max(0.0, linear**2 - 16 * constant)) - linear) / 8
        return float(_log_over_envelope(np.asarray(max(0.0, root)), d, b, c))

    def log_cost(log_c: float) -> float:
        c = math.exp(log_c)
        return log_peak(c) - float(np.log(c + spectrum).sum()) / 2

    c = math.exp(minimize_scalar(log_cost, bounds=(-12, 6), method="bounded").x)
    return c, log_peak(c)


def _log_over_envelope(t: FloatArray, n_features: int, b: float, c: float) -> FloatArray:
    ratio: FloatArray = -t - n_features * np.log1p(2 * t / b) + n_features / 2 * np.log(c + t)
    return ratio


def solver_that_stops_early(epsilon: float = 1.0) -> AuditCase:
    """Return a case of output perturbation for exact minimisers, with an inexact solver.

    The case is a support vector machine with four million rows, one feature and Lambda = 1. Near 0,
    where the solver starts, the hinge is straight, and the minimiser is the mean of label times
    row.
    """
    n_samples, tolerance = 4_000_000, 1e-6

    def draws(total: float, rng: np.random.Generator, n: int) -> FloatArray:
        minimiser = total / n_samples
        solution = minimiser if minimiser > tolerance else 0.0
        return solution + rng.laplace(scale=2 / (n_samples * epsilon), size=n)

    return AuditCase(
        name="a solver that stops early",
        epsilon=epsilon,
        delta=0.0,
        **make_samplers(draws, 5.0, 3.0),
        statistic=lambda weights: weights,
        neighbours="One person's row turns around, and the gradient falls below the tolerance.",
        flaw="One person decides whether the solver stops at once, and no noise is made for that.",
    )


def limits_read_from_the_rows() -> AuditCase:
    """Return a case of a score plot whose limits are the largest scores of the rows."""
    rng = np.random.default_rng(0)
    all_near = rng.uniform(0.3, 0.5, (_N_SAMPLES, 2))
    one_far = np.concatenate([[[7.0, 7.0]], all_near[1:]])
    # Both histograms with these limits, before the noise.
    exact, exact_prime = (
        private_scores(
            points, limits=(points.max(), points.max()), bins=4, epsilon=math.inf, rng=rng
        ).counts
        for points in (one_far, all_near)
    )
    # One person leaves a cell and enters another.
    sigma = gaussian_sigma(BUDGET, math.sqrt(2))

    def draws(counts: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        return counts + sigma * rng.standard_normal((n, *counts.shape))

    difference = exact - exact_prime
    return AuditCase(
        name="limits read from the rows",
        **asdict(BUDGET),
        **make_samplers(draws, exact, exact_prime),
        statistic=lambda counts: np.einsum("ngij,gij->n", counts, difference),
        is_gaussian=True,
        neighbours="One person's scores become the largest of all.",
        flaw="The limits follow one person, so that the cells of all other people change.",
    )


def _sigma() -> float:
    """Return the noise scale for one second moment under the budget."""
    return gaussian_sigma(BUDGET, l2_sensitivity_of_second_moment(_N_SAMPLES))


def _add_noise(sigma: float, moment: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
    """Add independent noise to a matrix, or to each of a stack of matrices."""
    n_features = moment.shape[-1]
    n_matrices = moment.size // n_features**2
    noise = symmetric_gaussian_noise(n_features, sigma, rng=rng, size=n * n_matrices)
    return moment + noise.reshape(n, *moment.shape)
