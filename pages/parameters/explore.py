"""What Eigen-images, How many people? and Statistics ask."""

from __future__ import annotations

import math

from dpcore.experiments.engine.control_ranges import EPSILONS, LARGEST_BOUND
from dpcore.experiments.learning.statistic_spec import HISTOGRAM, KINDS, MEAN, usual_bounds
from dpcore.statistics import MECHANISMS
from pages.parameters.kinds import Number, OneOf, Parameter, Switch, Text
from pages.parameters.words import MOST_PEOPLE, NUMERIC, or_infinity, title_of

EXPLORE: dict[str, Parameter] = {
    "method": OneOf(
        page="eigen_images",
        control="segmented_control",
        default="ag",
        options=("ag", "dpdis", "full", "local", "cape"),
        label=title_of,
    ),
    "epsilons": OneOf(
        page="eigen_images",
        control="multiselect",
        default=[math.inf, 10.0, 2.0, 0.1],
        options=(math.inf, *reversed(EPSILONS)),
        label=or_infinity,
        several=True,
        offered="values of its list, ∞ to 0.001",
    ),
    "person": Number(
        page="eigen_images",
        control="number_input",
        low=0,
        high=MOST_PEOPLE - 1,
        default=0,
        offered="a whole number below the number of people",
    ),
    "complexity_correlation": OneOf(
        page="sample_complexity",
        control="select_slider",
        default=0.9,
        options=(0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.998),
    ),
    "complexity_gap": OneOf(
        page="sample_complexity",
        control="select_slider",
        default=0.3,
        options=(0.05, 0.1, 0.2, 0.3, 0.5),
    ),
    "stat_source": OneOf(
        page="statistics",
        control="segmented_control",
        default="column",
        options=("column", "typed"),
        label={"column": "A column of the data set", "typed": "Typed numbers"}.__getitem__,
    ),
    "stat_kind": OneOf(
        page="statistics",
        control="segmented_control",
        default=MEAN,
        options=KINDS,
        label={MEAN: "Mean", "variance": "Variance", HISTOGRAM: "Histogram"}.__getitem__,
    ),
    "stat_mechanism": OneOf(
        page="statistics",
        control="segmented_control",
        default="laplace",
        options=MECHANISMS,
        label={"laplace": "Laplace", "gaussian": "Gaussian, analytic"}.__getitem__,
    ),
    "stat_bins": Number(page="statistics", control="slider", low=2, high=40, default=10),
    "stat_error": OneOf(
        page="statistics",
        control="select_slider",
        default=0.01,
        options=(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2),
        label=lambda value: f"{value:.2%}".replace("0%", "%").replace(".0%", "%"),
    ),
    "stat_mistake": Switch(page="statistics"),
    **{
        f"stat_column_{entry.name}": Text(
            page="statistics", control="selectbox", offered="a column of the data set"
        )
        for entry in NUMERIC
    },
    **{
        f"stat_{end}_{source or 'typed'}": Number(
            page="statistics",
            control="number_input",
            low=-LARGEST_BOUND,
            high=LARGEST_BOUND,
            default=usual_bounds(source)[number],
            whole=False,
        )
        for source in (None, *(entry.name for entry in NUMERIC))
        for number, end in enumerate(("low", "high"))
    },
}
