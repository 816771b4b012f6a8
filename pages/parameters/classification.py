"""What the classification page asks."""

from __future__ import annotations

from dpcore.experiments.learning.classification_spec import EXACT, MODELS, PRIVATE, SUBSPACE
from pages.parameters.kinds import Number, OneOf, Parameter, Switch, Text
from pages.parameters.words import TO_LEARN_WITH, percent, title_of
from pages.sidebar.selection import plain

ERROR_VIEW, SPLIT_VIEW, INSIDE_VIEW = "error", "split", "inside"
TWO, REST, ALL = "two", "rest", "all"
SHARES = tuple(step / 20 for step in range(20))
CLASSIFICATION: dict[str, Parameter] = {
    "class_view": OneOf(
        page="classification",
        control="segmented_control",
        default=ERROR_VIEW,
        options=(ERROR_VIEW, SPLIT_VIEW, INSIDE_VIEW),
        label={
            ERROR_VIEW: "Error against ε",
            SPLIT_VIEW: "Split the budget",
            INSIDE_VIEW: "Look inside",
        }.__getitem__,
    ),
    "class_protocol": OneOf(
        page="classification",
        control="selectbox",
        default="ag",
        options=TO_LEARN_WITH,
        label=title_of,
        offered="a protocol of its list",
    ),
    "class_model": OneOf(
        page="classification",
        control="segmented_control",
        default="svm",
        options=MODELS,
        label=dict(zip(MODELS, ("SVM", "Logistic regression"), strict=True)).__getitem__,
    ),
    "class_task": OneOf(
        page="classification",
        control="segmented_control",
        default=TWO,
        options=(TWO, REST, ALL),
        label={TWO: "Two classes", REST: "One against the rest", ALL: "All classes"}.__getitem__,
    ),
    **{
        key: Text(page="classification", control="selectbox", offered="a class of the data set")
        for key in ("class_one", "class_other")
    },
    "class_pca_share": OneOf(
        page="classification",
        control="select_slider",
        default=0.3,
        options=SHARES,
        label=percent,
    ),
    "class_centring_share": OneOf(
        page="classification",
        control="select_slider",
        default=0.0,
        options=SHARES,
        label=percent,
    ),
    "class_people": Text(
        page="classification",
        control="selectbox",
        offered="everybody or a number of people of its list",
    ),
    "class_sites": Number(page="classification", control="slider", low=1, high=20, default=5),
    "class_regularization": OneOf(
        page="classification",
        control="select_slider",
        default=1e-3,
        options=(1e-5, 1e-4, 1e-3, 1e-2, 1e-1),
        label=plain,
    ),
    "class_draws": Number(page="classification", control="slider", low=1, high=50, default=10),
    "class_pipeline": OneOf(
        page="classification",
        control="segmented_control",
        default=PRIVATE,
        options=(PRIVATE, SUBSPACE, EXACT),
        label={
            PRIVATE: "Everything private",
            SUBSPACE: "Only the subspace private",
            EXACT: "Nothing private",
        }.__getitem__,
    ),
    **{
        key: Switch(page="classification")
        for key in ("class_as_printed", "split_multiples_on", "split_three_on")
    },
}
