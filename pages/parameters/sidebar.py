"""The controls every page's address may set."""

from __future__ import annotations

from dpcore.experiments.engine.control_ranges import (
    DELTAS,
    EPSILONS,
    LARGEST_SEED,
    MOST_REPETITIONS,
    MOST_SITES,
    PEOPLE_PER_SITE,
)
from dpcore.experiments.pca.spec import PREPARATIONS, SPLITS
from pages.parameters.kinds import Number, OneOf, Parameter, Switch
from pages.parameters.words import BETWEEN_SITES, MOST_FEATURES, NUMERIC, title_of
from pages.sidebar.selection import DEFAULTS, EVERYBODY, plain

SIDEBAR: dict[str, Parameter] = {
    "dataset": OneOf(
        control="selectbox",
        default=DEFAULTS["dataset"],
        options=tuple(entry.name for entry in NUMERIC),
        offered="a data set of the list",
    ),
    "protocols": OneOf(
        control="pills",
        default=DEFAULTS["protocols"],
        options=BETWEEN_SITES,
        label=title_of,
        several=True,
        offered="protocols of the list",
    ),
    "epsilon": OneOf(
        control="select_slider",
        default=DEFAULTS["epsilon"],
        options=EPSILONS,
        label=plain,
        offered=f"a step of its slider, {EPSILONS[0]:g} to {EPSILONS[-1]:g}",
    ),
    "delta": OneOf(
        control="select_slider",
        default=DEFAULTS["delta"],
        options=DELTAS,
        label=plain,
        offered=f"a step of its slider, {DELTAS[0]:g} to {DELTAS[-1]:g}",
    ),
    "sites": Number(control="slider", low=1, high=MOST_SITES, default=DEFAULTS["sites"]),
    "people": OneOf(
        control="select_slider",
        default=DEFAULTS["people"],
        options=(*PEOPLE_PER_SITE, EVERYBODY),
        offered=f"{EVERYBODY} or a step of its slider that the data set has people for",
    ),
    "components": Number(
        control="slider",
        low=1,
        high=100,
        offered="a whole number from 1 to 100 or to the number of features",
    ),
    "intermediate": Number(
        control="slider",
        low=1,
        high=MOST_FEATURES,
        offered="a whole number from 1 to the number of features",
    ),
    **{
        name: OneOf(control="segmented_control", default=DEFAULTS[name], options=options)
        for name, options in (
            ("calibration", ("analytic", "classic", "published")),
            ("noise", ("isometric", "triangle")),
            ("truncation", ("psd", "svd")),
            ("preparation", PREPARATIONS),
            ("split", SPLITS),
            ("masks", ("published", "wide")),
        )
    },
    "dropped_sites": Number(
        control="number_input", low=0, high=MOST_SITES - 1, default=DEFAULTS["dropped_sites"]
    ),
    "concentration": OneOf(
        control="select_slider",
        default=DEFAULTS["concentration"],
        options=(0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0),
        label=plain,
    ),
    "seed": Number(control="number_input", low=0, high=LARGEST_SEED, default=DEFAULTS["seed"]),
    "repetitions": Number(
        control="slider", low=1, high=MOST_REPETITIONS, default=DEFAULTS["repetitions"]
    ),
    "compare": Switch(default=DEFAULTS["compare"]),
}
