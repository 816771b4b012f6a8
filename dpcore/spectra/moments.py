"""Second moments of the whole data and of every site.

Nothing after this step depends on the number of people: a protocol reads the (D, D) matrices
and the counts only. Moments are therefore computed once per (data set, split) and kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcore.errors import ParameterError

BLOCK_ROWS = 4096


@dataclass(frozen=True, eq=False)
class SiteMoments:
    """First and second moments of the rows held by each of S sites.

    Attributes
    ----------
    second_moments : ndarray of shape (n_sites, n_features, n_features)
        X_s^T X_s / n_s, symmetric.
    means : ndarray of shape (n_sites, n_features), float64
    n_samples : ndarray of shape (n_sites,), int64
    """

    second_moments: np.ndarray
    means: np.ndarray
    n_samples: np.ndarray

    @property
    def n_sites(self) -> int:
        return len(self.n_samples)

    @property
    def n_features(self) -> int:
        return self.means.shape[1]

    @property
    def weights(self) -> np.ndarray:
        """n_s / N, shape (n_sites,)."""
        return self.n_samples / self.n_samples.sum()

    def pooled(self) -> np.ndarray:
        """Second moment of all rows together, float64 of shape (n_features, n_features)."""
        return np.einsum("s,sij->ij", self.weights, self.second_moments, dtype=np.float64)

    def centred(self, mean: np.ndarray | None = None) -> SiteMoments:
        """Moments of x - mean, worked out from these moments alone.

        A_s - m mu_s^T - mu_s m^T + m m^T, without touching the rows.

        Parameters
        ----------
        mean : ndarray of shape (n_features,), optional
            The point m that becomes the origin; the mean of all rows by default.

        Returns
        -------
        SiteMoments
            Second moments in the data type of these.
        """
        origin = self.weights @ self.means if mean is None else np.asarray(mean, dtype=np.float64)
        if origin.shape != (self.n_features,):
            raise ParameterError("mean", f"of shape ({self.n_features},)", origin.shape)
        shifted = np.empty_like(self.second_moments)
        for site, mu in enumerate(self.means):
            cross = np.outer(origin, mu - origin / 2)
            shifted[site] = self.second_moments[site] - (cross + cross.T)
        return SiteMoments(shifted, self.means - origin, self.n_samples)


def second_moment(X: np.ndarray, *, block_rows: int = BLOCK_ROWS) -> np.ndarray:
    """X^T X / n of all rows; see `site_moments` for the arithmetic.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    block_rows : int
        Rows read at a time.

    Returns
    -------
    ndarray of shape (n_features, n_features), symmetric
    """
    everybody = np.arange(len(X))
    return site_moments(X, (everybody,), block_rows=block_rows).second_moments[0]


def site_moments(
    X: np.ndarray, sites: Sequence[np.ndarray], *, block_rows: int = BLOCK_ROWS
) -> SiteMoments:
    """Moments of the rows of each site, read in blocks.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        float32, float64 or integers; a memory map may be larger than memory.
    sites : sequence of integer arrays
        Row numbers held by each site; disjoint.
    block_rows : int
        Rows read at a time.

    Returns
    -------
    SiteMoments
        Second moments in the data type of X if that is a float, float64 otherwise.

    Raises
    ------
    ParameterError
        If a site holds fewer than 2 people or X has an entry that is not finite.
    """
    if X.ndim != 2:
        raise ParameterError("X", "a matrix with people in rows", X.shape)
    n_features = X.shape[1]
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    second_moments = np.empty((len(sites), n_features, n_features), dtype=dtype)
    means = np.empty((len(sites), n_features))
    for site, members in enumerate(sites):
        if len(members) < 2:
            raise ParameterError("sites", f"at least 2 people each (site {site})", len(members))
        rows = np.sort(members)
        products = np.zeros((n_features, n_features))
        total = np.zeros(n_features)
        for start in range(0, len(rows), block_rows):
            block = X[rows[start : start + block_rows]].astype(dtype, copy=False)
            products += block.T @ block
            total += block.sum(axis=0, dtype=np.float64)
        if not np.isfinite(products).all():
            raise ParameterError("X", "finite in every entry", "NaN or infinity")
        second_moments[site] = products / len(rows)
        means[site] = total / len(rows)
    n_samples = np.array([len(members) for members in sites], dtype=np.int64)
    return SiteMoments(second_moments, means, n_samples)
