from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcore.data import Dataset, prepare, row_bounds
from dpcore.errors import ParameterError
from dpcore.streams import Purpose, stream


def make_dataset(X: np.ndarray, **changes) -> Dataset:
    fields = dict(
        name="made",
        title="Made",
        X=X,
        labels=None,
        label_names=None,
        feature_names=tuple(f"x{j}" for j in range(X.shape[-1])),
        image_shape=None,
        default_components=2,
        provenance="Made for a test.",
        is_part=False,
        public_norm_bound=5.0,
    )
    return Dataset(**{**fields, **changes})


def _norms(X: np.ndarray) -> np.ndarray:
    return np.linalg.norm(X.astype(np.float64), axis=1)


def _rows(dtype):
    limit = 1e6
    return hnp.arrays(
        dtype,
        st.tuples(st.integers(2, 12), st.integers(1, 6)),
        elements=st.floats(-limit, limit, width=np.dtype(dtype).itemsize * 8),
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_row_norms_never_exceed_one(dtype):
    smallest = np.finfo(dtype).smallest_subnormal

    @given(_rows(dtype), st.floats(1e-3, 1e3))
    @example(np.array([[smallest], [0.0], [0.0]], dtype), 1.0)
    @example(np.array([[3e-160, 0.0], [0.0, 5e-162], [0.0, 0.0]], dtype), 1.0)
    def check(X, bound):
        for prepared in (
            prepare(make_dataset(X)),
            prepare(make_dataset(X), mode="bounded", norm_bound=bound),
        ):
            assert prepared.X.dtype == dtype
            # Exactly: a sensitivity of sqrt(2) / n is proven for norms of at most 1.
            assert _norms(prepared.X).max() <= 1.0

    check()


def test_rows_too_long_to_be_squared_are_refused_by_name():
    with pytest.raises(ParameterError, match="X must be of rows whose squares are numbers"):
        prepare(make_dataset(np.array([[1e200, 0.0], [0.0, 1.0]])), mode="published")


@given(_rows(np.float64), st.floats(1e-3, 1e3), st.integers(0, 11), st.data())
def test_private_preparation_of_a_row_ignores_all_others(X, bound, position, data):
    row = position % len(X)
    neighbour = X.copy()
    neighbour[row] = data.draw(hnp.arrays(np.float64, X.shape[1], elements=st.floats(-1e6, 1e6)))
    prepared, other = (
        prepare(make_dataset(rows), mode="bounded", norm_bound=bound).X for rows in (X, neighbour)
    )
    assert np.array_equal(np.delete(prepared, row, axis=0), np.delete(other, row, axis=0))


@st.composite
def _rows_and_limits(draw):
    """Draw rows, possibly far outside of the limits; not all columns are constant."""
    X = draw(_rows(draw(st.sampled_from([np.float32, np.float64]))))
    low = draw(hnp.arrays(np.float64, X.shape[1], elements=st.floats(-1e3, 1e3)))
    width = draw(hnp.arrays(np.float64, X.shape[1], elements=st.floats(0.1, 1e3)))
    width[1:] *= draw(hnp.arrays(np.bool_, X.shape[1] - 1))
    return X, np.column_stack([low, low + width])


@given(_rows_and_limits(), st.sampled_from(["bounded", "sphere"]), st.integers(0, 11), st.data())
def test_limits_bound_every_row_and_read_none(made, mode, position, data):
    X, limits = made
    dataset = make_dataset(X, public_norm_bound=1e9, column_limits=limits)
    prepared = prepare(dataset, mode=mode)
    # For "sphere" the reader of the rows normalizes them.
    assert _norms(prepared.X).max() <= (1.0 if mode == "bounded" else 1 + 1e-6)
    inside = np.clip(X, *limits.T)
    assert prepared.n_clipped == np.count_nonzero((inside != X).any(axis=1))
    unit = 1e-6 * np.abs(limits).max() / prepared.scale
    expected = (inside - limits.mean(axis=1)) / prepared.scale
    np.testing.assert_allclose(prepared.X, expected, rtol=1e-5, atol=unit)
    # Replacing one person changes one row.
    neighbour = X.copy()
    row = position % len(X)
    neighbour[row] = data.draw(
        hnp.arrays(X.dtype, X.shape[1], elements=st.floats(-1e6, 1e6, width=32))
    )
    other = prepare(make_dataset(neighbour, public_norm_bound=1e9, column_limits=limits), mode=mode)
    assert np.array_equal(np.delete(prepared.X, row, axis=0), np.delete(other.X, row, axis=0))
    assert (prepared.scale, prepared.statement) == (other.scale, other.statement)


def test_the_corners_of_the_limits_have_length_one():
    limits = np.array([[0.0, 16.0], [2.0, 2.0], [-3.0, 9.0]])
    prepared = prepare(
        make_dataset(limits.T.copy(), public_norm_bound=11.0, column_limits=limits), mode="bounded"
    )
    assert prepared.scale == 10.0 and prepared.n_clipped == 0
    np.testing.assert_allclose(_norms(prepared.X), 1.0, rtol=1e-14)
    np.testing.assert_array_equal(prepared.mean, [8.0, 2.0, 3.0])


def test_the_smaller_of_two_public_balls_is_taken():
    limits = np.tile([0.0, 1.0], (16, 1))
    X = np.eye(16)[:3]
    for bound, radius in ((2.5, 2.0), (2.0, 2.0), (1.5, 1.5)):
        dataset = make_dataset(X, public_norm_bound=bound, column_limits=limits)
        centre, norm_bound = dataset.public_ball
        assert norm_bound == radius
        assert np.array_equal(centre, np.full(16, 0.5 if bound > 2 else 0.0))


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ([[0, 1], [3, 1]], "column_limits must be the lower one first, got '3 before 1 .x1.'"),
        ([[2, 2], [1, 1]], "column_limits must be apart in one column at least"),
        ([[0, 1]], "column_limits must be finite, of shape .2, 2."),
        ([[0, 1], [0, np.inf]], "column_limits must be finite"),
    ],
)
def test_limits_that_limit_nothing_are_one_sentence(limits, sentence):
    with pytest.raises(ParameterError, match=sentence):
        make_dataset(np.eye(2), column_limits=np.array(limits, dtype=float))


