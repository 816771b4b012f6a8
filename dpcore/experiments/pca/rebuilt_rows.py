"""Rows of a data set rebuilt from a run's release: from its components and its centre."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.data import Prepared
from dpcore.experiments.pca.problem import Problem
from dpcore.pca import Subspace

N_EXAMPLES = 10
# Index of the row that is taken of each class: the first 5 of MNIST is hard to read.
_TURN = 2
# Data sets whose pictures are objects on an empty ground, which is drawn as paper; others are
# photographs.
INK = ("mnist-small", "mnist", "digits", "fashion-mnist")
# Number of columns of a table that are drawn as bars.
MOST_BARS = 12


@dataclass(frozen=True, eq=False)
class ExampleRows:
    """Ten example rows of a data set, with the columns to draw.

    rows: shape (n_people, n_features), float64. Rows of `Prepared.X`.
    units: scale and mean of `Prepared`.
    ends: shape (2, n_features). Values drawn as empty and as full: public limits, or else the
        smallest and the largest value of these rows.
    columns: Columns to draw, in this order; all columns of a picture.
    names: Label of each row, or its number.
    """

    rows: FloatArray
    units: tuple[float, FloatArray]
    ends: FloatArray
    columns: IntArray
    names: tuple[str, ...]

    def levels(self, rows: FloatArray) -> IntArray:
        """Return rows as grey levels to draw, uint8 of shape (n_people, n_columns)."""
        scale, mean = self.units
        low, high = self.ends
        shares = (rows * scale + mean - low) / np.where(high > low, high - low, 1.0)
        drawn: IntArray = np.rint(255 * np.clip(shares[:, self.columns], 0, 1)).astype(np.uint8)
        return drawn


def select_example_rows(
    prepared: Prepared, limits: FloatArray | None, variances: FloatArray
) -> ExampleRows:
    """Return ten example rows, evenly over the classes, the same at every call.

    limits: shape (n_features, 2), public, or None.
    variances: shape (n_features,). The columns of a table with the largest variances are drawn.
    """
    chosen = choose_example_rows(prepared.labels, prepared.n_samples)
    rows = np.asarray(prepared.X[chosen], dtype=np.float64)
    units = prepared.scale, prepared.mean
    measured = rows * prepared.scale + prepared.mean
    ends = np.stack([measured.min(axis=0), measured.max(axis=0)]) if limits is None else limits.T
    columns = np.arange(prepared.n_features)
    if prepared.image_shape is None:
        columns = np.sort(np.argsort(-variances, kind="stable")[:MOST_BARS])
    return ExampleRows(rows, units, ends, columns, _names(prepared, chosen))


def choose_example_rows(labels: IntArray | None, n_samples: int) -> IntArray:
    """Return the numbers of ten rows, or of all rows if there are fewer, sorted by class.

    The third row of each class is taken in turn, then the next, until there are ten.
    """
    if labels is None:
        return np.arange(min(N_EXAMPLES, n_samples))
    members = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    longest = max(map(len, members))
    rounds = [k % longest for k in range(_TURN, _TURN + longest)]
    order = [rows[k] for k in rounds for rows in members if k < len(rows)][:N_EXAMPLES]
    return np.array(sorted(order, key=lambda row: (labels[row], row)))


def rebuild_rows(rows: FloatArray, subspace: Subspace, problem: Problem) -> FloatArray:
    """Compute m + V^T V (x - m) for each row x, from the release and the row only.

    m is the released centre, or the public origin of the rows if the run released none; m is never
    the exact mean of the rows.

    rows: shape (n_people, n_features), in the units of the prepared rows.
    """
    centre = subspace.centre
    if centre is None:
        centre = np.zeros(rows.shape[1])
    elif problem.basis is not None:
        centre = centre @ problem.basis
    return rebuild_rows_about(rows, subspace.components, np.asarray(centre, dtype=np.float64))


def rebuild_rows_about(rows: FloatArray, components: FloatArray, centre: FloatArray) -> FloatArray:
    """Project rows onto components about a centre."""
    rebuilt: FloatArray = centre + (rows - centre) @ components.T @ components
    return rebuilt


def _names(prepared: Prepared, chosen: IntArray) -> tuple[str, ...]:
    if prepared.labels is None or prepared.label_names is None:
        return tuple(f"row {row + 1:,}" for row in chosen)
    return tuple(prepared.label_names[label] for label in prepared.labels[chosen])
