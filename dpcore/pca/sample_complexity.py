"""How many people does a private first component need? Bounds and measurements, K = 1.

Chaudhuri, Sarwate & Sinha (2012), theorems 3 to 5. The correlation of a unit vector v with the
leading eigenvector v_1 is |<v, v_1>|; lambda_1 and lambda_2 are the two leading eigenvalues of
the second moment of rows of norm at most 1, and gap = lambda_1 - lambda_2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy.special import log_expit

from dpcore.errors import ParameterError
from dpcore.mechanisms import sample_vector_bingham, symmetric_gaussian_noise
from dpcore.pca.protocols.trusted_holder import modsulq_sigma
from dpcore.privacy import PrivacyBudget
from dpcore.spectra import leading_eigenpairs


def ppca_sufficient_samples(
    n_features: int,
    epsilon: float,
    gap: float,
    correlation: float,
    *,
    leading_eigenvalue: float,
    failure_probability: float,
) -> float:
    """Theorem 3: with more samples than this PPCA reaches `correlation` (rho) with probability
    at least 1 - `failure_probability` (eta).

    d / (epsilon (1 - rho) gap) * (ln(1 / eta) / d + ln(4 lambda_1 / ((1 - rho^2) gap)))
    """
    _require_unit("correlation", correlation)
    _require_unit("failure_probability", failure_probability)
    if not 0 < gap <= leading_eigenvalue <= 1:
        raise ParameterError("gap", f"in (0, leading_eigenvalue={leading_eigenvalue:g}]", gap)
    per_dimension = math.log(1 / failure_probability) / n_features
    packing = math.log(4 * leading_eigenvalue / ((1 - correlation**2) * gap))
    return n_features * (per_dimension + packing) / (epsilon * (1 - correlation) * gap)


def lower_bound_least_correlation(n_features: int) -> float:
    """The smallest rho that theorem 4 speaks of: 1 - (1 - phi) / 16, about 0.992 for large d."""
    return 1 - _one_minus_phi(n_features) / 16


def pure_dp_necessary_samples(
    n_features: int, epsilon: float, gap: float, correlation: float
) -> float:
    """Theorem 4: with fewer samples no pure epsilon-private algorithm has an expected correlation
    above `correlation` (rho) on every data set with this gap.

    max{ d / (gap epsilon), sqrt((1 - phi) / 80) d / (gap epsilon sqrt(1 - rho)) } with
    1 - phi = exp(-2 (ln 8 + ln(1 + e^d)) / (d - 2)), for gap <= 1/2 and rho >= 1 - (1 - phi) / 16.

    Raises `ParameterError` if d < 3, the gap is outside (0, 1/2] or rho is below what the theorem
        covers.
    """
    if not 0 < gap <= 0.5:
        raise ParameterError("gap", "in (0, 0.5] for theorem 4", gap)
    least = lower_bound_least_correlation(n_features)
    if not least <= correlation < 1:
        raise ParameterError("correlation", f"in [{least:.5g}, 1) for theorem 4", correlation)
    shrink = math.sqrt(_one_minus_phi(n_features) / (80 * (1 - correlation)))
    return n_features / (gap * epsilon) * max(1.0, shrink)


def modsulq_necessary_shape(n_features: int, epsilon: float, delta: float) -> float:
    """Theorem 5 up to a factor: d^(3/2) sqrt(ln(d / delta)) / epsilon.

    The theorem multiplies this by c (1 - c' (1 - rho)) with constants it does not give, so only
    the growth with d, epsilon and delta means anything; a curve has to be anchored elsewhere.
    """
    _require_unit("delta", delta)
    return math.pow(n_features, 1.5) * math.sqrt(math.log(n_features / delta)) / epsilon


def gapped_spectrum(n_features: int, gap: float) -> np.ndarray:
    """Eigenvalues of trace 1, all equal but the first, which is larger by `gap`."""
    _require_unit("gap", gap)
    spectrum = np.full(n_features, (1 - gap) / n_features)
    spectrum[0] += gap
    return spectrum


@dataclass(frozen=True)
class MeasuredSampleSize:
    """Fewest samples found to reach a mean correlation, with what was seen there."""

    n_samples: int
    mean_correlation: float
    standard_error: float


def measured_sample_size(
    mechanism: str,
    eigenvalues: np.ndarray,
    epsilon: float,
    correlation: float,
    *,
    delta: float | None = None,
    n_repetitions: int = 200,
    relative_precision: float = 0.02,
    rng: np.random.Generator,
) -> MeasuredSampleSize:
    """The n at which a mechanism's mean correlation reaches `correlation`, by running it.

    The second moment is the population's, diag(eigenvalues), at every n: what is measured is the
    cost of privacy, without that of sampling people. Bisection over ln n, with the same random
    streams at every n, so that the mean is nearly monotone in n.

    mechanism: {"ppca", "modsulq"}. PPCA draws exactly (one component); MOD-SuLQ takes the leading
        eigenvector by value.
    eigenvalues: shape (n_features,). The first is the largest; their sum is at most 1.
    correlation: Target mean, in (0, 1).
    delta: For "modsulq".
    n_repetitions: Runs at each n.
    relative_precision: The search stops when upper and lower end agree this well.
    Raises `ParameterError` if an argument is outside its range, or 10^15 samples are not enough.
    """
    _require_unit("correlation", correlation)
    PrivacyBudget(epsilon)
    eigenvalues = np.asarray(eigenvalues, dtype=float)
    if eigenvalues[0] < eigenvalues.max() or eigenvalues.sum() > 1 + 1e-9:
        raise ParameterError("eigenvalues", "led by the largest, of sum at most 1", eigenvalues)
    correlations = _correlations(mechanism, eigenvalues, epsilon, delta, n_repetitions, rng)

    low, high = 1.0, 1.0
    while correlations(high).mean() < correlation:
        low, high = high, 4 * high
        if high > 1e15:
            raise ParameterError("correlation", "within reach of 1e15 samples", correlation)
    while high / low > 1 + relative_precision:
        middle = math.sqrt(low * high)
        if correlations(middle).mean() < correlation:
            low = middle
        else:
            high = middle
    n_samples = math.ceil(high)
    seen = correlations(n_samples)
    return MeasuredSampleSize(
        n_samples, float(seen.mean()), float(seen.std(ddof=1) / math.sqrt(seen.size))
    )


def _correlations(
    mechanism: str,
    eigenvalues: np.ndarray,
    epsilon: float,
    delta: float | None,
    n_repetitions: int,
    rng: np.random.Generator,
) -> Callable[[float], np.ndarray]:
    """n -> correlations of `n_repetitions` runs, on the same streams whatever n."""
    if mechanism == "ppca":
        (seed,) = _seeds(rng, 1)

        def run(n_samples: float) -> np.ndarray:
            exponent = n_samples * epsilon / 2 * eigenvalues
            directions, _ = sample_vector_bingham(
                exponent, n_repetitions, rng=np.random.default_rng(seed)
            )
            return np.abs(directions[:, 0])

    elif mechanism == "modsulq":
        if delta is None:
            raise ParameterError("delta", "given for MOD-SuLQ", delta)
        budget, n_features = PrivacyBudget(epsilon, delta), eigenvalues.size
        seeds = _seeds(rng, n_repetitions)

        def run(n_samples: float) -> np.ndarray:
            sigma = modsulq_sigma(n_features, n_samples, budget)
            return np.array([_noisy_correlation(eigenvalues, sigma, seed) for seed in seeds])

    else:
        raise ParameterError("mechanism", "'ppca' or 'modsulq'", mechanism)
    return run


def _seeds(rng: np.random.Generator, n_seeds: int) -> list[np.random.SeedSequence]:
    return [
        cast(np.random.SeedSequence, child.bit_generator.seed_seq) for child in rng.spawn(n_seeds)
    ]


def _noisy_correlation(
    eigenvalues: np.ndarray, sigma: float, seed: np.random.SeedSequence
) -> float:
    noisy = symmetric_gaussian_noise(eigenvalues.size, sigma, rng=np.random.default_rng(seed))
    noisy[np.diag_indices_from(noisy)] += eigenvalues
    return float(abs(leading_eigenpairs(noisy, 1)[1][0, 0]))


def _one_minus_phi(n_features: int) -> float:
    if n_features < 3:
        raise ParameterError("n_features", "at least 3 for theorem 4", n_features)
    log_sum = n_features - log_expit(n_features)  # ln(1 + e^d) without overflow
    return math.exp(-2 * (math.log(8) + log_sum) / (n_features - 2))


def _require_unit(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ParameterError(name, "in (0, 1)", value)
