"""Private score plot: people on two released components, as a noisy two-dimensional histogram.

The components and the centre come from an earlier private release, so that they are public here and
every person's two scores depend only on this person's row. The histogram is a query of its own, and
its budget adds to that of the components.

Neighbours differ in one person's row (replace-one), group included. The person leaves a cell and
enters another: the counts of all groups together have l2 sensitivity sqrt(2) and l1 sensitivity 2,
attained by every move between two cells. Gaussian noise gives an approximate guarantee (epsilon,
delta), Laplace noise a pure one. Limits, cells, groups and the number of people are public.

>>> rng = np.random.default_rng(0)
>>> people = rng.normal([[-0.4, 0.0]] * 500 + [[0.4, 0.1]] * 500, 0.1)
>>> picture = private_scores(people, limits=(1, 1), epsilon=1, delta=1e-5, rng=rng)
>>> picture.counts.shape, round(picture.noise_scale, 1)
((1, 14, 14), 5.3)
>>> bool(picture.density.min() >= 0), round(float(picture.density.sum()))
(True, 1000)
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import dctn, idctn

from dpcore.arrays import AnyArray, FloatArray
from dpcore.errors import ParameterError, require_one_of
from dpcore.privacy import (
    Adversary,
    Against,
    Assumption,
    Guarantee,
    PrivacyBudget,
    cape_mu,
    cape_scales,
    gaussian_epsilon,
)
from dpcore.statistics.noisy_release import TWO_BINS, release, unit_scale

SUMS = ("noisy", "secure")
# Cells along an axis. Fewer show no shape; more are narrower than a picture of the plot resolves.
FEWEST_BINS, MOST_BINS = 4, 64
# Cells along an axis in units of the optimal order; the limits are about six standard deviations
# apart, so that a standard deviation spans two to three cells.
_BINS_FACTOR = 2.5
# Limits of a component, in units of the root of its released eigenvalue.
_DEVIATIONS = 3.0
# Smallest limit in units of the row norm bound; a denoised eigenvalue may be 0.
_SMALLEST_LIMIT = 0.05

_AT_SITES: tuple[Assumption, ...] = (
    Assumption.ONE_ROW_A_PERSON,
    Assumption.ROW_OF_ONE_PERSON,
    Assumption.PUBLIC_COUNTS,
    Assumption.PUBLIC_RANGE,
    Assumption.DISJOINT_SITES,
    Assumption.HONEST_SITES,
    Assumption.SECRET_SEED,
    Assumption.FLOAT_ARITHMETIC,
)


@dataclass(frozen=True, eq=False)
class PrivateScores:
    """Released two-dimensional histogram of people on two components.

    Parameters
    ----------
    counts : ndarray of shape (n_groups, n_bins, n_bins)
        Noisy counts as drawn; the second axis is the first component. Counts may be negative.
    density : ndarray of the same shape
        People in each cell after shrinking and clipping (`shrink_counts`), nonnegative. The sum is
        `n_samples`, or that of the noisy counts if labels were given, since people with other
        labels are not counted.
    edges : ndarray of shape (2, n_bins + 1)
        Edges of the cells along each component.
    groups : tuple
        Public labels of the groups; a single None without groups.
    noise_scale : float
        Gaussian standard deviation or Laplace scale of a count.
    mechanism : {"gaussian", "laplace"}
    n_samples : int
    guarantee : Guarantee
    """

    counts: FloatArray
    density: FloatArray
    edges: FloatArray
    groups: tuple[Hashable, ...]
    noise_scale: float
    mechanism: str
    n_samples: int
    guarantee: Guarantee

    @property
    def value(self) -> FloatArray:
        """Counts as drawn, under the name that the results of all statistics have in common."""
        return self.counts

    @property
    def n_bins(self) -> int:
        """Number of cells along an axis."""
        return int(self.counts.shape[-1])


def private_scores(
    scores: ArrayLike,
    *,
    limits: tuple[float, float],
    epsilon: float,
    delta: float = 0.0,
    mechanism: str = "gaussian",
    bins: int | None = None,
    groups: ArrayLike | None = None,
    labels: Sequence[Hashable] | None = None,
    sites: ArrayLike | None = None,
    combine: str = "noisy",
    honest_sites: int | None = None,
    rng: np.random.Generator,
) -> PrivateScores:
    """Release where people lie on two private components.

    Parameters
    ----------
    scores : array-like of shape (n_samples, 2)
        Coordinates of each person along two components that were released before.
    limits : (float, float)
        Public half widths of the plot: a score in [-limit, limit] is in a cell, and one beyond is
        counted in the outermost cell. `score_limits` derives them from released eigenvalues.
    epsilon, delta : float
        Budget of this query; ``epsilon=inf`` disables the noise.
    mechanism : {"gaussian", "laplace"}
        Gaussian noise needs a positive delta. Laplace noise is pure epsilon-DP and not available
        with several sites.
    bins : int, optional
        Public number of cells along an axis, from 4 to 64. Default: `bins_of`.
    groups : array-like of shape (n_samples,), optional
        Group of each person. A person's group is protected like the scores.
    labels : sequence, optional
        Public labels of the groups; people with other labels are not counted. Default: the labels
        that occur, which the guarantee then assumes to be public.
    sites : array-like of shape (n_samples,), optional
        Site of each person. Each site adds noise to its own counts, and the counts are summed.
    combine : {"noisy", "secure"}
        "noisy": the aggregator reads each site's noisy counts. "secure": the aggregator learns only
        their sum under pairwise masks, so that the sites share one noise.
    honest_sites : int, optional
        Sites of a secure sum that keep their masks and noise secret. Default: all but one.
    rng : numpy.random.Generator
        Secret generator; see `private_mean`.

    Returns
    -------
    PrivateScores

    Raises
    ------
    ParameterError
        If the scores are not finite or not pairs, or a parameter is outside its range.
    """
    points = _to_points(scores)
    require_one_of("combine", combine, SUMS)
    names, group_of = _number_labels(groups, labels, len(points))
    budget = PrivacyBudget(epsilon, delta)
    unit = unit_scale(budget, mechanism, TWO_BINS, 1)
    n_sites = 1 if sites is None else _count_sites(sites, len(points))
    if n_sites > 1 and mechanism != "gaussian":
        raise ParameterError("mechanism", "gaussian with several sites", mechanism)
    share = _share_of_site(n_sites, combine, honest_sites)
    noise = unit * share * math.sqrt(n_sites)
    bins = bins_of(len(points), noise, n_groups=len(names)) if bins is None else bins
    edges = _edges(limits, bins)
    exact = _count(points, group_of, edges, len(names))
    # One draw of the sum's noise has the law of the sum of the sites' draws; a site's share of it
    # scales the noise like a larger change of a count.
    drawn = release(
        "scores",
        exact,
        share * math.sqrt(n_sites),
        TWO_BINS,
        budget,
        mechanism,
        n_samples=len(points),
        possible=None,
        rng=rng,
    )
    counts: FloatArray = np.asarray(drawn.value)
    guarantee = drawn.guarantee
    if sites is not None and guarantee.is_private:
        guarantee = _guarantee_at_sites(budget, unit, n_sites, combine, honest_sites)
    if groups is not None and labels is None and guarantee.is_private:
        assumptions = (*guarantee.assumptions, Assumption.PUBLIC_LABELS)
        guarantee = replace(guarantee, assumptions=assumptions)
    deviation = noise if mechanism == "gaussian" else math.sqrt(2) * noise
    # The number of people with other labels is not public.
    total = len(points) if groups is None or labels is None else max(1.0, float(counts.sum()))
    return PrivateScores(
        counts,
        shrink_counts(counts, deviation, total),
        edges,
        names,
        noise,
        mechanism,
        len(points),
        guarantee,
    )


def bins_of(n_samples: int, noise_scale: float, *, n_groups: int = 1) -> int:
    """Return the number of cells along an axis, from public numbers only.

    A histogram of n people with B^2 cells has a squared bias of order 1 / B^2, a sampling variance
    of order B^2 / n, and a noise variance of order (B^2 sigma / n)^2 in units of the density. The
    smaller of the two optima n^(1/4) and (n / sigma)^(1/3) is taken; n is the average of a group.

    Parameters
    ----------
    n_samples : int
    noise_scale : float
        Noise of a count, which follows from the budget; 0 without noise.
    n_groups : int
    """
    people = max(1.0, n_samples / n_groups)
    optimum: float = people**0.25
    if noise_scale > 0:
        optimum = min(optimum, (people / noise_scale) ** (1 / 3))
    return min(MOST_BINS, max(FEWEST_BINS, round(_BINS_FACTOR * optimum)))


def score_limits(eigenvalues: ArrayLike | None, row_norm_bound: float = 1.0) -> tuple[float, float]:
    """Return the limits of a score plot from two released eigenvalues; no row is read.

    The limit of a component is three roots of its eigenvalue, within 5 % and 100 % of the public
    `row_norm_bound`. The limits are that bound if no eigenvalues are given, or nan: eigenvalues of
    differences of pairs have no information on the distance of rows from the public middle, and
    PPCA releases none.
    """
    if eigenvalues is None or np.isnan(eigenvalues).any():
        return row_norm_bound, row_norm_bound
    roots = np.sqrt(np.maximum(np.asarray(eigenvalues, dtype=float)[:2], 0.0))
    first, second = np.clip(
        _DEVIATIONS * roots, _SMALLEST_LIMIT * row_norm_bound, row_norm_bound
    ).tolist()
    return first, second


def shrink_counts(counts: FloatArray, deviation: float, total: float) -> FloatArray:
    """Shrink and clip noisy counts. Post-processing: only released numbers are read.

    The cosine transform of each group's counts has white noise of the same deviation. Frequencies
    of about equal size form a band, whose coefficients are shrunk by the positive-part James-Stein
    factor 1 - (m - 2) sigma^2 / |c|^2. The result is projected on the nonnegative counts with the
    sum `total`, which lowers all cells by one threshold and clips them at 0.

    Parameters
    ----------
    counts : ndarray of shape (n_groups, n_bins, n_bins)
    deviation : float
        Standard deviation of the noise of a count.
    total : float
        Sum of all counts: a public or a released number greater than 0.
    """
    if deviation == 0:
        return counts
    n_bins = counts.shape[-1]
    rows, columns = np.indices((n_bins, n_bins))
    band_of = np.rint(np.hypot(rows, columns)).astype(int)
    coefficients = dctn(counts, axes=(1, 2), norm="ortho")
    # Frequency 0 is the size of a group and is kept.
    for band in range(1, band_of.max() + 1):
        members = band_of == band
        energy = np.sum(coefficients[:, members] ** 2, axis=1)
        excess = max(0, int(members.sum()) - 2) * deviation**2
        factor = np.maximum(0.0, 1.0 - excess / np.maximum(energy, 1e-300))
        coefficients[:, members] *= factor[:, None]
    shrunk = idctn(coefficients, axes=(1, 2), norm="ortho")
    return _project_on_simplex(shrunk.ravel(), total).reshape(counts.shape)


def _project_on_simplex(values: FloatArray, total: float) -> FloatArray:
    """Return the nearest nonnegative values with this sum (Duchi and others 2008, figure 1)."""
    descending = np.sort(values)[::-1]
    thresholds = (np.cumsum(descending) - total) / np.arange(1, len(values) + 1)
    threshold = thresholds[np.flatnonzero(descending > thresholds)[-1]]
    projected: FloatArray = np.maximum(values - threshold, 0.0)
    return projected


def _edges(limits: tuple[float, float], bins: int) -> FloatArray:
    if not isinstance(bins, int | np.integer) or not FEWEST_BINS <= bins <= MOST_BINS:
        raise ParameterError("bins", f"a whole number from {FEWEST_BINS} to {MOST_BINS}", bins)
    if len(limits) != 2 or not all(0 < limit < math.inf for limit in limits):
        raise ParameterError("limits", "two positive finite numbers", limits)
    return np.array([np.linspace(-limit, limit, bins + 1) for limit in limits])


def _count(points: FloatArray, group_of: AnyArray, edges: FloatArray, n_groups: int) -> FloatArray:
    """Return the exact counts, shape (n_groups, n_bins, n_bins). Not private."""
    ends = edges[:, -1]
    within = np.clip(points, -ends, ends)
    return np.array(
        [
            np.histogram2d(first, second, bins=(edges[0], edges[1]))[0]
            for first, second in (within[group_of == group].T for group in range(n_groups))
        ]
    )


def _to_points(scores: ArrayLike) -> FloatArray:
    points = np.asarray(scores, dtype=float)
    if points.ndim != 2 or points.shape[1] != 2 or not len(points):
        raise ParameterError("scores", "of shape (n_samples, 2), one row or more", points.shape)
    if not np.all(np.isfinite(points)):
        raise ParameterError("scores", "finite", points[~np.isfinite(points)][0])
    return points


def _number_labels(
    groups: ArrayLike | None, labels: Sequence[Hashable] | None, n_samples: int
) -> tuple[tuple[Hashable, ...], AnyArray]:
    """Return the labels of the groups, and each person's number of group; -1 is no group."""
    if groups is None:
        return (None,), np.zeros(n_samples, dtype=int)
    of_people = np.asarray(groups)
    if of_people.shape != (n_samples,):
        raise ParameterError("groups", f"of shape ({n_samples},), one a person", of_people.shape)
    names = tuple(np.unique(of_people).tolist()) if labels is None else tuple(labels)
    if not names or len(set(names)) < len(names):
        raise ParameterError("labels", "one or more different labels", names)
    numbers = np.full(n_samples, -1)
    for number, name in enumerate(names):
        numbers[of_people == name] = number
    return names, numbers


