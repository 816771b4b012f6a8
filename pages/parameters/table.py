"""Every parameter an address may have: one table that controls, checks and tests read."""

from __future__ import annotations

from functools import cache

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.pca.protocols.register import PROTOCOLS
from pages.parameters.classification import CLASSIFICATION
from pages.parameters.explore import EXPLORE
from pages.parameters.kinds import OneOf, Parameter, Switch, Text
from pages.parameters.learn import LEARN
from pages.parameters.sidebar import SIDEBAR
from pages.parameters.two_views import TWO_VIEWS
from pages.parameters.use import USE
from pages.parameters.words import NUMERIC, ON_A_BUTTON, thousands

DECLARED = SIDEBAR | LEARN | EXPLORE | TWO_VIEWS | CLASSIFICATION | USE


def parameters() -> dict[str, Parameter]:
    """Every parameter by its name, with those of the pages that list their own options."""
    return DECLARED | _of_lists() | _of_audit()


def find(name: str) -> Parameter | None:
    """The parameter of this name; None where no page knows it.

    What the audit offers takes a second to list, and is listed where an address asks for it.
    """
    if name in DECLARED:
        return DECLARED[name]
    return (_of_audit() if name.startswith("audit_") else _of_lists()).get(name)


def _of_audit() -> dict[str, Parameter]:
    return _of_attacked(tuple(PROTOCOLS))


@cache
def _of_attacked(protocols: tuple[str, ...]) -> dict[str, Parameter]:
    from dpcore.experiments.audit.attack import cases_by_family, slug_of

    families = cases_by_family()
    found: dict[str, Parameter] = {
        "audit_family": OneOf(
            page="audit", control="pills", default=next(iter(families)), options=tuple(families)
        ),
        "audit_adversary": OneOf(
            page="audit",
            control="pills",
            options=tuple(map(str, ON_A_BUTTON)),
            label=ON_A_BUTTON.__getitem__,
            offered="an adversary who attacks the mechanism",
        ),
    }
    for family, cases in families.items():
        group = slug_of(family).replace("-", "_")
        names = tuple(cases)
        found[f"audit_{group}"] = OneOf(
            page="audit",
            control="selectbox",
            default=names[0],
            options=names,
            label=lambda name, cases=cases: cases[name].name,
            offered="a mechanism of the list",
        )
        found[f"audit_trials_{group}"] = OneOf(
            page="audit",
            control="select_slider",
            options=(1_000, 2_000, 5_000, 10_000, 20_000, 50_000),
            label=thousands,
        )
    return found


@cache
def _of_lists() -> dict[str, Parameter]:
    # These pages' own modules draw controls of this table.
    from pages.explore.tradeoffs import sweep_controls
    from pages.learn.algorithm import step_pieces
    from pages.use.reproduce import panel_run

    found: dict[str, Parameter] = {}
    groups = panel_run.groups()
    found["reproduce_group"] = OneOf(
        page="reproduce", control="selectbox", default=next(iter(groups)), options=tuple(groups)
    )
    for number, names in enumerate(groups.values()):
        found[f"reproduce_panel_{number}"] = OneOf(
            page="reproduce",
            control="selectbox",
            default=names[0],
            options=tuple(names),
            label=panel_run.panel_label,
        )
    found["reproduce_draws"] = OneOf(
        page="reproduce",
        control="segmented_control",
        default="quick",
        options=tuple(panel_run.DRAWS),
        label=lambda key: f"{panel_run.DRAWS[key]}, {key}",
    )
    found["step"] = OneOf(
        page="algorithm",
        control="segmented_control",
        default=step_pieces.STEPS[0],
        options=step_pieces.STEPS,
        label=lambda key: step_pieces.WORDS[key].title,
    )
    found["tradeoffs_field"] = OneOf(
        page="tradeoffs",
        control="selectbox",
        default="epsilon",
        options=tuple(sweep_controls.AXES),
        label=lambda name: sweep_controls.AXES[name].title,
    )
    for name, axis in sweep_controls.AXES.items():
        found[f"tradeoffs_values_{name}"] = Text(
            page="tradeoffs", control="text_input", default=axis.values
        )
    found["tradeoffs_datasets"] = OneOf(
        page="tradeoffs",
        control="multiselect",
        default=[],
        options=tuple(entry.name for entry in NUMERIC),
        several=True,
    )
    found["tradeoffs_published"] = Switch(page="tradeoffs")
    for name, (_, options) in sweep_controls.SETTINGS.items():
        found[f"tradeoffs_{name}"] = OneOf(
            page="tradeoffs", control="pills", default=[], options=tuple(options), several=True
        )
    return found


def ask(
    name: str, label: str, place: DeltaGenerator | None = None, **differently: object
) -> object:
    """Draw a parameter's control, bound to the address; what it says."""
    parameter = DECLARED[name]
    control = getattr(st if place is None else place, parameter.control)
    given = parameter.arguments() | {"key": name, "bind": "query-params"} | differently
    return control(label, **given)
