"""Specs: frozen, complete, and checked when they are created."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import pytest

from dpcore.errors import ParameterError
from dpcore.experiments.cca import CcaSpec
from dpcore.experiments.central import CentralSpec
from dpcore.experiments.central.sample_sizes import ComplexitySpec
from dpcore.experiments.classification import ClassificationSpec
from dpcore.experiments.engine.fields import (
    CUSTOM,
    VERSIONS,
    ProblemKey,
    version_fields,
    version_of,
)
from dpcore.experiments.engine.grid import Sweep
from dpcore.experiments.pca import RunSpec, run
from dpcore.experiments.statistics import ErrorsSpec, StatisticSpec
from dpcore.papers.nips2012_draws import DrawsSpec
from dpcore.papers.nips2012_table import TableSpec

DATA_SIDE = {
    "dataset",
    "samples",
    "sites",
    "split",
    "preparation",
    "knowledge",
    "reference",
    "seed",
}


@pytest.mark.parametrize(
    ("changes", "parameter"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"delta": -1e-9}, "delta"),
        ({"delta": math.nan}, "delta"),
        ({"sites": 0}, "sites"),
        ({"sites": 2.5}, "sites"),
        ({"samples": 9, "sites": 5}, "samples"),
        ({"repetitions": 0}, "repetitions"),
        ({"seed": -1}, "seed"),
        ({"protocols": ()}, "protocols"),
        ({"preparation": "raw"}, "preparation"),
        ({"split": "halves"}, "split"),
        ({"concentration": 0.0}, "concentration"),
        ({"concentration": math.inf}, "concentration"),
        ({"reference": "nobody"}, "reference"),
        ({"limits": "pixels=2:1"}, "limits"),
        ({"limits": "Aspect=0:1"}, "limits"),
    ],
)
def test_a_bad_value_is_named_with_its_constraint(changes, parameter):
    with pytest.raises(ParameterError, match=f"^{parameter} must be .+, got ") as caught:
        RunSpec(**changes)
    assert caught.value.parameter == parameter


def test_the_problem_depends_on_the_data_side_alone():
    """A change of ε, δ, R, K or the noise must use the cached moments."""
    base = RunSpec(samples=100, preparation="published")
    other = {
        "dataset": "mnist",
        "protocols": ("full",),
        "epsilon": 2.0,
        "delta": 0.1,
        "sites": 2,
        "samples": 50,
        "components": 3,
        "intermediate_dim": 4,
        "calibration": "analytic",
        "noise": "isometric",
        "truncation": "psd",
        "denoise": "columns",
        "preparation": "bounded",
        "norm_bound": 3.0,
        "limits": "pixels=0:8",
        "mean_share": 0.5,
        "knowledge": "dct:50",
        "split": "dirichlet",
        "concentration": 0.1,
        "masks": "wide",
        "encoding": "float16",
        "dropped_sites": 1,
        "honest_sites": 2,
        "reference": "all",
        "resample": True,
        "repetitions": 3,
        "seed": 1,
    }
    assert set(other) == {field.name for field in fields(RunSpec)}
    moved = {
        name
        for name, value in other.items()
        if replace(base, **{name: value}).problem_key() != base.problem_key()
    }
    assert moved == DATA_SIDE
    # Fields that matter only together with another one.
    skewed = replace(base, split="dirichlet")
    for preparation in ("sphere", "bounded", "none"):
        private = replace(base, preparation=preparation)
        assert replace(private, norm_bound=3.0).problem_key() != private.problem_key()
        assert replace(private, limits="pixels=0:8").problem_key() != private.problem_key()
    assert replace(skewed, concentration=0.1).problem_key() != skewed.problem_key()
    assert {field.name for field in fields(ProblemKey)} == DATA_SIDE | {
        "norm_bound",
        "limits",
        "concentration",
        "drawing",
    }


def test_defaults_depend_on_the_data_set():
    settings = RunSpec().settings(n_features=64, default_components=10)
    assert (settings.n_components, settings.intermediate_dim) == (10, 20)
    settings = RunSpec(components=5).settings(n_features=7, default_components=10)
    assert (settings.n_components, settings.intermediate_dim) == (5, 7)


@pytest.mark.parametrize(
    ("preparation", "share"), [("sphere", 0.3), ("bounded", 0.3), ("none", 0), ("published", 0)]
)
def test_a_private_mean_is_paid_only_where_one_is_centred_by(preparation, share):
    settings = RunSpec(preparation=preparation, mean_share=0.3).settings(64, 10)
    assert settings.mean_share == share
    assert settings.on_sphere == (preparation == "sphere")


def test_what_everybody_gets_is_private_and_what_the_paper_printed_is_not():
    assert RunSpec().preparation == "sphere"
    assert RunSpec.published().preparation == "published"
    assert RunSpec.published(preparation="none").preparation == "none"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("epsilon", value) for value in (math.nan, -math.inf, 1e-320)),
        *(("delta", value) for value in (math.nan, -math.inf, 1e-320)),
        ("epsilon", 1e308),
        ("delta", math.inf),
        *((name, 10**400) for name in ("sites", "samples", "repetitions", "seed")),
        *((name, math.inf) for name in ("sites", "repetitions", "seed")),
        *(("concentration", value) for value in (1e308, 1e-320, math.inf, math.nan)),
        *(("norm_bound", value) for value in (0.0, math.inf, math.nan)),
    ],
)
def test_what_would_overflow_is_refused_in_a_short_sentence(name, value):
    with pytest.raises(ParameterError) as refused:
        RunSpec(**{name: value})
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    "vary", [("intermediate_ratio", (1e308,)), ("people_per_site", (10**400,)),
             ("components", (10**400,))]
)  # fmt: skip
def test_a_sweep_skips_what_would_overflow(vary):
    (cell,) = Sweep(RunSpec(), (vary,)).cells()
    assert cell.spec is None and len(cell.reason) < 250


@pytest.mark.parametrize(
    "bounds", [(0.0, 1e-320), (0.0, 1e160), (-math.inf, 0.0), (1e9, 1e9 + 1e-6), (0.0, math.nan)]
)
@pytest.mark.parametrize("kind", ["mean", "variance", "histogram"])
def test_bounds_that_would_overflow_are_refused(kind, bounds):
    with pytest.raises(ParameterError):
        StatisticSpec(kind, *bounds)


@pytest.mark.parametrize("kind", [RunSpec, CcaSpec])
def test_the_default_keeps_its_guarantee_and_the_published_one_has_a_name(kind):
    assert kind() == kind.improved()
    told = {"calibration": "analytic", "noise": "isometric", "truncation": "psd"}
    assert {name: getattr(kind(), name) for name in told} == told
    printed = kind.published(epsilon=3.0)
    assert (printed.epsilon, printed.calibration, printed.noise) == (3.0, "published", "triangle")
    assert kind.published(truncation="psd").truncation == "psd"


def test_a_default_release_guarantees_at_least_what_was_requested():
    """The printed calibration at the same ε has an exact ε that is larger by 0.53."""
    asked = RunSpec(epsilon=3.0, repetitions=1)
    assert all(row["exact_epsilon"] <= 3.0 for row in run(asked))
    printed = RunSpec.published(epsilon=3.0, repetitions=1, protocols=("full",))
    assert next(run(printed))["exact_epsilon"] == pytest.approx(3.53, abs=0.01)


def test_rows_on_disk_do_not_depend_on_the_names_of_modules():
    families = [CcaSpec, CentralSpec, ClassificationSpec, ComplexitySpec, DrawsSpec]
    families += [ErrorsSpec, RunSpec, TableSpec]
    names = [family.experiment for family in families]
    assert len(set(names)) == len(names)
    assert not [name for name in names if ":" in name or "dpcore" in name]


@pytest.mark.parametrize(("version", "rows", "delta"), [
    ("published", 569, 0.01), ("published", 60_000, 0.01),
    ("improved", 569, 1e-5), ("improved", 60_000, 1e-6),
])  # fmt: skip
def test_a_version_sets_every_step_of_a_run_and_is_recognised(version, rows, delta):
    fields = version_fields(version, rows)
    assert fields["delta"] == delta
    spec = replace(RunSpec(), **fields)
    assert version_of(vars(spec)) == version
    assert version_of(vars(replace(spec, delta=0.5))) == version
    for name in fields.keys() - {"delta"}:
        others = {other[name] for other in VERSIONS.values()} - {fields[name]}
        assert version_of(vars(spec) | {name: others.pop()}) == CUSTOM


def test_an_unknown_version_is_refused():
    with pytest.raises(ParameterError, match="version"):
        version_fields("custom", 100)
