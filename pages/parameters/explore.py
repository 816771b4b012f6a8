"""What the pages under Explore ask."""

from __future__ import annotations

import math

from dpcore.data.catalog import CATALOG
from dpcore.data.readers.mfeat import VIEWS
from dpcore.experiments.cca.sentences import TITLES
from dpcore.experiments.cca.views import SYNTHETIC
from dpcore.experiments.engine.control_ranges import EPSILONS
from dpcore.pca.settings import PRECISIONS
from pages.explore.tradeoffs.axes import AXES, SETTINGS
from pages.parameters.kinds import Number, OneOf, Parameter, Switch, Text, of_page
from pages.parameters.learning import CLASSIFICATION, STATISTICS
from pages.parameters.words import (
    EVERYBODY,
    MOST_FEATURES,
    MOST_PEOPLE,
    NUMERIC,
    of_matrices,
    or_infinity,
    plain,
    title_of,
)
from pages.sidebar import own_table
from pages.stories.lessons import NO_STORY, STORIES

CUT_NAMES = ("top and bottom", "left and right", "halves of the columns", "chosen columns")
MOST_PAIRS, USUAL_PAIRS = 10, 3
# Of directions, and of people: which pictures a tab shows.
SHOWN_OF_DIRECTIONS = ("what it responds to", "weights")
SHOWN_OF_PEOPLE = ("groups: pair 1 against pair 2", "correlation: one view against the other")
CCA_PEOPLE = (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)

