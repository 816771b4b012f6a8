"""Rows at sites whose moments depend on a private centre that is drawn first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np

from dpcore.arrays import PROCESSORS, FloatArray, IntArray, map_blocks, row_blocks
from dpcore.data.row_bounds import shorten
from dpcore.picture_kinds import FULL
from dpcore.spectra.moments import (
    BLOCK_ROWS,
    AtSites,
    SiteMoments,
    check_sites,
    count_workers,
    site_moments,
)
from dpcore.spectra.pairs import PairProducts, Pairs, Votes, pair_blocks

# Distance to the centre, in units of the bound, below which a row has no direction, because its
# square may have lost digits.
_MIN_DISTANCE = 1e-15

# float32 rows with at least _MIN_INTEGER_WIDTH columns are rounded to integers of norm at most
# _INTEGER_LENGTH. The sums of a block then stay below 2^24, where float32 is exact, in half of the
# time of float64. The rounding by 1/2048 per entry changes MNIST's moment by 0.4 % of its norm.
_MIN_INTEGER_WIDTH = 256
_INTEGER_LENGTH = 1 << 10
_EXACT_LIMIT = 1 << 24

# Column ranges of a row that are normalised separately, each with its length; the squares of the
# lengths add up to 1.
Parts = tuple[tuple[slice, float], ...]
WHOLE: Parts = ((slice(None), 1.0),)


@dataclass(frozen=True, eq=False)
class _InMemory:
    rows: FloatArray

    def __call__(self) -> FloatArray:
        return self.rows


@dataclass(frozen=True, eq=False)
class SiteRows(AtSites):
    """Rows of each of S sites, for moments around a private centre that is drawn later.

    Attributes
    ----------
    read : callable
        Function that returns rows of shape (n_rows, n_features), float32 or float64, in units of
        the public bound on their length; some may be longer. Called on demand.
    dtype : data type
        Data type of the rows; their second moments are float64.
    sites : tuple of integer arrays
        Row numbers of each site; disjoint.
    means : ndarray of shape (n_sites, n_features), float64
        Means of each site's rows, longer ones shortened to 1; a private mean is released of these.
    n_samples : ndarray of shape (n_sites,), int64
    half_widths : ndarray of shape (n_features,), or None
        Public bounds on the absolute entries of a row, which are clipped before a mean is
        computed. None: only the length is bounded.
    parts : Parts
        Views of a person that are normalised separately; by default the whole row.
    image_shape : (height, width), or None
        Public shape of pictures whose pixels are the columns.
    picture : {"full", "centred"}
        Whether pictures fill the frame or show an object in its middle.
    cached_moments : list of SiteMoments
        Cached value of `unscaled_moments`.
    cached_pairs : dict
        Cached moments of differences and products of pairs, which no noise changes.
    """

    read: Callable[[], FloatArray]
    dtype: np.dtype[np.floating[Any]]
    sites: tuple[IntArray, ...]
    means: FloatArray
    n_samples: IntArray
    half_widths: FloatArray | None = None
    parts: Parts = WHOLE
    image_shape: tuple[int, int] | None = None
    picture: str = FULL
    cached_moments: list[SiteMoments] = field(default_factory=list)
    cached_pairs: dict[tuple[object, ...], Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        rows: FloatArray,
        sites: Sequence[IntArray],
        half_widths: FloatArray | None = None,
        *,
        parts: Parts = WHOLE,
        image_shape: tuple[int, int] | None = None,
        picture: str = FULL,
    ) -> SiteRows:
        """Return sites of the given rows, which are referenced and not copied.

        Raises
        ------
        ParameterError
            If a site has fewer than 2 rows, or a row number is out of range or repeated.
        """
        check_sites(sites, len(rows))
        box = None if half_widths is None else half_widths.astype(rows.dtype)
        members = tuple(np.sort(site) for site in sites)
        counts = np.array([len(site) for site in sites], dtype=np.int64)
        means = _sums_within_bound(rows, box, members) / counts[:, None]
        return cls(
            _InMemory(rows), rows.dtype, members, means, counts, box, parts, image_shape, picture
        )

    @property
    def rows(self) -> FloatArray:
        """All rows, including those at no site."""
        return self.read()

    def at(self, sites: Sequence[int]) -> SiteRows:
        """Return the rows of some sites; self if these are all sites in order."""
        if list(sites) == list(range(self.n_sites)):
            return self
        chosen = list(sites)
        members = tuple(self.sites[site] for site in chosen)
        counts = self.n_samples[chosen]
        return replace(
            self,
            sites=members,
            means=self.means[chosen],
            n_samples=counts,
            cached_moments=[],
            cached_pairs={},
        )

    @property
    def unscaled_moments(self) -> SiteMoments:
        """Moments of all rows as one site, neither shortened nor normalised, in their data type.

        No guarantee covers these moments.
        """
        # Not a cached_property: in Python 3.11 its lock is shared by all instances, so a session
        # with a small table would wait for another session's MNIST.
        if not self.cached_moments:
            members = (np.concatenate(self.sites),)
            moments = site_moments(self.rows, members, threads=PROCESSORS, products=self.dtype)
            self.cached_moments.append(moments)
        return self.cached_moments[0]

    def around_public_middle(self) -> SiteMoments:
        """Return the moments of the rows at length 1 around zero, without a private mean."""
        centre = np.zeros(self.n_features)
        moments = [self.moment_around(centre, site) for site in range(self.n_sites)]
        rows = self.rows
        means = [
            sum(
                directions(rows[block], centre, self.parts).sum(axis=0)
                for block in row_blocks(rows_of_site, BLOCK_ROWS)
            )
            / len(rows_of_site)
            for rows_of_site in self.sites
        ]
        return SiteMoments(np.stack(moments), np.stack(means), self.n_samples, self.dtype)

    def moment_around(
        self,
        centre: FloatArray,
        site: int | None = None,
        *,
        threads: int | None = None,
        checkpoint: Callable[[], None] = lambda: None,
    ) -> FloatArray:
        """Return the second moment of (x - m) / |x - m|, the spatial sign matrix around m.

        Several parts of a row are normalised separately. No normalised row is longer than 1,
        rounding errors included, so replacing one of n rows changes the moment by at most
        sqrt(2) / n for every m. Wide float32 rows are rounded to integers, whose products and sums
        are exact. All other rows have the rounding errors of `site_moments`. A row equal to m, or
        too long to be squared, counts as zero.

        Parameters
        ----------
        centre : ndarray of shape (n_features,)
        site : int, optional
            One site. Default: the rows of all sites.
        threads : int, optional
            Number of parallel blocks. Default: one per processor. Blocks are added in order, so
            the sum does not depend on it.
        checkpoint : callable
            Function that is called before each block and may raise an exception to cancel.

        Returns
        -------
        ndarray of float64, shape (n_features, n_features), symmetric
        """
        sites = self.sites if site is None else self.sites[site : site + 1]
        centre = centre.astype(self.dtype if self._use_integers else np.float64)
        return self._compute_moment_around(sites, centre, threads, checkpoint)

    def moment_of_differences(
        self,
        site: int | None = None,
        *,
        across_sites: bool = False,
        threads: int | None = None,
        checkpoint: Callable[[], None] = lambda: None,
    ) -> FloatArray:
        """Return the average of u u^T over pairs, u = (x_i - x_j) / |x_i - x_j|.

        This is an estimate of the spatial Kendall's tau matrix, which does not depend on a centre.
        Replacing one of n rows changes it by at most 2 sqrt(2) / n. Arithmetic as in
        `moment_around`; equal rows count as zero.

        Parameters
        ----------
        site : int, optional
            One site. Default: all sites.
        across_sites : bool
            Form pairs of rows of different sites, too; otherwise moments of sites are averaged.
        threads, checkpoint
            As in `moment_around`.

        Returns
        -------
        ndarray of float64, shape (n_features, n_features), symmetric; not to be changed
        """
        key = "moment", site, across_sites
        if key not in self.cached_pairs:
            sites = self.sites if site is None else self.sites[site : site + 1]
            groups = (np.sort(np.concatenate(sites)),) if across_sites else sites
            moment = self._compute_moment_of_differences(groups, threads, checkpoint)
            self.cached_pairs[key] = moment
        cached: FloatArray = self.cached_pairs[key]
        return cached

    def votes(
        self,
        votes: Votes,
        site: int | None = None,
        *,
        n_counts: int = 4,
        across_sites: bool = False,
    ) -> FloatArray:
        """Return the shares of pairs that vote for each position, shape (n_counts,).

        Replacing one of n rows changes them by at most 2 sqrt(2) / n. Other arguments as above.
        """
        groups = (np.sort(np.concatenate(self.sites)),) if across_sites else self.sites
        numbers = range(len(groups)) if site is None else (site,)
        counts = np.zeros(n_counts)
        for number in numbers:
            key = "products", number, across_sites
            if key not in self.cached_pairs:
                self.cached_pairs[key] = PairProducts.of(self.rows, groups[number], BLOCK_ROWS)
            counts += self.cached_pairs[key].count(votes, len(counts))
        shares: FloatArray = counts / counts.sum()
        return shares

    def total_around(self, centre: FloatArray) -> float | None:
        """Return tr A of the rows at length 1 around a noisy centre; None if it is not public.

        It is 1, or less by about 0.002 if rows are rounded to integers. A row equal to the centre
        counts as zero, which would lower the trace. No row equals a centre with a noisy coordinate,
        that is one that is neither 0 nor clipped to the box.
        """
        widths = np.inf if self.half_widths is None else self.half_widths
        carries_noise = (centre != 0) & (np.abs(centre) < widths)
        if self.parts != WHOLE or not carries_noise.any():
            return None
        return (1 - 1 / _INTEGER_LENGTH) ** 2 if self._use_integers else 1.0

    def _compute_moment_around(
        self,
        sites: tuple[IntArray, ...],
        centre: FloatArray,
        threads: int | None,
        checkpoint: Callable[[], None],
    ) -> FloatArray:
        rows = self.rows

        def product(block: slice | IntArray) -> FloatArray:
            checkpoint()
            return self._product(_directions_of(rows, centre, self.parts, block))

        blocks = chain.from_iterable(row_blocks(rows_of_site, BLOCK_ROWS) for rows_of_site in sites)
        n_rows = sum(map(len, sites))
        return self._average_of(map_blocks(product, blocks, count_workers(n_rows, threads)), n_rows)

    def _compute_moment_of_differences(
        self,
        groups: tuple[IntArray, ...],
        threads: int | None,
        checkpoint: Callable[[], None],
    ) -> FloatArray:
        rows = self.rows

        def product(pairs: Pairs) -> FloatArray:
            checkpoint()
            first, second = pairs
            precision = self.dtype if self._use_integers else np.float64
            shifted = rows[first].astype(precision, copy=False) - rows[second]
            return self._product(_normalize_parts(shifted, self.parts))

        blocks = chain.from_iterable(pair_blocks(group, BLOCK_ROWS) for group in groups)
        n_rows = sum(map(len, groups))
        return self._average_of(map_blocks(product, blocks, count_workers(n_rows, threads)), n_rows)

    def _product(self, rows: FloatArray) -> FloatArray:
        return _integer_product(_round_to_integers(rows)) if self._use_integers else rows.T @ rows

    def _average_of(self, products: Iterable[FloatArray], n_rows: int) -> FloatArray:
        total = np.zeros((self.n_features, self.n_features))
        for product in products:
            total += product
        total /= n_rows * (_INTEGER_LENGTH**2 if self._use_integers else 1)
        return total

    @property
    def _use_integers(self) -> bool:
        """Whether rows are rounded to integers."""
        is_wide = self.n_features >= _MIN_INTEGER_WIDTH
        return self.dtype == np.float32 and is_wide and self.parts == WHOLE


def directions(rows: FloatArray, centre: FloatArray, parts: Parts = WHOLE) -> FloatArray:
    """Return (x - m) / |x - m| for each row, never longer than 1; zero if x equals m.

    Several parts are normalised separately.

    The sum of D squares has at most D + 1 rounding errors in any order; its root, the quotient and
    the product have two more each. Rows are shortened by all of them.
    """
    return _normalize_parts(rows - centre, parts)


def _normalize_parts(shifted: FloatArray, parts: Parts) -> FloatArray:
    slack = (shifted.shape[1] + 8) * np.finfo(shifted.dtype).eps
    for columns, length in parts:
        part = shifted[:, columns]
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            lengths = np.sqrt(np.einsum("nd,nd->n", part, part)) / length
            factors = np.where(lengths > _MIN_DISTANCE, (1 - slack) / lengths, 0)
            factors = factors.astype(shifted.dtype)
            part *= factors[:, None]
    return shifted


def _directions_of(
    rows: FloatArray, centre: FloatArray, parts: Parts, block: slice | IntArray
) -> FloatArray:
    # Runs in the thread that multiplies the rows, with one copy.
    shifted = rows[block]
    is_copy = not isinstance(block, slice) and shifted.dtype == centre.dtype
    shifted = np.subtract(shifted, centre, out=shifted if is_copy else None)
    return _normalize_parts(shifted, parts)


def _round_to_integers(rows: FloatArray) -> FloatArray:
    """Round rows of length at most 1 to integers of norm at most `_INTEGER_LENGTH`, in place.

    Rounding changes an entry by up to 1/2 and a row of D entries by up to sqrt(D) / 2. Rows that
    become too long are shortened by this amount and truncated towards zero.
    """
    rows *= _INTEGER_LENGTH - 1
    np.rint(rows, out=rows)
    # Squares of integers below 2^24 are exact.
    long = np.einsum("nd,nd->n", rows, rows) > _INTEGER_LENGTH**2
    if long.any():
        longest = _INTEGER_LENGTH + rows.shape[1] ** 0.5 / 2
        rows[long] = np.trunc(rows[long] * ((_INTEGER_LENGTH - 1) / longest))
    return rows


def _integer_product(rows: FloatArray) -> FloatArray:
    """Return X^T X of integers, exactly."""
    product: FloatArray = rows.T @ rows  # NumPy detects the transpose and calls syrk
    # No partial sum of an entry exceeds the larger of two diagonal entries, and a diagonal entry
    # that has exceeded 2^24 is not rounded below it.
    if product.diagonal().max() >= _EXACT_LIMIT:
        rows = rows.astype(np.float64)
        product = rows.T @ rows
    return product


def _sums_within_bound(
    rows: FloatArray, box: FloatArray | None, sites: Sequence[IntArray]
) -> FloatArray:
    """Return the sums of each site's rows, shortened to 1 and clipped to the box."""
    blocks = [list(row_blocks(rows_of_site, BLOCK_ROWS)) for rows_of_site in sites]
    sum_of = partial(_sum_within_bound, rows, box)
    block_sums = map_blocks(sum_of, chain.from_iterable(blocks), count_workers(len(rows)))
    sums = np.zeros((len(sites), rows.shape[1]))
    for site, blocks_of_site in enumerate(blocks):
        for block_sum in islice(block_sums, len(blocks_of_site)):
            sums[site] += block_sum
    return sums


def _sum_within_bound(
    rows: FloatArray, box: FloatArray | None, block: slice | IntArray
) -> FloatArray:
    within = shorten(rows[block], 1.0)[0]
    within = within if box is None else np.clip(within, -box, box)
    total: FloatArray = within.sum(axis=0, dtype=np.float64)
    return total
