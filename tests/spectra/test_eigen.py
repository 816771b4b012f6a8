from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.errors import ParameterError
from dpcore.spectra import (
    Spectrum,
    eigen,
    few_of_many,
    lapack,
    leading_eigenpairs,
    principal_angles,
    projector_distance,
    proxy_aggregates,
)
from dpcore.spectra.lapack import TridiagonalForm, all_eigenpairs

# Relative to the largest eigenvalue, some ten times what is documented as typical.
TOLERANCE = {np.float32: 1e-5, np.float64: 5e-14}
DTYPES = [np.float32, np.float64]


@pytest.fixture
def rng():
    return np.random.default_rng(1812)


def with_spectrum(rng, spectrum, dtype=np.float64):
    basis = np.linalg.qr(rng.normal(size=(len(spectrum), len(spectrum))))[0]
    matrix = (basis * spectrum) @ basis.T
    return ((matrix + matrix.T) / 2).astype(dtype)


def noisy(rng, n_features, dtype=np.float64):
    """Return a few strong directions above a symmetric bulk with equally large negative
    eigenvalues.
    """
    noise = rng.normal(size=(n_features, n_features))
    signal = np.diag(np.geomspace(5, 1e-3, n_features))
    return ((noise + noise.T) / np.sqrt(2 * n_features) + signal).astype(dtype)


def assert_leading(matrix, n_components, by, values, vectors):
    """Check eigenvalues against NumPy's, orthonormal rows and small residuals."""
    dtype = matrix.dtype.type
    exact = matrix.astype(np.float64)
    spectrum = np.linalg.eigvalsh(exact)
    scale = max(np.abs(spectrum).max(), np.finfo(dtype).tiny)
    size = np.abs(spectrum) if by == "magnitude" else spectrum
    tolerance = TOLERANCE[dtype]
    assert values.dtype == vectors.dtype == matrix.dtype
    assert vectors.shape == (n_components, len(matrix))
    order_values = np.abs(values) if by == "magnitude" else values
    assert (np.diff(order_values) <= 0).all()
    np.testing.assert_allclose(order_values / scale, np.sort(size)[::-1][:n_components] / scale,
                               atol=tolerance)  # fmt: skip
    rows, values = vectors.astype(np.float64), values.astype(np.float64)
    np.testing.assert_allclose(rows @ rows.T, np.eye(n_components), atol=tolerance)
    residuals = np.linalg.norm(rows @ (exact / scale) - (values / scale)[:, None] * rows, axis=1)
    assert residuals.max() < tolerance


def test_few_of_many_without_a_second_matrix(rng):
    rows = rng.normal(size=(300, 130))
    moment = rows.T @ rows
    values, vectors = few_of_many(moment, 4)
    expected, _ = leading_eigenpairs(moment, 4)
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(vectors @ moment, values[:, None] * vectors, atol=1e-9 * values[0])
    assert (few_of_many(moment, 4)[1] == vectors).all()


