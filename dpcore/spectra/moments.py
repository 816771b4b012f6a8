"""Second moments of the rows of each site.

No later step depends on the number of rows: a protocol reads only the (D, D) matrices and the
counts. Moments are therefore computed once per (data set, split) and cached. `SiteMoments` has
moments that are known in advance; `dpcore.spectra.site_rows` has rows whose moments depend on a
private centre.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from dpcore.arrays import PROCESSORS, FloatArray, IntArray, map_blocks, row_blocks
from dpcore.errors import ParameterError

BLOCK_ROWS = 2048


class AtSites:
    """Base class of the data of S sites: numbers of rows and means."""

    means: FloatArray
    n_samples: IntArray

    @property
    def n_sites(self) -> int:
        """Number of sites."""
        return len(self.n_samples)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.means.shape[1])

    @property
    def weights(self) -> FloatArray:
        """Weights n_s / N of the sites, shape (n_sites,)."""
        weights: FloatArray = self.n_samples / self.n_samples.sum()
        return weights


@dataclass(frozen=True, eq=False)
class SiteMoments(AtSites):
    """First and second moments of the rows of each of S sites.

    Attributes
    ----------
    second_moments : ndarray of shape (n_sites, n_features, n_features)
        X_s^T X_s / n_s, symmetric; float64 for every private release.
    means : ndarray of shape (n_sites, n_features), float64
    n_samples : ndarray of shape (n_sites,), int64
    precision : data type or None
        Data type of the rows, if it differs from that of the second moments.
    """

    second_moments: FloatArray
    means: FloatArray
    n_samples: IntArray
    precision: np.dtype[np.floating[Any]] | None = None

    @property
    def dtype(self) -> np.dtype[np.floating[Any]]:
        """Data type of the rows, used for all computations after the noise."""
        return self.precision or self.second_moments.dtype

    def at(self, sites: Sequence[int]) -> SiteMoments:
        """Return the moments of some sites; self if these are all sites in order."""
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
        """Return the second moment of all rows, float64 of shape (n_features, n_features)."""
        total = np.zeros((self.n_features, self.n_features))
        for weight, second_moment in zip(self.weights, self.second_moments, strict=True):
            total += weight * second_moment
        return total

    def centred(self, mean: FloatArray | None = None, *, in_place: bool = False) -> SiteMoments:
        """Return the moments of x - mean, computed without the rows.

        The second moment of a site is A_s - m mu_s^T - mu_s m^T + m m^T.

        Parameters
        ----------
        mean : ndarray of shape (n_features,), optional
            New origin m. Default: the mean of all rows.
        in_place : bool
            Overwrite these moments, which must not be used afterwards. The moments of many sites
            dominate the memory.

        Returns
        -------
        SiteMoments
            Second moments in the same data type. The subtraction is float64, but cannot restore
            digits that float32 moments of data far from the origin have lost.

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
    """Compute X^T X / n of all rows; see `site_moments` for arithmetic, data types and errors.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    block_rows : int
        Number of rows per block.

    Returns
    -------
    ndarray of shape (n_features, n_features), symmetric
    """
    all_rows = np.arange(len(X))
    moment: FloatArray = site_moments(X, (all_rows,), block_rows=block_rows).second_moments[0]
    return moment


def site_moments(
    X: FloatArray,
    sites: Sequence[IntArray],
    *,
    block_rows: int = BLOCK_ROWS,
    threads: int = 1,
    products: DTypeLike = np.float64,
) -> SiteMoments:
    """Compute the moments of the rows of each site, in blocks.

    Rounding errors are part of the sensitivity: replacing one row changes the rounding of all later
    partial sums. In float64 with blocks of b rows, this adds less than 2 (b^2 + N^2 / b) 2^-53 to
    the sensitivity sqrt(2) of the sum of N rows of length 1: 1e-9 for 60,000 rows, 4e-5 for 2 10^7.
    In float32 the bound is a third of sqrt(2) within one block of 2048 rows, and a result rounded
    to float32 changed by 1.25 times the sensitivity at N = 2 10^7.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        float32, float64 or integers. A memory map may be larger than memory: it is read once per
        site, in file order, in blocks of `block_rows` rows.
    sites : sequence of integer arrays
        Row numbers of each site; disjoint.
    block_rows : int
        Number of rows per block.
    threads : int
        Number of parallel blocks. Blocks are added in order, so the sum does not depend on it.
    products : data type
        Data type of products and second moments. float32 takes half of the time and is only for
        non-private results.

    Returns
    -------
    SiteMoments
        Moments with `dtype` float32 if X is float32, else float64.

    Raises
    ------
    ParameterError
        If X is not a matrix, a site has fewer than 2 rows, a row number is out of range or
        repeated, or X has an entry that is NaN, infinite or too large to be squared.
    """
    if X.ndim != 2:
        raise ParameterError("X", "a matrix with one person per row", X.shape)
    check_sites(sites, len(X))
    n_features = X.shape[1]
    dtype = X.dtype if X.dtype == np.float32 else np.dtype(np.float64)
    second_moments = np.empty((len(sites), n_features, n_features), dtype=products)
    means = np.empty((len(sites), n_features))
    for site, members in enumerate(sites):
        running = RunningMoments(n_features, dtype, products)
        products_of = partial(_products_of, running, X)
        for block in map_blocks(products_of, row_blocks(np.sort(members), block_rows), threads):
            running.add_products(*block)
        second_moments[site], means[site] = running.averages(f" (site {site})")
    n_samples = np.array([len(members) for members in sites], dtype=np.int64)
    return SiteMoments(second_moments, means, n_samples, dtype)


