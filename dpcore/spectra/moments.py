"""Second moments of the whole data and of every site.

Nothing after this step depends on the number of people: a protocol reads the (D, D) matrices
and the counts only. Moments are therefore computed once per (data set, split) and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from dpcore.arrays import PROCESSORS, FloatArray, IntArray, mapped, row_blocks
from dpcore.data.row_bounds import shorten
from dpcore.errors import ParameterError

# Second moments of the whole data and of every site.

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


# Rows at sites, and their second moments on the sphere around a centre that is not known yet.

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

    def total_around(self, centre: FloatArray) -> float | None:
        """tr A of the rows at length 1 around a noisy centre: 1. None where that is not public.

        A row that is the centre has no direction and counts as zero. No row is where a coordinate
        of the centre carries noise: one that is neither the public middle nor cut to the box.
        """
        widths = np.inf if self.half_widths is None else self.half_widths
        carries_noise = (centre != 0) & (np.abs(centre) < widths)
        return 1.0 if self.parts == WHOLE and bool(carries_noise.any()) else None

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
