"""The prior mean of pictures: its fit, which reads only noisy values."""

import math

import numpy as np
import pytest

from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.pca.site import add_noise
from dpcore.spectra import (
    COLUMNS,
    captured_energy,
    cosine_basis,
    denoise,
    picture_basis,
    public_components,
    public_kernel,
)
from dpcore.spectra.mean_denoising import MeanError
from dpcore.spectra.prior_mean import (
    PriorMean,
    _autocorrelation,
    _displacements,
    fit_trace,
    in_public_order,
    with_public_tail,
)
from dpcore.spectra.prior_mean import _sums_of_displacements as sums_of_displacements

SHAPE = (6, 7)
BASES = (picture_basis(SHAPE), COLUMNS)


def pixels(shape=SHAPE):
    return np.stack(np.indices(shape)).reshape(2, -1).T


def of_pictures(shape=SHAPE, length=1.5):
    """Return a second moment that is exactly a prior mean, of trace 1."""
    at = pixels(shape)
    distances = np.linalg.norm(at[:, None] - at, axis=2)
    apart = (at - np.array(shape) / 2) / np.array(shape)
    deviations = np.exp(-2 * (apart**2).sum(axis=1))
    moment = np.outer(deviations, deviations) * np.exp(-distances / length)
    return moment / moment.trace()


def fitted(noisy, sigma, shape=SHAPE, mean_variance=0.0):
    basis = picture_basis(shape)
    trace = fit_trace(noisy, sigma**2 / 2, basis)
    error = MeanError.of(basis, mean_variance)
    return PriorMean.fit(noisy, sigma**2 / 2, basis, trace, error)


def test_a_moment_of_the_model_is_found():
    exact = of_pictures()
    matrix = fitted(exact, 1e-9).matrix(np.float64)
    assert np.linalg.norm(matrix - exact) < 0.05 * np.linalg.norm(exact)


def test_the_fit_is_closer_than_the_noisy_matrix(rng):
    exact, sigma = of_pictures(), 0.02
    noisy = exact + symmetric_gaussian_noise(42, sigma, shape="isometric", rng=rng)
    error = np.linalg.norm(fitted(noisy, sigma).matrix(np.float64) - exact)
    assert error < np.linalg.norm(noisy - exact) / 4
    other = denoise(noisy, sigma, bases=(cosine_basis(SHAPE), COLUMNS))
    answer = denoise(noisy, sigma, bases=BASES)
    assert np.linalg.norm(answer - exact) < np.linalg.norm(other - exact)


def test_sums_of_displacements_are_those_of_pairs(rng):
    matrix = rng.standard_normal((42, 42))
    matrix += matrix.T
    sums = sums_of_displacements(matrix, _displacements(SHAPE), SHAPE)
    at = pixels()
    for down, across in ((0, 0), (0, 2), (2, -3), (5, 6), (1, 0)):
        pairs = ((at[None] - at[:, None]) == (down, across)).all(axis=2)
        np.testing.assert_allclose(sums[down, across + 6], matrix[pairs].sum())


def test_the_autocorrelation_is_the_sum_over_pairs(rng):
    picture, at = rng.random(SHAPE), pixels()
    flat = picture.ravel()
    pairs = ((at[None] - at[:, None]) == (2, -3)).all(axis=2)
    np.testing.assert_allclose(_autocorrelation(picture)[2, 3], np.outer(flat, flat)[pairs].sum())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_answer_is_symmetric_and_keeps_the_precision(rng, dtype):
    noise = symmetric_gaussian_noise(42, 0.02, shape="isometric", rng=rng, dtype=dtype)
    answer = denoise(add_noise(of_pictures(), noise), 0.02, bases=BASES, sigma_of_average=0.01)
    assert answer.dtype == dtype
    np.testing.assert_allclose(answer, answer.T, atol=1e-6)


def test_weights_of_the_average_shrink_less(rng):
    exact, sigma = of_pictures(), 0.02
    moment = exact + 0.05 * np.diag(rng.random(42))
    noisy = moment + symmetric_gaussian_noise(42, sigma, shape="isometric", rng=rng)
    of_one_site = denoise(noisy, sigma, bases=BASES)
    of_average = denoise(noisy, sigma, bases=BASES, sigma_of_average=sigma / 3)
    assert np.linalg.norm(of_average - noisy) < np.linalg.norm(of_one_site - noisy)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (2, 2), (16, 17), (28, 28)])
@pytest.mark.parametrize("sigma", [1e-12, 1e-3, 1e3])
@pytest.mark.parametrize("noise", ["isometric", "triangle"])
def test_every_shape_and_noise_has_a_finite_answer(rng, shape, sigma, noise):
    exact = of_pictures(shape) if shape != (1, 1) else np.ones((1, 1))
    drawn = symmetric_gaussian_noise(len(exact), sigma, shape=noise, rng=rng)
    bases = (picture_basis(shape), COLUMNS)
    for noisy in (exact + drawn, drawn, np.zeros_like(exact)):
        assert np.isfinite(denoise(noisy, sigma, bases=bases, noise=noise)).all()


