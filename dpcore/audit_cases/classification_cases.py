"""Audit cases of private classifiers, attacked through `fit_many`.

A gradient changes most where the margin is negative and the slope of the loss is largest: near w =
0 for the Huber hinge, at large weights for the logistic loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.audit_cases.neighbours import claim, make_samplers, round_ratio
from dpcore.classification import PrivateFits, PrivateLogisticRegression, PrivateSVM, fit_many
from dpcore.privacy.audit import AuditCase, Statistic

FAMILY = "Classifiers"
_Classifier = PrivateLogisticRegression | PrivateSVM


@dataclass(frozen=True, eq=False)
class _Neighbours:
    """Rows of D and of D', the labels of both, and their difference in one sentence."""

    rows: FloatArray
    rows_prime: FloatArray
    labels: IntArray
    sentence: str = "One person's row turns around; all others have rows of zeros."


def classification_cases() -> tuple[AuditCase, ...]:
    """Return cases of both models and perturbations, and of options that change the calibration."""
    output = partial(PrivateSVM, method="output", fit_intercept=False)
    objective = partial(PrivateSVM, method="objective", fit_intercept=False)
    logistic = partial(PrivateLogisticRegression, fit_intercept=False)
    two, three = (
        _neighbours_with_negated_row([0, 1, 1, 0]),
        _neighbours_with_negated_row([1, 0, 1, 2]),
    )
    far_out, early = _neighbours_with_large_weights(1000), _neighbours_at_stopping_rule(100, 3.0)
    return (
        classifier_case(
            "logistic regression, output",
            logistic(method="output", epsilon=1.0, regularization=0.003),
            far_out,
        ),
        classifier_case(
            "logistic regression, objective",
            logistic(method="objective", epsilon=2.0, regularization=2.0),
            two,
        ),
        classifier_case("SVM, output", output(epsilon=1.0, regularization=1.0), two),
        two_epsilons_case(output(epsilon=1.0, regularization=1.0), two),
        classifier_case(
            "SVM, output, three classes", output(epsilon=1.0, regularization=1.0), three
        ),
        classifier_case("SVM, objective", objective(epsilon=1.0, regularization=10.0), two),
        # The solver stops at a gradient of up to three times the contribution of a row. Noise for
        # exact minimisers would have a likelihood ratio of e^2.5.
        classifier_case(
            "SVM, output, stopped early", output(epsilon=1.0, regularization=1.0, tol=3.0), early
        ),
        classifier_case(
            "SVM, objective, stopped early",
            objective(epsilon=1.0, regularization=10.0, tol=0.01),
            two,
        ),
        # The curvature takes half of epsilon here, which requires additional regularization.
        classifier_case(
            "SVM, objective, more regularization", objective(epsilon=2.0, regularization=0.01), two
        ),
        classifier_case(
            "SVM, objective, intercept",
            PrivateSVM(method="objective", epsilon=4.0, regularization=2.0),
            two,
        ),
    )