def test_published_preparation_centres_and_divides_by_the_largest_norm():
    X = stream(0, Purpose.DATA).normal(3.0, 2.0, size=(500, 7))
    prepared = prepare(make_dataset(X))
    centred = X - X.mean(axis=0)
    largest = np.linalg.norm(centred, axis=1).max()
    np.testing.assert_allclose(prepared.mean, X.mean(axis=0), rtol=1e-13)
    assert prepared.scale == pytest.approx(largest, rel=1e-13)
    np.testing.assert_allclose(prepared.X, centred / largest, rtol=1e-12, atol=1e-14)
    assert not prepared.is_private and "not private" in prepared.statement
    assert prepared.n_clipped == 0


def test_private_preparation_clips_and_counts():
    X = np.array([[3.0, 4.0], [6.0, 8.0], [0.0, 1.0], [0.0, 5.1]])
    prepared = prepare(make_dataset(X), mode="bounded")
    np.testing.assert_allclose(
        prepared.X, [[0.6, 0.8], [0.6, 0.8], [0.0, 0.2], [0.0, 1.0]], rtol=1e-14
    )
    assert prepared.is_private and prepared.scale == 5.0 and prepared.n_clipped == 2
    assert not prepared.mean.any()


def test_a_sentence_that_says_private_says_nothing_of_the_rows():
    X = np.random.default_rng(7).normal(size=(30, 4))
    other = X.copy()
    other[3] *= 1e6
    sentences = {
        prepare(make_dataset(rows), mode="bounded").statement for rows in (X, other, 100 * X)
    }
    assert len(sentences) == 1 and "this step is private" in sentences.pop()


def test_without_preparation_rows_are_shared_and_there_is_no_guarantee():
    dataset = make_dataset(np.eye(3) * 9)
    prepared = prepare(dataset, mode="none")
    assert np.shares_memory(prepared.X, dataset.X)
    assert not prepared.is_private and "no guarantee" in prepared.statement


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_leave_nothing_to_magnify(dtype):
    X = np.tile(np.array([[0.1, 1 / 3, 1e5]], dtype=dtype), (3_000, 1))
    prepared = prepare(make_dataset(X))
    assert not prepared.X.any() and prepared.scale == 1.0
    assert "All rows are equal" in prepared.statement


