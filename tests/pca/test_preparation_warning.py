"""Warning of scikit-learn steps that were fitted to all rows before the noise."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_digits
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, Normalizer, StandardScaler

from dpcore.cca import PrivateCCA
from dpcore.classification import PrivateLogisticRegression, PrivateSVM
from dpcore.errors import PreparationWarning
from dpcore.pca import AnalyzeGaussPCA, DistributedPCA, ExponentialPCA, ModSulqPCA, SulqPCA
from dpcore.pca.estimators import bounded_rows
from dpcore.privacy import gaussian_epsilon

ROWS = np.random.default_rng(0).uniform(0, 0.3, size=(60, 4))
LABELS = ROWS[:, 0] > ROWS[:, 1]
COMPONENTS = (AnalyzeGaussPCA, DistributedPCA, ExponentialPCA, ModSulqPCA, SulqPCA)
PRIVATE = (
    *(kind(1) for kind in COMPONENTS),
    PrivateCCA(1),
    PrivateSVM(),
    PrivateLogisticRegression(),
)
STATELESS = (Normalizer(), FunctionTransformer(lambda rows: rows / 2), "passthrough")


def named(pipeline: object) -> list[str]:
    """Return the steps that the warnings name while the pipeline is fitted."""
    y = LABELS.astype(float) if "CCA" in repr(pipeline) else LABELS
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pipeline.fit(ROWS, y)
    assert all(issubclass(warning.category, PreparationWarning) for warning in caught)
    return [str(warning.message).split(" was fitted")[0] for warning in caught]


@pytest.mark.parametrize("private", PRIVATE, ids=lambda step: type(step).__name__)
def test_every_private_estimator_names_what_was_fitted_before_it(private):
    assert named(make_pipeline(StandardScaler(), clone(private))) == ["standardscaler"]
    assert named(make_pipeline(*STATELESS, clone(private))) == []
    assert named(clone(private)) == []


@pytest.mark.parametrize(
    ("pipeline", "names"),
    [
        (
            make_pipeline(SimpleImputer(), MinMaxScaler(), PrivateSVM()),
            "simpleimputer, minmaxscaler",
        ),
        (make_pipeline(AnalyzeGaussPCA(2), StandardScaler(), KMeans(2, n_init=1)), ""),
        (make_pipeline(AnalyzeGaussPCA(2), PrivateSVM()), ""),
        (make_pipeline(make_pipeline(StandardScaler()), PrivateSVM()), "standardscaler"),
        (
            make_pipeline(StandardScaler(), make_pipeline(Normalizer(), PrivateSVM())),
            "standardscaler",
        ),
        (make_pipeline(StandardScaler(), OneVsRestClassifier(PrivateSVM())), "standardscaler"),
        (
            make_pipeline(ColumnTransformer([("mean", StandardScaler(), [0, 1])]), PrivateSVM()),
            "mean",
        ),
        (
            make_pipeline(ColumnTransformer([("length", Normalizer(), [0, 1])]), PrivateSVM()),
            "",
        ),
        (
            make_pipeline(MinMaxScaler(), ColumnTransformer([("two", AnalyzeGaussPCA(1), [0, 1])])),
            "minmaxscaler",
        ),
        (
            make_pipeline(
                FeatureUnion([("scaled", MinMaxScaler()), ("cut", Normalizer())]), PrivateSVM()
            ),
            "scaled",
        ),
    ],
)
def test_what_lies_before_is_named_however_it_is_nested(pipeline, names):
    assert named(pipeline) == [names] * bool(names)


def test_each_fit_of_a_search_warns():
    search = GridSearchCV(
        make_pipeline(StandardScaler(), PrivateSVM()), {"privatesvm__epsilon": [1.0, 2.0]}, cv=2
    )
    assert named(search) == ["standardscaler"] * 5


def test_clones_fitted_by_a_pipeline_with_a_memory_are_recognised(tmp_path):
    pipeline = Pipeline(
        [("scale", StandardScaler()), ("pca", AnalyzeGaussPCA(2)), ("same", "passthrough")],
        memory=str(tmp_path),
    )
    assert named(pipeline) == ["scale"]


def test_what_was_done_by_hand_is_not_seen():
    """The explanation of the assumption states this limit."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AnalyzeGaussPCA(2).fit(StandardScaler().fit_transform(ROWS))


def test_a_scaler_in_front_breaks_the_guarantee_by_thousands():
    """The number in the explanation: the exact epsilon for one of 1,797 people.

    The noise is isometric, so that the release is the Gaussian mechanism at the Frobenius distance
    of the two second moments.
    """
    digits = load_digits().data
    other = digits.copy()
    other[0] = 10_000.0
    moments = []
    for rows in (digits, other):
        bounded, _ = bounded_rows(StandardScaler().fit_transform(rows), 1.0, on_long_rows="clip")
        moments.append(bounded.T @ bounded / len(bounded))
    with pytest.warns(PreparationWarning, match="^standardscaler was fitted"):
        pipeline = make_pipeline(StandardScaler(), AnalyzeGaussPCA(10, preparation="none")).fit(
            digits
        )
    pca = pipeline[-1]
    assert pca.guarantee_.epsilon == pytest.approx(1.0)
    distance = float(np.linalg.norm(moments[0] - moments[1]))
    realised = gaussian_epsilon(pca.delta, float(pca.noise_scale_[0]), distance)
    assert realised == pytest.approx(3752, abs=1)
