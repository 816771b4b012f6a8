"""Second moments of the whole data and of every site.

Nothing after this step depends on the number of people: a protocol reads the (D, D) matrices
and the counts only. Moments are therefore computed once per (data set, split) and kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from dpcore.arrays import FloatArray, IntArray, mapped, row_blocks
from dpcore.errors import ParameterError

BLOCK_ROWS = 2048


class AtSites:
    """People at S sites, and the mean of the rows of each."""

    means: FloatArray
    n_samples: IntArray

    @property
    def n_sites(self) -> int:
        return len(self.n_samples)

    @property
    def n_features(self) -> int:
        return int(self.means.shape[1])

    @property
    def weights(self) -> FloatArray:
        """n_s / N, shape (n_sites,)."""
        weights: FloatArray = self.n_samples / self.n_samples.sum()
        return weights


@dataclass(frozen=True, eq=False)
class SiteMoments(AtSites):
    """First and second moments of the rows held by each of S sites.

    Attributes
    ----------
    second_moments : ndarray of shape (n_sites, n_features, n_features)
        X_s^T X_s / n_s, symmetric. float64 wherever noise is to be added.
    means : ndarray of shape (n_sites, n_features), float64
    n_samples : ndarray of shape (n_sites,), int64
    precision : data type or None
        Of the rows, where it is not that of the second moments.
    """

    second_moments: FloatArray
    means: FloatArray
    n_samples: IntArray
    precision: np.dtype[np.floating[Any]] | None = None

    @property
    def dtype(self) -> np.dtype[np.floating[Any]]:
        """Data type of the rows, in which what has come out of the noise is worked with."""
        return self.precision or self.second_moments.dtype

    def at(self, sites: Sequence[int]) -> SiteMoments:
        """Moments of some of the sites; these themselves where it is all of them, in order."""
        if list(sites) == list(range(self.n_sites)):
            return self
        chosen = list(sites)
        return replace(
            self,
            second_moments=self.second_moments[chosen],
            means=self.means[chosen],
            n_samples=self.n_samples[chosen],
        )

    def pooled(self) -> FloatArray:
        """Second moment of all rows together, float64 of shape (n_features, n_features)."""
        total = np.zeros((self.n_features, self.n_features))
        for weight, own in zip(self.weights, self.second_moments, strict=True):
            total += weight * own
        return total

    def centred(self, mean: FloatArray | None = None, *, in_place: bool = False) -> SiteMoments:
        """Moments of x - mean, worked out from these moments alone.

        A_s - m mu_s^T - mu_s m^T + m m^T, without touching the rows.

        Parameters
        ----------
        mean : ndarray of shape (n_features,), optional
            The point m that becomes the origin; the mean of all rows by default.
        in_place : bool
            Write into these moments, which nobody may use any more: those of many sites take
            more memory than anything else.

        Returns
        -------
        SiteMoments
            Second moments in the data type of these. The subtraction is float64, but it cannot
            give back digits that float32 moments of data far from the origin have lost, where
            somebody has asked for such.

        Raises
        ------
        ParameterError
            If the mean has another shape.
        """
        origin = self.weights @ self.means if mean is None else np.asarray(mean, dtype=np.float64)
        if origin.shape != (self.n_features,):
            raise ParameterError("mean", f"of shape ({self.n_features},)", origin.shape)
        shifted = self.second_moments if in_place else np.empty_like(self.second_moments)
        for site, mu in enumerate(self.means):
            cross = np.outer(origin, mu - origin / 2)
            shifted[site] = self.second_moments[site] - (cross + cross.T)
        return replace(self, second_moments=shifted, means=self.means - origin)


def second_moment(X: FloatArray, *, block_rows: int = BLOCK_ROWS) -> FloatArray:
    """X^T X / n of all rows; arithmetic, data types and errors as in `site_moments`.

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
    own: FloatArray = site_moments(X, (everybody,), block_rows=block_rows).second_moments[0]
    return own


