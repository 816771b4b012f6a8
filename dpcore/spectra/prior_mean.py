r"""Prior mean of the second moment of pictures, fitted to a noisy second moment.

Model of the second moment A of pictures with pixels x:

    A(x, x') = p(x) rho(x - x') p(x') + residual,    rho(0) = 1.

p is the standard deviation of each pixel and rho the correlation of two pixels at a displacement.
Both start from the public kernel (`dpcore.spectra.public_kernel`) and are fitted to M = A + E,
where E is Gaussian noise of public variance. No exact quantity
enters, so the fit is post-processing of M. Without signal the result is the public kernel.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy.linalg import get_lapack_funcs

from dpcore.arrays import AnyArray, BoolArray, FloatArray, IntArray
from dpcore.spectra.mean_denoising import MeanError, directions_of_mean, shrink_in_cosines
from dpcore.spectra.nonnegative import number_above_zero, number_at_least_zero
from dpcore.spectra.public_bases import PublicBasis, rows_rotated
from dpcore.spectra.public_kernel import KERNELS, public_kernel

# Curves exp(-(r / l)^nu): lengths l in units of the longer side, and powers nu. The kernel of the
# public constant has half of the prior weight, and the other curves share the other half.
_LENGTHS = (0.06, 0.08, 0.1, 0.13, 0.18, 0.25, 0.35, 0.5)
_POWERS = (1.0, 1.5, 2.0)
_PUBLIC_WEIGHT = 0.5
# Deviations of the correlation from the curve: their standard deviations at short distances, the
# distance in pixels at which they are correlated, and the distance over which they die out.
_DEVIATIONS = (0.05, 0.15, 0.4)
_CORRELATED_OVER = 1.5
_DIE_OUT_OVER = 10.0
# Scale of the deviations of single displacements from the curve.
_ANISOTROPY = 0.1
# Deviations of the pixels from the public window: their mean squares, in units of the mean square
# of a pixel, and prior probability that there are none.
_CHANGES = np.geomspace(0.003, 1.0, 8)
_NO_CHANGE = 0.99
# Largest number of fits of p and rho in turn, and the relative change of p at which they end.
_ROUNDS, _SMALL_CHANGE = 3, 0.003
# Error of the mean in its public directions, in units of the public kernel, at which half of that
# block is replaced.
_HALF_REPLACED = 0.05
_LEAST_ESTIMATE = 3.0
# Energy of the error of the mean, as a share of the trace, at which p takes half of its change.
_HALF_CHANGED = 0.15
# Largest eigenvalue of remaining noise of variance v, in units of sqrt(D v); share of the estimate
# in the mixture of it and the public kernel; and the number of cosines in which they are mixed,
# because others take time and have hardly any energy.
_EDGE, _OF_DATA, _MIXED = 2.5, 0.7, 128
# The same for the average of cut messages, whose noise is measured.
_EDGE_OF_MESSAGES = 1.5
_TINY = 1e-12


class PriorMean(NamedTuple):
    """A fitted prior mean p(x) rho(x - x') p(x').

    deviations: shape (height, width). p.
    correlations: shape (2 height - 1, 2 width - 1). rho, with displacement 0 in the middle.
    """

    deviations: FloatArray
    correlations: FloatArray

    @classmethod
    def fit(
        cls,
        noisy: FloatArray,
        variance: float,
        basis: PublicBasis,
        trace: float,
        error: MeanError,
        of_average: float = 1.0,
    ) -> PriorMean:
        """Fit a prior mean to a noisy second moment, starting from the public kernel.

        1. The block of M with most of the error of the mean is replaced (`_without_mean_error`).
        2. p is fitted by least squares given rho (`_fit_deviations`), then rho given p
           (`_Displaced`), in turn. The larger the error of the mean, the less p changes:
           the outer product of the error is a smooth pattern of p, and repeated fits follow it.

        All steps shrink to the public kernel, which is the result if there is no signal. Models are
        weighed by the noise of M. They are shrunk by less, the geometric mean of this noise and
        that of the average of all sites' matrices, in which errors of the sites' fits cancel in
        part.

        Parameters
        ----------
        noisy : ndarray of shape (n_features, n_features), symmetric
        variance : float
            Variance of the noise off the diagonal, greater than 0.
        basis : PublicBasis
            Cosines of the pictures, with `image_shape` and `picture`.
        trace : float
            Fitted trace of the second moment (`fit_trace`).
        error : MeanError
            Expected error of the released mean, in units in which the trace is 1.
        of_average : float
            Variance of the noise in the average of all sites' matrices, in units of `variance`.
        """
        shape = basis.image_shape or (1, len(noisy))
        public = _public_parts(shape, basis.picture)
        shrunk_by = math.sqrt(of_average)
        changed = 1 / (1 + (float(error.in_cosines.sum()) / _HALF_CHANGED) ** 4)
        noisy = _without_mean_error(noisy, trace, error, public)
        window = math.sqrt(trace / len(noisy)) * public.window
        deviations, curve = window, KERNELS[basis.picture].correlations(shape)
        for _ in range(_ROUNDS):
            before = deviations
            fitted = _fit_deviations(noisy, before, curve, window, variance, shrunk_by, basis)
            deviations = window + changed * (fitted - window)
            displaced = _Displaced.of(noisy, deviations, variance, shape)
            curve = displaced.fit_curve(shrunk_by, basis.picture)
            if np.linalg.norm(deviations - before) < _SMALL_CHANGE * np.linalg.norm(window):
                break
        correlations = displaced.shrink_to(curve, shrunk_by)
        return cls(deviations.reshape(shape), correlations)

    def matrix(self, dtype: DTypeLike) -> FloatArray:
        """Return the prior mean, shape (n_features, n_features)."""
        shape, p = self.deviations.shape, self.deviations.astype(dtype)
        rows = _by_pixels(self.correlations, shape, dtype) * p
        rows *= p[:, :, None, None]
        mean: FloatArray = rows.reshape(p.size, p.size)
        return mean

    @staticmethod
    def variances(mean: FloatArray, basis: PublicBasis) -> FloatArray:
        """Return the diagonal of Q A_0 Q^T, at least a tiny part of its mean."""
        factors = [factor.astype(mean.dtype) for factor in basis.factors]
        turned = rows_rotated(mean, factors)
        diagonal = np.einsum("ij,ij->i", turned, _dense_basis(basis).astype(mean.dtype))
        values: FloatArray = diagonal.astype(np.float64)
        return np.maximum(values, 1e-9 * float(np.trace(mean)) / len(mean))


@lru_cache(maxsize=16)
def _dense_basis(basis: PublicBasis) -> FloatArray:
    return np.kron(*basis.factors)


class _PublicParts(NamedTuple):
    """Public kernel with squares of p of mean 1.

    window: shape (n_pixels,). p.
    matrix: shape (n_pixels, n_pixels), with a diagonal of 0, divided by the number of pixels.
    block: Kernel of trace 1 in the directions of the mean's public prior.
    """

    window: FloatArray
    matrix: FloatArray
    block: FloatArray


@lru_cache(maxsize=8)
def _public_parts(shape: tuple[int, int], picture: str) -> _PublicParts:
    matrix = public_kernel(shape, picture)
    directions = directions_of_mean(shape, picture)
    block = directions @ matrix @ directions.T
    np.fill_diagonal(matrix, 0)
    return _PublicParts(KERNELS[picture].pixel_deviations(shape).ravel(), matrix, block)


def with_public_tail(
    estimate: FloatArray, trace: float, basis: PublicBasis, sigma: float, remaining: float = 0.0
) -> FloatArray:
    """Return an estimate of a second moment that is the public kernel where no data support it.

    1. Noise of the fits is spread over all cosines, and is far above the public variance b_i of
       most. An entry in cosines keeps the share g_i g_j of its distance d from the public kernel,
       where g_i = b_i^2 / (b_i^2 + z^2) and z = sigma / side is the noise of a fit that averages a
       row. This keeps the public order of the last directions.
    2. Directions of small eigenvalues would be ordered by the noise that denoising left. d loses
       G d G with G = (1 + S^2 / e^2)^-1, where S is the estimate mixed with the public kernel and e
       the largest eigenvalue of that noise and z. So the matrix is the public kernel among
       directions of eigenvalues below e, and is not changed among the leading ones.

    trace: Fitted trace of the second moment.
    sigma: Standard deviation of the noise in the average of all sites' matrices.
    remaining: Variance of the noise in an entry of the average of all sites' estimates.
    """
    public, side = _public_in_cosines(basis), math.sqrt(len(estimate))
    squares = np.diagonal(public) ** 2
    supported = squares / (squares + (sigma / side / max(trace, _TINY)) ** 2)
    supported = supported.astype(estimate.dtype)
    centre = (trace * public).astype(estimate.dtype)
    difference = basis.to_basis(estimate) - centre
    difference *= supported
    difference *= supported[:, None]
    edge = math.hypot(sigma / side, _EDGE * side * math.sqrt(remaining))
    _drop_below(edge, difference, centre, basis)
    return basis.from_basis(centre + difference)


def in_public_order(average: FloatArray, variance: float, basis: PublicBasis) -> FloatArray:
    """Return an average of messages that is the public kernel among directions below its noise.

    The messages are estimates of `with_public_tail`, which were cut. Their last directions are
    above the noise that was expected after averaging, but not above that of their cuts.

    average: shape (n_features, n_features), with the trace of the second moment.
    variance: Variance of an entry, from differences between the messages.
    """
    centre = (float(np.trace(average)) * _public_in_cosines(basis)).astype(average.dtype)
    difference = basis.to_basis(average) - centre
    _drop_below(_EDGE_OF_MESSAGES * math.sqrt(len(average) * variance), difference, centre, basis)
    return basis.from_basis(centre + difference)


def _drop_below(
    edge: float, difference: FloatArray, centre: FloatArray, basis: PublicBasis
) -> None:
    """Subtract from a distance d, in cosines, its part G d G in directions below an edge.

    G = (1 + S^2 / edge^2)^-1, where S is the estimate mixed with its centre.
    """
    leading = _leading_cosines(basis)
    distance = difference[leading].astype(np.float64)
    below = small_directions(centre[leading] + _OF_DATA * distance, edge)
    difference[leading] = distance - below @ distance @ below


def small_directions(matrix: FloatArray, size: float) -> FloatArray:
    """Return (1 + M^2 / size^2)^-1, near 1 in directions of eigenvalues far below the size.

    matrix: shape (n, n), symmetric. Single precision is too coarse for squares of eigenvalues below
        a thousandth of the largest one.
    """
    ratio = matrix / matrix.dtype.type(size)
    potrf, potri = get_lapack_funcs(("potrf", "potri"), (ratio,))
    ratio = ratio @ ratio
    ratio.flat[:: len(ratio) + 1] += 1
    root, _ = potrf(ratio, lower=True, overwrite_a=True)
    half, _ = potri(root, lower=True, overwrite_c=True)
    inverse: FloatArray = half + half.T
    inverse.flat[:: len(inverse) + 1] /= 2
    return inverse


@lru_cache(maxsize=8)
def _leading_cosines(basis: PublicBasis) -> tuple[IntArray, IntArray]:
    """Return an index of the block of cosines with the largest public variances."""
    largest = np.argsort(-np.diagonal(_public_in_cosines(basis)), kind="stable")
    leading = np.sort(largest[:_MIXED])
    return leading[:, None], leading[None, :]


@lru_cache(maxsize=8)
def _public_in_cosines(basis: PublicBasis) -> FloatArray:
    """Return the public kernel of trace 1 in cosines, shape (n_features, n_features)."""
    return basis.to_basis(public_kernel(basis.image_shape or (1, basis.n_features), basis.picture))


def fit_trace(noisy: FloatArray, variance: float, basis: PublicBasis) -> float:
    """Return the posterior mean of the trace of a second moment of pictures, at least 0.

    Least squares of the entries off the diagonal on those of the public kernel.

    variance: Variance of the noise off the diagonal.
    basis: Cosines of the pictures, with `image_shape` and `picture`.
    """
    public = _public_parts(basis.image_shape or (1, len(noisy)), basis.picture)
    squared = float(np.vdot(public.matrix, public.matrix))
    if squared == 0:
        return max(float(np.trace(noisy)), math.sqrt(variance))
    estimate = float(np.vdot(public.matrix.astype(noisy.dtype), noisy)) / squared
    spread = math.sqrt(2 * variance / squared)
    # If signal is far below the noise, its density underflows.
    estimate = max(estimate, -_LEAST_ESTIMATE * spread)
    return number_above_zero(estimate, spread)


def _without_mean_error(
    noisy: FloatArray, trace: float, error: MeanError, public: _PublicParts
) -> FloatArray:
    """Return the matrix with the block of the mean's public directions replaced in part.

    Error of the mean that rows are centred by adds its outer product, which is no stationary
    correlation. Most of it is in these directions. The larger it is expected to be, the more of
    the block is that of the public kernel.
    """
    directions = error.directions.astype(noisy.dtype)
    block = directions @ noisy @ directions.T - trace * public.block
    excess = error.in_directions / (float(np.trace(public.block)) / len(directions))
    share = excess / (excess + _HALF_REPLACED)
    return noisy - (share * (directions.T @ block @ directions)).astype(noisy.dtype)


def _fit_deviations(
    noisy: FloatArray,
    deviations: FloatArray,
    curve: FloatArray,
    window: FloatArray,
    variance: float,
    shrunk_by: float,
    basis: PublicBasis,
) -> FloatArray:
    """Return p, shape (n_pixels,): a step of least squares, shrunk smoothly to the public window.

    Given rho and p, each row of M has the least-squares factor
    q(x) = sum_x' M rho p(x') / sum_x' rho^2 p(x')^2. If p and q are smooth, p rho p' is as close as
    possible to M about p + (q - p) / 2, because both factors change.
    The difference from the window, in units of its noise, is N(0, alpha g_i) in cosines, averaged
    over the curves g of the basis and over alpha (`shrink_in_cosines`).
    """
    shape = basis.image_shape or (1, len(noisy))
    correlated = _by_pixels(curve, shape, noisy.dtype).reshape(noisy.shape)
    explained = (noisy * correlated) @ deviations.astype(noisy.dtype)
    weights = ((correlated * correlated) @ (deviations**2).astype(noisy.dtype)).astype(np.float64)
    weights = np.maximum(weights, _TINY * weights.max())
    factors, errors = explained.astype(np.float64) / weights, np.sqrt(variance / (2 * weights))
    change = ((deviations + factors) / 2 - window) / errors
    totals = _CHANGES * float((window**2).sum() / np.mean(errors**2))
    change = shrink_in_cosines(
        change, basis, totals, probability_of_none=_NO_CHANGE, shrunk_by=shrunk_by
    )
    fitted = np.maximum(window + errors * change, 0)
    return fitted if fitted.any() else window


class _Displacements(NamedTuple):
    """Half of all displacements: down by 0 or more, and across in both directions.

    distances: shape (height, 2 width - 1). In pixels.
    rings: Distances rounded to whole pixels.
    is_counted: False at displacement 0 and where the opposite displacement is present too.
    across: shape (height * width * width,). Position of each pair of columns of two rows.
    """

    distances: FloatArray
    rings: IntArray
    is_counted: BoolArray
    across: IntArray

    @classmethod
    def of(cls, shape: tuple[int, int]) -> _Displacements:
        height, width = shape
        down, across = np.mgrid[:height, 1 - width : width]
        distances = np.hypot(down, across)
        columns = np.arange(width)
        differences = columns[None, :] - columns[:, None] + width - 1
        rows = np.arange(height)[:, None, None] * (2 * width - 1)
        return cls(
            distances,
            np.rint(distances).astype(int),
            (down > 0) | (across > 0),
            (rows + differences).ravel(),
        )


_displacements = lru_cache(maxsize=16)(_Displacements.of)


class _Displaced(NamedTuple):
    """Weighted means of M per displacement, y_d = sum M p p' / sum (p p')^2.

    shape: (height, width)
    half: Half of all displacements.
    estimates, weights: y_d, and sum (p p')^2. The noise of y_d has the variance
        `variance` / weights.
    """

    shape: tuple[int, int]
    half: _Displacements
    estimates: FloatArray
    weights: FloatArray
    variance: float

    @classmethod
    def of(
        cls, noisy: FloatArray, deviations: FloatArray, variance: float, shape: tuple[int, int]
    ) -> _Displaced:
        half = _displacements(shape)
        p = deviations.astype(noisy.dtype)
        sums = _sums_of_displacements(noisy * p[:, None] * p, half, shape)
        weights = _autocorrelation((deviations**2).reshape(shape))
        weights = np.maximum(weights, _TINY * weights.max())
        return cls(shape, half, sums / weights, weights, variance)

    def fit_curve(self, shrunk_by: float, picture: str) -> FloatArray:
        """Return rho as a function of the distance: means over rings, shrunk to a curve.

        Returns: shape (2 height - 1, 2 width - 1), with displacement 0 in the middle.
        """
        if self.shape == (1, 1):
            return np.ones(self.shape)
        distances = self.half.distances
        rings, counted = self.half.rings.ravel(), self.weights * self.half.is_counted
        of_rings = np.bincount(rings, counted.ravel())[1:]
        present = of_rings > 1e-9 * of_rings.max()
        of_rings = of_rings[present]
        means, radii = (
            np.bincount(rings, (counted * values).ravel())[1:][present] / of_rings
            for values in (self.estimates, distances)
        )
        errors = self.variance / of_rings
        smooth = _smooth_curve(means, errors, shrunk_by, radii, max(self.shape), picture)
        curve = np.interp(distances, np.append(0, radii), np.append(1, smooth))
        return _all_displacements(np.clip(curve, -1, 1))

    def shrink_to(self, curve: FloatArray, shrunk_by: float) -> FloatArray:
        """Return rho: y_d shrunk to the curve, with a variance about it from their scatter.

        curve, and the result: shape (2 height - 1, 2 width - 1)
        """
        if self.shape == (1, 1):
            return curve
        errors, centre = self.variance / self.weights, curve[self.shape[0] - 1 :]
        deviation = self.estimates - centre
        precision = self.half.is_counted / (errors + _ANISOTROPY**2) ** 2
        total = float(precision.sum())
        excess = float((precision * (deviation**2 - errors)).sum()) / total
        spread = 2 * float((precision**2 * (errors + max(excess, 0.0)) ** 2).sum()) / total**2
        scatter = number_at_least_zero(excess, 1.0, spread, _ANISOTROPY**2)
        shares = scatter / (scatter + shrunk_by * errors)
        return _all_displacements(np.clip(centre + shares * deviation, -1, 1))


def _smooth_curve(
    means: FloatArray,
    variances: FloatArray,
    shrunk_by: float,
    radii: FloatArray,
    side: int,
    picture: str,
) -> FloatArray:
    """Return the posterior mean of a correlation at some distances.

    Gaussian processes about e^-(r/l)^nu for several l, nu and sizes of the deviations, averaged by
    prior weight times likelihood.
    """
    lengths, powers, log_prior = _curve_models(picture)
    curves = np.exp(-((radii[:, None] / (side * lengths)) ** powers))
    misfit = means[:, None] - curves
    distances = np.abs(np.subtract.outer(radii, radii)) / _CORRELATED_OVER
    fading = 1 / (1 + radii / _DIE_OUT_OVER)
    alike = (1 + distances) * np.exp(-distances) * np.outer(fading, fading)
    priors = np.square(_DEVIATIONS)[:, None, None] * alike
    roots = np.linalg.cholesky(priors + np.diag(variances))
    innovations = np.linalg.solve(roots, np.broadcast_to(misfit, (len(priors), *misfit.shape)))
    log_determinants = np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
    evidence = log_prior - (innovations**2).sum(axis=1) / 2 - log_determinants[:, None]
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    averaged = (weights @ misfit.T)[:, :, None]
    gains = priors @ np.linalg.solve(priors + shrunk_by * np.diag(variances), averaged)
    posterior: FloatArray = curves @ weights.sum(axis=0) + gains.sum(axis=0)[:, 0]
    return posterior


@lru_cache(maxsize=4)
def _curve_models(picture: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return lengths, powers and logarithms of the prior weights of all curves."""
    public = KERNELS[picture]
    models = [(length, power) for length in _LENGTHS for power in _POWERS]
    lengths, powers = np.array([(public.length, public.power), *models]).T
    others = [(1 - _PUBLIC_WEIGHT) / len(models)] * len(models)
    return lengths, powers, np.log([_PUBLIC_WEIGHT, *others])


def _sums_of_displacements(
    matrix: FloatArray, half: _Displacements, shape: tuple[int, int]
) -> FloatArray:
    """Return the sums of a symmetric matrix of pixels over the pairs at each displacement.

    The result has the shape (height, 2 width - 1), for displacements down by 0 or more.
    """
    height, width = shape
    pairs = matrix.reshape(height, width, height, width).transpose(0, 2, 1, 3)
    blocks = pairs.reshape(height * height, width * width)
    of_rows = np.stack(
        [blocks[down :: height + 1][: height - down].sum(axis=0) for down in range(height)]
    )
    n_displacements = height * (2 * width - 1)
    sums = np.bincount(half.across, of_rows.ravel(), n_displacements).astype(np.float64)
    return sums.reshape(height, 2 * width - 1)


def _all_displacements(half: FloatArray) -> FloatArray:
    """Return (2 height - 1, 2 width - 1) values from those of displacements down by 0 or more."""
    height, width = len(half), (half.shape[1] + 1) // 2
    whole = np.empty((2 * height - 1, half.shape[1]))
    whole[height - 1 :] = half
    whole[: height - 1] = half[:0:-1, ::-1]
    whole[height - 1, : width - 1] = half[0, : width - 1 : -1]
    whole[height - 1, width - 1] = 1
    return whole


def _autocorrelation(picture: FloatArray) -> FloatArray:
    """Return sum_x f(x) f(x + d) for displacements d down by 0 or more.

    Products with small Fourier matrices take a third of the time of a fast transform.
    """
    (down, _), (across, both_ways) = (_fourier_waves(size) for size in picture.shape)
    powers = np.abs(down @ picture @ across.T) ** 2
    products: FloatArray = (down.conj().T @ powers @ both_ways).real / powers.size
    return np.maximum(products, 0)


@lru_cache(maxsize=16)
def _fourier_waves(size: int) -> tuple[AnyArray, AnyArray]:
    """Return exp(-2 pi i u x / n) for x from 0, and exp(2 pi i u d / n) for d from 1 - size.

    u from 0 to n = 2 size - 1, so that displacements do not wrap around.
    """
    waves = 2j * np.pi / (2 * size - 1) * np.arange(2 * size - 1)[:, None]
    return np.exp(-waves * np.arange(size)), np.exp(waves * np.arange(1 - size, size))


def _by_pixels(values: FloatArray, shape: tuple[int, int], dtype: DTypeLike) -> FloatArray:
    """Return a read-only view of k(x' - x), shape (height, width, height, width)."""
    height, width = shape
    values = np.ascontiguousarray(values, dtype=dtype)
    down, across = values.strides
    return np.lib.stride_tricks.as_strided(
        values[height - 1 :, width - 1 :],
        (height, width, height, width),
        (-down, -across, down, across),
        writeable=False,
    )