def _count_sites(sites: ArrayLike, n_samples: int) -> int:
    of_people = np.asarray(sites)
    if of_people.shape != (n_samples,):
        raise ParameterError("sites", f"of shape ({n_samples},), one a person", of_people.shape)
    return len(np.unique(of_people))


def _share_of_site(n_sites: int, combine: str, honest_sites: int | None) -> float:
    """Return the noise of one site in units of that of a single holder."""
    if n_sites == 1 or combine == "noisy":
        return 1.0
    return cape_scales(1.0, n_sites, n_honest=honest_sites, masks="wide").noise_sigma


def _guarantee_at_sites(
    budget: PrivacyBudget, unit: float, n_sites: int, combine: str, honest_sites: int | None
) -> Guarantee:
    sensitivity = TWO_BINS[1]
    sigma = unit * _share_of_site(n_sites, combine, honest_sites)
    if n_sites > 1 and combine == "secure":
        scales = cape_scales(unit, n_sites, n_honest=honest_sites, masks="wide")
        n_honest = max(1, n_sites - 1) if honest_sites is None else honest_sites
        mu = cape_mu(sensitivity, scales, n_sites, n_honest)
        sees = {
            Adversary.AGGREGATOR: "the sum of all counts, and masks and noise of the other sites",
            Adversary.SITE: "the result, its own rows, masks and noise",
            Adversary.OUTSIDER: "the result",
        }
        assumptions = (*_AT_SITES, Assumption.ENOUGH_HONEST_SITES, Assumption.AGREED_MASKS)
        added_by = "every site, a part of it each, to its counts"
    else:
        mu = dict.fromkeys(Adversary, sensitivity / sigma)
        sees = {
            Adversary.AGGREGATOR: "every site's noisy counts, even in collusion with other sites",
            Adversary.SITE: "the result, its own rows and noise, even in collusion",
            Adversary.OUTSIDER: "the result",
        }
        assumptions, added_by = _AT_SITES, "every site, to its counts"
    against = tuple(
        Against(who, text, gaussian_epsilon(budget.delta, 1.0, mu[who]))
        for who, text in sees.items()
        if who in mu
    )
    return Guarantee(
        budget,
        max(entry.epsilon for entry in against),
        budget.delta,
        "gaussian",
        added_by,
        l2_sensitivity=sensitivity,
        sigma=sigma,
        assumptions=assumptions,
        against=against,
        mu=max(mu.values()),
    )
