"""Bounds on the sample size of a private first component, by theory.

They are theorems 3 to 5 of Chaudhuri, Sarwate & Sinha (2012), for K = 1. The correlation of a unit
vector v with the leading eigenvector v_1 is |<v, v_1>|. lambda_1 and lambda_2 are the two leading
eigenvalues of the second moment of rows of norm at most 1, and gap = lambda_1 - lambda_2.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_expit

from dpcore.errors import ParameterError


def ppca_sufficient_samples(
    n_features: int,
    epsilon: float,
    gap: float,
    correlation: float,
    *,
    leading_eigenvalue: float,
    failure_probability: float,
) -> float:
    """Return the sufficient sample size of theorem 3.

    With more samples, PPCA reaches `correlation` (rho) with probability at least 1 -
    `failure_probability` (eta):

        d / (epsilon (1 - rho) gap) * (ln(1 / eta) / d + ln(4 lambda_1 / ((1 - rho^2) gap)))
    """
    require_unit("correlation", correlation)
    require_unit("failure_probability", failure_probability)
    if not 0 < gap <= leading_eigenvalue <= 1:
        raise ParameterError("gap", f"in (0, leading_eigenvalue={leading_eigenvalue:g}]", gap)
    per_dimension = math.log(1 / failure_probability) / n_features
    packing = math.log(4 * leading_eigenvalue / ((1 - correlation**2) * gap))
    return n_features * (per_dimension + packing) / (epsilon * (1 - correlation) * gap)


def lower_bound_least_correlation(n_features: int) -> float:
    """Return the smallest rho of theorem 4: 1 - (1 - phi) / 16, about 0.992 for large d."""
    return 1 - _one_minus_phi(n_features) / 16


def pure_dp_necessary_samples(
    n_features: int, epsilon: float, gap: float, correlation: float
) -> float:
    """Return the necessary sample size of theorem 4.

    With fewer samples, no pure epsilon-DP algorithm has an expected correlation above `correlation`
    (rho) on every data set with this gap:

        max{ d / (gap epsilon), sqrt((1 - phi) / 80) d / (gap epsilon sqrt(1 - rho)) } with
        1 - phi = exp(-2 (ln 8 + ln(1 + e^d)) / (d - 2)),
        for gap <= 1/2 and rho >= 1 - (1 - phi) / 16.

    Raises `ParameterError` if d < 3, the gap is outside (0, 1/2] or rho is below the range of the
    theorem.
    """
    if not 0 < gap <= 0.5:
        raise ParameterError("gap", "in (0, 0.5] for theorem 4", gap)
    least = lower_bound_least_correlation(n_features)
    if not least <= correlation < 1:
        raise ParameterError("correlation", f"in [{least:.5g}, 1) for theorem 4", correlation)
    shrink = math.sqrt(_one_minus_phi(n_features) / (80 * (1 - correlation)))
    return n_features / (gap * epsilon) * max(1.0, shrink)


def modsulq_necessary_shape(n_features: int, epsilon: float, delta: float) -> float:
    """Return theorem 5 up to a factor: d^(3/2) sqrt(ln(d / delta)) / epsilon.

    The theorem multiplies this by c (1 - c' (1 - rho)) with unknown constants. Only the growth with
    d, epsilon and delta has a meaning; the caller has to scale the curve.
    """
    require_unit("delta", delta)
    return math.pow(n_features, 1.5) * math.sqrt(math.log(n_features / delta)) / epsilon


def gapped_spectrum(n_features: int, gap: float) -> np.ndarray:
    """Return eigenvalues of trace 1, all equal except the first, which is larger by `gap`."""
    require_unit("gap", gap)
    spectrum = np.full(n_features, (1 - gap) / n_features)
    spectrum[0] += gap
    return spectrum


def _one_minus_phi(n_features: int) -> float:
    if n_features < 3:
        raise ParameterError("n_features", "at least 3 for theorem 4", n_features)
    log_sum = n_features - log_expit(n_features)  # ln(1 + e^d) without overflow
    return math.exp(-2 * (math.log(8) + log_sum) / (n_features - 2))


def require_unit(name: str, value: float) -> None:
    """Raise `ParameterError` unless the value is in (0, 1)."""
    if not 0 < value < 1:
        raise ParameterError(name, "in (0, 1)", value)
