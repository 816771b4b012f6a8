r"""Empirical-Bayes denoising of a noisy second moment before its decomposition.

`denoise` reads a noisy matrix M = A + E, the scale and the shape of the noise, and public bases. It
is therefore post-processing and as private as M, as long as no exact quantity enters. In a basis Q,
with P = Q M Q^T and B = Q A Q^T, the model is

    P_ij = B_ij + e_ij,  e_ij ~ N(0, s^2) for i != j,  e_ii ~ N(0, v_i),
    B_ij ~ N(0, c_gh a_i a_j) for i != j, i in band g and j in band h,   B_ii = a_i.

The estimate is W_ij P_ij with W_ij = c_gh a_i a_j / (c_gh a_i a_j + s^2), and a_i on the diagonal.
`_fit_variances` and `_fit_coupling` fit a_i and c_gh. Several bases work in sequence, and a fitted
prior mean of pictures is subtracted first (`dpcore.spectra.prior_mean`). Derivation, measurements
and sources: `docs/algorithms/denoising.md`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError, require_one_of
from dpcore.picture_kinds import CENTRED
from dpcore.spectra.mean_denoising import MeanError
from dpcore.spectra.nonnegative import number_at_least_zero, posterior_at_least_zero
from dpcore.spectra.prior_mean import PriorMean, fit_trace, small_directions, with_public_tail
from dpcore.spectra.public_bases import COLUMNS, COLUMNS_WHERE_BETTER, Curves, PublicBasis

_NOISE_SHAPES = ("triangle", "isometric")
_FIT_STEPS = 3
# Least height of a curve, in units of the noise in the mean of a diagonal.
_LEAST_HEIGHT = 1e-3
# Limits of k, the variance of the scatter about a curve in units of its squared height.
_SCATTER = (1e-3, 4.0)
# Scale of the half-normal prior of c, which is between .01 and .3 on public data sets; a scale ten
# times larger or five times smaller changes their captured energy in the third decimal.
_COUPLING = 0.1
# Scale of the half-normal prior of k, the scatter of variances about a prior mean. Larger scales
# add the noise of the diagonal where there is no signal.
_SCATTER_SCALE = 0.1
# Half of the step to the estimate without a prior mean is taken at this weight of an entry of the
# residual, and for a cosine with this share of the trace.
_HALF_STEP = 0.1
_LEADING = 1 / 128
# Among leading directions, half of the step is taken for eigenvalues of this share of the trace,
# computed in this number of cosines, and at this error of the mean as a share of the trace. Below
# the last share of the step, it is not taken.
_LARGE, _MOST_STEPS, _HALF_CERTAIN, _LEAST_SHARE = 0.01, 128, 0.12, 0.01
_TINY = 1e-100
_COARSE_LOSS = 0.5
_ROWS_AT_ONCE = 128


def denoise(
    noisy: FloatArray,
    sigma: float | FloatArray,
    *,
    bases: Sequence[PublicBasis] = (COLUMNS,),
    noise: str = "isometric",
    sigma_of_average: float | None = None,
    diagonal_of_average: FloatArray | None = None,
) -> FloatArray:
    """Return the posterior mean of a second moment, given a noisy one and its noise.

    The result is post-processing of `noisy`, with the same privacy guarantee. The module docstring
    describes the model.

    Parameters
    ----------
    noisy : ndarray of shape (..., n_features, n_features), symmetric
        A + E of each site. The data type is kept.
    sigma : float or ndarray, broadcast over the leading axes
        Standard deviation of E, as `dpcore.mechanisms.symmetric_gaussian_noise` takes it.
    bases : sequence of PublicBasis
        Each step works on the result of the step before. Columns should come last.
    noise : {"isometric", "triangle"}
        Shape of E. Isometric noise has s^2 = sigma^2 / 2 and v_i = sigma^2 in every orthonormal
        basis; triangle noise has v_i = sigma^2 (2 - sum_k Q_ik^4), and at most s^2 = sigma^2.
    sigma_of_average : float, optional
        Standard deviation of the noise in the average of all sites' matrices. With a prior mean or
        `diagonal_of_average` the weights are those of this average. Default: `sigma`.
    diagonal_of_average : ndarray of shape (n_features,), optional
        Diagonal of the average of all sites' noisy matrices. With `bases` that are only columns,
        their variances are fitted to it instead of to the diagonal of `noisy`.

    Returns
    -------
    ndarray of the shape and precision of `noisy`, symmetric up to rounding
        `noisy` itself where `sigma` is 0.

    Raises
    ------
    ParameterError
        If `sigma` is negative or infinite, no basis is given, one is of another number of
        features, or the shape of the noise is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.mechanisms import symmetric_gaussian_noise
    >>> rng = np.random.default_rng(0)
    >>> exact = np.diag(np.linspace(1, 0, 50) ** 4)
    >>> noisy = exact + symmetric_gaussian_noise(50, 0.2, shape="isometric", rng=rng)
    >>> error = [np.linalg.norm(each - exact) for each in (noisy, denoise(noisy, 0.2))]
    >>> bool(error[1] < error[0] / 2)
    True
    """
    noisy = np.asarray(noisy)
    if noisy.ndim < 2 or noisy.shape[-1] != noisy.shape[-2]:
        raise ParameterError("noisy", "square in its last two axes", noisy.shape)
    if noisy.ndim > 2:
        sigmas = np.broadcast_to(sigma, noisy.shape[:-2])
        matrices = [
            denoise(own, sigmas[i], bases=bases, noise=noise, sigma_of_average=sigma_of_average)
            for i, own in enumerate(noisy)
        ]
        return np.stack(matrices) if matrices else noisy
    sigma = float(sigma)
    _check_settings(len(noisy), sigma, bases, noise)
    if sigma == 0:
        return noisy
    if (columns := bases[0].pixels) is not None:
        in_order = (bases[0].in_pixel_order, *bases[1:])
        denoised = np.empty_like(noisy)
        denoised[np.ix_(columns, columns)] = denoise(
            noisy[np.ix_(columns, columns)],
            sigma,
            bases=in_order,
            noise=noise,
            sigma_of_average=sigma_of_average,
        )
        return denoised
    if bases[0].image_shape is not None:
        average = sigma if sigma_of_average is None else sigma_of_average
        return _about_prior_mean(noisy, bases, sigma, noise, average)
    if diagonal_of_average is not None and tuple(bases) in ((COLUMNS,), (COLUMNS_WHERE_BETTER,)):
        average = sigma if sigma_of_average is None else sigma_of_average
        return _denoise_in_shared_columns(noisy, sigma, noise, average, diagonal_of_average)
    return _denoise_in_sequence(noisy, bases, sigma, noise)


def _denoise_in_sequence(
    noisy: FloatArray, bases: Sequence[PublicBasis], sigma: float, noise: str
) -> FloatArray:
    """Return the matrix denoised in one basis after the other, without a prior mean."""
    entries = _fit_first_basis(noisy, bases[0], sigma, noise)
    for basis in bases[1:]:
        entries = _fit_next_basis(entries, noisy, basis, sigma, noise)
    return entries.estimate(entries.inverse_weights())


def _check_settings(
    n_features: int, sigma: float, bases: Sequence[PublicBasis], noise: str
) -> None:
    require_one_of("noise", noise, _NOISE_SHAPES)
    if not 0 <= sigma < math.inf:
        raise ParameterError("sigma", "at least 0 and finite", sigma)
    if not bases:
        raise ParameterError("bases", "at least one", 0)
    for basis in bases:
        if basis.n_features not in (0, n_features):
            raise ParameterError(
                "bases", f"of n_features={n_features} entries", f"{basis.name}: {basis.n_features}"
            )


def noise_edge_left(
    noisy: FloatArray, sigma: float, *, basis: PublicBasis, noise: str = "isometric"
) -> float:
    """Return the edge of the small eigenvalues that noise causes, after `denoise` in one basis.

    Parameters
    ----------
    noisy : ndarray of shape (n_features, n_features), symmetric
    sigma, noise
        As in `denoise`.
    basis : PublicBasis

    Returns
    -------
    float
        Edge divided by the edge before denoising, sqrt(max_i mean_j W_ij^2), from 0 to 1. The edge
        of noise of unequal variances follows the row with the most noise. 1 if `sigma` is 0.
    """
    if sigma == 0:
        return 1.0
    if (columns := basis.pixels) is not None:
        noisy, basis = noisy[np.ix_(columns, columns)], basis.in_pixel_order
    entries = _fit_first_basis(noisy, basis, float(sigma), noise)
    inverse_weights = entries.inverse_weights()
    weights = np.reciprocal(inverse_weights, out=inverse_weights)
    return math.sqrt(float(np.einsum("ij,ij->i", weights, weights).max()) / len(weights))


class _Entries(NamedTuple):
    """P in a basis, with the fitted law of B and the law of the noise.

    variances: shape (n_vectors,). a_i.
    coupling: shape (n_bands, n_bands). c_gh.
    noise_variance: Variance of the noise in an entry off the diagonal.
    errors: shape (n_vectors,) or None. d_i: a further variance d_i d_j of the noise.
    """

    basis: PublicBasis
    noisy: FloatArray
    variances: FloatArray
    coupling: FloatArray
    noise_variance: float
    errors: FloatArray | None = None

    def estimate(self, inverse_weights: FloatArray) -> FloatArray:
        """Return the estimate, computed in the memory of `inverse_weights`."""
        estimate = np.divide(self.noisy, inverse_weights, out=inverse_weights)
        np.fill_diagonal(estimate, self.variances)
        return self.basis.from_basis(estimate)

    def remaining_variance(self, inverse_weights: FloatArray) -> float:
        """Return s^2 mean(W^2) over the entries of the estimate off the diagonal.

        This noise is spread evenly in the next basis, because the bases are incoherent.
        """
        weights = np.reciprocal(inverse_weights)
        np.fill_diagonal(weights, 0)
        n_features = self.basis.n_features or len(weights)
        entries = max(n_features * (n_features - 1), 1)
        return self.noise_variance * float(np.vdot(weights, weights)) / entries

    def inverse_weights(self) -> FloatArray:
        """Return 1 / W = 1 + (s^2 + d_i d_j) / (c_gh a_i a_j), infinite if a_i or a_j is 0."""
        dtype = self.noisy.dtype
        with np.errstate(divide="ignore", over="ignore"):
            if len(self.coupling) == 1:
                scale = math.sqrt(self.noise_variance / max(self.coupling.item(), _TINY))
                weights = (max(scale, _TINY) / self.variances).astype(dtype)
                inverse_weights: FloatArray = np.outer(weights, weights)
            else:
                scaled = self.variances / math.sqrt(self.noise_variance)
                grouped = (self.basis.grouping * scaled).astype(dtype)
                inverse_weights = grouped.T @ (self.coupling.astype(dtype) @ grouped)
                np.reciprocal(inverse_weights, out=inverse_weights)
            if self.errors is not None and self.errors.any():
                relative = (self.errors / math.sqrt(self.noise_variance)).astype(dtype)
                for start in range(0, len(relative), _ROWS_AT_ONCE):
                    rows = slice(start, start + _ROWS_AT_ONCE)
                    inverse_weights[rows] *= 1 + np.outer(relative[rows], relative)
        inverse_weights += 1
        return inverse_weights


def _fit_first_basis(noisy: FloatArray, basis: PublicBasis, sigma: float, noise: str) -> _Entries:
    if basis.coarse_basis is not None:
        fit, entries, overall = _fit_entries(noisy, basis.coarse_basis, sigma, noise)
        levels = fit.height * basis.curves.of_groups[fit.curve]
        if not _is_too_coarse(entries, basis, levels, overall):
            return entries
    return _fit_entries(noisy, basis, sigma, noise)[1]


def _fit_entries(
    noisy: FloatArray, basis: PublicBasis, sigma: float, noise: str
) -> tuple[_Fit, _Entries, float]:
    return _fit_turned(basis.to_basis(noisy), basis, sigma, noise)


def _fit_turned(
    turned: FloatArray, basis: PublicBasis, sigma: float, noise: str
) -> tuple[_Fit, _Entries, float]:
    diagonal = np.diagonal(turned).astype(np.float64)
    fit = _fit_variances(basis, diagonal, basis.diagonal_noise(sigma, noise, len(turned)))
    noise_variance = sigma**2 / 2 if noise == "isometric" else sigma**2
    overall, coupling = _fit_coupling(basis, turned, diagonal, fit.variances, noise_variance)
    return fit, _Entries(basis, turned, fit.variances, coupling, noise_variance), overall


def _fit_next_basis(
    before: _Entries, noisy: FloatArray, basis: PublicBasis, sigma: float, noise: str
) -> _Entries:
    inverse_weights = before.inverse_weights()
    noise_variance = before.remaining_variance(inverse_weights)
    turned = basis.to_basis(before.estimate(inverse_weights))
    diagonal = np.diagonal(turned).astype(np.float64)
    own = np.diagonal(basis.to_basis(noisy)).astype(np.float64)
    on_diagonal = basis.diagonal_noise(sigma, noise, len(turned))
    variances = _posterior_variances(diagonal, own, on_diagonal)
    coupling = _fit_coupling(basis, turned, diagonal, variances, noise_variance)[1]
    return _Entries(basis, turned, variances, coupling, noise_variance)


def _denoise_in_shared_columns(
    noisy: FloatArray,
    sigma: float,
    noise: str,
    sigma_of_average: float,
    diagonal_of_average: FloatArray,
) -> FloatArray:
    """Return the matrix of one site, denoised with the variances and weights of the average."""
    n_features = len(noisy)
    on_diagonal = COLUMNS.diagonal_noise(sigma_of_average, noise, n_features)
    variances = _fit_variances(COLUMNS, diagonal_of_average, on_diagonal).variances
    noise_variance = sigma**2 / 2 if noise == "isometric" else sigma**2
    diagonal = np.diagonal(noisy).astype(np.float64)
    coupling = _fit_coupling(COLUMNS, noisy, diagonal, variances, noise_variance)[1]
    of_average = (sigma_of_average / sigma) ** 2
    entries = _Entries(COLUMNS, noisy, variances, coupling, of_average * noise_variance)
    return entries.estimate(entries.inverse_weights())


def _about_prior_mean(
    noisy: FloatArray,
    bases: Sequence[PublicBasis],
    sigma: float,
    noise: str,
    sigma_of_average: float,
) -> FloatArray:
    """Return the fitted prior mean A_0 plus M - A_0, denoised in one basis after another.

    The residual has the variances c_gh a_i a_j, as without a prior mean. a_i is the posterior mean
    given the noisy diagonal, about the diagonal of A_0 in the basis. The outer product of the
    error of the mean counts as noise. The weights are those of the average of all sites, so
    filtering each site's matrix has the same result as filtering their average.

    rho assumes that pictures are alike everywhere, which they are not: the first few directions are
    ordered better without A_0. `_step_to_no_prior_mean` goes there in part.
    """
    first = bases[0]
    noise_variance = sigma**2 / 2 if noise == "isometric" else sigma**2
    of_average = (sigma_of_average / sigma) ** 2
    trace = fit_trace(noisy, noise_variance, first)
    mean_variance = _noise_in_mean(sigma_of_average / trace, len(noisy))
    error = MeanError.of(first, mean_variance if first.is_centred else math.inf)
    prior = PriorMean.fit(noisy, noise_variance, first, trace, error, of_average)
    mean = prior.matrix(noisy.dtype)
    residual = noisy - mean
    expected = prior.variances(mean, first)
    errors = trace * error.in_cosines
    basis, own = first, (expected, errors)
    if first.coarse_basis is not None:
        basis = first.coarse_basis
        own = basis.from_full(expected, first), basis.from_full(errors, first)
    entries, overall = _residual_entries(residual, basis, *own, sigma, noise)
    if basis is not first:
        groups = first.curves
        levels = groups.grouping @ expected / np.maximum(groups.sizes, 1)
        if _is_too_coarse(entries, first, levels, overall):
            own = expected, errors
            entries, _ = _residual_entries(residual, first, *own, sigma, noise)
    inverse_weights = entries._replace(noise_variance=of_average * noise_variance).inverse_weights()
    remaining = entries.remaining_variance(inverse_weights)
    estimate: FloatArray = entries.noisy / inverse_weights
    np.fill_diagonal(estimate, entries.variances - own[0])
    if first.is_centred:
        # Geometric mean of the noise of a site, which its cut sees, and of the average.
        between = entries._replace(noise_variance=math.sqrt(of_average) * noise_variance)
        estimate += _step_to_no_prior_mean(
            entries,
            estimate,
            between.inverse_weights(),
            mean,
            own[0],
            sigma,
            noise,
            of_average,
            _share_among_leading(errors, expected, first, of_average),
        )
    estimate = entries.basis.from_basis(estimate)
    for following in bases[1:]:
        turned = following.to_basis(estimate)
        prior_diagonal = np.diagonal(following.to_basis(mean)).astype(np.float64)
        diagonal = np.diagonal(turned).astype(np.float64)
        centre = prior_diagonal + diagonal
        deviation = np.diagonal(following.to_basis(noisy)).astype(np.float64) - centre
        on_diagonal = following.diagonal_noise(sigma, noise, len(turned))
        variances = _scattered_variances(centre, deviation, on_diagonal)
        coupling = _fit_coupling(following, turned, diagonal, variances, remaining)[1]
        entries = _Entries(following, turned, variances, coupling, of_average * remaining)
        inverse_weights = entries.inverse_weights()
        remaining = entries._replace(noise_variance=remaining).remaining_variance(inverse_weights)
        estimate = np.divide(turned, inverse_weights, out=inverse_weights)
        np.fill_diagonal(estimate, variances - prior_diagonal)
        estimate = following.from_basis(estimate)
    # Orders of directions at sites differ, and cancel in part in the average.
    return with_public_tail(
        mean + estimate, trace, first, sigma_of_average, of_average**1.5 * remaining
    )


def _noise_in_mean(sigma: float, n_features: int) -> float:
    """Return the variance of the noise in an entry of a mean that took its usual share.

    A mean that takes the share sqrt(x) / (1 + sqrt(x)) of the budget (`best_mean_share`) has noise
    of about the squared length 4 x^(3/2), if that of the matrix is x long.

    sigma: Noise in an entry of the average matrix, in units in which rows have length 1.
    """
    length = sigma * math.sqrt(n_features / 2)
    return 4 * length * math.sqrt(length) / n_features


def _step_to_no_prior_mean(
    about: _Entries,
    estimate: FloatArray,
    inverse_weights: FloatArray,
    mean: FloatArray,
    expected: FloatArray,
    sigma: float,
    noise: str,
    of_average: float,
    among_leading: float,
) -> FloatArray:
    """Return the step from the estimate about A_0 to that without a prior mean, where M is signal.

    The step of an entry is first reduced to the share W^3 / (W^3 + W_0^3), with the weight W of
    the residual, so that it is 0 if M is noise. It is then taken in two parts:

    - H step H, where H = S^2 / (S^2 + t^2) selects the leading directions of the estimate S, with
      eigenvalues of at least t, a hundredth of the trace. Their span is kept, so that energies of
      many components do not change.
    - The share h_i h_j of an entry, with h_i = b_i / (b_i + sum b / 128), where b is the diagonal
      of A_0. It is small outside of the few largest cosines.

    about: Residual in cosines, with its law; `estimate` is its estimate.
    expected: shape (n_vectors,). b.
    among_leading: Share of the first part; the second one has the other share.
    """
    prior = about.basis.to_basis(mean)
    alone = _fit_turned(prior + about.noisy, about.basis, sigma, noise)[1]
    alone = alone._replace(noise_variance=of_average * alone.noise_variance)
    step = alone.noisy / alone.inverse_weights()
    np.fill_diagonal(step, alone.variances)
    step -= prior
    step -= estimate
    weights = np.reciprocal(inverse_weights)
    # A power of float32 takes ten times as long as two products.
    cubes = weights * weights * weights
    step *= cubes / (cubes + _HALF_STEP**3)
    largest = np.sort(np.argsort(-expected, kind="stable")[:_MOST_STEPS])
    inside = largest[:, None], largest
    whole, total = step[inside], float(expected.sum())
    share = (expected / (expected + _LEADING * total)).astype(step.dtype)
    step *= (1 - among_leading) * share[:, None]
    step *= share
    if among_leading > 0:
        leading = -small_directions(prior[inside] + estimate[inside], _LARGE * total)
        leading.flat[:: len(leading) + 1] += 1
        step[inside] += among_leading * (leading @ whole @ leading)
    return step


def _share_among_leading(
    errors: FloatArray, expected: FloatArray, basis: PublicBasis, of_average: float
) -> float:
    """Return the share of the step that is confined to leading directions, from public numbers.

    If the error of the mean is large, it is a leading direction that only the prior mean excludes.
    The error is the geometric mean of that of a site and of the average. Pictures that fill the
    frame vary little about their mean, so that its error is larger than expected.

    errors, expected: Squared error of the mean, and variance, in each cosine.
    """
    if basis.picture != CENTRED:
        return 0.0
    error = float(errors.sum() / expected.sum()) / math.sqrt(of_average)
    share = 1 / (1 + (error / _HALF_CERTAIN) ** 4)
    return share if share > _LEAST_SHARE else 0.0


def _residual_entries(
    residual: FloatArray,
    basis: PublicBasis,
    expected: FloatArray,
    errors: FloatArray,
    sigma: float,
    noise: str,
) -> tuple[_Entries, float]:
    """Return the residual in a basis with its expected variances, and the overall coupling.

    expected: shape (n_vectors,). Diagonal of the prior mean in the basis.
    errors: shape (n_vectors,). Squared error of the mean in each vector, d_i: its outer product
        adds d_i on the diagonal and a variance of d_i d_j to every entry.
    """
    turned = basis.to_basis(residual)
    diagonal = np.diagonal(turned).astype(np.float64)
    on_diagonal = basis.diagonal_noise(sigma, noise, len(turned)) + 2 * errors**2
    noise_variance = sigma**2 / 2 if noise == "isometric" else sigma**2
    variances = _scattered_variances(expected, diagonal - errors, on_diagonal)
    overall, coupling = _fit_coupling(basis, turned, diagonal, variances, noise_variance, errors)
    return _Entries(basis, turned, variances, coupling, noise_variance, errors), overall


def _scattered_variances(
    centre: FloatArray, deviation: FloatArray, on_diagonal: FloatArray
) -> FloatArray:
    """Return posterior means of variances that scatter about a centre by N(0, k centre^2).

    k has a half-normal prior, so that a diagonal of noise does not move the centre.

    deviation: Noisy diagonal minus the centre, with noise of variance `on_diagonal`.
    """
    centre = np.maximum(centre, 0)
    squared = centre**2
    weights = squared / (on_diagonal + squared) ** 2
    estimate, slope = ((deviation**2 - on_diagonal) * weights).sum(), (squared * weights).sum()
    if not slope > 0:
        return centre
    variance = 2 * ((on_diagonal * weights) ** 2).sum()
    largest = _SCATTER[1]
    share = number_at_least_zero(
        float(estimate), largest * float(slope), float(variance), _SCATTER_SCALE / largest
    )
    scatter = largest * share * squared
    return np.maximum(centre + scatter / (scatter + on_diagonal) * deviation, 0)


def _posterior_variances(
    centre: FloatArray, own: FloatArray, on_diagonal: FloatArray
) -> FloatArray:
    """Return posterior means of non-negative variances that scatter about a centre by N(0, t)."""
    centre = np.maximum(centre, 0)
    scatter = max(float(np.mean((own - centre) ** 2 - on_diagonal)), 0.0)
    posterior: FloatArray = centre + scatter / (scatter + on_diagonal) * (own - centre)
    return np.maximum(posterior, 0)


class _Fit(NamedTuple):
    """Fitted a_i; for a curve also its number on the grid, and alpha."""

    variances: FloatArray
    curve: int = 0
    height: float = 0.0


def _fit_variances(basis: PublicBasis, diagonal: FloatArray, noise: FloatArray) -> _Fit:
    """Return posterior means a_i given the noisy diagonal of P.

    They scatter about a curve alpha (1 + f_i / f_0)^-b of the public frequencies, or about one
    number.
    """
    least = _LEAST_HEIGHT * math.sqrt(float(noise.mean()) / len(diagonal))
    if basis.frequencies is None:
        best, weights = 0, 1 / noise
        height = max(float(weights @ diagonal / weights.sum()), least)
        centre = np.full(len(diagonal), height)
        scatter = np.full(len(diagonal), max(float(np.mean((diagonal - centre) ** 2 - noise)), 0.0))
    else:
        best, height, relative = _fit_curve(basis.curves, diagonal, noise, least)
        centre = height * basis.curves.of_vectors[best]
        scatter = relative * centre**2
    shrunk: FloatArray = centre + scatter / (scatter + noise) * (diagonal - centre)
    return _Fit(np.maximum(shrunk, 0), best, height)


def _fit_curve(
    curves: Curves, diagonal: FloatArray, noise: FloatArray, least: float
) -> tuple[int, float, float]:
    """Return the most likely curve of the grid, alpha and k, from sums over whole frequencies.

    alpha and k, the scatter about the curve, follow from least squares and moments.
    """
    grouping, count, shapes, _ = curves
    safe = np.maximum(count, 1)
    mean, square = grouping @ diagonal / safe, grouping @ diagonal**2 / safe
    noise = np.where(count > 0, grouping @ noise / safe, 1.0)
    scatter = curve = np.zeros(shapes.shape)
    for _ in range(_FIT_STEPS):
        weights = count / (noise + scatter * curve**2)
        height = (shapes * weights) @ mean / (shapes**2 * weights).sum(axis=1)
        height = np.maximum(height, least)
        curve = height[:, None] * shapes
        misfit = square - 2 * curve * mean + curve**2
        excess = ((misfit - noise) * curve**2 * count).sum(axis=1)
        scatter = np.clip(excess / (curve**4 * count).sum(axis=1), *_SCATTER)[:, None]
    total = noise + scatter * curve**2
    best = int(np.argmin((count * (np.log(total) + misfit / total)).sum(axis=1)))
    return best, float(height[best]), float(scatter[best, 0])


def _fit_coupling(
    basis: PublicBasis,
    turned: FloatArray,
    diagonal: FloatArray,
    variances: FloatArray,
    noise_variance: float,
    errors: FloatArray | None = None,
) -> tuple[float, FloatArray]:
    """Return c, and c_gh of shape (n_bands, n_bands).

    With w_ij = a_i a_j and sums over i != j, c^ = sum (P_ij^2 - s^2) w_ij / sum w_ij^2 is combined
    with a half-normal prior, because c^ is as often below 0 if there is only noise. c_gh is the
    posterior mean of its block under N(c, c^2), cut at 0.

    Only one product of (D, D) arrays is computed: w_ij is a product, so all other sums over blocks
    are products of sums over bands.

    errors: d_i, where the noise has the variance s^2 + d_i d_j.
    """
    grouping = np.ones((1, len(variances))) if basis.bands is None else basis.grouping
    weights = grouping * variances
    # Block sums of (P^2 - s^2) w, of w^2, and of the parts of the variance of the first.
    rows = _squares_weighted(weights.astype(turned.dtype), turned)
    sums, own = weights.sum(axis=1), (diagonal**2 - noise_variance) * variances**2
    excess = rows.astype(np.float64) @ weights.T - noise_variance * np.outer(sums, sums)
    excess[np.diag_indices_from(excess)] -= grouping @ own
    powers = [variances**2, variances**3, variances**4]
    if errors is not None:
        product = variances * errors
        powers += [product, product**2, variances * product, variances**2 * product]
    second, third, fourth, *of_errors = _without_diagonal(grouping, np.stack(powers))
    noise_squared: FloatArray = noise_variance**2 * second
    if errors is not None:
        excess -= of_errors[0]
        noise_squared += of_errors[1] + 2 * noise_variance * of_errors[2]
        third += of_errors[3] / noise_variance
    # A square of N(0, t) has variance 2 t^2. Blocks of one band contain each pair twice.
    variance_factors = 2 * (1 + np.eye(len(grouping)))

    def spread(c: float) -> FloatArray:
        parts: FloatArray = c**2 * fourth + 2 * c * noise_variance * third
        return parts + noise_squared

    overall = _COUPLING
    whole, slope = float(excess.sum()), float(second.sum())
    for _ in range(2):
        variance = 4 * float(spread(overall).sum())
        overall = max(number_at_least_zero(whole, slope, variance, _COUPLING), _TINY)
    if basis.bands is None:
        return overall, np.full((1, 1), overall)
    blocks = posterior_at_least_zero(
        excess, second, variance_factors * spread(overall), overall, overall
    )
    return overall, blocks


def _squares_weighted(weights: FloatArray, turned: FloatArray) -> FloatArray:
    """Return weights @ turned**2, computed in blocks of rows to save memory."""
    total = np.zeros((len(weights), turned.shape[1]), dtype=turned.dtype)
    for start in range(0, len(turned), _ROWS_AT_ONCE):
        rows = turned[start : start + _ROWS_AT_ONCE]
        total += weights[:, start : start + _ROWS_AT_ONCE] @ (rows * rows)
    return total


def _without_diagonal(grouping: FloatArray, powers: FloatArray) -> FloatArray:
    """Return the sums of p_i p_j, i != j, over blocks of bands, for each row p of `powers`.

    Returns: shape (n_powers, n_bands, n_bands)
    """
    sums = powers @ grouping.T
    products = sums[:, :, None] * sums[:, None, :]
    blocks: FloatArray = products.copy()
    bands = np.arange(len(grouping))
    blocks[:, bands, bands] -= powers**2 @ grouping.T
    # The difference for a single vector is a rounding error.
    return np.where(blocks > 1e-12 * products, blocks, 0)


def _is_too_coarse(
    entries: _Entries, basis: PublicBasis, levels: FloatArray, overall: float
) -> bool:
    """Return whether a coarse basis omits too much expected signal for the time that it saves.

    A coarse basis treats waves beyond three quarters of all frequencies as noise. Their expected
    energy must be less than half of the error below them.

    levels: a_i expected at each whole frequency of the full basis.
    """
    everything = basis.curves.sizes
    inside = entries.basis.curves.sizes
    within = np.zeros(len(everything))
    within[: len(inside)] = inside
    signal, noise = overall * np.outer(levels, levels), entries.noise_variance
    error = signal * noise / (signal + noise)
    noise_share = signal**2 / (signal + noise)
    of_all, of_within = np.outer(everything, everything), np.outer(within, within)
    excess = float((noise_share * (of_all - of_within)).sum())
    return excess > _COARSE_LOSS * float((error * of_within).sum())
