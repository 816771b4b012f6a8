"""Rows at sites, and their second moments on the sphere around a centre that is not known yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np

from dpcore.arrays import PROCESSORS, FloatArray, IntArray, mapped, row_blocks
from dpcore.data.row_norms import shorten
from dpcore.spectra.moments import BLOCK_ROWS, AtSites, SiteMoments, check_sites, site_moments

# Nearer to the centre than this, in units of the bound, a row has no direction: its square may
# have lost digits.
_NOWHERE = 1e-15

# Rows in float32 of so many columns become whole numbers, at most so long: a block's sums then stay
# below 2^24, where float32 is exact, in half of float64's time. Each entry is rounded by 1/2048,
# which changes MNIST's moment by 0.4 % of its norm.
_WIDE = 256
_LENGTH = 1 << 10
_EXACT = 1 << 24

# What of a row gets a length of its own, in columns, and which: squares of lengths add up to 1.
Parts = tuple[tuple[slice, float], ...]
WHOLE: Parts = ((slice(None), 1.0),)

# From sites' row numbers, a centre, and what takes the moment of their rows around it, to that.
Shelf = Callable[[tuple[IntArray, ...], FloatArray, Callable[[], FloatArray]], FloatArray]


def _no_shelf(_: object, __: object, make: Callable[[], FloatArray]) -> FloatArray:
    return make()


@dataclass(frozen=True, eq=False)
class _InMemory:
    rows: FloatArray

    def __call__(self) -> FloatArray:
        return self.rows


@dataclass(frozen=True, eq=False)
class SiteRows(AtSites):
    """The rows of each of S sites, where a private centre is drawn before moments can be taken.

    Attributes
    ----------
    read : callable
        Gives rows of shape (n_rows, n_features), float32 or float64, in units of the public bound
        on their length; longer ones may be among them. Called when they are needed.
    dtype : data type
        Of the rows; their second moments are float64.
    sites : tuple of integer arrays
        Row numbers held by each site; disjoint.
    means : ndarray of shape (n_sites, n_features), float64
        Of each site's rows, longer ones shortened to 1: what a private mean is released of.
    n_samples : ndarray of shape (n_sites,), int64
    half_widths : ndarray of shape (n_features,), or None
        Public: how far from 0 an entry of a row may be; farther ones are brought there before a
        mean is taken. None where only the length is bounded.
    parts : Parts
        The views of a person, where each gets a length of its own; else the whole row gets 1.
    image_shape : (height, width), or None
        Public: of pictures whose pixels are the columns.
    shelf : Shelf
        Where moments around a centre may be found.
    known : list of SiteMoments
        `as_they_are`, once it is there.
    """

    read: Callable[[], FloatArray]
    dtype: np.dtype[np.floating[Any]]
    sites: tuple[IntArray, ...]
    means: FloatArray
    n_samples: IntArray
    half_widths: FloatArray | None = None
    parts: Parts = WHOLE
    image_shape: tuple[int, int] | None = None
    shelf: Shelf = field(default_factory=lambda: _no_shelf)
    known: list[SiteMoments] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        rows: FloatArray,
        sites: Sequence[IntArray],
        half_widths: FloatArray | None = None,
        *,
        parts: Parts = WHOLE,
        image_shape: tuple[int, int] | None = None,
    ) -> SiteRows:
        """Rows that are read, and not copied, whenever moments are asked for.

        Raises
        ------
        ParameterError
            If a site holds fewer than 2 people, or a row number is out of range or appears twice.
        """
        check_sites(sites, len(rows))
        box = None if half_widths is None else half_widths.astype(rows.dtype)
        members = tuple(np.sort(site) for site in sites)
        counts = np.array([len(site) for site in sites], dtype=np.int64)
        means = _sums_within_bound(rows, box, members) / counts[:, None]
        return cls(_InMemory(rows), rows.dtype, members, means, counts, box, parts, image_shape)

    @property
    def rows(self) -> FloatArray:
        """All rows, those at no site too."""
        return self.read()

    def at(self, sites: Sequence[int]) -> SiteRows:
        """Rows of some of the sites; these themselves where it is all of them, in order."""
        if list(sites) == list(range(self.n_sites)):
            return self
        chosen = list(sites)
        members = tuple(self.sites[site] for site in chosen)
        people = self.n_samples[chosen]
        return replace(self, sites=members, means=self.means[chosen], n_samples=people, known=[])

    @property
    def as_they_are(self) -> SiteMoments:
        """Moments of everybody's rows as one site, neither shortened nor normalised, in the data
        type of the rows: no guarantee is about these."""
        # No cached_property here: in Python 3.11 its lock is one for all tables, so that whoever
        # reads a small one would wait for somebody else's MNIST.
        if not self.known:
            everybody = (np.concatenate(self.sites),)
            moments = site_moments(self.rows, everybody, threads=PROCESSORS, products=self.dtype)
            self.known.append(moments)
        return self.known[0]

    def around_public_middle(self) -> SiteMoments:
        """Moments of the rows at length 1 around zero, which takes no private mean."""
        middle = np.zeros(self.n_features)
        moments = [self.around(middle, site) for site in range(self.n_sites)]
        rows = self.rows
        means = [
            sum(
                directions(rows[block], middle, self.parts).sum(axis=0)
                for block in row_blocks(own, BLOCK_ROWS)
            )
            / len(own)
            for own in self.sites
        ]
        return SiteMoments(np.stack(moments), np.stack(means), self.n_samples, self.dtype)

    def around(
        self,
        centre: FloatArray,
        site: int | None = None,
        *,
        threads: int | None = None,
        checkpoint: Callable[[], None] = lambda: None,
    ) -> FloatArray:
        """Second moment of (x - m) / |x - m|, the spatial sign matrix around m; part by part where
        there are several.

        No row is longer than 1 afterwards, the rounding of its own normalisation included, so
        that replacing one of n moves the moment by at most sqrt(2) / n wherever m is. Wide rows in
        float32 become whole numbers, of which every product and sum is exact; with all others
        float64 rounds, which adds what `dpcore.spectra.site_moments` says. A row that is m has no
        direction and counts as zero, as does one too long to be squared.

        Parameters
        ----------
        centre : ndarray of shape (n_features,)
        site : int, optional
            Everybody's rows without it.
        threads : int, optional
            Blocks worked on at the same time; one a processor by default. Blocks are added up in
            order: the sum is the same.
        checkpoint : callable
            Called before each block; what it raises is raised.

        Returns
        -------
        ndarray of float64, shape (n_features, n_features), symmetric
        """
        sites = self.sites if site is None else self.sites[site : site + 1]
        centre = centre.astype(self.dtype if self._are_whole else np.float64)
        make = partial(self._around, sites, centre, threads, checkpoint)
        return self.shelf(sites, centre, make)

    def _around(
        self,
        sites: tuple[IntArray, ...],
        centre: FloatArray,
        threads: int | None,
        checkpoint: Callable[[], None],
    ) -> FloatArray:
        rows = self.rows

        def product(block: slice | IntArray) -> FloatArray:
            checkpoint()
            own = _directions_of(rows, centre, self.parts, block)
            return _product_of_whole(_whole(own)) if self._are_whole else own.T @ own

        blocks = chain.from_iterable(row_blocks(own, BLOCK_ROWS) for own in sites)
        total = np.zeros((self.n_features, self.n_features))
        n_rows = sum(map(len, sites))
        for each in mapped(product, blocks, _workers(n_rows, threads)):
            total += each
        total /= n_rows * (_LENGTH**2 if self._are_whole else 1)
        return total

    @property
    def _are_whole(self) -> bool:
        """Whether rows become whole numbers."""
        return self.dtype == np.float32 and self.n_features >= _WIDE and self.parts == WHOLE


def directions(rows: FloatArray, centre: FloatArray, parts: Parts = WHOLE) -> FloatArray:
    """(x - m) / |x - m| for each row, never longer than 1; zero where x is m.

    Of several parts each gets its own length so, and zero where it is that part of m.

    A sum of D squares is off by at most D + 1 roundings, in whatever order it is added up; its
    root, the quotient and the product take two more each. Rows are shortened by all of them.
    """
    return _at_own_length(rows - centre, parts)


def _at_own_length(shifted: FloatArray, parts: Parts) -> FloatArray:
    slack = (shifted.shape[1] + 8) * np.finfo(shifted.dtype).eps
    for columns, length in parts:
        part = shifted[:, columns]
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            lengths = np.sqrt(np.einsum("nd,nd->n", part, part)) / length
            factors = np.where(lengths > _NOWHERE, (1 - slack) / lengths, 0).astype(shifted.dtype)
            part *= factors[:, None]
    return shifted


def _workers(n_rows: int, threads: int | None = None) -> int:
    # Small sites are done before a thread has started.
    return min(threads or PROCESSORS, -(-n_rows // BLOCK_ROWS))


def _directions_of(
    rows: FloatArray, centre: FloatArray, parts: Parts, block: slice | IntArray
) -> FloatArray:
    # By the thread that multiplies them, and copied once.
    shifted = rows[block]
    is_copy = not isinstance(block, slice) and shifted.dtype == centre.dtype
    shifted = np.subtract(shifted, centre, out=shifted if is_copy else None)
    return _at_own_length(shifted, parts)


def _whole(rows: FloatArray) -> FloatArray:
    """Rows at most 1 long as whole numbers, at most `_LENGTH` long, in the rows' memory.

    An entry is rounded by up to a half, which lengthens some of D entries by up to sqrt(D) / 2.
    Those that end beyond are shortened by all of that and cut towards zero.
    """
    rows *= _LENGTH - 1
    np.rint(rows, out=rows)
    # Squares of whole numbers, below 2^24 and so exact.
    long = np.einsum("nd,nd->n", rows, rows) > _LENGTH**2
    if long.any():
        longest = _LENGTH + rows.shape[1] ** 0.5 / 2
        rows[long] = np.trunc(rows[long] * ((_LENGTH - 1) / longest))
    return rows


def _product_of_whole(rows: FloatArray) -> FloatArray:
    """X^T X of whole numbers, exactly."""
    product: FloatArray = rows.T @ rows  # NumPy sees the transpose and calls syrk
    # No partial sum of an entry exceeds the larger of two entries on the diagonal, and what has
    # once exceeded 2^24 there is not rounded below it.
    if product.diagonal().max() >= _EXACT:
        rows = rows.astype(np.float64)
        product = rows.T @ rows
    return product


def _sums_within_bound(
    rows: FloatArray, box: FloatArray | None, sites: Sequence[IntArray]
) -> FloatArray:
    """Of each site's rows, shortened to 1 and held to the box."""
    blocks = [list(row_blocks(own, BLOCK_ROWS)) for own in sites]
    sum_of = partial(_sum_within_bound, rows, box)
    found = mapped(sum_of, chain.from_iterable(blocks), _workers(len(rows)))
    sums = np.zeros((len(sites), rows.shape[1]))
    for site, own in enumerate(blocks):
        for each in islice(found, len(own)):
            sums[site] += each
    return sums


def _sum_within_bound(
    rows: FloatArray, box: FloatArray | None, block: slice | IntArray
) -> FloatArray:
    within = shorten(rows[block], 1.0)[0]
    within = within if box is None else np.clip(within, -box, box)
    total: FloatArray = within.sum(axis=0, dtype=np.float64)
    return total
