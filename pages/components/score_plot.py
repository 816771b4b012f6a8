"""Score plot of people on the first two components: the private one next to the exact one."""

from __future__ import annotations

import streamlit as st

from dpcore.experiments.pca import RunSpec
from dpcore.experiments.pca.score_plot import ScorePlot, plot_scores
from dpcore.figures.score_plot import MOST_GROUPS, density_figure, scatter_figure
from dpcore.params import EPSILONS
from pages import cached
from pages.components import charts, guarantee, ledger, notices

_OFFERED = tuple(epsilon for epsilon in EPSILONS if epsilon >= 0.1)


def draw_score_plot(spec: RunSpec) -> None:
    """Draw the score plot of the first protocol of a specification, and charge it.

    The plot is a query of its own, whose ε adds to that of the components.
    """
    single = cached.one_run(spec, spec.protocols[0])
    prepared = cached.prepared(*spec.problem_key().data)
    subspace = cached.subspaces(single)[spec.protocols[0]]
    if len(subspace.components) < 2 or not subspace.guarantee.is_private:
        st.caption("A score plot needs two private components or more.")
        return
    n_groups = len(prepared.label_names or ())
    with st.container(horizontal=True, vertical_alignment="bottom"):
        epsilon = st.select_slider(
            "ε of the picture, in addition", _OFFERED, value=1.0, key="score_plot_epsilon"
        )
        may_split = prepared.labels is not None and 1 < n_groups <= MOST_GROUPS
        by_group = may_split and st.toggle("By group", value=True, key="score_plot_groups")
    plot = _plot(single, epsilon, by_group)
    ledger.charge([plot.charge])
    names = plot.names
    private, exact = st.columns(2, gap="large")
    with private:
        released = plot.released
        st.markdown(f"**Private**, {released.n_bins} × {released.n_bins} noisy counts")
        charts.show_figure(
            density_figure(released.density, released.edges, names, dark=charts.is_dark()),
            key="score_plot_private",
            alt="Density of people on the first two private components.",
        )
    with exact:
        st.markdown("**Not private**: every dot is a person")
        charts.show_figure(
            scatter_figure(plot.points, plot.groups, released.edges, names, dark=charts.is_dark()),
            key="score_plot_exact",
            alt="Exact scores of people on the same components. Not private.",
        )
    guarantee.summarize(released.guarantee, reads_rows_first=spec.reads_rows_first)
    notices.mark_not_private("The right picture", "shows exact scores.")


@cached.cached(32)
def _plot(spec: RunSpec, epsilon: float, by_group: bool) -> ScorePlot:
    key = spec.problem_key()
    return plot_scores(
        spec,
        cached.problems.prepared(*key.data),
        cached.problems(key),
        cached.subspaces(spec)[spec.protocols[0]],
        epsilon=epsilon,
        by_group=by_group,
    )
