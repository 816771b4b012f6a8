"""What a trained pipeline gets wrong, and what it looks like in a plane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.experiments.learning.classification_problem import LearningProblem
from dpcore.experiments.learning.classification_runs import Outcome


@dataclass(frozen=True)
class Plane:
    """Test people and predictions in the plane of two components.

    points: shape (n, 2)
    classes: ndarray of int of shape (n,)
    regions: ndarray of int of shape (n_vertical, n_horizontal)
    axes: (horizontal, vertical) grid positions
    """

    points: np.ndarray
    classes: np.ndarray
    regions: np.ndarray
    axes: tuple[np.ndarray, np.ndarray]


def confusion_matrix(outcome: Outcome, problem: LearningProblem) -> np.ndarray:
    """Counts of test people, rows what they are, columns what was predicted."""
    size = len(problem.class_names)
    pairs = problem.test_y * size + outcome.predicted
    return np.bincount(pairs, minlength=size * size).reshape(size, size)


def mistakes(outcome: Outcome, problem: LearningProblem, most: int) -> np.ndarray:
    """Row numbers of the first test people who were taken for somebody else."""
    return np.flatnonzero(outcome.predicted != problem.test_y)[:most]


def plane_of(outcome: Outcome, problem: LearningProblem, *, most: int = 400) -> Plane:
    """The plane a pipeline of two components works in, with at most `most` test people."""
    points = outcome.project(problem.test_X[:most])
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.08 * np.maximum(high - low, 1e-9)
    horizontal, vertical = np.linspace(low - margin, high + margin, 160).T
    grid = np.stack(np.meshgrid(horizontal, vertical), axis=-1)
    regions = outcome.model.predict(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    return Plane(points, problem.test_y[:most], regions, (horizontal, vertical))
