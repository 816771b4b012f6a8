"""Every assumption of every algorithm is one of the sentences that are explained."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.cca import PROTOCOLS as CCA_PROTOCOLS
from dpcore.classification import PrivateLogisticRegression, PrivateSVM
from dpcore.data.synthetic import synthetic_views
from dpcore.experiments.cca import CcaSpec, draw_pairs
from dpcore.experiments.cca.problem import build_cca_problem
from dpcore.experiments.classification import ClassificationSpec, run_pipeline
from dpcore.experiments.classification.problem import local_learning_problem
from dpcore.experiments.classification.stages import total_guarantee
from dpcore.experiments.pca import RunSpec, draw_subspaces
from dpcore.experiments.pca.problem import local_problem
from dpcore.pca.protocols.protocol import Where
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import Assumption, Guarantee
from dpcore.statistics import MECHANISMS, private_histogram, private_mean

TRUSTED = {Assumption.TRUSTED_HOLDER}
MASKED = {Assumption.ENOUGH_HONEST_SITES, Assumption.JOINT_MASKS}
TRUST_IN_SUM = {Assumption.ENOUGH_HONEST_SITES, Assumption.AGREED_MASKS}


def assumed(guarantee: Guarantee) -> set[Assumption]:
    assert all(isinstance(assumption, Assumption) for assumption in guarantee.assumptions)
    if guarantee.assumptions:
        assert {Assumption.ROW_OF_ONE_PERSON, Assumption.SECRET_SEED} <= {*guarantee.assumptions}
    assert len(set(guarantee.assumptions)) == len(guarantee.assumptions)
    return set(guarantee.assumptions)


@pytest.mark.parametrize("key", PROTOCOLS)
def test_components(key):
    spec = RunSpec(protocols=(key,), sites=3, components=2, delta=1e-3)
    guarantee = draw_subspaces([spec], local_problem(spec.problem_key()), 0)[0][key].guarantee
    assumptions = assumed(guarantee)
    if not guarantee.is_private or guarantee.mechanism == "data-independent":
        return
    assert {Assumption.ONE_ROW_A_PERSON, Assumption.SECRET_SEED} <= assumptions
    assert (assumptions >= TRUSTED) == (not PROTOCOLS[key].is_distributed)
    assert (Assumption.HONEST_SITES in assumptions) == PROTOCOLS[key].is_distributed
    assert (Assumption.DISJOINT_SITES in assumptions) == (PROTOCOLS[key].where is Where.EVERY_SITE)
    assert (assumptions >= MASKED) == (key == "cape")
    assert (assumptions >= TRUST_IN_SUM) == (key == "securesum")
    assert (Assumption.EXACT_DRAWS in assumptions) == (key == "ppca")
    assert (Assumption.VERDICT_WITH_HOLDER in assumptions) == (key == "ppca")


@pytest.mark.parametrize("key", CCA_PROTOCOLS)
def test_canonical_pairs(key):
    views = synthetic_views(200, 4, 4, 2, 0.5, rng=np.random.default_rng(0))
    spec = CcaSpec(protocols=(key,), sites=2, components=1)
    assumptions = assumed(
        draw_pairs(spec, build_cca_problem(views, spec.problem_key()), key, 0).guarantee
    )
    assert (assumptions >= TRUSTED) == (key == "pooled")
    assert (assumptions >= MASKED) == (key == "cape")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_statistics(mechanism):
    ages = np.arange(50.0)
    rng = np.random.default_rng(0)
    asked = {"epsilon": 1.0, "delta": 0.01 * (mechanism == "gaussian"), "mechanism": mechanism}
    for release in (
        private_mean(ages, bounds=(0, 50), rng=rng, **asked),
        private_histogram(ages, edges=[0, 25, 50], rng=rng, **asked),
    ):
        assumptions = assumed(release.guarantee)
        assert {Assumption.PUBLIC_RANGE, *TRUSTED} <= assumptions
        assert (Assumption.FEW_DIGITS in assumptions) == (mechanism == "laplace")


@pytest.mark.parametrize("protocol", ["ag", "dpdis"])
def test_a_pipeline_assumes_what_its_stages_do(protocol):
    spec = ClassificationSpec(protocol=protocol, centring_share=0.2, sites=2, components=3)
    outcome = run_pipeline(spec, local_learning_problem(spec.problem_key()))
    stages = [assumed(guarantee) for guarantee in outcome.guarantees.values()]
    assert len(stages) == 3
    assert assumed(total_guarantee(spec, outcome.guarantees)) == set.union(*stages)
    assert all(Assumption.SECRET_SEED in stage for stage in stages)


@pytest.mark.parametrize("estimator", [PrivateSVM, PrivateLogisticRegression])
def test_classifiers(estimator):
    X = np.random.default_rng(0).normal(size=(60, 2)) / 10
    assumptions = assumed(estimator(random_state=1).fit(X, X[:, 0] > 0).guarantee_)
    assert {Assumption.PUBLIC_LABELS, *TRUSTED} <= assumptions
