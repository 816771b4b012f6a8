"""What the classification page asks."""

from __future__ import annotations

from dpcore.experiments.learning.classification_spec import EXACT, MODELS, PRIVATE, SUBSPACE
from dpcore.experiments.pca.spec import PREPARATIONS
from pages.parameters.kinds import Number, OneOf, Parameter, Switch, Text
from pages.parameters.words import percent, plain, title_of, to_learn_with

ERROR_VIEW, SPLIT_VIEW, INSIDE_VIEW = "error", "split", "inside"
TWO, REST, ALL = "two", "rest", "all"
SHARES = tuple(step / 20 for step in range(20))
# A rule that reads public numbers alone.
BY_RULE = "by rule"
CLASSIFICATION: dict[str, Parameter] = {
    "class_view": OneOf(
        control="segmented_control",
        title="View",
        default=ERROR_VIEW,
        options=(ERROR_VIEW, SPLIT_VIEW, INSIDE_VIEW),
        label={
            ERROR_VIEW: "Error against ε",
            SPLIT_VIEW: "Split the budget",
            INSIDE_VIEW: "Look inside",
        }.__getitem__,
    ),
    "class_protocol": OneOf(
        control="selectbox",
        title="Private subspace by",
        default="ag",
        options=to_learn_with,
        label=title_of,
    ),
    "class_model": OneOf(
        control="segmented_control",
        title="Classifier",
        default="svm",
        options=MODELS,
        label=dict(zip(MODELS, ("SVM", "Logistic regression"), strict=True)).__getitem__,
    ),
    "class_task": OneOf(
        control="pills",
        title="Tell apart",
        default=TWO,
        options=(TWO, REST, ALL),
        label={TWO: "Two classes", REST: "One against the rest", ALL: "All classes"}.__getitem__,
    ),
    **{
        key: Text(control="selectbox", title=title, words="a class of the data set")
        for key, title in (("class_one", "Class"), ("class_other", "From"))
    },
    "class_pca_share": OneOf(
        control="select_slider",
        title="Share of ε for PCA",
        default=0.3,
        options=SHARES,
        label=percent,
    ),
    "class_preparation": OneOf(
        control="segmented_control",
        title="Preparation",
        help="Sphere brings every row to length 1 around a private mean of all classes together. "
        "Bounded clips rows to a public bound and centres by such a mean; none only clips. "
        "Published centring and scaling read everybody's rows and are not private.",
        default="sphere",
        options=PREPARATIONS,
    ),
    "class_centring_share": OneOf(
        control="select_slider",
        title="Share of ε for the private mean",
        help="By rule it is taken out of PCA's, as public numbers decide: nothing where so few "
        "people make a mean cost more than it is worth.",
        default=BY_RULE,
        options=(BY_RULE, *SHARES),
        label=lambda share: share if share == BY_RULE else percent(share),
    ),
    "class_people": Text(
        control="selectbox",
        title="People who learn",
        words="everybody or a number of people of its list",
    ),
    "class_sites": Number(control="slider", title="Sites S", low=1, high=20, default=5),
    "class_regularization": OneOf(
        control="select_slider",
        title="Regularization Λ",
        default=1e-3,
        options=(1e-5, 1e-4, 1e-3, 1e-2, 1e-1),
        label=plain,
    ),
    "class_draws": Number(control="slider", title="Draws of the noise", low=1, high=50, default=10),
    "class_pipeline": OneOf(
        control="segmented_control",
        title="Pipeline",
        default=PRIVATE,
        options=(PRIVATE, SUBSPACE, EXACT),
        label={
            PRIVATE: "Everything private",
            SUBSPACE: "Only the subspace private",
            EXACT: "Nothing private",
        }.__getitem__,
    ),
    "class_as_printed": Switch(
        title="PCA noise as the poster prints it",
        help="σ = √(2 ln(1.25/δ)) / (n ε) on the upper triangle, components by magnitude. Its "
        "exact ε is another one; see what it promises.",
    ),
    **{key: Switch(title="Fill in") for key in ("split_multiples_on", "split_three_on")},
}
