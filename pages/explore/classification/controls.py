"""The controls of the classification page, turned into a frozen spec."""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.data.held_out import Halves
from dpcore.experiments.analysis.budget_split import people_steps
from dpcore.experiments.learning.classification_spec import ClassificationSpec, asked_about
from dpcore.experiments.pca.spec import BUYING
from dpcore.pca.protocols.register import PROTOCOLS
from pages.parameters.learning import ALL, BY_RULE, REST, SHARES
from pages.parameters.table import ask
from pages.sidebar.controls import redraw_noise
from pages.sidebar.selection import Selection
from pages.widgets.plain_text import plainly


def choose_spec(selection: Selection, halves: Halves) -> ClassificationSpec:
    """Draw the page's controls and return what they say, with the sidebar's."""
    task, one, other, second, third = st.columns([3.8, 1, 1, 2, 2.4])
    classes = _classes(halves.label_names, task, one, other)
    protocol = ask("class_protocol", second)
    model = ask("class_model", third)
    spec = selection.spec
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


def _classes(
    names: tuple[str, ...], task: DeltaGenerator, one: DeltaGenerator, other: DeltaGenerator
) -> tuple[int, ...]:
    if len(names) == 2:
        task.markdown(f"Tell **{plainly(names[1])}** from **{plainly(names[0])}**.")
        return ()
    kind = ask("class_task", task)
    if kind == ALL:
        return ()
    # 3 and 8 are the pair of numerals most alike; other data sets start at their first two.
    first, second = (3, 8) if len(names) > 8 else (0, 1)
    wanted = _named("class_one", names, names[first], one)
    if kind == REST:
        return (names.index(wanted),)
    others = tuple(name for name in names if name != wanted)
    against = _named("class_other", others, names[second], other)
    return (names.index(wanted), names.index(against))


def _named(key: str, names: tuple[str, ...], default: str, place: DeltaGenerator) -> str:
    index = names.index(default) if default in names else 0
    named: str = ask(key, place, options=names, index=index)
    return named


def _more(n_learners: int, protocol: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    left, middle, right = st.columns(3, gap="medium")
    values["pca_share"] = ask("class_pca_share", left)
    room = tuple(share for share in SHARES if share + values["pca_share"] < 1)
    values["preparation"] = ask("class_preparation", left)
    if values["preparation"] in BUYING:
        centring = ask("class_centring_share", left)
        if centring != BY_RULE:
            values["centring_share"] = min(centring, room[-1])
        if centring != BY_RULE and centring > room[-1]:
            left.caption(f"Centring gets {room[-1]:.0%}: training needs something.")
    people = {"everybody": None} | {f"{n:,}": n for n in people_steps(n_learners)[:-1]}
    values["samples"] = people[ask("class_people", middle, options=tuple(people), index=0)]
    if PROTOCOLS[protocol].is_distributed:
        values["sites"] = ask("class_sites", middle)
    values["regularization"] = ask("class_regularization", middle)
    values["repetitions"] = ask("class_draws", right)
    values["as_printed"] = ask("class_as_printed", right)
    return values
