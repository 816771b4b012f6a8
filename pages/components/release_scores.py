"""Score plot of a release: ask for it, charge it to the project, and draw it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpcore.errors import ParameterError
from dpcore.figures.score_plot import MOST_GROUPS, density_figure
from dpcore.privacy.guarantee_in_words import say_delta, say_number
from dpcore.release.project import Project
from dpcore.release.released_pca import ReleasedPCA
from dpcore.release.score_release import SCORES, ReleasedScores, read_scores, release_scores
from pages.components.charts import is_dark, show_figure
from pages.number_format import plain

_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_ALL = "all together"


def draw_released_people(released: ReleasedPCA, data: Any, project: Project) -> None:
    """Draw the score plots of a release, and a form that asks for another one.

    data: Table of the release, as `dpcore.release.release` takes it.
    Raises `ParameterError` or `BeyondCap` if a plot is refused; nothing is charged then.
    """
    if len(released.components_) < 2:
        return
    name = released.certificate_["name"]
    for number, plot in enumerate(_plots_of(project, name)):
        _draw_plot(plot, number)
    with st.popover("Score plot of the people …"):
        epsilon = st.select_slider(
            "ε of the picture, in addition",
            _EPSILONS,
            1.0,
            format_func=plain,
            key="release_scores_epsilon",
        )
        offered = [
            column.name
            for column in released.dictionary_.columns
            if 1 < len(column.levels) <= MOST_GROUPS
        ]
        groups = _ALL
        if offered:
            groups = st.selectbox("Groups", [_ALL, *offered], key="release_scores_groups")
        delta = released.certificate_["delta"]
        st.markdown(
            f"**ε = {plain(epsilon)}** at δ = {say_delta(delta)} is charged to the project in "
            "addition to the components. This cannot be undone."
        )
        if st.button("Release the picture", key="release_scores_now"):
            _release(released, data, project, epsilon, None if groups == _ALL else groups)
            st.rerun()


def _release(
    released: ReleasedPCA, data: Any, project: Project, epsilon: float, groups: str | None
) -> None:
    of = released.certificate_["name"]
    number = 1 + len(project.releases())
    try:
        with st.spinner("Counting and drawing the noise"):
            release_scores(
                data,
                project,
                of=of,
                name=f"people-{number}",
                epsilon=epsilon,
                delta=released.certificate_["delta"],
                groups=groups,
            )
    except OSError as error:
        raise ParameterError("project", "in a folder that can be written to", error) from error


def _plots_of(project: Project, name: str) -> list[ReleasedScores]:
    folders = [
        project.path_of(release.name) for release in project.releases() if release.is_finished
    ]
    plots = [read_scores(folder) for folder in folders if (folder / SCORES).is_file()]
    return [plot for plot in plots if plot.certificate["of"] == name]


def _draw_plot(plot: ReleasedScores, number: int) -> None:
    certificate = plot.certificate
    bins = plot.counts.shape[-1]
    st.markdown(
        f"**{certificate['name']}**: {bins} × {bins} noisy counts, "
        f"ε = {say_number(certificate['epsilon'])} at δ = {say_delta(certificate['delta'])}"
    )
    show_figure(
        density_figure(plot.density, plot.edges, plot.groups, dark=is_dark()),
        key=f"release_scores_{number}",
        alt="Density of people on the first two released components.",
    )