def classifier_case(name: str, estimator: _Classifier, data: _Neighbours) -> AuditCase:
    """Return a case in which all weights of a fit are scored by their exact likelihood ratio."""
    rng = np.random.default_rng(0)

    def fits(rows: FloatArray, rng: np.random.Generator, n: int, epsilon: float) -> PrivateFits:
        return fit_many(estimator, rows, data.labels, epsilons=[epsilon], rngs=[rng] * n)

    def draws(rows: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        drawn: FloatArray = fits(rows, rng, n, estimator.epsilon).weights[0]
        return drawn

    one = fits(data.rows, rng, 1, estimator.epsilon)
    (guarantee,) = one.guarantees
    if estimator.method == "output":
        exact, exact_prime = (
            fits(rows, rng, 1, math.inf).weights[0, 0] for rows in (data.rows, data.rows_prime)
        )
        statistic = _output_likelihood_ratio(one.perturbations[0].beta, exact, exact_prime)
    else:
        statistic = _objective_likelihood_ratio(estimator, one, data)
    return AuditCase(
        name=name,
        family=FAMILY,
        covers=f"classification.{type(estimator).__name__}.{estimator.method}",
        **claim(guarantee),
        sees="the released weights",
        **make_samplers(draws, data.rows, data.rows_prime),
        statistic=statistic,
        neighbours=data.sentence,
    )


def two_epsilons_case(estimator: _Classifier, data: _Neighbours) -> AuditCase:
    """Return a case of two fits of one batch at two epsilons, whose guarantees compose.

    The score solves both weights for the minimiser. If the fits shared their noise, the solution
    would be exact and the claim false.
    """
    epsilons = (1.0, 2.0, math.inf)

    def fits(rows: FloatArray, rng: np.random.Generator, n: int) -> PrivateFits:
        return fit_many(estimator, rows, data.labels, epsilons=epsilons, rngs=[rng] * n)

    def draws(rows: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        return fits(rows, rng, n).weights[:2, :, 0, 0].T

    one, other = (fits(rows, np.random.default_rng(0), 1) for rows in (data.rows, data.rows_prime))
    betas = np.array([perturbation.beta for perturbation in one.perturbations[:2]])
    towards = float(one.weights[2, 0, 0, 0] - other.weights[2, 0, 0, 0])
    return AuditCase(
        name="SVM, output, at ε = 1 and 2 together",
        family=FAMILY,
        epsilon=sum(epsilons[:2]),
        delta=0.0,
        **make_samplers(draws, data.rows, data.rows_prime),
        statistic=lambda both: towards * (both @ (betas * [-1, 1])),
        neighbours=data.sentence,
    )


def _neighbours_with_negated_row(labels: Sequence[int]) -> _Neighbours:
    """Return rows of one feature, of which 2 becomes -2. They exceed the bound and are clipped."""
    rows = np.zeros((len(labels), 1))
    rows[0] = 2.0
    return _Neighbours(rows, -rows, np.array(labels))


def _neighbours_at_stopping_rule(n: int, tol: float) -> _Neighbours:
    """Return rows of one number whose sum decides whether the solver stops at the start.

    The hinge is straight near 0: at a sum of `tol` the solver stops, and with 2 more it continues
    to the minimiser.
    """
    rows = np.zeros((n, 1))
    rows[0] = 1.0
    rows[1:11] = (1.0 + tol - 1e-6) / 10
    rows_prime = rows.copy()
    rows_prime[0] = -1.0
    labels = np.ones(n, dtype=int)
    labels[-1] = 0
    return _Neighbours(
        rows,
        rows_prime,
        labels,
        "One person's row turns around; which decides whether the solver stops at the start.",
    )


def _neighbours_with_large_weights(n: int) -> _Neighbours:
    """Return rows that pull the weights along the first axis, and one row with the opposite label.

    The margin of that row is negative in both data sets. The data sets differ across the first
    axis, where no other row contributes: the minimiser moves by 0.76 of the sensitivity.
    """
    rows = np.tile([1.0, 0.0], (n, 1))
    rows[0] = math.cos(1.1), math.sin(1.1)
    labels = np.ones(n, dtype=int)
    labels[0] = 0
    return _Neighbours(
        rows,
        rows * [1.0, -1.0],
        labels,
        "One person's second feature changes sign; all others are of the other class and alike.",
    )


def _output_likelihood_ratio(beta: float, exact: FloatArray, exact_prime: FloatArray) -> Statistic:
    """Return the score of weights (n_tasks, D) with noise of density exp(-beta |b|) per task."""

    def score(weights: FloatArray) -> FloatArray:
        distances = (np.linalg.norm(weights - at, axis=2) for at in (exact_prime, exact))
        return round_ratio(beta * np.subtract(*distances).sum(axis=1))

    return score


def _objective_likelihood_ratio(
    estimator: _Classifier,
    fitted: PrivateFits,
    data: _Neighbours,
) -> Statistic:
    """Return the score of weights that minimise the perturbed objective.

    The noise that makes w the minimiser is b(w) = -n grad J(w), so that w has the density exp(-beta
    |b(w)|) |det db/dw| (Chaudhuri, Monteleoni & Sarwate 2011, proof of theorem 9). The score omits
    the small additional noise, which any score may.
    """
    (perturbation,) = fitted.perturbations
    loss = estimator.loss()
    strength = len(data.rows) * (estimator.regularization + perturbation.extra_regularization)
    classes = fitted.classes if len(fitted.classes) > 2 else fitted.classes[1:]

    def log_density(weights: FloatArray, rows: FloatArray, positive: object) -> FloatArray:
        signs = np.where(data.labels == positive, 1.0, -1.0)
        signed = fitted.features.transform(rows) * signs[:, None]
        margins = weights @ signed.T
        noise = loss.value_and_slope(margins)[1] @ signed + strength * weights
        jacobian = np.einsum("nm,md,me->nde", loss.curvature_at(margins), signed, signed)
        jacobian += strength * np.eye(signed.shape[1])
        lengths: FloatArray = np.linalg.norm(noise, axis=1)
        log_volume: FloatArray = np.linalg.slogdet(jacobian)[1]
        return log_volume - perturbation.beta * lengths

    def score(weights: FloatArray) -> FloatArray:
        ratios = [
            log_density(weights[:, task], data.rows, positive)
            - log_density(weights[:, task], data.rows_prime, positive)
            for task, positive in enumerate(classes)
        ]
        return round_ratio(np.sum(ratios, axis=0))

    return score
