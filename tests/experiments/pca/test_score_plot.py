"""Score plot of a run: its own charge, its adversaries, and no plot of exact components."""

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.experiments.pca import RunSpec, draw_subspaces
from dpcore.experiments.pca.problem import load_prepared, local_problem
from dpcore.experiments.pca.score_plot import plot_scores
from dpcore.figures.score_plot import density_figure, scatter_figure
from dpcore.privacy import Accountant, Adversary


def plot(protocol, *, epsilon=1.0, by_group=True, **fields):
    spec = RunSpec(dataset="breast-cancer", protocols=(protocol,), epsilon=3.0, **fields)
    problem = local_problem(spec.problem_key())
    prepared = load_prepared(*spec.problem_key().data)
    subspace = draw_subspaces([spec], problem, 0)[0][protocol]
    return plot_scores(spec, prepared, problem, subspace, epsilon=epsilon, by_group=by_group)


@pytest.mark.parametrize("protocol", ["dpdis", "securesum", "pooled"])
def test_the_plot_costs_its_own_budget_against_the_adversaries_of_the_run(protocol):
    score_plot = plot(protocol)
    assert score_plot.released.guarantee.epsilon == pytest.approx(1.0, rel=1e-6)
    is_at_sites = protocol != "pooled"
    adversaries = {entry.adversary for entry in score_plot.released.guarantee.against}
    assert adversaries == (set(Adversary) if is_at_sites else set())
    accountant = Accountant("breast-cancer")
    accountant.charge(score_plot.charge)
    accountant.charge(plot(protocol, epsilon=2.0).charge)
    assert accountant.total(1e-5) > 2.0


def test_sites_add_more_noise_than_a_holder_unless_they_share_it():
    noise = [plot(protocol).released.noise_scale for protocol in ("pooled", "securesum", "dpdis")]
    assert noise == sorted(noise) and noise[1] < 1.2 * noise[0] < noise[2] / 1.5


def test_exact_components_and_single_components_have_no_plot():
    for protocol, fields in (("exact", {}), ("pooled", {"components": 1})):
        with pytest.raises(ParameterError):
            plot(protocol, **fields)


def test_figures_show_each_group_that_has_people():
    score_plot = plot("pooled", epsilon=3.0)
    private = density_figure(
        score_plot.released.density, score_plot.released.edges, score_plot.names
    )
    assert {annotation.text for annotation in private.layout.annotations} == {
        f"<b>{name}</b>" for name in score_plot.names
    }
    exact = scatter_figure(
        score_plot.points, score_plot.groups, score_plot.released.edges, score_plot.names
    )
    assert sum(len(trace.x) for trace in exact.data) == len(score_plot.points)
    single = plot("pooled", by_group=False)
    assert np.shape(single.released.counts)[0] == 1
    assert density_figure(single.released.density, single.released.edges, single.names).data
