"""Saved estimators contain nothing from which their noise can be drawn again."""

from __future__ import annotations

import copy
import importlib
import io
import json
import pickle
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from dpcore.cca import PROTOCOLS as CCA_PROTOCOLS
from dpcore.cca import distributed_cca
from dpcore.classification import PrivateLogisticRegression, PrivateSVM, fit_many
from dpcore.errors import ParameterError
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.pca import AnalyzeGaussPCA, Draw, ReleaseSettings
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.settings import noise_of
from dpcore.privacy import PrivacyBudget
from dpcore.spectra import site_moments
from dpcore.statistics import private_mean
from dpcore.streams import Purpose, Repetition, root_of_release

SEED = 271_828_182_845_904_523
ROWS = np.random.default_rng(0).uniform(-0.3, 0.3, size=(60, 5))
LABELS = ROWS[:, 0] > ROWS[:, 1]
PRIVATE = [
    getattr(importlib.import_module(f"dpcore.{room}"), name)
    for room in ("pca", "cca", "classification")
    for name in importlib.import_module(f"dpcore.{room}").__all__
    if isinstance(getattr(importlib.import_module(f"dpcore.{room}"), name), type)
    and issubclass(getattr(importlib.import_module(f"dpcore.{room}"), name), BaseEstimator)
]
RANDOM_STATES = {
    "int": lambda: SEED,
    "Generator": lambda: np.random.default_rng(np.random.SeedSequence(SEED)),
    "RandomState": lambda: np.random.RandomState(SEED % 2**32),
    "None": lambda: None,
}
SOURCES = (
    np.random.Generator,
    np.random.BitGenerator,
    np.random.SeedSequence,
    np.random.RandomState,
)


def through_joblib(thing: object) -> object:
    file = io.BytesIO()
    joblib.dump(thing, file)
    file.seek(0)
    return joblib.load(file)