def test_blocks_do_not_change_the_result(monkeypatch):
    X = stream(1, Purpose.DATA).standard_normal((257, 5)).astype(np.float32)
    whole = {
        mode: prepare(make_dataset(X), mode=mode, norm_bound=1.5)
        for mode in ("published", "bounded")
    }
    monkeypatch.setattr(row_bounds, "_BLOCK_BYTES", 8 * 5 * 10)
    for mode, expected in whole.items():
        blocked = prepare(make_dataset(X), mode=mode, norm_bound=1.5)
        np.testing.assert_allclose(blocked.X, expected.X, rtol=1e-6, atol=1e-7)
        assert blocked.n_clipped == expected.n_clipped


def test_the_mean_of_many_float32_rows_is_accurate():
    # Summed in float32 the mean of these rows would be off by about 1e-3.
    X = np.full((400_000, 1), 1000.0, dtype=np.float32)
    X[1::2] += 1
    assert prepare(make_dataset(X)).mean[0] == pytest.approx(1000.5, rel=1e-12)


def test_memory_maps_are_read_and_left_alone(tmp_path):
    path = tmp_path / "rows.npy"
    X = stream(2, Purpose.DATA).standard_normal((40, 3))
    np.save(path, X)
    mapped = np.load(path, mmap_mode="r")
    np.testing.assert_array_equal(prepare(make_dataset(mapped)).X, prepare(make_dataset(X)).X)


@pytest.mark.parametrize("mode", row_bounds.MODES)
def test_entries_that_are_not_finite_are_counted(mode):
    X = np.ones((5, 4))
    X[1, 2], X[3, 0], X[4, 1] = np.nan, np.inf, -np.inf
    with pytest.raises(ParameterError, match="X must be free of NaN and infinite entries, got '3"):
        prepare(make_dataset(X), mode=mode)


@pytest.mark.parametrize("bound", [0.0, -1.0, np.inf, np.nan])
def test_a_bound_that_bounds_nothing_is_refused(bound):
    with pytest.raises(ParameterError, match="norm_bound must be positive and finite"):
        prepare(make_dataset(np.eye(2)), mode="bounded", norm_bound=bound)


def test_unknown_modes_are_refused():
    with pytest.raises(ParameterError, match="one of sphere, bounded, none, published"):
        prepare(make_dataset(np.eye(2)), mode="whitened")


def test_what_is_prepared_keeps_what_the_data_set_says():
    labels = np.array([0, 1, 1])
    dataset = make_dataset(
        np.eye(3),
        labels=labels,
        label_names=("a", "b"),
        image_shape=(1, 3),
        views={"left": slice(0, 2), "right": slice(2, 3)},
        label_columns=slice(2, 3),
    )
    prepared = prepare(dataset)
    for field in (
        "name title label_names feature_names image_shape default_components provenance is_part "
        "views label_columns"
    ).split():
        assert getattr(prepared, field) == getattr(dataset, field)
    assert prepared.labels is dataset.labels
    assert (prepared.n_samples, prepared.n_features) == (3, 3)


def test_a_data_set_cannot_be_written_to_and_the_callers_array_can():
    X = np.eye(3)
    dataset = make_dataset(X)
    for array in (dataset.X, prepare(dataset).X):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 2.0
    X[0, 0] = 2.0


@pytest.mark.parametrize(
    ("X", "labels", "parameter"),
    [
        (np.ones((3, 2), dtype=int), None, "X"),
        (np.ones(3), None, "X"),
        (np.ones((1, 2)), None, "X"),
        (np.ones((3, 2)), np.zeros(2, dtype=int), "labels"),
    ],
)
def test_data_sets_of_the_wrong_form_are_refused(X, labels, parameter):
    with pytest.raises(ParameterError) as caught:
        make_dataset(X, labels=labels, feature_names=())
    assert caught.value.parameter == parameter


@pytest.mark.parametrize("mode", ["published", "bounded"])
def test_in_place_gives_the_same_rows_in_the_same_memory(mode):
    X = np.random.default_rng(3).normal(size=(50, 4)) * 5
    expected = prepare(make_dataset(X.copy()), mode=mode)
    prepared = prepare(make_dataset(X), mode=mode, in_place=True)
    np.testing.assert_array_equal(prepared.X, expected.X)
    assert np.shares_memory(prepared.X, X)
    assert not prepared.X.flags.writeable


def test_in_place_leaves_a_read_only_buffer_alone():
    content = np.random.default_rng(3).normal(size=(50, 4)).tobytes()
    X = np.frombuffer(content).reshape(50, 4)
    prepared = prepare(make_dataset(X), in_place=True)
    assert not np.shares_memory(prepared.X, X)
    assert content == X.tobytes()
