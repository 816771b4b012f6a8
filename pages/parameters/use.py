"""What the pages under Use ask, but for lists they make themselves."""

from __future__ import annotations

from dpcore.experiments.papers.nips2012_figures import FIGURES_2012
from pages.parameters.kinds import Number, OneOf, Parameter, Switch
from pages.parameters.words import BETWEEN_SITES, title_of

WANTED = {
    "epsilon": "the smallest ε",
    "people_per_site": "the fewest people per site",
    "intermediate_dim": "the smallest R",
    "sites": "the most sites",
}
USE: dict[str, Parameter] = {
    "plan_target": Number(page="plan", control="slider", low=50, high=99, default=75),
    "plan_find": OneOf(
        page="plan",
        control="selectbox",
        default="epsilon",
        options=tuple(WANTED),
        label=WANTED.__getitem__,
    ),
    "plan_protocol": OneOf(
        page="plan",
        control="selectbox",
        default="dpdis",
        options=BETWEEN_SITES,
        label=title_of,
        offered="a protocol of its list",
    ),
    "reproduce_2012_figure": OneOf(
        page="reproduce_2012",
        control="selectbox",
        default="2012-fig2",
        options=tuple(FIGURES_2012),
    ),
    "reproduce_2012_draws": OneOf(
        page="reproduce_2012",
        control="segmented_control",
        default="quick",
        options=("quick", "as published"),
    ),
    "reproduce_repaired": Switch(page="reproduce"),
}