class RunningMoments:
    """Accumulator of moments of rows that arrive in blocks and are not stored.

    Parameters
    ----------
    n_features : int
    dtype : data type
        Data type of the rows.
    products : data type
        Data type of the products of a block (see `site_moments`); sums are float64.

    Attributes
    ----------
    dtype : data type
    n_samples : int
        Number of rows so far.
    """

    def __init__(
        self,
        n_features: int,
        dtype: np.dtype[np.floating[Any]],
        products: DTypeLike = np.float64,
    ):
        self.dtype, self.n_samples = dtype, 0
        self._product_dtype = np.dtype(products)
        self._products, self._total = np.zeros((n_features, n_features)), np.zeros(n_features)

    def add(self, rows: FloatArray) -> None:
        """Add rows of shape (n_rows, n_features)."""
        self.add_products(*self.products(rows))

    def products(self, rows: FloatArray) -> tuple[FloatArray, FloatArray, int]:
        """Return second moment sum, sum and number of the rows, without adding them."""
        block = rows.astype(self._product_dtype, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            # NumPy detects the transpose and calls syrk.
            return block.T @ block, np.ones(len(block), self._product_dtype) @ block, len(block)

    def add_products(self, products: FloatArray, total: FloatArray, n_samples: int) -> None:
        """Add the result of `products` for some rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            self._products += products
            self._total += total
        self.n_samples += n_samples

    def averages(self, suffix: str = "") -> tuple[FloatArray, FloatArray]:
        """Return the second moment and the mean, in float64.

        Raises
        ------
        ParameterError
            If a row had an entry that is NaN, infinite or too large to be squared.
        """
        is_number = np.abs(self._products) <= np.finfo(self.dtype).max
        if not is_number.all():
            worst = self._products[~is_number][0]
            raise ParameterError("X", f"finite in every entry and square{suffix}", worst)
        return self._products / self.n_samples, self._total / self.n_samples

    def as_site(self) -> SiteMoments:
        """Return the moments of one site with all of these rows."""
        second_moment, mean = self.averages()
        counts = np.array([self.n_samples], dtype=np.int64)
        return SiteMoments(second_moment[None], mean[None], counts, self.dtype)


def _products_of(
    running: RunningMoments, X: FloatArray, block: slice | IntArray
) -> tuple[FloatArray, FloatArray, int]:
    # The thread that multiplies the rows also gathers them.
    return running.products(X[block])


def check_sites(sites: Sequence[IntArray], n_samples: int) -> None:
    """Raise a ParameterError for sites that overlap, have fewer than 2 rows, or unknown rows."""
    for site, members in enumerate(sites):
        if len(members) < 2:
            raise ParameterError("sites", f"at least 2 people each (site {site})", len(members))
    members = np.concatenate(sites)
    if members.min() < 0 or members.max() >= n_samples:
        outside = members[(members < 0) | (members >= n_samples)][0]
        raise ParameterError("sites", f"row numbers in [0, n_samples={n_samples})", int(outside))
    times = np.bincount(members)
    if times.max() > 1:
        # A person at two sites would spend the budget twice.
        raise ParameterError("sites", "disjoint, no row number twice", int(times.argmax()))


def count_workers(n_rows: int, threads: int | None = None) -> int:
    # Small sites take less time than starting a thread.
    return min(threads or PROCESSORS, -(-n_rows // BLOCK_ROWS))
