"""What the pages that learn from people ask: statistics of a column, and classification."""

from __future__ import annotations

from dpcore.experiments.engine.control_ranges import LARGEST_BOUND
from dpcore.experiments.learning.classification_spec import EXACT, MODELS, PRIVATE, SUBSPACE
from dpcore.experiments.learning.statistic_spec import HISTOGRAM, MEAN, usual_bounds
from dpcore.experiments.pca.spec import PREPARATIONS
from pages.parameters.kinds import Number, OneOf, Parameter, Switch, Text
from pages.parameters.words import NUMERIC, percent, plain, title_of, to_learn_with

STATISTICS: dict[str, Parameter] = {
    "stat_source": OneOf(
        "segmented_control",
        "Numbers from",
        "column",
        {"column": "A column of the data set", "typed": "Typed numbers"},
    ),
    "stat_numbers": Text(
        "text_area",
        "One number a person",
        "23, 35, 41, 62, 58, 30, 71, 47, 19, 52, 38, 66, 44, 29, 55, 60, 33, 48, 26, 50",
        help="Up to a thousand characters stand in the address, like everything here: whoever "
        "gets the link gets them.",
        longest=10_000,
        is_list=True,
    ),
    "stat_kind": OneOf(
        "segmented_control",
        "Statistic",
        MEAN,
        {MEAN: "Mean", "variance": "Variance", HISTOGRAM: "Histogram"},
    ),
    "stat_mechanism": OneOf(
        "segmented_control",
        "Noise",
        "laplace",
        {"laplace": "Laplace", "gaussian": "Gaussian, analytic"},
        help="Laplace promises pure ε and does not use δ.",
    ),
    "stat_bins": Number("slider", "Bins", 10, low=2, high=40),
    "stat_error": OneOf(
        "select_slider",
        "Error, as a share of the range",
        0.01,
        (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2),
        label=lambda value: f"{value:.2%}".replace("0%", "%").replace(".0%", "%"),
    ),
    "stat_mistake": Switch("Take the edges from the data instead"),
    **{
        f"stat_column_{entry.name}": Text("selectbox", "Column", words="a column of the data set")
        for entry in NUMERIC
    },
    **{
        f"stat_{end}_{source or 'typed'}": Number(
            "number_input",
            f"Public {side} bound",
            bound,
            low=-LARGEST_BOUND,
            high=LARGEST_BOUND,
            whole=False,
        )
        for source in (None, *(entry.name for entry in NUMERIC))
        for end, side, bound in zip(
            ("low", "high"), ("lower", "upper"), usual_bounds(source), strict=True
        )
    },
}
ERROR_VIEW, SPLIT_VIEW, INSIDE_VIEW = "error", "split", "inside"
TWO, REST, ALL = "two", "rest", "all"
SHARES = tuple(step / 20 for step in range(20))
# A rule that reads public numbers alone.
BY_RULE = "by rule"
CLASSIFICATION: dict[str, Parameter] = {
    "class_view": OneOf(
        "segmented_control",
        "View",
        ERROR_VIEW,
        {ERROR_VIEW: "Error against ε", SPLIT_VIEW: "Split the budget", INSIDE_VIEW: "Look inside"},
    ),
    "class_protocol": OneOf(
        "selectbox", "Private subspace by", "ag", to_learn_with, label=title_of
    ),
    "class_model": OneOf(
        "segmented_control",
        "Classifier",
        "svm",
        dict(zip(MODELS, ("SVM", "Logistic regression"), strict=True)),
    ),
    "class_task": OneOf(
        "pills",
        "Tell apart",
        TWO,
        {TWO: "Two classes", REST: "One against the rest", ALL: "All classes"},
    ),
    **{
        key: Text("selectbox", title, words="a class of the data set")
        for key, title in (("class_one", "Class"), ("class_other", "From"))
    },
    "class_pca_share": OneOf("select_slider", "Share of ε for PCA", 0.3, SHARES, label=percent),
    "class_preparation": OneOf(
        "segmented_control",
        "Preparation",
        "sphere",
        PREPARATIONS,
        help="Sphere brings every row to length 1 around a private mean of all classes together. "
        "Bounded clips rows to a public bound and centres by such a mean; none only clips. "
        "Published centring and scaling read everybody's rows and are not private.",
    ),
    "class_centring_share": OneOf(
        "select_slider",
        "Share of ε for the private mean",
        BY_RULE,
        (BY_RULE, *SHARES),
        help="By rule it is taken out of PCA's, as public numbers decide: nothing where so few "
        "people make a mean cost more than it is worth.",
        label=lambda share: share if share == BY_RULE else percent(share),
    ),
    "class_people": Text(
        "selectbox", "People who learn", words="everybody or a number of people of its list"
    ),
    "class_sites": Number("slider", "Sites S", 5, low=1, high=20),
    "class_regularization": OneOf(
        "select_slider", "Regularization Λ", 1e-3, (1e-5, 1e-4, 1e-3, 1e-2, 1e-1), label=plain
    ),
    "class_draws": Number("slider", "Draws of the noise", 10, low=1, high=50),
    "class_pipeline": OneOf(
        "segmented_control",
        "Pipeline",
        PRIVATE,
        {
            PRIVATE: "Everything private",
            SUBSPACE: "Only the subspace private",
            EXACT: "Nothing private",
        },
    ),
    "class_as_printed": Switch(
        "PCA noise as the poster prints it",
        help="σ = √(2 ln(1.25/δ)) / (n ε) on the upper triangle, components by magnitude. Its "
        "exact ε is another one; see what it promises.",
    ),
    **{key: Switch("Fill in") for key in ("split_multiples_on", "split_three_on")},
}