def site_moments(
    X: FloatArray,
    sites: Sequence[IntArray],
    *,
    block_rows: int = BLOCK_ROWS,
    threads: int = 1,
    products: DTypeLike = np.float64,
) -> SiteMoments:
    """Moments of the rows of each site, read in blocks.

    Rounding is part of the sensitivity: where one row is replaced, all partial sums after it are
    rounded anew. In float64 that adds less than 2 (b^2 + N^2 / b) 2^-53 to the sqrt(2) by which the
    sum of N rows of length 1 moves, read in blocks of b: 1e-9 for 60,000 rows, 4e-5 for 2 10^7. In
    float32 the same bound is a third of sqrt(2) within a single block of 2048 rows, and a result
    rounded to float32 moved by 1.25 times the sensitivity at N = 2 10^7.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        float32, float64 or integers. A memory map may be larger than memory: it is read once a
        site, in file order, and `block_rows` rows of it are held at a time.
    sites : sequence of integer arrays
        Row numbers held by each site; disjoint.
    block_rows : int
        Rows read at a time.
    threads : int
        Blocks worked on at the same time; they are added up in order, so that the sum is the same.
    products : data type
        Of products and second moments. float32, in half the time, is for what is only looked at:
        no noise makes it private.

    Returns
    -------
    SiteMoments
        Its `dtype` is float32 if that of X is, float64 otherwise.

    Raises
    ------
    ParameterError
        If X is not a matrix, a site holds fewer than 2 people, a row number is out of range or
        appears twice, or X has an entry that is NaN, infinite or too large to be squared.
    """
    if X.ndim != 2:
        raise ParameterError("X", "a matrix with people in rows", X.shape)
    check_sites(sites, len(X))
    n_features = X.shape[1]
    dtype = X.dtype if X.dtype == np.float32 else np.dtype(np.float64)
    second_moments = np.empty((len(sites), n_features, n_features), dtype=products)
    means = np.empty((len(sites), n_features))
    for site, members in enumerate(sites):
        running = RunningMoments(n_features, dtype, products)
        products_of = partial(_products_of, running, X)
        for block in mapped(products_of, row_blocks(np.sort(members), block_rows), threads):
            running.take(*block)
        second_moments[site], means[site] = running.averages(f" (site {site})")
    n_samples = np.array([len(members) for members in sites], dtype=np.int64)
    return SiteMoments(second_moments, means, n_samples, dtype)


class RunningMoments:
    """Moments of rows that come a block at a time, and are not kept.

    Parameters
    ----------
    n_features : int
    dtype : data type
        Of the rows.
    products : data type
        In which the products of a block are taken, as in `site_moments`; they are added up in
        float64.

    Attributes
    ----------
    dtype : data type
    n_samples : int
        Rows so far.
    """

    def __init__(
        self,
        n_features: int,
        dtype: np.dtype[np.floating[Any]],
        products: DTypeLike = np.float64,
    ):
        self.dtype, self.n_samples = dtype, 0
        self._in = np.dtype(products)
        self._products, self._total = np.zeros((n_features, n_features)), np.zeros(n_features)

    def add(self, rows: FloatArray) -> None:
        """Take these rows in, of shape (some rows, n_features)."""
        self.take(*self.products(rows))

    def products(self, rows: FloatArray) -> tuple[FloatArray, FloatArray, int]:
        """What rows add to the moments, and how many they are; nothing is taken in."""
        block = rows.astype(self._in, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            # NumPy sees the transpose and calls syrk.
            return block.T @ block, np.ones(len(block), self._in) @ block, len(block)

    def take(self, products: FloatArray, total: FloatArray, n_samples: int) -> None:
        """Take in what `products` gives of some rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            self._products += products
            self._total += total
        self.n_samples += n_samples

    def averages(self, whose: str = "") -> tuple[FloatArray, FloatArray]:
        """The second moment and the mean, in float64.

        Raises
        ------
        ParameterError
            If a row had an entry that is NaN, infinite or too large to be squared.
        """
        is_number = np.abs(self._products) <= np.finfo(self.dtype).max
        if not is_number.all():
            worst = self._products[~is_number][0]
            raise ParameterError("X", f"finite in every entry and square{whose}", worst)
        return self._products / self.n_samples, self._total / self.n_samples

    def as_site(self) -> SiteMoments:
        """The moments of one site that holds all of these rows."""
        second_moment, mean = self.averages()
        counts = np.array([self.n_samples], dtype=np.int64)
        return SiteMoments(second_moment[None], mean[None], counts, self.dtype)


def _products_of(
    running: RunningMoments, X: FloatArray, block: slice | IntArray
) -> tuple[FloatArray, FloatArray, int]:
    # Rows are gathered by the thread that multiplies them.
    return running.products(X[block])


def check_sites(sites: Sequence[IntArray], n_samples: int) -> None:
    """Refuse sites that share a person, hold fewer than 2, or hold one who is not there."""
    for site, members in enumerate(sites):
        if len(members) < 2:
            raise ParameterError("sites", f"at least 2 people each (site {site})", len(members))
    everybody = np.concatenate(sites)
    if everybody.min() < 0 or everybody.max() >= n_samples:
        outside = everybody[(everybody < 0) | (everybody >= n_samples)][0]
        raise ParameterError("sites", f"row numbers in [0, n_samples={n_samples})", int(outside))
    times = np.bincount(everybody)
    if times.max() > 1:
        # A person held twice would spend the budget twice.
        raise ParameterError("sites", "disjoint, no row number twice", int(times.argmax()))