def test_the_answer_is_close_to_the_matrix_if_there_is_little_noise(rng):
    rows = rng.standard_normal((500, 42)) @ np.linalg.cholesky(of_pictures()).T
    exact = rows.T @ rows / 500
    noisy = exact + symmetric_gaussian_noise(42, 1e-6, shape="isometric", rng=rng)
    np.testing.assert_allclose(denoise(noisy, 1e-6, bases=BASES), exact, atol=2e-5)


def test_dead_pixels_cost_nothing(rng):
    exact = of_pictures()
    exact[:7] = exact[:, :7] = 0
    noisy = exact + symmetric_gaussian_noise(42, 0.01, shape="isometric", rng=rng)
    vectors = np.linalg.eigh(denoise(noisy, 0.01, bases=BASES))[1]
    best = np.linalg.eigvalsh(exact)[-3:].sum()
    assert captured_energy(vectors[:, -3:].T, exact) > 0.9 * best


def test_directions_far_below_the_noise_are_the_public_ones(rng):
    """Without the public tail, 46.9 of 50 directions are in the span of the public ones."""
    shape, sigma, shared = (8, 8), 0.1, []
    exact, public = public_kernel(shape, "centred"), public_components(shape, "centred", 50)
    for _ in range(10):
        noisy = exact + symmetric_gaussian_noise(64, sigma, shape="isometric", rng=rng)
        answer = denoise(noisy, sigma, bases=(picture_basis(shape, "centred"), COLUMNS))
        shared.append(np.sum((public @ np.linalg.eigh(answer)[1][:, -50:]) ** 2))
    # The mean of ten draws has a standard error of .2 and is about 49.
    assert np.mean(shared) > 48.2


def test_p_does_not_follow_the_error_of_the_mean():
    """Its outer product is a smooth pattern, which repeated fits took for that of the pictures."""
    down, across = pixels((8, 8)).T
    error = np.cos(np.pi * down / 8) * np.sin(np.pi * (across + 1) / 9)
    error /= np.linalg.norm(error)
    noisy = 0.6 * public_kernel((8, 8), "full") + 0.4 * np.outer(error, error)
    changes = []
    for mean_variance in (0.0, 0.1):
        fit = fitted(noisy, 1e-3, (8, 8), mean_variance)
        changes.append(np.std(fit.deviations) / np.mean(fit.deviations))
    assert changes[0] > 0.1
    assert changes[1] < changes[0] / 5


def test_an_entry_of_a_direction_without_support_is_public():
    """Noise of one cosine with large and one with small public variance turned the last ones."""
    basis, kernel = picture_basis((8, 8)), public_kernel((8, 8), "full")
    variances = np.diagonal(basis.to_basis(kernel))
    sigma = 8 * math.sqrt(variances[0] * variances[-1])
    entry = np.zeros((64, 64))
    entry[0, -1] = entry[-1, 0] = 1e-3
    change = basis.from_basis(entry)
    remaining = with_public_tail(kernel + change, 1.0, basis, sigma) - kernel
    assert np.linalg.norm(remaining) < 0.1 * np.linalg.norm(change)


def test_directions_below_the_remaining_noise_are_public_and_leading_ones_are_kept(rng):
    """Noise that denoising left ordered the last directions, before it was compared with them."""
    basis, kernel = picture_basis((8, 8), "centred"), public_kernel((8, 8), "centred")
    leading = np.outer(np.arange(8) - 3.5, np.ones(8)).ravel()
    exact = kernel + 0.3 * np.outer(leading, leading) / (leading @ leading)
    variance, energies = 1e-7, []
    noise = symmetric_gaussian_noise(64, math.sqrt(2 * variance), shape="isometric", rng=rng)
    for remaining in (0.0, variance):
        answer = with_public_tail(exact + noise, 1.0, basis, 1e-9, remaining)
        vectors = np.linalg.eigh(answer)[1]
        energies.append([captured_energy(vectors[:, -k:].T, exact) for k in (3, 50)])
    best = [np.linalg.eigvalsh(exact)[-k:].sum() for k in (3, 50)]
    before, after = np.array(best) - energies
    assert after[0] < 1.1 * before[0]
    assert after[1] < before[1] / 2


def test_an_average_is_public_below_its_noise_and_kept_above(rng):
    """Noise of the cuts at sites ordered the last directions of the average."""
    basis, kernel = picture_basis((8, 8), "centred"), public_kernel((8, 8), "centred")
    last = public_components((8, 8), "centred", 30)
    signal = 0.3 * np.outer(last[20], last[20])
    sigma = 2e-3
    noise = symmetric_gaussian_noise(64, sigma, shape="isometric", rng=rng)
    average = kernel + signal + noise
    ordered = in_public_order(average, sigma**2 / 2, basis)
    before, after = (np.linalg.eigh(matrix)[1][:, -30:] for matrix in (average, ordered))
    assert np.sum((last @ after) ** 2) > np.sum((last @ before) ** 2) + 1
    assert last[20] @ ordered @ last[20] == pytest.approx(last[20] @ average @ last[20], rel=0.1)
