"""The displayed steps are those of the protocol."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpcore.experiments.pca import RunSpec, draw_subspaces, run_repetitions
from dpcore.experiments.pca.problem import local_problem
from dpcore.pca import Draw, aggregate, aggregator, draw, encode_message, site, site_message
from dpcore.pca.protocols.distributed import dpdis
from dpcore.streams import Purpose, Repetition
from dpcore.teaching.algorithm1 import STEPS, Walk, walk

SPECS = {
    "published": RunSpec(protocols=("dpdis",), sites=4, preparation="published"),
    "sphere": RunSpec(protocols=("dpdis",), sites=3),
    "private mean": RunSpec(
        protocols=("dpdis",), sites=3, preparation="bounded", truncation="psd", noise="isometric"
    ),
    "skewed": RunSpec(protocols=("dpdis",), sites=3, split="dirichlet", concentration=0.2, seed=5),
}


def walk_of(spec: RunSpec, site: int = 1) -> Walk:
    return walk(spec, local_problem(spec.problem_key()), site)


@pytest.fixture(params=SPECS.values(), ids=SPECS.keys())
def spec(request) -> RunSpec:
    return request.param


def test_it_ends_where_the_protocol_ends(spec):
    walked = walk_of(spec)
    subspace = draw_subspaces([spec], local_problem(spec.problem_key()), 0)[0]["dpdis"]
    np.testing.assert_allclose(walked.components, subspace.components, atol=1e-12)
    row = run_repetitions([spec], local_problem(spec.problem_key()), 0)[0][0]
    assert walked.steps[-1].energy_ratio == pytest.approx(row["energy_ratio"], rel=1e-10)
    assert len(encode_message(walked.message)) == walked.steps[5].facts["bytes"]


def test_the_eigenvalues_kept_rebuild_the_cut_matrix(spec):
    walked = walk_of(spec)
    steps = {step.key: step for step in walked.steps}
    noisy, vectors = (panel.matrix for panel in steps["decomposition"].panels)
    np.testing.assert_allclose(vectors * walked.eigenvalues @ vectors.T, noisy, atol=1e-10)
    kept = vectors[:, : walked.n_kept]
    cut = steps["truncation"].panels[-1].matrix
    strengths = walked.eigenvalues[: walked.n_kept]
    sizes = np.abs(strengths) if spec.truncation == "svd" else np.maximum(strengths, 0)
    np.testing.assert_allclose(kept * sizes @ kept.T, cut, atol=1e-10)


def test_nothing_before_the_noise_counts_as_private(spec):
    walked = walk_of(spec)
    assert [step.key for step in walked.steps] == list(STEPS)
    panels = [panel for step in walked.steps for panel in step.panels]
    open_panels = {panel.name for panel in panels if not panel.private}
    assert open_panels == {"A_s", "E_s"}


def test_the_noise_step_adds_up():
    moment, noise, noisy = (panel.matrix for panel in walk_of(SPECS["published"]).steps[1].panels)
    np.testing.assert_allclose(moment + noise, noisy, atol=1e-15)


def weakest_eigenvalues(spec: RunSpec) -> list[float]:
    """Return the K-th eigenvalue of A_c: from single sites, from the draw of a page, and from the
    walk.
    """
    problem = local_problem(spec.problem_key())
    settings = spec.settings(problem.n_features, problem.default_components)
    repetition, moments = Repetition(spec.seed), problem.moments
    messages = [
        site_message(moment, int(n), settings, rng=repetition.rng(Purpose.SITE_NOISE, number))
        for number, (moment, n) in enumerate(
            zip(moments.second_moments, moments.n_samples, strict=True)
        )
    ]
    return [
        float(aggregate(messages, settings.n_components)[0][-1]),
        float(dpdis(Draw(moments, settings, repetition)).eigenvalues[-1]),
        walk_of(spec).steps[-1].facts["weakest"],
    ]


@pytest.mark.parametrize(
    ("owners", "step", "grows"),
    [
        ((site, draw), "noisy_second_moment", 2),
        ((site,), "proxy_from", 4),
        ((aggregator,), "proxy_aggregates", 2),
    ],
)
def test_there_is_one_algorithm_1(monkeypatch, owners, step, grows):
    """A step that is changed to double its result changes real sites, pages and the walk alike."""
    spec = SPECS["published"]
    before = weakest_eigenvalues(spec)
    assert before[0] == before[1] == before[2]
    original = getattr(owners[0], step)

    def doubled(*arguments, **options):
        made = original(*arguments, **options)
        return 2 * made if isinstance(made, np.ndarray) else (2 * matrix for matrix in made)

    for owner in owners:
        monkeypatch.setattr(owner, step, doubled)
    np.testing.assert_allclose(weakest_eigenvalues(spec), np.multiply(grows, before), rtol=1e-9)


def test_fewer_directions_than_components_keep_less():
    spec = replace(SPECS["published"], components=10, intermediate_dim=3)
    before, after = (step.energy_ratio for step in walk_of(spec).steps[3:5])
    assert after < before
