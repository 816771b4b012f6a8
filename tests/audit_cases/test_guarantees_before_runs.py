"""The guarantee stated before a run equals the guarantee of the run."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dpcore.data import list_datasets
from dpcore.data.row_bounds import MODES
from dpcore.errors import ParameterError
from dpcore.experiments.classification import ClassificationSpec, run_pipeline
from dpcore.experiments.classification.problem import local_learning_problem
from dpcore.experiments.classification.spec import PIPELINES
from dpcore.experiments.classification.stages import stage_guarantees
from dpcore.experiments.pca import RunSpec, draw_subspaces, run_repetitions
from dpcore.experiments.pca.problem import local_problem
from dpcore.pca.protocols.protocol import Kind
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import CALIBRATIONS, CapeScales, cape_mu, describe, gaussian_epsilon

(DIGITS,) = (status for status in list_datasets() if status.name == "digits")


@pytest.mark.parametrize("key", PROTOCOLS)
@pytest.mark.parametrize(
    "change",
    [
        {},
        {"calibration": "analytic", "samples": 900, "split": "dirichlet"},
        {"split": "random", "sites": 7, "masks": "wide", "honest_sites": 3},
        {"preparation": "bounded", "components": 1},
    ],
    ids=lambda change: ",".join(change) or "default",
)
def test_a_guarantee_is_what_a_run_comes_with(key, change):
    spec = replace(RunSpec(protocols=(key,), epsilon=0.7, delta=1e-3, components=2), **change)
    subspace = draw_subspaces([spec], local_problem(spec.problem_key()), 0)[0][key]
    assert spec.guarantee(key, DIGITS) == subspace.guarantee


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("preparation", MODES)
@pytest.mark.parametrize(
    "protocol", [key for key in PROTOCOLS if PROTOCOLS[key].kind is Kind.APPROXIMATE]
)
def test_one_sigma_from_the_noise_to_the_card(protocol, preparation, calibration):
    """The sigma of the draw, of the row and of the card are equal before and after a run."""
    spec = RunSpec(
        protocols=(protocol,),
        epsilon=0.9,
        components=2,
        sites=7,
        preparation=preparation,
        calibration=calibration,
    )
    problem = local_problem(spec.problem_key())
    subspace = draw_subspaces([spec], problem, 0)[0][protocol]
    (row,) = run_repetitions([spec], problem, 0)[0]
    guarantee = spec.guarantee(protocol, DIGITS)
    assert guarantee == subspace.guarantee
    assert guarantee.sigma == row["sigma"] == subspace.sigma.max() > 0
    assert f"σ = {row['sigma']:.3g}, " in next(
        line.value for line in describe(guarantee).rows if line.label == "Noise"
    )
    mu = guarantee.l2_sensitivity / guarantee.sigma
    if protocol == "cape":
        scales = CapeScales(_mask_of(subspace.sigma[0], spec), guarantee.sigma)
        mu = max(cape_mu(guarantee.l2_sensitivity, scales, spec.sites, spec.sites - 1).values())
    if protocol == "securesum":
        # All sites but one are counted on, and each adds a part of the noise.
        mu /= math.sqrt(spec.sites - 1)
    assert guarantee.mu == pytest.approx(mu, rel=1e-12)
    exact = gaussian_epsilon(spec.delta, 1.0, mu)
    assert row["exact_epsilon"] == guarantee.epsilon == pytest.approx(exact, rel=1e-9)


def _mask_of(noise: float, spec: RunSpec) -> float:
    """Return the scale of published masks: the root of S times the remaining noise."""
    return noise * math.sqrt(spec.sites)


def test_an_unknown_protocol_is_refused():
    with pytest.raises(ParameterError, match="protocol must be one of"):
        RunSpec().guarantee("mystery", DIGITS)


@pytest.mark.parametrize("protocol", ["ag", "dpdis", "cape", "ppca"])
@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("centring_share", [0.0, 0.2, None])
def test_stages_of_a_pipeline(pipeline, protocol, centring_share):
    spec = ClassificationSpec(
        pipeline=pipeline, protocol=protocol, centring_share=centring_share, sites=3, components=1
    )
    problem = local_learning_problem(spec.problem_key())
    guarantees = run_pipeline(spec, problem).guarantees
    stages = stage_guarantees(spec, problem)
    assert list(stages) == list(guarantees)
    for stage, guarantee in stages.items():
        for name in ("epsilon", "delta", "mechanism"):
            assert getattr(guarantee, name) == getattr(guarantees[stage], name)