@pytest.mark.parametrize("by", ["value", "magnitude"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("n_features", "n_components"),
    [(1, 1), (2, 1), (10, 10), (95, 20), (96, 20), (150, 1), (150, 52), (150, 53), (150, 150)],
)
def test_against_numpy(rng, n_features, n_components, dtype, by):
    matrix = noisy(rng, n_features, dtype)
    before = matrix.copy()
    assert_leading(matrix, n_components, by, *leading_eigenpairs(matrix, n_components, by=by))
    np.testing.assert_array_equal(matrix, before)


@pytest.mark.parametrize("dtype", DTYPES)
def test_magnitude_spans_what_the_svd_spans(rng, dtype):
    spectrum = np.concatenate([[9, -8, 7, -6, 5], np.linspace(-1, 1, 115)])
    matrix = with_spectrum(rng, spectrum, dtype)
    values, vectors = leading_eigenpairs(matrix, 5, by="magnitude")
    np.testing.assert_allclose(values, [9, -8, 7, -6, 5], rtol=1e-5)
    left = np.linalg.svd(matrix.astype(np.float64))[0][:, :5].T
    assert principal_angles(vectors, left).max() < 10 * TOLERANCE[dtype]


@pytest.mark.parametrize("by", ["value", "magnitude"])
def test_large_matrix_of_the_size_of_an_image(rng, by):
    matrix = noisy(rng, 784, np.float32)
    assert_leading(matrix, 100, by, *leading_eigenpairs(matrix, 100, by=by))


SPECTRA = {
    "zero": np.zeros(120),
    "identity": np.ones(120),
    "repeated": np.repeat([3.0, 1.0, -3.0], 40),
    "rank 3": np.r_[[5.0, 2.0, 1.0], np.zeros(117)],
    "rank 3 over rounding": np.r_[[5.0, 2.0, 1.0], np.full(117, 1e-9)],
    "graded": np.geomspace(1, 1e-12, 120),
    "glued pairs": np.repeat(np.linspace(-1, 1, 60), 2) + np.tile([0, 1e-9], 60),
}


@pytest.mark.parametrize("by", ["value", "magnitude"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SPECTRA)
def test_degenerate_spectra(rng, name, dtype, by):
    matrix = with_spectrum(rng, SPECTRA[name], dtype)
    assert_leading(matrix, 40, by, *leading_eigenpairs(matrix, 40, by=by))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((120, 120)),
        np.diag(np.arange(120.0)),
        np.kron(np.eye(2), np.ones((60, 60))),
        # Empty features, as the border of an image.
        np.pad(np.arange(3600.0).reshape(60, 60) + np.arange(3600.0).reshape(60, 60).T, (0, 60)),
        # Wilkinson's: pairs of eigenvalues equal to rounding, no negligible ones among them.
        np.diag(np.abs(np.arange(-60.0, 61))) + np.eye(121, k=1) + np.eye(121, k=-1),
    ],
    ids=["zero", "diagonal", "blocks", "empty features", "wilkinson"],
)
def test_structured_matrices(matrix, dtype):
    matrix = matrix.astype(dtype)
    assert_leading(matrix, 30, "magnitude", *leading_eigenpairs(matrix, 30, by="magnitude"))


@pytest.mark.parametrize("scale", [1e-36, 1e-30, 1e-18, 1e-6, 1e6, 1e30, 1e35])
def test_entries_that_cannot_be_squared_in_float32(rng, scale):
    matrix = noisy(rng, 120, np.float32)
    values, vectors = leading_eigenpairs(matrix * np.float32(scale), 10, by="magnitude")
    expected, same_vectors = leading_eigenpairs(matrix, 10, by="magnitude")
    np.testing.assert_allclose(values / scale, expected, rtol=1e-5)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(10), atol=1e-5)
    assert principal_angles(vectors[:3], same_vectors[:3]).max() < 1e-4


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_inverse_iteration_on_any_spectrum(data):
    """Direct calls of LAPACK, with sizes and clusters that `eigen` might not send there."""
    n_features = data.draw(st.integers(1, 24), "n_features")
    levels = st.sampled_from([-2.0, -1.0, 0.0, 1e-7, 1.0, 1.0 + 1e-7, 2.0])
    spectrum = data.draw(st.lists(levels, min_size=n_features, max_size=n_features))
    dtype = data.draw(st.sampled_from(DTYPES))
    n_components = data.draw(st.integers(1, n_features), "n_components")
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32), "seed"))
    matrix = with_spectrum(rng, np.array(spectrum), dtype)
    try:
        form = TridiagonalForm(matrix)
        positions = np.arange(n_features - n_components, n_features)
        values = form.eigenvalues[positions]
        vectors = form.transform_back(
            form.eigenvectors(positions, np.empty((0, n_features), dtype))
        )
    except np.linalg.LinAlgError:
        values, vectors = all_eigenpairs(matrix)
        values, vectors = values[-n_components:], vectors[-n_components:]
    assert_leading(matrix, n_components, "value", values[::-1], vectors[::-1])


