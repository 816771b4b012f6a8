"""The controls every page's address may set, in the order in which the sidebar draws them."""

from __future__ import annotations

from dpcore.data.preparation import RENAMED
from dpcore.data.sites import MOST_SITES
from dpcore.experiments.engine.control_ranges import (
    DELTAS,
    EPSILONS,
    LARGEST_SEED,
    MOST_REPETITIONS,
    PEOPLE_PER_SITE,
)
from dpcore.experiments.pca.public_knowledge import CHOICES, NO_KNOWLEDGE, say_knowledge
from dpcore.experiments.pca.spec import PREPARATIONS
from pages.parameters.kinds import (
    LONGEST_WRITTEN,
    Limits,
    Number,
    OneOf,
    Parameter,
    Switch,
)
from pages.parameters.words import (
    EVERYBODY,
    MOST_FEATURES,
    NUMERIC,
    between_sites,
    plain,
    title_of,
)
from pages.sidebar import own_table

FIRST: dict[str, Parameter] = {
    "dataset": OneOf(
        control="selectbox",
        title="Data set",
        default="digits",
        # Named as the address names them, so that ?dataset=mnist works on any machine.
        options=lambda: (*(entry.name for entry in NUMERIC), *own_table.names()),
        label=own_table.shown_name,
        words="a data set of the list",
    ),
    "protocols": OneOf(
        control="pills",
        title="Protocols",
        default=["dpdis", "full", "local", "pooled"],
        options=between_sites,
        label=title_of,
        several=True,
        words="protocols of the list",
    ),
    "epsilon": OneOf(
        control="select_slider",
        title="Privacy parameter ε (smaller is more private)",
        default=1.0,
        options=EPSILONS,
        label=plain,
        words=f"a step of its slider, {EPSILONS[0]:g} to {EPSILONS[-1]:g}",
    ),
    "delta": OneOf(
        control="select_slider",
        title="δ, a slack on every probability",
        help="What is e^ε times as likely may be likelier by δ besides. It is not the chance that "
        "the odds move further: under Gaussian noise they do more often, and the card says how "
        "often. Well below one over the number of people.",
        default=1e-2,
        options=DELTAS,
        label=plain,
        words=f"a step of its slider, {DELTAS[0]:g} to {DELTAS[-1]:g}",
    ),
    "sites": Number(control="slider", title="Sites S", low=1, high=MOST_SITES, default=5),
    "people": OneOf(
        control="select_slider",
        title="People at each site",
        help="“all” shares everybody out among the sites.",
        default=EVERYBODY,
        options=(*PEOPLE_PER_SITE, EVERYBODY),
        words=f"{EVERYBODY} or a step of its slider that the data set has people for",
    ),
    "components": Number(
        control="slider",
        title="Components K",
        low=1,
        high=100,
        words="a whole number from 1 to 100 or to the number of features",
    ),
    "intermediate": Number(
        control="slider",
        title="Directions each site sends, R",
        low=1,
        high=MOST_FEATURES,
        words="a whole number from 1 to the number of features",
    ),
}
ADVANCED: dict[str, Parameter] = {
    **{
        name: OneOf(
            control="segmented_control",
            title=title,
            help=told,
            default=default,
            options=options,
            renamed=RENAMED if name == "preparation" else {},
        )
        for name, title, default, options, told in (
            (
                "calibration",
                "Noise calibration",
                "analytic",
                ("analytic", "classic", "published"),
                (
                    "Analytic keeps the asked ε exactly. Classic is proven up to ε = 1. Published "
                    "is the paper's formula: generous at small ε, broken above about 2."
                ),
            ),
            (
                "noise",
                "Noise shape",
                "isometric",
                ("isometric", "triangle"),
                "Triangle is as published. Isometric keeps the same promise with less noise.",
            ),
            (
                "truncation",
                "Truncation",
                "psd",
                ("psd", "svd"),
                "svd is as published and lets strongly negative noise in; psd cuts it.",
            ),
            (
                "preparation",
                "Preparation",
                "sphere",
                PREPARATIONS,
                (
                    "Sphere brings every row to length 1 around a private mean. Bounded clips rows "
                    "to a public bound and centres by a private mean; none only clips. Published "
                    "centring and scaling read everybody's rows and are not private."
                ),
            ),
            (
                "split",
                "People over sites",
                "equal",
                own_table.splits,
                "Dirichlet gives each site its own mix of labels. Given: as the table itself says.",
            ),
            (
                "masks",
                "CAPE's masks",
                "published",
                ("published", "wide"),
                "Wide ones stand for secure aggregation. All sites but one are counted on.",
            ),
        )
    },
    "knowledge": OneOf(
        control="selectbox",
        title="Public knowledge",
        help="A public subspace that pictures are projected onto before noise is added: the lowest "
        "frequencies (dct), or the leading directions of another data set, with their share. What "
        "it leaves out is lost at every ε.",
        default=NO_KNOWLEDGE,
        options=CHOICES,
        label=say_knowledge,
    ),
    "dropped_sites": Number(
        control="number_input",
        title="Sites that drop out",
        help="So many never answer; which ones is drawn. A chain loses what they were handed; "
        "a secure sum allows for so many with more noise.",
        low=0,
        high=MOST_SITES - 1,
        default=0,
    ),
    "concentration": OneOf(
        control="select_slider",
        title="Dirichlet concentration (small is skewed)",
        default=1.0,
        options=(0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0),
        label=plain,
    ),
    "seed": Number(control="number_input", title="Seed", low=0, high=LARGEST_SEED, default=0),
}
DRAWS: dict[str, Parameter] = {
    "repetitions": Number(
        control="slider", title="Draws of the noise", low=1, high=MOST_REPETITIONS, default=10
    ),
    "compare": Switch(title="Compare with the published choices"),
}
# The address's part of the table on the Playground: never drawn where one can see it.
LIMITS: dict[str, Parameter] = {
    "limits": Limits(
        control="text_input",
        title="Limits of columns",
        default="",
        longest=LONGEST_WRITTEN,
        words="of columns that there are, a lower limit before an upper, as in name=0:1",
    )
}
SIDEBAR = FIRST | ADVANCED | DRAWS | LIMITS
DEFAULTS = {
    name: parameter.default for name, parameter in SIDEBAR.items() if parameter.default is not None
}
