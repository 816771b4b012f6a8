"""What the pages under Use ask."""

from __future__ import annotations

from functools import partial

from dpcore.data import dataset_status
from dpcore.experiments.papers.dpdispca_figures import FIGURES
from dpcore.experiments.papers.nips2012_figures import FIGURES_2012
from pages.parameters.kinds import Number, OneOf, Parameter, Switch, of_page
from pages.parameters.words import between_sites, plain, title_of

WANTED = {
    "epsilon": "the smallest ε",
    "people_per_site": "the fewest people per site",
    "intermediate_dim": "the smallest R",
    "sites": "the most sites",
}
EVERY_PROTOCOL = "every"
# Two draws could tell nothing from luck, whatever their difference.
PANEL_DRAWS = {"quick": 3, "as published": 10}
REPAIRED = "analytic, isometric, psd"


def panel_groups() -> dict[str, list[str]]:
    """Published panels by what they plot."""
    found: dict[str, list[str]] = {}
    for name, figure in FIGURES.items():
        found.setdefault(figure.title.partition(",")[0], []).append(name)
    return found


def panel_label(name: str) -> str:
    """A panel and its data set."""
    return f"{name}: {dataset_status(FIGURES[name].base.dataset).title}"


def _panels(number: int) -> list[str]:
    return list(panel_groups().values())[number]


PLAN = {
    "plan_target": Number(
        control="slider",
        title="Target: share of the energy exact PCA captures, in %",
        low=50,
        high=99,
        default=75,
    ),
    "plan_find": OneOf(
        control="selectbox",
        title="Find",
        default="epsilon",
        options=tuple(WANTED),
        label=WANTED.__getitem__,
    ),
    "plan_protocol": OneOf(
        control="selectbox",
        title="Over",
        help="Every protocol is tried with every preparation, and pictures with and without their "
        "lowest frequencies.",
        default=EVERY_PROTOCOL,
        options=lambda: (EVERY_PROTOCOL, *between_sites()),
        label=lambda key: "every protocol" if key == EVERY_PROTOCOL else title_of(key),
    ),
}
REPRODUCE: dict[str, Parameter] = {
    "reproduce_group": OneOf(
        control="selectbox",
        title="What is plotted",
        default=next(iter(panel_groups())),
        options=lambda: tuple(panel_groups()),
    ),
    **{
        f"reproduce_panel_{number}": OneOf(
            control="selectbox",
            title="Panel",
            default=names[0],
            options=partial(_panels, number),
            label=panel_label,
        )
        for number, names in enumerate(panel_groups().values())
    },
    "reproduce_draws": OneOf(
        control="segmented_control",
        title="Draws",
        default="quick",
        options=tuple(PANEL_DRAWS),
        label=lambda key: f"{PANEL_DRAWS[key]}, {key}",
    ),
    "reproduce_repaired": Switch(
        title=f"Also with {REPAIRED}",
        help="The calibration that is exact, the noise that is least, and the truncation that "
        "cuts strongly negative noise; drawn dotted.",
    ),
}
REPRODUCE_2012 = {
    "reproduce_2012_figure": OneOf(
        control="selectbox",
        title="Figure",
        default="2012-fig2",
        options=tuple(FIGURES_2012),
        label=lambda name: FIGURES_2012[name].title.removeprefix("2012, "),
    ),
    "reproduce_2012_draws": OneOf(
        control="segmented_control",
        title="How many times",
        default="quick",
        options=("quick", "as published"),
    ),
}
STUDY: dict[str, Parameter] = {
    "study_protocol": OneOf(
        control="selectbox",
        title="Protocol",
        default="securesum",
        options=("securesum", "cape", "full", "dpdis", "sequential"),
        label=title_of,
    ),
    "study_epsilon": OneOf(
        control="select_slider",
        title="ε of an attempt",
        default=1.0,
        options=(0.1, 0.2, 0.5, 1.0, 2.0, 5.0),
        label=plain,
    ),
    "study_sites": Number(control="number_input", title="Hospitals", low=3, high=6, default=5),
    "study_silent": Switch(
        title="The last one falls silent",
        help="Its program is ended when it has joined, before it answers.",
    ),
}
USE = (
    of_page("plan", PLAN)
    | of_page("reproduce", REPRODUCE)
    | of_page("reproduce_2012", REPRODUCE_2012)
    | of_page("study", STUDY)
)
