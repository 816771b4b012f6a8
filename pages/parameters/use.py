"""What the pages under Use ask, and what an address says of a presentation on every page."""

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
        "slider", "Target: share of the energy exact PCA captures, in %", 75, low=50, high=99
    ),
    "plan_find": OneOf("selectbox", "Find", "epsilon", WANTED),
    "plan_protocol": OneOf(
        "selectbox",
        "Over",
        EVERY_PROTOCOL,
        lambda: (EVERY_PROTOCOL, *between_sites()),
        help="Every protocol is tried with every preparation, and pictures with and without their "
        "lowest frequencies.",
        label=lambda key: "every protocol" if key == EVERY_PROTOCOL else title_of(key),
    ),
}
REPRODUCE: dict[str, Parameter] = {
    "reproduce_group": OneOf(
        "selectbox", "What is plotted", next(iter(panel_groups())), lambda: tuple(panel_groups())
    ),
    **{
        f"reproduce_panel_{number}": OneOf(
            "selectbox", "Panel", names[0], partial(_panels, number), label=panel_label
        )
        for number, names in enumerate(panel_groups().values())
    },
    "reproduce_draws": OneOf(
        "segmented_control",
        "Draws",
        "quick",
        {key: f"{draws}, {key}" for key, draws in PANEL_DRAWS.items()},
    ),
    "reproduce_repaired": Switch(
        f"Also with {REPAIRED}",
        help="The calibration that is exact, the noise that is least, and the truncation that "
        "cuts strongly negative noise; drawn dotted.",
    ),
}
REPRODUCE_2012 = {
    "reproduce_2012_figure": OneOf(
        "selectbox",
        "Figure",
        "2012-fig2",
        {name: each.title.removeprefix("2012, ") for name, each in FIGURES_2012.items()},
    ),
    "reproduce_2012_draws": OneOf(
        "segmented_control", "How many times", "quick", ("quick", "as published")
    ),
}
STUDY: dict[str, Parameter] = {
    "study_protocol": OneOf(
        "selectbox",
        "Protocol",
        "securesum",
        ("securesum", "cape", "full", "dpdis", "sequential"),
        label=title_of,
    ),
    "study_epsilon": OneOf(
        "select_slider", "ε of an attempt", 1.0, (0.1, 0.2, 0.5, 1.0, 2.0, 5.0), label=plain
    ),
    "study_sites": Number("number_input", "Hospitals", 5, low=3, high=6),
    "study_silent": Switch(
        "The last one falls silent",
        help="Its program is ended when it has joined, before it answers.",
    ),
}
# More than anybody sits through.
MOST_PINS = 60
PRESENTING: dict[str, Parameter] = {
    "present": Switch("Presenter mode"),
    "slide": Number("number_input", "Slide of the deck", 0, low=0, high=MOST_PINS),
}
# Numbers of pins, whichever there are.
_PIN = tuple(range(1, MOST_PINS + 1))
DECK: dict[str, Parameter] = {
    "deck_a": OneOf("selectbox", "A", 1, _PIN),
    "deck_b": OneOf("selectbox", "B", 2, _PIN),
}
USE = (
    PRESENTING
    | of_page("deck", DECK)
    | of_page("plan", PLAN)
    | of_page("reproduce", REPRODUCE)
    | of_page("reproduce_2012", REPRODUCE_2012)
    | of_page("study", STUDY)
)