SAVED: dict[str, Callable] = {
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
    "joblib": through_joblib,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def held(thing: object, seen: set[int] | None = None) -> Iterator[object]:
    """Return everything inside an object, at any depth, including private attributes."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return
    seen.add(id(thing))
    yield thing
    inside: list[object] = []
    if isinstance(thing, dict):
        inside = [*thing.keys(), *thing.values()]
    elif isinstance(thing, list | tuple | set | frozenset):
        inside = list(thing)
    elif isinstance(thing, np.ndarray) and thing.dtype == object:
        inside = thing.ravel().tolist()
    elif hasattr(thing, "__dict__") and not isinstance(thing, type):
        inside = list(vars(thing).values())
    for one in inside:
        yield from held(one, seen)


def redraws_noise(thing: object) -> bool:
    return any(
        isinstance(one, SOURCES) or (isinstance(one, int | np.integer) and one in SEEDS)
        for one in held(thing)
    )


SEEDS = {SEED, SEED % 2**32}


def fitted(estimator: BaseEstimator) -> BaseEstimator:
    return estimator.fit(ROWS, LABELS.astype(float) if "CCA" in repr(estimator) else LABELS)


def small(kind: type, random_state: object) -> BaseEstimator:
    parameters = {"n_components": 1} if "n_components" in kind().get_params() else {}
    return kind(**parameters, random_state=random_state)


def test_the_walk_finds_what_there_is():
    assert redraws_noise(AnalyzeGaussPCA(random_state=SEED))
    assert redraws_noise({"deep": [(np.array([np.random.default_rng(1)], dtype=object),)]})
    assert len(PRIVATE) == 8


@pytest.mark.parametrize("saved", SAVED.values(), ids=SAVED)
@pytest.mark.parametrize("random_state", RANDOM_STATES.values(), ids=RANDOM_STATES)
@pytest.mark.parametrize("kind", PRIVATE)
def test_what_is_saved_holds_no_source_of_noise(kind, random_state, saved):
    model = small(kind, random_state())
    for state in (model, fitted(model)):
        result = saved(state)
        assert not redraws_noise(result)
        assert result.random_state is None
        assert result.get_params() == model.get_params() | {"random_state": None}
    assert str(SEED) not in repr(result)
    assert str(SEED) not in json.dumps(result.get_params())
    # The live object is as it was, and its copy works and draws afresh.
    assert (model.random_state is None) == (random_state() is None)
    assert repr(fitted(clone(result)))


@pytest.mark.parametrize("kind", PRIVATE)
def test_a_seed_is_not_printed(kind):
    model = small(kind, SEED)
    around = make_pipeline(ColumnTransformer([("one", model, [0, 1])]))
    for estimator in (model, fitted(model), around, clone(around)):
        assert str(SEED) not in repr(estimator) + estimator._repr_html_()
    assert str(SEED) not in f"{model.get_params()} {model.random_state}"
    assert model.random_state == SEED and int(model.random_state) == SEED


def test_a_pipelines_cache_holds_no_seed(tmp_path):
    """joblib stores the printed arguments of its cached calls."""
    steps = ColumnTransformer([("pca", AnalyzeGaussPCA(1, random_state=SEED), [0, 1])])
    make_pipeline(
        AnalyzeGaussPCA(3, random_state=SEED), steps, PrivateSVM(), memory=str(tmp_path)
    ).fit(ROWS, LABELS)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "metadata.json" for path in written)
    for path in written:
        assert str(SEED).encode() not in path.read_bytes(), path
        if path.suffix == ".pkl":
            assert not redraws_noise(joblib.load(path))


def test_what_is_refused_is_not_printed_either():
    with pytest.raises(ParameterError) as caught:
        AnalyzeGaussPCA(random_state=np.random.SeedSequence(SEED)).fit(ROWS)
    assert str(SEED) not in str(caught.value) and "SeedSequence" in str(caught.value)


@pytest.mark.parametrize("kind", PRIVATE)
def test_every_docstring_warns(kind):
    (warned,) = re.findall(r"Warnings\n    -+\n(.*?)(?:\n\n|$)", kind.__doc__, flags=re.DOTALL)
    assert "`random_state`" in warned


@pytest.mark.parametrize("random_state", ["int", "Generator", "RandomState"])
def test_neither_do_estimators_around_it(random_state):
    """A search stores the unfitted estimator next to the fitted one."""
    state = RANDOM_STATES[random_state]
    around = (
        make_pipeline(Normalizer(), AnalyzeGaussPCA(2, random_state=state())),
        make_pipeline(
            ColumnTransformer([("two", AnalyzeGaussPCA(1, random_state=state()), [0, 1])]),
            PrivateSVM(random_state=state()),
        ),
        GridSearchCV(
            PrivateLogisticRegression(random_state=state()), {"epsilon": [1.0, 2.0]}, cv=2
        ),
        OneVsRestClassifier(PrivateSVM(random_state=state())),
    )
    for estimator in around:
        assert redraws_noise(estimator)
        estimator.fit(ROWS, LABELS)
        for saved in SAVED.values():
            if saved is not copy.copy:  # which is shallow: the estimator inside is the same one
                assert not redraws_noise(saved(estimator))


def recovered(model: AnalyzeGaussPCA, random_state: object) -> np.ndarray:
    """Return the exact second moment, given the released one and the source of its noise."""
    if isinstance(random_state, np.random.Generator):
        random_state.bit_generator.advance(-2)
        random_state = int.from_bytes(random_state.bytes(16), "little")
    settings = ReleaseSettings(
        PrivacyBudget(model.epsilon, model.delta),
        1,
        1,
        calibration=model.calibration,
        noise=model.noise,
        row_norm_bound=model.row_norm_bound,
    )
    n_features = model.n_features_in_
    root = root_of_release(
        random_state, "pooled", noise_of(settings), [len(ROWS)], n_features, "float64"
    )
    noise = symmetric_gaussian_noise(
        n_features,
        model.noise_scale_[0],
        shape=model.noise,
        rng=Repetition(root).rng(Purpose.POOLED_NOISE),
    )
    return (model.components_.T * model.eigenvalues_) @ model.components_ - noise


@pytest.mark.parametrize("random_state", ["int", "Generator"])
def test_the_attack_works_on_who_has_the_source_and_on_nobody_else(random_state):
    source = RANDOM_STATES[random_state]()
    model = AnalyzeGaussPCA(5, truncation="svd", preparation="none", random_state=source).fit(ROWS)
    exact = ROWS.T @ ROWS / len(ROWS)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(recovered(model, source), exact, atol=1e-12)
    with pytest.raises(TypeError):
        recovered(loaded, loaded.random_state)


@pytest.mark.parametrize("make", [RANDOM_STATES["Generator"], RANDOM_STATES["RandomState"]])
@pytest.mark.parametrize("kind", PRIVATE)
def test_clones_share_a_generator_instead_of_repeating_it(kind, make):
    """Otherwise folds of equal size would have equal noise, which cancels in a difference."""
    model = small(kind, make())
    assert clone(model).random_state is model.random_state
    twin = clone(make_pipeline(model))[0]
    assert twin.random_state is model.random_state


def test_folds_do_not_share_the_noise_of_a_generator():
    model = PrivateLogisticRegression(random_state=np.random.default_rng(3))
    rows = np.vstack([ROWS[:20]] * 2)  # two folds of the same people
    labels = np.tile(LABELS[:20], 2)
    halves = [(np.arange(20), np.arange(20, 40)), (np.arange(20, 40), np.arange(20))]
    result = cross_val_predict(model, rows, labels, cv=halves, method="decision_function")
    assert not np.isclose(result[:20], result[20:]).any()


def test_results_hold_no_source_of_noise_either():
    moments = site_moments(ROWS, [np.arange(30), np.arange(30, 60)])
    settings = ReleaseSettings(PrivacyBudget(1.0, 0.01), 2, 2)
    private = replace(settings, mean_share=0.2)
    for key, entry in PROTOCOLS.items():
        assert not redraws_noise(entry.release(Draw(moments, settings, Repetition(SEED)))), key
    for protocol in CCA_PROTOCOLS:
        assert not redraws_noise(
            distributed_cca(moments, 3, private, protocol=protocol, repetition=Repetition(SEED))
        )
    rngs = [np.random.default_rng(SEED)] * 2
    fits = fit_many(PrivateSVM(random_state=SEED), ROWS, LABELS, epsilons=[1.0], rngs=rngs)
    mean = private_mean(ROWS, bounds=(-1, 1), epsilon=1.0, rng=rngs[0])
    assert not redraws_noise([fits, mean])


def test_a_draw_holds_rows_moments_and_cannot_be_saved():
    moments = site_moments(ROWS, [np.arange(len(ROWS))])
    draw = Draw(moments, ReleaseSettings(PrivacyBudget(1.0, 0.01), 1, 1), Repetition(SEED))
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        pickle.dumps(draw)
