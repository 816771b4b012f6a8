"""The controls of the classification page, turned into a frozen spec."""

from __future__ import annotations

import streamlit as st

from dpcore.data.held_out import Halves
from dpcore.experiments.learning import MODELS, ClassificationSpec, asked_about
from dpcore.experiments.limits import MOST_SITES
from dpcore.experiments.methods import METHODS
from dpcore.experiments.splitting import people_steps
from pages.shared.controls import Choice, plain, redraw_noise

# A site alone trains on nobody else, and "pooled" is Analyze Gauss by another name.
PROTOCOLS = tuple(
    key for key in ("ag", "modsulq", "sulq", "ppca", "dpdis", "full", "cape") if key in METHODS
)
TWO, REST, ALL = "two", "rest", "all"
_TASKS = {TWO: "Two classes", REST: "One against the rest", ALL: "All classes"}
_MODEL_TITLES = dict(zip(MODELS, ("SVM", "Logistic regression"), strict=True))
_REGULARIZATIONS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
_SHARES = tuple(step / 20 for step in range(20))


def choose_spec(choice: Choice, halves: Halves) -> ClassificationSpec:
    """Draw the page's controls and return what they say, with the sidebar's."""
    task, one, other, second, third = st.columns([3.8, 1, 1, 2, 2.4])
    classes = _classes(halves.label_names, task, one, other)
    protocol = second.selectbox(
        "Private subspace by",
        PROTOCOLS,
        format_func=lambda key: METHODS[key].title,
        key="class_protocol",
        bind="query-params",
    )
    model = third.segmented_control(
        "Classifier",
        MODELS,
        default="svm",
        required=True,
        format_func=_MODEL_TITLES.get,
        key="class_model",
        bind="query-params",
    )
    spec = choice.spec
    with st.expander("Shares, people, draws"):
        values = _more(len(asked_about(halves.labels, classes)), protocol)
    as_printed = values.pop("as_printed")
    components = min(spec.components or halves.default_components, halves.X.shape[1])
    return ClassificationSpec(
        dataset=spec.dataset,
        classes=classes,
        protocol=protocol,
        epsilon=spec.epsilon,
        delta=spec.delta,
        components=components,
        model=model,
        seed=spec.seed,
        calibration="published" if as_printed else "analytic",
        noise="triangle" if as_printed else "isometric",
        truncation="svd" if as_printed else "psd",
        **values,
    )


def redraw_button() -> None:
    st.button("Redraw noise", on_click=redraw_noise, help="New noise, same settings.")


def _classes(names: tuple[str, ...], task, one, other) -> tuple[int, ...]:
    if len(names) == 2:
        task.markdown(f"Tell **{names[1]}** from **{names[0]}**.")
        return ()
    kind = task.segmented_control(
        "Tell apart",
        tuple(_TASKS),
        default=TWO,
        required=True,
        format_func=_TASKS.get,
        key="class_task",
        bind="query-params",
    )
    if kind == ALL:
        return ()
    # 3 and 8 are the pair of numerals most alike; other data sets start at their first two.
    defaults = (3, 8) if len(names) > 8 else (0, 1)
    labels = tuple(range(len(names)))
    wanted = one.selectbox(
        "Class",
        labels,
        defaults[0],
        format_func=names.__getitem__,
        key="class_one",
        bind="query-params",
    )
    if kind == REST:
        return (wanted,)
    others = tuple(label for label in labels if label != wanted)
    against = other.selectbox(
        "From",
        others,
        others.index(defaults[1]) if defaults[1] in others else 0,
        format_func=names.__getitem__,
        key="class_other",
        bind="query-params",
    )
    return (wanted, against)


def _more(n_learners: int, protocol: str) -> dict[str, object]:
    values: dict[str, object] = {}
    left, middle, right = st.columns(3, gap="medium")
    values["pca_share"] = left.select_slider(
        "Share of ε for PCA",
        _SHARES,
        value=0.3,
        format_func=lambda share: f"{share:.0%}",
        key="class_pca_share",
        bind="query-params",
    )
    room = tuple(share for share in _SHARES if share + values["pca_share"] < 1)
    centring = left.select_slider(
        "Share of ε for centring",
        _SHARES,
        value=0.0,
        format_func=lambda share: f"{share:.0%}",
        key="class_centring_share",
        bind="query-params",
    )
    values["centring_share"] = min(centring, room[-1])
    if centring > room[-1]:
        left.caption(f"Centring gets {room[-1]:.0%}: training needs something.")
    people = people_steps(n_learners)
    samples = middle.selectbox(
        "People who learn",
        (None, *people[:-1]),
        format_func=lambda n: "everybody" if n is None else f"{n:,}",
        key="class_people",
        bind="query-params",
    )
    values["samples"] = samples
    if METHODS[protocol].distributed:
        values["sites"] = middle.slider(
            "Sites S", 1, min(MOST_SITES, 20), 5, key="class_sites", bind="query-params"
        )
    values["regularization"] = middle.select_slider(
        "Regularization Λ",
        _REGULARIZATIONS,
        value=1e-3,
        format_func=plain,
        key="class_regularization",
        bind="query-params",
    )
    values["repetitions"] = right.slider(
        "Draws of the noise", 1, 50, 10, key="class_draws", bind="query-params"
    )
    values["as_printed"] = right.toggle(
        "PCA noise as the poster prints it",
        False,
        key="class_as_printed",
        bind="query-params",
        help="σ = √(2 ln(1.25/δ)) / (n ε) on the upper triangle, components by magnitude. Its "
        "exact ε is another one; see what it promises.",
    )
    return values
