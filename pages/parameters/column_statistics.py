"""What the page of statistics asks, of a column of a data set or of numbers that one types."""

from __future__ import annotations

from dpcore.experiments.engine.control_ranges import LARGEST_BOUND
from dpcore.experiments.learning.statistic_spec import HISTOGRAM, KINDS, MEAN, usual_bounds
from dpcore.statistics import MECHANISMS
from pages.parameters.kinds import Number, OneOf, Parameter, Switch, Text
from pages.parameters.words import NUMERIC

STATISTICS: dict[str, Parameter] = {
    "stat_source": OneOf(
        control="segmented_control",
        title="Numbers from",
        default="column",
        options=("column", "typed"),
        label={"column": "A column of the data set", "typed": "Typed numbers"}.__getitem__,
    ),
    "stat_numbers": Text(
        control="text_area",
        title="One number a person",
        help="Up to a thousand characters stand in the address, like everything here: whoever "
        "gets the link gets them.",
        default="23, 35, 41, 62, 58, 30, 71, 47, 19, 52, 38, 66, 44, 29, 55, 60, 33, 48, 26, 50",
        longest=10_000,
        is_list=True,
    ),
    "stat_kind": OneOf(
        control="segmented_control",
        title="Statistic",
        default=MEAN,
        options=KINDS,
        label={MEAN: "Mean", "variance": "Variance", HISTOGRAM: "Histogram"}.__getitem__,
    ),
    "stat_mechanism": OneOf(
        control="segmented_control",
        title="Noise",
        help="Laplace promises pure ε and does not use δ.",
        default="laplace",
        options=MECHANISMS,
        label={"laplace": "Laplace", "gaussian": "Gaussian, analytic"}.__getitem__,
    ),
    "stat_bins": Number(control="slider", title="Bins", low=2, high=40, default=10),
    "stat_error": OneOf(
        control="select_slider",
        title="Error, as a share of the range",
        default=0.01,
        options=(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2),
        label=lambda value: f"{value:.2%}".replace("0%", "%").replace(".0%", "%"),
    ),
    "stat_mistake": Switch(title="Take the edges from the data instead"),
    **{
        f"stat_column_{entry.name}": Text(
            control="selectbox", title="Column", words="a column of the data set"
        )
        for entry in NUMERIC
    },
    **{
        f"stat_{end}_{source or 'typed'}": Number(
            control="number_input",
            title=title,
            low=-LARGEST_BOUND,
            high=LARGEST_BOUND,
            default=usual_bounds(source)[number],
            whole=False,
        )
        for source in (None, *(entry.name for entry in NUMERIC))
        for number, (end, title) in enumerate(
            (("low", "Public lower bound"), ("high", "Public upper bound"))
        )
    },
}
