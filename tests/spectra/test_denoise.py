"""Denoising: its gain under its model, unchanged matrices, and its inputs."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.spectra import (
    COLUMNS,
    PublicBasis,
    basis_of_halves,
    captured_energy,
    cosine_basis,
    denoise,
    denoise_mean,
    noise_edge_left,
    picture_basis,
    public_components,
    public_kernel,
    uncentred_bases,
    uncentred_picture_basis,
)
from dpcore.spectra.eigen import leading_eigenpairs

SHAPES = ["isometric", "triangle"]


def second_moment(rng, variances, n_samples=60):
    """Draw the second moment of rows whose columns have these variances, the law of the model."""
    rows = rng.normal(size=(n_samples, len(variances))) * np.sqrt(variances)
    return rows.T @ rows / n_samples


def smooth_pictures(rng, shape, n_samples=400):
    """Return the second moment of smooth pictures, whose cosines fall with frequency."""
    basis = cosine_basis(shape)
    scale = (1 + basis.frequencies) ** -1.5
    moment = second_moment(rng, scale**2, n_samples)
    moment /= np.trace(moment)
    pixels = basis.from_basis(moment)
    return (pixels + pixels.T) / 2


def error(estimate, exact):
    return float(np.linalg.norm(estimate - exact))


def noisy(rng, exact, sigma, shape="isometric"):
    return exact + symmetric_gaussian_noise(len(exact), sigma, shape=shape, rng=rng)


@pytest.mark.parametrize("shape", SHAPES)
def test_columns_of_different_variance_are_told_from_noise(rng, shape):
    exact = second_moment(rng, np.geomspace(1, 1e-3, 80))
    before = noisy(rng, exact, 0.1, shape)
    after = denoise(before, 0.1, noise=shape)
    # The noise is 8 long over all entries; what is left is in the few columns that are large.
    assert error(after, exact) < 0.5 * error(before, exact)
    pairs = (leading_eigenpairs(matrix, 5)[1] for matrix in (before, after))
    kept = [captured_energy(components, exact) for components in pairs]
    assert kept[1] > kept[0]


@pytest.mark.parametrize("shape", SHAPES)
def test_smooth_pictures_are_told_from_noise_by_their_frequencies(rng, shape):
    exact = smooth_pictures(rng, (10, 12))
    before = noisy(rng, exact, 0.02, shape)
    alone = denoise(before, 0.02, noise=shape)
    cosines = denoise(before, 0.02, bases=[cosine_basis((10, 12))], noise=shape)
    assert error(cosines, exact) < 0.5 * error(before, exact)
    assert error(cosines, exact) < error(alone, exact) < error(before, exact)


def test_nothing_is_lost_where_no_column_differs(rng):
    """Columns contain no information by rotation invariance, so the directions are unchanged."""
    rows = rng.normal(size=(30, 60))
    exact = rows.T @ rows / 30
    before = noisy(rng, exact, 0.5)
    after = denoise(before, 0.5)
    assert error(after, exact) < error(before, exact)
    kept = [captured_energy(leading_eigenpairs(matrix, 5)[1], exact) for matrix in (before, after)]
    assert kept[1] > 0.9 * kept[0]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bases", [[COLUMNS], [cosine_basis((6, 7))]])
def test_less_noise_is_changed_less_and_none_not_at_all(rng, shape, bases):
    exact = smooth_pictures(rng, (6, 7))
    changes = [
        error(denoise(noisy(np.random.default_rng(1), exact, sigma, shape), sigma, bases=bases,
                      noise=shape), noisy(np.random.default_rng(1), exact, sigma, shape)) / sigma
        for sigma in (1e-1, 1e-7)
    ]  # fmt: skip
    assert changes[1] < 0.05 * changes[0]
    assert denoise(exact, 0.0, bases=bases, noise=shape) is exact


@pytest.mark.parametrize("bases", [[COLUMNS], [COLUMNS, cosine_basis((4, 5))]])
def test_units_do_not_matter(rng, bases):
    exact = smooth_pictures(rng, (4, 5))
    before = noisy(rng, exact, 0.05)
    small = denoise(before, 0.05, bases=bases)
    large = denoise(1024 * before, 1024 * 0.05, bases=bases)
    np.testing.assert_allclose(large, 1024 * small, rtol=1e-9, atol=1e-12)


def test_the_order_and_the_sign_of_columns_do_not_matter(rng):
    before = noisy(rng, second_moment(rng, np.geomspace(1, 0.01, 30)), 0.2)
    order, signs = rng.permutation(30), rng.choice([-1.0, 1.0], 30)
    moved = before[np.ix_(order, order)] * np.outer(signs, signs)
    expected = denoise(before, 0.2)[np.ix_(order, order)] * np.outer(signs, signs)
    np.testing.assert_allclose(denoise(moved, 0.2), expected, rtol=1e-9, atol=1e-12)


def test_a_basis_of_ones_own_is_the_columns_of_what_it_turns_into(rng):
    turn = np.linalg.qr(rng.normal(size=(20, 20)))[0]
    before = noisy(rng, second_moment(rng, np.geomspace(1, 0.01, 20)), 0.1)
    turned_basis = PublicBasis("turned", (turn,))
    turned = denoise(turn @ before @ turn.T, 0.1)
    np.testing.assert_allclose(
        denoise(before, 0.1, bases=[turned_basis]), turn.T @ turned @ turn, rtol=1e-9, atol=1e-12
    )


def empty_corners(rng, shape, n_samples=400):
    """Return smooth pictures that are empty outside of the middle."""
    inside = [np.sin(np.pi * (np.arange(size) + 0.5) / size) ** 4 for size in shape]
    window = np.outer(*inside).ravel()
    exact = smooth_pictures(rng, shape, n_samples) * np.outer(window, window)
    return exact / np.trace(exact)


def test_two_bases_know_more_than_either_and_than_their_mean(rng):
    exact = empty_corners(rng, (12, 12))
    before = noisy(rng, exact, 0.02)
    cosines = cosine_basis((12, 12))
    either = [denoise(before, 0.02, bases=[basis]) for basis in (cosines, COLUMNS)]
    both = denoise(before, 0.02, bases=[cosines, COLUMNS])
    assert error(both, exact) < 0.9 * min(
        error(estimate, exact) for estimate in (*either, sum(either) / 2)
    )


def test_a_basis_of_fewer_vectors_takes_the_rest_for_noise(rng):
    vectors = np.linalg.qr(rng.normal(size=(40, 6)))[0].T
    exact = vectors.T @ second_moment(rng, np.geomspace(1, 0.1, 6)) @ vectors
    before = noisy(rng, exact, 0.2)
    after = denoise(before, 0.2, bases=[PublicBasis("known", (vectors,))])
    assert np.linalg.matrix_rank(after, tol=1e-9) == 6
    # Noise remains in 21 of 820 directions of symmetric matrices.
    assert error(after, exact) < 0.3 * error(before, exact)


def test_the_highest_frequencies_are_left_out_only_where_noise_drowns_them(rng):
    shape = (16, 20)
    exact = smooth_pictures(rng, shape)
    basis = cosine_basis(shape)
    # The fastest wave both down and across.
    fastest = np.kron(basis.factors[0][-1], basis.factors[1][-1])
    left = [
        abs(fastest @ denoise(noisy(rng, exact, sigma), sigma, bases=[basis]) @ fastest)
        for sigma in (1e-6, 1e-2)
    ]
    assert left[0] > 1e-9
    assert left[1] < 1e-15
    assert cosine_basis((15, 20)).coarse_basis is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("number", [1, 2])
def test_symmetric_in_its_precision_and_the_arguments_are_left_as_they_are(rng, dtype, number):
    bases = [COLUMNS, cosine_basis((6, 6))][:number]
    before = noisy(rng, smooth_pictures(rng, (6, 6)), 0.05).astype(dtype)
    copy = before.copy()
    after = denoise(before, 0.05, bases=bases)
    assert after.dtype == dtype
    np.testing.assert_allclose(after, after.T, atol=10 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(before, copy)


def test_sites_at_once_or_one_by_one(rng):
    sigmas = np.array([0.1, 0.3, 0.0])
    exact = [second_moment(rng, np.geomspace(1, 0.01, 12)) for _ in sigmas]
    before = np.stack(
        [noisy(rng, *exact_and_sigma) for exact_and_sigma in zip(exact, sigmas, strict=True)]
    )
    one_by_one = [denoise(*noisy_and_sigma) for noisy_and_sigma in zip(before, sigmas, strict=True)]
    np.testing.assert_array_equal(denoise(before, sigmas), one_by_one)


def test_where_noise_drowns_everything_the_answer_is_finite_and_small(rng):
    for bases in ([COLUMNS], [cosine_basis((8, 8))]):
        exact = smooth_pictures(rng, (8, 8))
        before = noisy(rng, exact, 1e3)
        after = denoise(before, 1e3, bases=bases)
        assert np.isfinite(after).all()
        assert error(after, exact) < 0.5 * error(before, exact)


@pytest.mark.parametrize("noise", SHAPES)
@pytest.mark.parametrize("basis", [cosine_basis((3, 4)), "turned"])
def test_the_noise_on_a_turned_diagonal_is_what_is_reckoned_with(rng, noise, basis, false_alarm):
    if basis == "turned":
        basis = PublicBasis("turned", (np.linalg.qr(rng.normal(size=(12, 12)))[0],))
    draws = 4000
    samples = symmetric_gaussian_noise(12, 0.7, shape=noise, rng=rng, size=draws)
    variances = np.array([np.diagonal(basis.to_basis(sample)) for sample in samples]).var(axis=0)
    # The variance of a variance of n normals is 2 / n; one bound for twelve of them.
    reach = np.sqrt(2 / draws) * np.sqrt(2 * np.log(2 * 12 / false_alarm))
    expected = basis.diagonal_noise(0.7, noise, 12)
    np.testing.assert_allclose(variances / expected, 1, atol=reach * 1.1)


def test_there_and_back(rng):
    matrix = second_moment(rng, np.ones(20))
    turn = np.linalg.qr(rng.normal(size=(20, 20)))[0]
    for basis in (cosine_basis((4, 5)), PublicBasis("turned", (turn,))):
        np.testing.assert_allclose(basis.from_basis(basis.to_basis(matrix)), matrix, atol=1e-12)
        vectors = np.eye(1)
        for factor in basis.factors:
            vectors = np.kron(vectors, factor)
        np.testing.assert_allclose(basis.to_basis(matrix), vectors @ matrix @ vectors.T, atol=1e-12)


def test_cosines_are_those_of_scipy():
    from scipy.fft import dct

    basis = cosine_basis((4, 7))
    np.testing.assert_allclose(basis.factors[1], dct(np.eye(7), norm="ortho", axis=0), atol=1e-12)
    assert basis.frequencies[0] == 0
    assert basis.frequencies[-1] == pytest.approx(np.hypot(3, 6))


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ({"noisy": np.eye(3)[:2]}, "noisy"),
        ({"sigma": -1.0}, "sigma"),
        ({"sigma": np.inf}, "sigma"),
        ({"bases": ()}, "bases"),
        ({"bases": [cosine_basis((2, 2))]}, "bases"),
        ({"noise": "round"}, "noise"),
    ],
)
def test_what_is_refused(arguments, parameter):
    given = {"noisy": np.eye(3), "sigma": 1.0} | arguments
    with pytest.raises(ParameterError) as raised:
        denoise(given.pop("noisy"), given.pop("sigma"), **given)
    assert raised.value.parameter == parameter


def test_a_basis_that_is_none_is_refused():
    with pytest.raises(ParameterError, match="orthonormal"):
        PublicBasis("skew", (np.array([[1.0, 0.0], [1.0, 1.0]]),))
    with pytest.raises(ParameterError, match="no more vectors than features"):
        PublicBasis("tall", (np.ones((2, 1)),))
    with pytest.raises(ParameterError, match="bands"):
        PublicBasis("short", (np.eye(2),), bands=np.zeros(3, dtype=int))
    with pytest.raises(ParameterError, match="frequencies"):
        PublicBasis("short", (np.eye(2),), np.zeros(3))


def test_a_smooth_mean_is_told_from_noise(rng):
    basis = cosine_basis((9, 11))
    down, across = (np.sin(np.pi * (np.arange(size) + 0.5) / size) for size in (9, 11))
    exact = np.outer(down, across).ravel() / 10
    draws = [exact + 0.05 * rng.standard_normal(99) for _ in range(50)]
    before = np.mean([error(draw, exact) ** 2 for draw in draws])
    after = np.mean([error(denoise_mean(draw, 0.05, basis), exact) ** 2 for draw in draws])
    assert after < 0.3 * before
    np.testing.assert_array_equal(denoise_mean(exact, 0.0, basis), exact)
    np.testing.assert_allclose(denoise_mean(exact, 1e-9, basis), exact, atol=1e-8)
    drowned = denoise_mean(draws[0], 1e3, basis)
    assert np.linalg.norm(drowned) < 0.1 * np.linalg.norm(draws[0])
    with pytest.raises(ParameterError, match="basis must be of n_features=99"):
        denoise_mean(exact, 0.1, COLUMNS)


@pytest.mark.parametrize("side_by_side", [False, True])
def test_halves_are_denoised_as_the_whole_picture(rng, side_by_side):
    shape = 6, 5
    pixels = np.arange(30).reshape(shape)
    cut = (pixels[:, :2], pixels[:, 2:]) if side_by_side else (pixels[:3], pixels[3:])
    order = np.concatenate([half.ravel() for half in cut])
    whole = noisy(rng, smooth_pictures(rng, shape), 0.1)
    halves, basis = whole[np.ix_(order, order)], basis_of_halves(shape, side_by_side=side_by_side)
    usual = picture_basis(shape)
    for bases, of_whole in (
        ((basis,), (usual,)),
        (uncentred_bases((basis,)), uncentred_bases((usual,))),
    ):
        expected = denoise(whole, 0.1, bases=of_whole)
        denoised = denoise(halves, 0.1, bases=bases)
        np.testing.assert_allclose(denoised, expected[np.ix_(order, order)], atol=1e-12)
    edges = [
        noise_edge_left(halves, 0.1, basis=basis),
        noise_edge_left(whole, 0.1, basis=picture_basis(shape)),
    ]
    assert edges[0] == pytest.approx(edges[1])


def test_the_bulk_of_noise_reaches_as_far_as_is_said_after_denoising(rng):
    """The matrix is diagonal with unequal columns; denoising narrows the bulk of the noise."""
    exact, sigma = np.diag(np.r_[np.ones(10), np.full(190, 1e-3)]), 0.02
    noisy = exact + symmetric_gaussian_noise(200, sigma, shape="isometric", rng=rng)
    left = noise_edge_left(noisy, sigma, basis=COLUMNS)
    assert 0 < left < 0.7
    lowest = [np.linalg.eigvalsh(matrix)[0] for matrix in (noisy, denoise(noisy, sigma))]
    assert lowest[1] > 1.2 * left * lowest[0]
    assert noise_edge_left(exact, 0.0, basis=COLUMNS) == 1
    rows = rng.standard_normal((50, 20))
    assert noise_edge_left(rows.T @ rows / 50, 1e-4, basis=COLUMNS) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("picture", ["full", "centred"])
@pytest.mark.parametrize("is_centred", [True, False])
def test_without_signal_the_answer_is_the_public_constant(rng, picture, is_centred):
    """Five directions of pure noise, at every size of the noise, capture what the kernel does."""
    basis = (picture_basis if is_centred else uncentred_picture_basis)((8, 8), picture)
    kernel, public = public_kernel((8, 8), picture), public_components((8, 8), picture, 5)
    best = captured_energy(public, kernel)
    for sigma in (1.0, 1e2, 1e4):
        noise = symmetric_gaussian_noise(64, sigma, shape="isometric", rng=rng)
        eigenvalues = leading_eigenpairs(denoise(noise, sigma, bases=(basis, COLUMNS)), 5)[1]
        assert captured_energy(eigenvalues, kernel) > 0.95 * best
