"""A person's row: as it was measured, and as the algorithms see it."""

from __future__ import annotations

import numpy as np

from dpcore.data import Prepared
from dpcore.experiments.pca.spec import RunSpec
from pages.server import result_cache


def person(spec: RunSpec, index: int) -> tuple[np.ndarray, np.ndarray]:
    """One person's row as measured, and as the algorithms see it once centred."""
    data = _prepared(spec)
    row = np.asarray(data.X[index], dtype=float)
    return row * data.scale + data.mean, row - _centre(spec)


def as_measured(spec: RunSpec, row: np.ndarray) -> np.ndarray:
    """A centred row back in the units it was measured in."""
    data = _prepared(spec)
    measured: np.ndarray = (row + _centre(spec)) * data.scale + data.mean
    return measured


def centred(spec: RunSpec, measured: np.ndarray) -> np.ndarray:
    """A row in the units it was measured in, as the algorithms see it once centred."""
    data = _prepared(spec)
    row: np.ndarray = (measured - data.mean) / data.scale - _centre(spec)
    return row


def _prepared(spec: RunSpec) -> Prepared:
    return result_cache.prepared(*spec.problem_key().data)


def _centre(spec: RunSpec) -> np.ndarray:
    return result_cache.problem(spec.problem_key()).centre
