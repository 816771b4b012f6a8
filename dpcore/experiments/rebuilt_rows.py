"""Rows of a data set rebuilt from a run's release: from its components and its centre."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.data import Prepared
from dpcore.experiments.problem import Problem
from dpcore.pca import Subspace

N_EXAMPLES = 10
# Of each class the third: the first five of MNIST is one that few would read as a five.
_TURN = 2
# Data sets whose pictures are ink on paper; others are photographs.
INK = ("mnist-small", "mnist", "digits")
# Of a table, so many columns are drawn as bars.
MOST_BARS = 12


@dataclass(frozen=True, eq=False)
class ExampleRows:
    """Ten people of a data set, and which of their columns are shown.

    rows: shape (n_people, n_features), float64. Of `Prepared.X`.
    units: scale and mean of `Prepared`.
    ends: shape (2, n_features). Values drawn as nothing and as full: public limits, or where there
        are none the least and the largest of these people.
    columns: Those shown, in the order they are shown in; all of a picture.
    names: Of each person, what the label says, or the number of the row.
    """

    rows: FloatArray
    units: tuple[float, FloatArray]
    ends: FloatArray
    columns: IntArray
    names: tuple[str, ...]

    def levels(self, rows: FloatArray) -> IntArray:
        """Bytes to draw, (n_people, n_columns) uint8, of rows in the units of `rows`."""
        scale, mean = self.units
        low, high = self.ends
        shares = (rows * scale + mean - low) / np.where(high > low, high - low, 1.0)
        drawn: IntArray = np.rint(255 * np.clip(shares[:, self.columns], 0, 1)).astype(np.uint8)
        return drawn


def select_example_rows(
    prepared: Prepared, limits: FloatArray | None, variances: FloatArray
) -> ExampleRows:
    """Ten people, as evenly of each class as there are classes, always the same.

    limits: shape (n_features, 2), public, or None.
    variances: shape (n_features,). Of a table, columns that vary most are shown.
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
    """Row numbers of ten people, or of all where they are fewer, by class.

    Of each class in turn the third in the data set, then the next, until there are ten.
    """
    if labels is None:
        return np.arange(min(N_EXAMPLES, n_samples))
    members = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    longest = max(map(len, members))
    rounds = [k % longest for k in range(_TURN, _TURN + longest)]
    order = [rows[k] for k in rounds for rows in members if k < len(rows)][:N_EXAMPLES]
    return np.array(sorted(order, key=lambda row: (labels[row], row)))


def rebuild_rows(rows: FloatArray, subspace: Subspace, problem: Problem) -> FloatArray:
    """m + V^T V (x - m) of each row x, from released quantities and the row alone.

    m is the centre that the run released, or the origin of the rows, which is public, where it
    bought none: never the rows' own mean.

    rows: shape (n_people, n_features), in the units of the prepared rows.
    """
    centre = subspace.centre
    if centre is None:
        centre = np.zeros(rows.shape[1])
    elif problem.basis is not None:
        centre = centre @ problem.basis
    return rebuild_rows_about(rows, subspace.components, np.asarray(centre, dtype=np.float64))


def rebuild_rows_about(rows: FloatArray, components: FloatArray, centre: FloatArray) -> FloatArray:
    """Rows projected onto components about a centre."""
    found: FloatArray = centre + (rows - centre) @ components.T @ components
    return found


def _names(prepared: Prepared, chosen: IntArray) -> tuple[str, ...]:
    if prepared.labels is None or prepared.label_names is None:
        return tuple(f"row {row + 1:,}" for row in chosen)
    return tuple(prepared.label_names[label] for label in prepared.labels[chosen])
