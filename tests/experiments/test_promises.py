"""What is promised before a run is what the run comes with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpcore.data import list_datasets
from dpcore.errors import ParameterError
from dpcore.experiments.learning.classification_problem import local_learning_problem
from dpcore.experiments.learning.classification_promises import promised_stages
from dpcore.experiments.learning.classification_runs import run_pipeline
from dpcore.experiments.learning.classification_spec import PIPELINES, ClassificationSpec
from dpcore.experiments.ledger.promises import promised
from dpcore.experiments.pca.methods import METHODS
from dpcore.experiments.pca.runs import draw_subspaces, local_problem
from dpcore.experiments.pca.spec import RunSpec

(DIGITS,) = (status for status in list_datasets() if status.name == "digits")


@pytest.mark.parametrize("key", METHODS)
@pytest.mark.parametrize(
    "change",
    [
        {},
        {"calibration": "analytic", "samples": 900, "split": "dirichlet"},
        {"split": "random", "sites": 7, "masks": "wide", "honest_sites": 3},
        {"preparation": "private", "components": 1},
    ],
    ids=lambda change: ",".join(change) or "default",
)
def test_a_promise_is_what_a_run_comes_with(key, change):
    spec = replace(RunSpec(protocols=(key,), epsilon=0.7, delta=1e-3, components=2), **change)
    found = draw_subspaces(spec, local_problem(spec.problem_key()), 0)[key]
    assert promised(spec, key, DIGITS) == found.guarantee


def test_an_unknown_protocol_is_refused():
    with pytest.raises(ParameterError, match="protocol must be one of"):
        promised(RunSpec(), "mystery", DIGITS)


@pytest.mark.parametrize("protocol", ["ag", "dpdis", "cape", "ppca"])
@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("centring_share", [0.0, 0.2])
def test_stages_of_a_pipeline(pipeline, protocol, centring_share):
    spec = ClassificationSpec(
        pipeline=pipeline, protocol=protocol, centring_share=centring_share, sites=3, components=1
    )
    problem = local_learning_problem(spec.key())
    found = run_pipeline(spec, problem).guarantees
    stages = promised_stages(spec, problem)
    assert list(stages) == list(found)
    for stage, guarantee in stages.items():
        for name in ("epsilon", "delta", "mechanism"):
            assert getattr(guarantee, name) == getattr(found[stage], name)
