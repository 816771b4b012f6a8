"""Evaluation of canonical pairs on the true data, which reads the rows and is not private."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.cca import CanonicalPairs, measured_correlations
from dpcore.data.two_views import TwoViewDataset
from dpcore.experiments.cca.problem import CcaProblem
from dpcore.experiments.cca.runs import CcaRow, CcaSpec, pairs_and_row
from dpcore.privacy import Guarantee
from dpcore.streams import Purpose, stream

_MOST_PEOPLE = 2_000


@dataclass(frozen=True, eq=False)
class EvaluatedPairs:
    """Directions of both views with their correlations on the true data.

    x_rotations, y_rotations: shape (n_x, n_components) and (n_y, n_components). Directions for
        bounded rows, with signs as in the exact pairs.
    x_pattern, y_pattern: ndarray of the same shapes. Covariance of each column with the score, from
        the moment that gave the directions. Patterns are covered by the guarantee of the
        directions.
    claimed: shape (n_components,). Released correlations.
    measured: shape (n_components,). Canonical correlations of the two projected views on the true
        data.
    x_agreement, y_agreement: shape (n_components,). |correlation| of each score with that of the
        exact pair, on the true data.
    guarantee: Guarantee of directions, patterns and `claimed`; None for the exact pairs.
    has_mean: Whether there is a private mean.
    """

    x_rotations: FloatArray
    y_rotations: FloatArray
    x_pattern: FloatArray
    y_pattern: FloatArray
    claimed: FloatArray
    measured: FloatArray
    x_agreement: FloatArray
    y_agreement: FloatArray
    guarantee: Guarantee | None = None
    has_mean: bool = False


def evaluate_exact_pairs(problem: CcaProblem) -> EvaluatedPairs:
    """Return the exact pairs as if they were drawn."""
    ones = np.ones(len(problem.exact))
    n_x = problem.n_x
    return EvaluatedPairs(
        problem.exact_x,
        problem.exact_y,
        problem.reference[:n_x, :n_x] @ problem.exact_x,
        problem.reference[n_x:, n_x:] @ problem.exact_y,
        problem.exact,
        problem.exact,
        ones,
        ones,
    )


def draw_pairs(
    spec: CcaSpec, problem: CcaProblem, protocol: str, repetition: int
) -> tuple[EvaluatedPairs, CcaRow]:
    """Draw the pairs of one protocol, and return them evaluated, with their tidy row."""
    pairs, row = pairs_and_row(spec, problem, protocol, repetition)
    return _evaluate(pairs, problem), row


def _evaluate(pairs: CanonicalPairs, problem: CcaProblem) -> EvaluatedPairs:
    n_x = problem.n_x
    true_x, true_y = problem.reference[:n_x, :n_x], problem.reference[n_x:, n_x:]
    x_agreement = _cosines(pairs.x_rotations, problem.exact_x, true_x)
    y_agreement = _cosines(pairs.y_rotations, problem.exact_y, true_y)
    # The sign of a pair is arbitrary, but common to both its directions.
    signs = np.where(x_agreement + y_agreement < 0, -1.0, 1.0)
    x_rotations, y_rotations = pairs.x_rotations * signs, pairs.y_rotations * signs
    return EvaluatedPairs(
        x_rotations,
        y_rotations,
        pairs.joint_moment[:n_x, :n_x] @ x_rotations,
        pairs.joint_moment[n_x:, n_x:] @ y_rotations,
        pairs.correlations,
        measured_correlations(x_rotations, y_rotations, problem.reference).spans,
        np.abs(x_agreement),
        np.abs(y_agreement),
        pairs.guarantee,
        bool(pairs.mean.any()),
    )


def _cosines(directions: FloatArray, exact: FloatArray, moment: FloatArray) -> FloatArray:
    across = np.einsum("dk,dk->k", directions, moment @ exact)
    lengths = np.einsum("dk,dk->k", directions, moment @ directions) * np.einsum(
        "dk,dk->k", exact, moment @ exact
    )
    cosines: FloatArray = across / np.sqrt(np.where(lengths > 0, lengths, np.inf))
    return cosines


@dataclass(frozen=True, eq=False)
class ProjectedPeople:
    """Scores of sampled rows along given directions, and a clustering of them. Not private.

    x_scores, y_scores: shape (n_people, n_components). Mean 0 and standard deviation 1 over the
        sample.
    labels: ndarray of int, shape (n_people,), or None
    nmi, calinski_harabasz: Quality of k-means on the scores of both views; `calinski_harabasz` is
        that of the true groups in this projection. None without labels of at least two groups.
    """

    x_scores: FloatArray
    y_scores: FloatArray
    labels: IntArray | None
    nmi: float | None
    calinski_harabasz: float | None


def project_people(
    views: TwoViewDataset, problem: CcaProblem, pairs: EvaluatedPairs, *, seed: int
) -> ProjectedPeople:
    """Project up to 2,000 rows, sampled by the seed, onto given directions."""
    from dpcore.cca.estimator import cluster_scores

    drawn = stream(seed, Purpose.SAMPLE).permutation(views.n_samples)[:_MOST_PEOPLE]
    scores = [
        np.asarray(view[drawn], dtype=float) @ (rotations * scale)
        for view, rotations, scale in (
            (views.X, pairs.x_rotations, problem.x_scale),
            (views.Y, pairs.y_rotations, problem.y_scale),
        )
    ]
    labels = None if views.labels is None else views.labels[drawn]
    quality = None
    if labels is not None and labels.min() < labels.max():
        # Not standardised, because short directions are noisy ones.
        quality = cluster_scores(np.hstack(scores), labels, rng=stream(seed, Purpose.TRAINING))
    return ProjectedPeople(
        _standardize(scores[0]),
        _standardize(scores[1]),
        labels,
        None if quality is None else quality.nmi,
        None if quality is None else quality.calinski_harabasz_of_labels,
    )


def _standardize(scores: FloatArray) -> FloatArray:
    deviations = scores.std(axis=0)
    standard: FloatArray = (scores - scores.mean(axis=0)) / np.where(
        deviations > 0, deviations, 1.0
    )
    return standard