PLAY: dict[str, Parameter] = {
    "ask_sites": Switch(
        "Ask the sites of DPdisPCA once more",
        help="Each decomposes the whole of its noisy matrix: some seconds in all.",
    )
}
EIGEN_IMAGES: dict[str, Parameter] = {
    "method": OneOf("pills", "Found by", "ag", of_matrices, label=title_of),
    "epsilons": OneOf(
        "multiselect",
        "Asked ε, one row each",
        [10.0, 2.0, 0.1],
        (math.inf, *reversed(EPSILONS)),
        label=or_infinity,
        several=True,
        words="values of its list, ∞ to 0.001",
    ),
    "person": Number(
        "number_input",
        "Person",
        0,
        low=0,
        high=MOST_PEOPLE - 1,
        words="a whole number below the number of people",
    ),
    "rebuilt_from": Number(
        "slider", "From the first k components", low=1, high=100, words="a whole number from 1 to K"
    ),
    "component_shown": OneOf("segmented_control", "Component", 1, range(1, 11)),
}
SAMPLE_COMPLEXITY: dict[str, Parameter] = {
    "complexity_correlation": OneOf(
        "select_slider",
        "Wanted correlation ρ with the exact component",
        0.9,
        (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.998),
    ),
    "complexity_gap": OneOf(
        "select_slider", "Gap between the two largest eigenvalues", 0.3, (0.05, 0.1, 0.2, 0.3, 0.5)
    ),
}
_VIEW_TITLES = {name: f"{name}: {view[0]} features" for name, view in VIEWS.items()}
CCA: dict[str, Parameter] = {
    "cca_data": OneOf(
        "selectbox",
        "Two views of",
        "digits",
        lambda: (*CATALOG, SYNTHETIC, *own_table.names()),
        label=own_table.shown_name,
        words="a data set of the list",
    ),
    **{
        key: OneOf("pills", "Cut into", options[0], options)
        for key, options in (("cca_cut", CUT_NAMES), ("cca_table", CUT_NAMES[2:]))
    },
    **{
        key: OneOf("selectbox", title, default, _VIEW_TITLES)
        for key, title, default in (("cca_x", "First view", "fou"), ("cca_y", "Second view", "kar"))
    },
    **{
        key: Text(
            "multiselect",
            title,
            [],
            help=told,
            longest=20_000,
            several=True,
            words="columns of the data set",
        )
        for key, title, told in (
            ("cca_x_columns", "Columns of the first view", None),
            ("cca_y_columns", "Columns of the second view", "All others where you choose none."),
        )
    },
    **{
        key: OneOf("select_slider", title, default, options, label=plain)
        for key, title, default, options in (
            ("cca_shared", "Shared dimension", 5, tuple(range(1, 11))),
            ("cca_view_noise", "Noise of a view", 0.5, tuple(k / 10 for k in range(21))),
            ("cca_columns", "Columns a view", 50, (10, 20, 50, 100)),
            ("cca_total", "People", 20_000, CCA_PEOPLE[3:]),
        )
    },
    "cca_pairs": Number(
        "slider",
        "Canonical pairs K",
        USUAL_PAIRS,
        low=1,
        high=MOST_PAIRS,
        words=f"a whole number from 1 to {MOST_PAIRS} or to the columns of the smaller view",
    ),
    "cca_protocols": OneOf(
        "pills",
        "Released by (the first is shown in pictures)",
        [TITLES["pooled"]],
        tuple(TITLES.values()),
        help="Pooled is the poster's: one trusted holder adds noise once. In the others every "
        "site adds noise to its own joint moment before anything is sent.",
        several=True,
    ),
    "cca_people": OneOf(
        "select_slider",
        "People N",
        EVERYBODY,
        (*CCA_PEOPLE, EVERYBODY),
        words=f"{EVERYBODY} or a step of its slider that the data have people for",
    ),
    "cca_directions": Number(
        "slider",
        "Directions each site sends, R",
        low=1,
        high=MOST_FEATURES,
        words="a whole number from 1 to the columns of both views",
    ),
    "cca_floor": OneOf(
        "select_slider",
        "Eigenvalue floor of the noisy joint moment",
        "auto",
        ("auto", 0.0, 1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
        help="“auto” ties it to the noise. Without a floor, noise is whitened into "
        "correlations near 1.",
        label=lambda floor: floor if floor == "auto" else f"{floor:g}",
    ),
    "cca_share": Number(
        "slider",
        "Part of a row's squared length given to the first view",
        0.5,
        low=0.1,
        high=0.9,
        step=0.1,
        whole=False,
    ),
    "cca_only": Switch(
        "Release only the directions",
        help="Nobody is projected and nobody clustered: what is left on the page about the "
        "private result is what the guarantee covers.",
    ),
    "cca_kind": OneOf(
        "segmented_control",
        "Show of each direction",
        SHOWN_OF_DIRECTIONS[0],
        SHOWN_OF_DIRECTIONS,
        help="Weights are what a row is multiplied with. What a direction responds to is the "
        "covariance of each column with its score, which is easier to read.",
    ),
    "cca_cloud": OneOf("segmented_control", "Show", SHOWN_OF_PEOPLE[0], SHOWN_OF_PEOPLE),
}
TRADEOFFS: dict[str, Parameter] = {
    "tradeoffs_field": OneOf(
        "selectbox",
        "What varies",
        "epsilon",
        {name: axis.title for name, axis in AXES.items()},
        renamed={"r / k": "intermediate_ratio"},
    ),
    **{
        f"tradeoffs_values_{name}": Text(
            "text_input", f"Values of {axis.title}, separated by commas", axis.values, is_list=True
        )
        for name, axis in AXES.items()
    },
    "tradeoffs_datasets": OneOf(
        "multiselect", "Also on", [], tuple(entry.name for entry in NUMERIC), several=True
    ),
    "tradeoffs_published": Switch(
        "Also with the published choices",
        help="Published calibration, triangle noise and svd truncation, as dotted lines.",
    ),
    **{
        f"tradeoffs_{name}": OneOf(
            "pills",
            title,
            [],
            tuple(options),
            help="Every combination of what is picked, each with a dash of its own; none picked "
            "stands for the sidebar's.",
            several=True,
        )
        for name, (title, options) in SETTINGS.items()
    },
}
BYTES: dict[str, Parameter] = {
    "bytes_precisions": OneOf(
        "pills",
        "Proxies shown in",
        ["float32", "int8"],
        PRECISIONS,
        help="How many bits each number of a proxy is sent in. All are computed.",
        label=lambda name: "8 bits" if name == "int8" else name,
        several=True,
    )
}
# Followed on every page.
STORY: dict[str, Parameter] = {
    "story": OneOf(
        "selectbox",
        "Story",
        NO_STORY,
        (NO_STORY, *STORIES),
        words=f"{NO_STORY} or one of {', '.join(STORIES)}",
    )
}
EXPLORE = (
    STORY
    | of_page("play", PLAY)
    | of_page("eigen_images", EIGEN_IMAGES)
    | of_page("sample_complexity", SAMPLE_COMPLEXITY)
    | of_page("statistics", STATISTICS)
    | of_page("classification", CLASSIFICATION)
    | of_page("cca", CCA)
    | of_page("tradeoffs", TRADEOFFS)
    | of_page("bytes", BYTES)
)
