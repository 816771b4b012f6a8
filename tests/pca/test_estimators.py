"""The estimators: scikit-learn's own checks, sites, bounds, seeds, exactness without noise."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpcore.data import load_dataset
from dpcore.errors import ParameterError
from dpcore.pca import (
    AnalyzeGaussPCA,
    DistributedPCA,
    Draw,
    ExponentialPCA,
    ModSulqPCA,
    ReleaseSettings,
    SulqPCA,
)
from dpcore.pca.estimators import bounded_rows
from dpcore.pca.protocols.central import modsulq, sulq
from dpcore.pca.protocols.distributed import dpdis
from dpcore.pca.protocols.ppca import draw_ppca as ppca_release
from dpcore.pca.protocols.ppca import ppca
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.settings import noise_of
from dpcore.privacy import PrivacyBudget, second_moment_sigma
from dpcore.spectra import captured_energy, projector_distance, site_moments
from dpcore.streams import Repetition, root_of_release

CENTRAL = (AnalyzeGaussPCA, SulqPCA, ModSulqPCA, ExponentialPCA)
ESTIMATORS = (*CENTRAL, DistributedPCA)
NOISY = tuple(estimator for estimator in ESTIMATORS if estimator is not ExponentialPCA)


@parametrize_with_checks(
    [
        *(DistributedPCA(protocol=key) for key, entry in PROTOCOLS.items() if entry.has_sites),
        *(estimator() for estimator in CENTRAL),
    ]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "protocol",
    [
        k
        for k, protocol in PROTOCOLS.items()
        if protocol.has_sites and not protocol.reads_first_site_only
    ],
)
def test_without_noise_the_pooled_subspace_is_exact(rows, labels, protocol):
    """The projector distance is below 1e-8 at R = D and ε = ∞."""
    asked = {"epsilon": math.inf, "preparation": "none"}
    pca = DistributedPCA(4, intermediate_dim=12, protocol=protocol, **asked)
    pca.fit(rows, sites=labels)
    exact = TruncatedSVD(4, algorithm="arpack", tol=1e-12).fit(rows)
    assert projector_distance(pca.components_, exact.components_) < 1e-8
    assert pca.guarantee_.epsilon == math.inf
    central = AnalyzeGaussPCA(4, **asked).fit(rows)
    assert projector_distance(central.components_, exact.components_) < 1e-8
    np.testing.assert_allclose(
        np.abs(central.transform(rows)), np.abs(exact.transform(rows)), atol=1e-8
    )


def test_fit_is_the_protocol_on_the_moments_of_the_labels(rows, labels, moments):
    names = np.array(["north", "east", "west"])[labels]
    pca = DistributedPCA(
        4, epsilon=2.0, delta=1e-4, intermediate_dim=5, preparation="none", denoise="none",
        random_state=3,
    )  # fmt: skip
    pca.fit(rows, sites=names)
    settings = ReleaseSettings(
        PrivacyBudget(2.0, 1e-4), 4, 5, calibration="analytic", noise="isometric", truncation="psd"
    )
    in_order = [1, 0, 2]  # east, north, west
    moments = type(moments)(
        moments.second_moments[in_order], moments.means[in_order], moments.n_samples[in_order]
    )
    counts = moments.n_samples.tolist()
    root = root_of_release(3, "sites", noise_of(settings), counts, 12, "float64")
    expected = dpdis(Draw(moments, settings, Repetition(root)))
    assert list(pca.sites_) == ["east", "north", "west"]
    np.testing.assert_array_equal(pca.components_, expected.components)
    np.testing.assert_array_equal(pca.eigenvalues_, expected.eigenvalues)
    np.testing.assert_array_equal(pca.noise_scale_, expected.sigma)
    assert pca.guarantee_ == expected.guarantee
    assert pca.bytes_sent_ == expected.bytes_sent.sum()


@pytest.mark.parametrize("missing", [None, math.nan, pd.NA, pd.NaT])
def test_a_missing_site_is_refused(rows, missing):
    """None ended in a TypeError; NaN became a site of its own with a guarantee."""
    labels = (np.arange(len(rows)) % 2).astype(object)
    labels[:5] = missing
    is_number = isinstance(missing, float)
    same = [labels, labels.astype(float)] if is_number else [labels]
    for sites in same:
        with pytest.raises(ParameterError, match="a label for each row, got '5 missing labels'"):
            DistributedPCA(2).fit(rows, sites=sites)


def test_labels_of_two_types_are_refused(rows):
    labels = [*["a"] * 5, *[1] * (len(rows) - 5)]
    with pytest.raises(ParameterError, match="sites must be labels of one type, got 'int, str'"):
        DistributedPCA(2).fit(rows, sites=np.array(labels, dtype=object))


def test_fit_transform_takes_the_name_of_the_site_column(rows):
    table = pd.DataFrame(rows).rename(columns=str)
    table["site"] = np.arange(len(rows)) % 2
    model = DistributedPCA(2, random_state=0)
    both = model.fit_transform(table, sites="site")
    alone = DistributedPCA(2, random_state=0).fit(table, sites="site")
    assert np.array_equal(both, alone.transform(table.drop(columns="site")))


@pytest.mark.parametrize("estimator", [DistributedPCA, AnalyzeGaussPCA])
@pytest.mark.parametrize("value", [None, "mle", "2", True, 0, 1.5])
def test_components_that_are_no_count_are_refused(rows, estimator, value):
    with pytest.raises(ParameterError, match="n_components must be a whole number of at least 1"):
        estimator(value).fit(rows)


@pytest.mark.parametrize("value", [True, -1, 1.5])
def test_a_random_state_that_is_no_int_is_refused(rows, value):
    with pytest.raises(ParameterError, match="random_state must be an int of at least 0"):
        DistributedPCA(2, random_state=value).fit(rows)


def test_the_order_of_rows_does_not_matter(rows, labels, rng):
    order = rng.permutation(len(rows))
    straight = DistributedPCA(4, random_state=0).fit(rows, sites=labels)
    shuffled = DistributedPCA(4, random_state=0).fit(rows[order], sites=labels[order])
    assert projector_distance(straight.components_, shuffled.components_) < 1e-8


def test_default_noise_keeps_the_default_guarantee(rows, labels):
    pca = DistributedPCA(4, preparation="none").fit(rows, sites=labels)
    budget = PrivacyBudget(1.0, 1e-5)
    expected = [second_moment_sigma(budget, n, calibration="analytic") for n in (120, 80, 200)]
    np.testing.assert_allclose(pca.noise_scale_, expected, rtol=1e-12)
    assert pca.guarantee_.keeps_requested
    assert pca.guarantee_.requested == budget


@pytest.mark.parametrize("estimator", NOISY)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_long_rows_are_clipped_and_counted_or_refused(rows, estimator, dtype):
    X = rows.astype(dtype)
    norms = np.linalg.norm(X, axis=1)
    bound = float(np.median(norms))
    fitted = estimator(2, row_norm_bound=bound, epsilon=math.inf, preparation="none").fit(X)
    clipped = X * np.minimum(1, bound / norms)[:, None]
    expected = TruncatedSVD(2, algorithm="arpack", tol=1e-12).fit(clipped.astype(float))
    assert bounded_rows(X, bound, on_long_rows="clip")[1] == np.count_nonzero(norms > bound)
    assert projector_distance(fitted.components_, expected.components_) < 1e-4
    assert fitted.components_.dtype == dtype
    with pytest.raises(ParameterError, match="row_norm_bound=.* longer rows"):
        estimator(2, row_norm_bound=bound, on_long_rows="refuse").fit(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normalised_rows_are_not_called_long(rng, dtype):
    X = rng.standard_normal((500, 30)).astype(dtype)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    assert AnalyzeGaussPCA(2, on_long_rows="refuse").fit(X).components_.shape == (2, X.shape[1])


def test_noise_grows_with_the_square_of_the_bound(rows):
    small, large = (
        AnalyzeGaussPCA(2, row_norm_bound=bound, preparation="none").fit(rows).noise_scale_
        for bound in (1.0, 3.0)
    )
    np.testing.assert_allclose(large, 9 * small, rtol=1e-12)


@pytest.mark.parametrize("protocol", ["dpdis", "full", "local", "pooled", "cape", "sequential"])
def test_without_noise_the_default_is_pca_of_directions_around_the_mean(rows, labels, protocol):
    X = 3 * (rows + 0.1)
    pca = DistributedPCA(
        4, epsilon=math.inf, intermediate_dim=12, protocol=protocol, row_norm_bound=9.0
    ).fit(X, sites=labels)
    there = X[labels == 0] if protocol == "local" else X
    centred = there - there.mean(axis=0)
    directions = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    exact = TruncatedSVD(4, algorithm="arpack", tol=1e-12).fit(directions)
    np.testing.assert_allclose(pca.mean_, there.mean(axis=0), atol=1e-12)
    assert projector_distance(pca.components_, exact.components_) < 1e-6
    np.testing.assert_allclose(pca.transform(X), (X - pca.mean_) @ pca.components_.T, atol=1e-12)


@pytest.mark.parametrize("estimator", NOISY)
def test_on_the_sphere_the_noise_of_the_components_does_not_depend_on_the_bound(rows, estimator):
    # A given share of the mean leaves out the votes, whose rows are bounded.
    given = {"mean_share": 0.1} if "mean_share" in estimator().get_params() else {}
    near, far = (
        estimator(2, row_norm_bound=bound, random_state=0, **given).fit(rows)
        for bound in (10.0, 1000.0)
    )
    np.testing.assert_array_equal(near.noise_scale_, far.noise_scale_)
    assert near.guarantee_ == far.guarantee_


@pytest.mark.parametrize("preparation", ["sphere", "bounded", "none"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_preparation_is_fully_private(rows, labels, estimator, preparation):
    sites = {"sites": labels} if estimator is DistributedPCA else {}
    # A mean that is all noise would be drawn back to the middle: this one is not.
    fitted = estimator(2, epsilon=50.0, preparation=preparation).fit(rows + 0.5, **sites)
    assert fitted.guarantee_.keeps_requested
    assert fitted.mean_.shape == (12,)
    releases_no_mean = preparation == "none" or estimator in (SulqPCA, ModSulqPCA, ExponentialPCA)
    assert (fitted.mean_ == 0).all() == releases_no_mean


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_random_state(rows, estimator):
    def components(random_state):
        return estimator(2, random_state=random_state).fit(rows).components_

    np.testing.assert_array_equal(components(5), components(np.int64(5)))
    assert projector_distance(components(5), components(6)) > 1e-3
    assert projector_distance(components(None), components(None)) > 1e-3
    for generator in (np.random.default_rng, np.random.RandomState):
        first, second = generator(1), generator(1)
        np.testing.assert_array_equal(components(first), components(second))
        assert projector_distance(components(first), components(generator(1))) > 1e-3


def test_fresh_entropy_does_not_come_from_numpys_global_state(rows):
    draws = []
    for _ in range(2):
        np.random.seed(0)  # noqa: NPY002 - what a careless notebook does
        draws.append(AnalyzeGaussPCA(2).fit(rows).components_)
    assert projector_distance(*draws) > 1e-3


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_pipeline_clone_pickle(rows, labels, estimator):
    pipeline = make_pipeline(Normalizer(), estimator(3, random_state=0))
    name = estimator.__name__.lower()
    arguments = {f"{name}__sites": labels} if estimator is DistributedPCA else {}
    fitted = clone(pipeline).fit(rows, **arguments)
    projected = fitted.transform(rows)
    assert list(fitted.get_feature_names_out()) == [f"{name}{i}" for i in range(3)]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(rows), projected)
    assert fitted[-1].guarantee_.keeps_requested
    rebuilt = fitted[-1].inverse_transform(projected)
    np.testing.assert_allclose(fitted[-1].transform(rebuilt), projected, atol=1e-12)


@pytest.mark.parametrize(
    ("estimator", "release"), [(SulqPCA, sulq), (ModSulqPCA, modsulq), (ExponentialPCA, ppca)]
)
def test_central_estimators_are_the_protocols_on_one_site(rows, estimator, release):
    fitted = estimator(3, epsilon=5.0, preparation="none", random_state=4).fit(rows)
    delta = 0.0 if estimator is ExponentialPCA else fitted.delta
    settings = ReleaseSettings.published(PrivacyBudget(5.0, delta), 3, 3, truncation="psd")
    pooled = site_moments(rows, [np.arange(len(rows))])
    noise = ("ppca", 3) if estimator is ExponentialPCA else (release.__name__,)
    root = root_of_release(4, *noise, noise_of(settings), [len(rows)], 12, "float64")
    expected = release(Draw(pooled, settings, Repetition(root)))
    np.testing.assert_array_equal(fitted.components_, expected.components)
    assert fitted.guarantee_ == expected.guarantee


def test_ppca_guarantees_pure_epsilon_and_releases_no_eigenvalues(rows):
    fitted = ExponentialPCA(3, epsilon=2.0, random_state=0).fit(rows)
    assert (fitted.guarantee_.epsilon, fitted.guarantee_.delta) == (2.0, 0.0)
    assert fitted.guarantee_.is_private
    assert not hasattr(fitted, "eigenvalues_")


def test_chains_that_did_not_converge_guarantee_nothing_and_warn(rows, monkeypatch):
    def stopped(*arguments, **options):
        return ppca_release(*arguments, max_sweeps=8, min_ess=1e9, **options)

    monkeypatch.setattr("dpcore.pca.protocols.ppca.draw_ppca", stopped)
    with pytest.warns(ConvergenceWarning, match="no guarantee.*depends on the rows"):
        fitted = ExponentialPCA(3, random_state=0).fit(rows)
    assert not fitted.guarantee_.is_private


@pytest.mark.parametrize(
    ("parameters", "sites", "parameter"),
    [
        ({"n_components": 13}, None, "n_components"),
        ({"n_components": 0}, None, "n_components"),
        ({"intermediate_dim": 13}, None, "intermediate_dim"),
        ({"epsilon": 0}, None, "epsilon"),
        ({"epsilon": "1"}, None, "epsilon"),
        ({"delta": 0}, None, "delta"),
        ({"delta": 1.0}, None, "delta"),
        ({"epsilon": 2, "calibration": "classic"}, None, "epsilon"),
        ({"protocol": "exact"}, None, "protocol"),
        ({"row_norm_bound": -1}, None, "row_norm_bound"),
        ({"on_long_rows": "drop"}, None, "on_long_rows"),
        ({"preparation": "published"}, None, "preparation"),
        ({"mean_share": 1.0}, None, "mean_share"),
        ({"random_state": -1}, None, "random_state"),
        ({"random_state": "0"}, None, "random_state"),
        ({"protocol": "cape", "honest_sites": 2}, None, "honest_sites"),
        ({}, np.zeros(399), "sites"),
        ({}, np.r_[0, np.ones(399)], "sites"),
    ],
)
def test_bad_input_names_parameter_constraint_and_value(rows, parameters, sites, parameter):
    with pytest.raises(ParameterError, match=f"^{parameter} must be .+, got ") as caught:
        DistributedPCA(**parameters).fit(rows, sites=sites)
    assert caught.value.parameter == parameter


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_unusable_rows_are_refused(rows, estimator):
    for bad, message in (
        (np.where(rows == rows.max(), np.nan, rows), "NaN"),
        (np.where(rows == rows.max(), np.inf, rows), "infinity"),
        (rows[:1], "minimum of 2"),
        (sparse.csr_array(rows), "[Ss]parse"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            estimator(2).fit(bad)
    with pytest.raises(ValueError, match="12 features"):
        estimator(2).fit(rows).transform(rows[:, :5])


@pytest.mark.parametrize("estimator", [DistributedPCA, AnalyzeGaussPCA])
def test_pictures_of_your_own_are_denoised_as_pictures(estimator):
    digits = load_dataset("digits")
    release = {"epsilon": 0.3, "row_norm_bound": digits.public_norm_bound, "random_state": 3}
    exact = np.cov(digits.X.T)
    best = np.linalg.eigvalsh(exact)[-10:].sum()
    ratios = []
    for shape in (None, (8, 8)):
        fitted = estimator(10, image_shape=shape, **release).fit(digits.X)
        ratios.append(captured_energy(fitted.components_, exact) / best)
    assert ratios[1] > ratios[0] + 0.05
    with pytest.raises(ParameterError, match="n_features"):
        estimator(10, image_shape=(5, 5), **release).fit(digits.X)


@pytest.mark.parametrize("estimator", [AnalyzeGaussPCA, DistributedPCA])
def test_pairs_vote_on_the_centre_and_the_guarantee_includes_them(estimator):
    """Estimators bought a private mean for every table, whose error was then a component."""
    rng = np.random.default_rng(3)
    rows = 0.12 + 0.02 * rng.standard_normal((600, 30)) * np.repeat([2.0, 1.0, 0.3], 10)
    fitted = estimator(3, epsilon=1.0, random_state=0).fit(rows)
    assert fitted.centre_choice_ == "differences" and not fitted.mean_.any()
    guarantee = fitted.guarantee_
    assert guarantee.epsilon == pytest.approx(1.0) and guarantee.epsilon <= 1.0 + 1e-9
    with_mean = estimator(3, epsilon=1.0, mean_share=0.1, random_state=0).fit(rows)
    assert with_mean.centre_choice_ == "mean" and with_mean.mean_.any()
    # The noise of differences has twice the scale, and votes have their share of the budget.
    share = (2 * with_mean.noise_scale_[0] / fitted.noise_scale_[0]) ** 2 * 0.9
    assert 0.9 <= share <= 0.99
    exact = np.cov(rows.T)
    captured = [
        np.trace(model.components_ @ exact @ model.components_.T) for model in (fitted, with_mean)
    ]
    assert captured[0] > captured[1]
    picture = estimator(3, epsilon=1.0, image_shape=(5, 6), random_state=0).fit(rows)
    assert picture.centre_choice_ != "differences"