@pytest.mark.parametrize("missing", [{}, None], ids=["other names", "no module"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("by", ["value", "magnitude"])
def test_without_lapacks_pointers_scipy_does_the_work(rng, monkeypatch, missing, dtype, by):
    matrix = noisy(rng, 120, dtype)
    expected = leading_eigenpairs(matrix, 10, by=by)
    module = missing if missing is None else SimpleNamespace(__pyx_capi__=missing)
    monkeypatch.setitem(sys.modules, "scipy.linalg.cython_lapack", module)
    lapack._routine.cache_clear()
    values, vectors = leading_eigenpairs(matrix, 10, by=by)
    monkeypatch.undo()
    assert_leading(matrix, 10, by, values, vectors)
    assert projector_distance(vectors, expected[1]) < 100 * TOLERANCE[dtype]
    assert np.abs(leading_eigenpairs(matrix, 10, by=by)[1] - expected[1]).max() == 0


@pytest.mark.parametrize("by", ["value", "magnitude"])
def test_other_threads_go_on_while_a_matrix_is_decomposed(rng, by):
    """Other threads wait less than half as long as with SciPy, because the lock is released.

    The shortest of some tries, so that a busy machine does not matter.
    """
    matrix = noisy(rng, 784)

    def longest_pause(decompose):
        done, longest = Event(), 0.0

        def work():
            decompose()
            done.set()

        with ThreadPoolExecutor(1) as pool:
            last = time.perf_counter()
            pool.submit(work)
            while not done.is_set():
                time.sleep(1e-4)
                now = time.perf_counter()
                longest, last = max(longest, now - last), now
        return longest

    ours = min(longest_pause(lambda: leading_eigenpairs(matrix, 100, by=by)) for _ in range(7))
    scipys = min(longest_pause(lambda: scipy.linalg.eigh(matrix)) for _ in range(3))
    assert ours < scipys / 2


def test_failure_of_inverse_iteration_is_made_good(rng):
    matrix = noisy(rng, 120)
    expected = leading_eigenpairs(matrix, 10)
    with mock.patch.object(eigen, "TridiagonalForm", side_effect=np.linalg.LinAlgError):
        values, vectors = leading_eigenpairs(matrix, 10)
    np.testing.assert_allclose(values, expected[0], atol=1e-12)
    assert projector_distance(vectors, expected[1]) < 1e-10


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_features", [60, 200, 784])
def test_the_first_pairs_do_not_depend_on_how_many_are_asked_for(rng, n_features, dtype):
    matrix = noisy(rng, n_features, dtype)
    asked = [5, n_features // 8, n_features // 5, n_features // 3, n_features // 2, n_features]
    together = Spectrum(matrix)
    for by in ("magnitude", "value"):
        for n_components in (*asked[::2], *asked[1::2]):
            shared = together.leading(n_components, by=by)
            assert_leading(matrix, n_components, by, *shared)
            alone = leading_eigenpairs(matrix, n_components, by=by)
            np.testing.assert_array_equal(shared[0], alone[0])
            np.testing.assert_array_equal(shared[1], alone[1])


def test_blocks_before_a_failed_one_stay_as_they_are(rng):
    """A tight cluster below rank 25 costs the later pairs divide and conquer, not the first."""
    matrix = noisy(rng, 200)
    alone = leading_eigenpairs(matrix, 20)
    original = TridiagonalForm.eigenvectors

    def fails_later(form, positions, known):
        if len(known):
            raise np.linalg.LinAlgError
        return original(form, positions, known)

    with mock.patch.object(TridiagonalForm, "eigenvectors", fails_later):
        together = Spectrum(matrix)
        assert_leading(matrix, 60, "value", *together.leading(60))
        np.testing.assert_array_equal(together.leading(20)[1], alone[1])


@pytest.mark.parametrize("by", ["value", "magnitude"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_zeros_are_left_out_of_the_form(rng, dtype, by):
    """Denoised pictures have zero pixels, for which divide and conquer took twice the time."""
    live = np.sort(rng.permutation(300)[:200])
    matrix = np.zeros((300, 300), dtype)
    matrix[np.ix_(live, live)] = noisy(rng, 200, dtype)
    with mock.patch.object(eigen, "all_eigenpairs", side_effect=AssertionError):
        assert_leading(matrix, 60, by, *leading_eigenpairs(matrix, 60, by=by))
    # Beyond what the rows that are left have; by value the zeros come before what is negative.
    falling = -matrix @ matrix
    for n_components in (1, 90, 101):
        assert_leading(falling, n_components, by, *leading_eigenpairs(falling, n_components, by=by))


def test_what_a_spectrum_shares_cannot_be_written_to(rng):
    _values, vectors = Spectrum(noisy(rng, 120)).leading(5)
    with pytest.raises(ValueError, match="read-only"):
        vectors[0] = 0


def test_calls_from_many_threads_do_not_disturb_each_other(rng):
    # Sizes and data types differ, so that shared scratch memory would be seen.
    matrices = [noisy(rng, 100 + 7 * i, DTYPES[i % 2]) for i in range(10)]
    alone = [leading_eigenpairs(matrix, 12, by="magnitude") for matrix in matrices]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            together = pool.map(lambda m: leading_eigenpairs(m, 12, by="magnitude"), matrices)
            for (values, vectors), expected in zip(together, alone, strict=True):
                np.testing.assert_array_equal(values, expected[0])
                np.testing.assert_array_equal(vectors, expected[1])


def test_integers_are_computed_in_float64():
    values, vectors = leading_eigenpairs(np.array([[2, 1], [1, 2]]), 1)
    assert values.dtype == vectors.dtype == np.float64
    assert values[0] == pytest.approx(3)


@pytest.mark.parametrize(
    ("matrix", "n_components", "by", "message"),
    [
        (np.ones((2, 3)), 1, "value", r"matrix must be square, got \(2, 3\)"),
        (np.ones(3), 1, "value", "matrix must be square"),
        (np.eye(3), 0, "value", r"n_components must be in \[1, n_features=3\], got 0"),
        (np.eye(3), 4, "value", r"n_components must be in \[1, n_features=3\], got 4"),
        (np.eye(3), 1, "size", "by must be one of value, magnitude, got 'size'"),
        (np.full((3, 3), np.nan), 1, "value", "matrix must be finite in every entry, got nan"),
        (np.diag([1, -np.inf]), 1, "value", "matrix must be finite in every entry, got -inf"),
    ],
)
def test_bad_input_is_one_sentence(matrix, n_components, by, message):
    with pytest.raises(ParameterError, match=message):
        leading_eigenpairs(matrix, n_components, by=by)


def leading_eigenpairs_from_proxies(proxies, weights, n_components):
    """Return the leading eigenpairs of the aggregate of whole proxies."""
    (aggregate,) = proxy_aggregates(proxies, weights, [max(map(len, proxies))])
    return leading_eigenpairs(aggregate, n_components)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("rows_per_site", "n_components"),
    [
        ((5, 5, 5), 4),  # fewer rows than features
        ((5, 9, 1), 15),  # unequal, every row needed
        ((3, 3), 7),  # more components than rows
        ((40, 40, 40), 10),  # more rows than features
    ],
)
def test_proxies_equal_the_aggregate(rng, rows_per_site, n_components, dtype):
    proxies = [rng.normal(size=(rows, 60)).astype(dtype) for rows in rows_per_site]
    weights = rng.dirichlet(np.ones(len(proxies)))
    aggregate = sum(
        weight * proxy.astype(np.float64).T @ proxy
        for weight, proxy in zip(weights, proxies, strict=True)
    )
    values, vectors = leading_eigenpairs_from_proxies(proxies, weights, n_components)
    assert_leading(aggregate.astype(dtype), n_components, "value", values, vectors)


@pytest.mark.parametrize("dtype", DTYPES)
def test_proxies_of_deficient_rank_still_give_orthonormal_rows(rng, dtype):
    proxy = (np.outer(np.arange(6), rng.normal(size=30))).astype(dtype)  # rank 1 in 6 rows
    values, vectors = leading_eigenpairs_from_proxies([proxy, 0 * proxy], [0.5, 0.5], 5)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(5), atol=TOLERANCE[dtype])
    assert (values >= 0).all()
    assert principal_angles(vectors[:1], proxy[1:2]).max() < TOLERANCE[dtype]
    np.testing.assert_allclose(values[1:], 0, atol=TOLERANCE[dtype] * values[0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_aggregates_of_several_ranks_equal_each_alone(rng, dtype):
    proxies = [rng.normal(size=(rows, 160)).astype(dtype) for rows in (130, 130, 70)]
    weights = np.array([0.5, 0.3, 0.2])
    ranks = [20, 50, 60, 100, 130]
    for rank, together in zip(ranks, proxy_aggregates(proxies, weights, ranks), strict=True):
        (alone,) = proxy_aggregates([p[:rank] for p in proxies], weights, [rank])
        np.testing.assert_array_equal(together, alone)
        np.testing.assert_array_equal(together, together.T)
        pairs = zip(weights, proxies, strict=True)
        direct = sum(w * p[:rank].T.astype(float) @ p[:rank] for w, p in pairs)
        np.testing.assert_allclose(together, direct, atol=200 * TOLERANCE[dtype])


def test_proxies_need_a_weight_each():
    proxies = [np.eye(3)] * 2
    for weights in ([1.0], [0.5, -0.5], [np.nan, 1]):
        with pytest.raises(ParameterError, match="weights must be 2 numbers of at least 0"):
            leading_eigenpairs_from_proxies(proxies, weights, 1)
