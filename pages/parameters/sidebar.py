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
from pages.parameters.kinds import LONGEST_WRITTEN, Limits, Number, OneOf, Parameter, Switch
from pages.parameters.words import EVERYBODY, MOST_FEATURES, NUMERIC, between_sites, plain, title_of
from pages.sidebar import own_table

FIRST: dict[str, Parameter] = {
    "dataset": OneOf(
        "selectbox",
        "Data set",
        "mnist-small",
        # Named as the address names them, so that ?dataset=mnist works on any machine.
        lambda: (*(entry.name for entry in NUMERIC), *own_table.names()),
        label=own_table.shown_name,
        words="a data set of the list",
    ),
    "protocols": OneOf(
        "pills",
        "Protocols",
        ["dpdis", "local", "pooled"],
        between_sites,
        label=title_of,
        several=True,
        words="protocols of the list",
    ),
    "epsilon": OneOf(
        "select_slider",
        "Privacy parameter ε (smaller is more private)",
        1.0,
        EPSILONS,
        label=plain,
        words=f"a step of its slider, {EPSILONS[0]:g} to {EPSILONS[-1]:g}",
    ),
    "delta": OneOf(
        "select_slider",
        "δ, a slack on every probability",
        # At most one in ten times the people of the data set that a visitor meets first.
        1e-5,
        DELTAS,
        help="What is e^ε times as likely may be likelier by δ besides. It is not the chance that "
        "the odds move further: under Gaussian noise they do more often. "
        "Well below one over the number of people.",
        label=plain,
        words=f"a step of its slider, {DELTAS[0]:g} to {DELTAS[-1]:g}",
    ),
    "sites": Number("slider", "Sites S", 5, low=1, high=MOST_SITES),
    "people": OneOf(
        "select_slider",
        "People at each site",
        EVERYBODY,
        (*PEOPLE_PER_SITE, EVERYBODY),
        help="“all” shares everybody out among the sites.",
        words=f"{EVERYBODY} or a step of its slider that the data set has people for",
    ),
    "components": Number(
        "slider",
        "Components K",
        low=1,
        high=100,
        words="a whole number from 1 to 100 or to the number of features",
    ),
    "intermediate": Number(
        "slider",
        "Directions each site sends, R",
        low=1,
        high=MOST_FEATURES,
        words="a whole number from 1 to the number of features",
    ),
}
ADVANCED: dict[str, Parameter] = {
    "calibration": OneOf(
        "segmented_control",
        "Noise calibration",
        "analytic",
        ("analytic", "classic", "published"),
        help="Analytic keeps the asked ε exactly. Classic is proven up to ε = 1. Published is the "
        "paper's formula: generous at small ε, broken above about 2.",
    ),
    "noise": OneOf(
        "segmented_control",
        "Noise shape",
        "isometric",
        ("isometric", "triangle"),
        help="Triangle is as published. Isometric keeps the same promise with less noise.",
    ),
    "truncation": OneOf(
        "segmented_control",
        "Truncation",
        "psd",
        ("psd", "svd"),
        help="svd is as published and lets strongly negative noise in; psd cuts it.",
    ),
    "preparation": OneOf(
        "segmented_control",
        "Preparation",
        "sphere",
        PREPARATIONS,
        help="Sphere brings every row to length 1 around a private mean. Bounded clips rows to a "
        "public bound and centres by a private mean; none only clips. Published centring and "
        "scaling read everybody's rows and are not private.",
        renamed=RENAMED,
    ),
    "split": OneOf(
        "segmented_control",
        "People over sites",
        "equal",
        own_table.splits,
        help="Dirichlet gives each site its own mix of labels. Given: as the table itself says.",
    ),
    "masks": OneOf(
        "segmented_control",
        "CAPE's masks",
        "published",
        ("published", "wide"),
        help="Wide ones stand for secure aggregation. All sites but one are counted on.",
    ),
    "knowledge": OneOf(
        "selectbox",
        "Public knowledge",
        NO_KNOWLEDGE,
        CHOICES,
        help="A public subspace that pictures are projected onto before noise is added: the lowest "
        "frequencies (dct), or the leading directions of another data set, with their share. What "
        "it leaves out is lost at every ε.",
        label=say_knowledge,
    ),
    "dropped_sites": Number(
        "number_input",
        "Sites that drop out",
        0,
        help="So many never answer; which ones is drawn. A chain loses what they were handed; "
        "a secure sum allows for so many with more noise.",
        low=0,
        high=MOST_SITES - 1,
    ),
    "concentration": OneOf(
        "select_slider",
        "Dirichlet concentration (small is skewed)",
        1.0,
        (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0),
        label=plain,
    ),
    "seed": Number("number_input", "Seed", 0, low=0, high=LARGEST_SEED),
}
DRAWS: dict[str, Parameter] = {
    "repetitions": Number("slider", "Draws of the noise", 10, low=1, high=MOST_REPETITIONS),
    "compare": Switch("Compare with the published choices"),
}
# The address's part of the table of limits on Play: never drawn where one can see it.
LIMITS: dict[str, Parameter] = {
    "limits": Limits(
        "text_input",
        "Limits of columns",
        "",
        longest=LONGEST_WRITTEN,
        words="of columns that there are, a lower limit before an upper, as in name=0:1",
    )
}
SIDEBAR = FIRST | ADVANCED | DRAWS | LIMITS
DEFAULTS = {
    name: parameter.default for name, parameter in SIDEBAR.items() if parameter.default is not None
}
