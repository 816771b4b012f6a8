"""Smoothed inverse gaps between eigenvalues whose noise was denoised or cut."""

from __future__ import annotations

import math

import numpy as np

from dpcore.arrays import FloatArray

# Gaps below a tenth of the spacing around them are given less weight, because the inverse of a
# vanishing gap has no variance. The spacing is a mean over 4 ranks on one side, and at least 0.05
# of the spacing of pure noise, since eigenvalues that were set to 0 have no spacing.
_SMALL_GAP, NEIGHBOURS, _LEAST_SPACING = 0.1, 4, 0.05


def smoothed_inverse_gaps(eigenvalues: FloatArray, sigma: float) -> FloatArray:
    """Return 1 / (l_i - l_j) of all pairs, smoothed where eigenvalues almost meet, 0 where they do.

    sigma: Standard deviation of the noise before denoising and cuts.
    """
    values = eigenvalues.astype(np.float64)
    last = len(values) - 1
    ranks = np.arange(len(values))
    # Next to a step in the spectrum the spacing on the far side is too large: use the smaller one.
    above, below = np.minimum(NEIGHBOURS, ranks), np.minimum(NEIGHBOURS, last - ranks)
    spacing = np.zeros(1)
    if last > 0:
        spacing = np.minimum(
            _mean_spacing(values[ranks - above] - values, above),
            _mean_spacing(values - values[ranks + below], below),
        )
    spacing = np.maximum(spacing, _LEAST_SPACING * math.sqrt(8 / len(values)) * sigma)
    gaps = np.subtract.outer(values, values)
    denominator = gaps**2 + _SMALL_GAP**2 / 2 * np.add.outer(spacing**2, spacing**2)
    return np.divide(gaps, denominator, out=np.zeros_like(gaps), where=denominator > 0)


def _mean_spacing(distances: FloatArray, n_ranks: np.ndarray) -> FloatArray:
    """Return distances / n_ranks; infinity where there are no ranks on that side."""
    unlimited = np.full(len(distances), np.inf)
    spacing: FloatArray = np.divide(distances, n_ranks, where=n_ranks > 0, out=unlimited)
    return spacing
