"""The controls pages share, defined once, bound to the URL, turned into frozen specs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import urlencode

import numpy as np
import streamlit as st

from dpcore.data import DatasetStatus, list_datasets
from dpcore.experiments.limits import (
    DELTAS,
    EPSILONS,
    MOST_REPETITIONS,
    MOST_SITES,
    PEOPLE_PER_SITE,
)
from dpcore.experiments.methods import METHODS
from dpcore.experiments.spec import PREPARATIONS, SPLITS, RunSpec

EVERYBODY = "all"
DISTRIBUTED = ("dpdis", "full", "local", "pooled", "cape")
DATA_CONTROLS = ("dataset",)
IMAGE_CONTROLS = ("dataset", "delta", "sites", "people", "components", "advanced")
CCA_CONTROLS = (
    "epsilon",
    "delta",
    "sites",
    "calibration",
    "noise",
    "truncation",
    "preparation",
    "masks",
    "seed",
    "repetitions",
)
RUN_CONTROLS = (
    "dataset",
    "protocols",
    "epsilon",
    "delta",
    "sites",
    "people",
    "components",
    "intermediate",
    "advanced",
    "draws",
)
ADVANCED = (
    "calibration",
    "noise",
    "truncation",
    "preparation",
    "split",
    "concentration",
    "masks",
    "seed",
)
DEFAULTS: dict[str, object] = {
    "dataset": "digits",
    "protocols": ["dpdis", "full", "local", "pooled"],
    "epsilon": 1.0,
    "delta": 1e-2,
    "sites": 5,
    "people": EVERYBODY,
    "calibration": "analytic",
    "noise": "isometric",
    "truncation": "psd",
    "preparation": "published",
    "split": "equal",
    "concentration": 1.0,
    "masks": "published",
    "repetitions": 10,
    "seed": 0,
    "compare": False,
}


@dataclass(frozen=True)
class Choice:
    """What the sidebar says at this moment: a spec, and the data set it stands on.

    `notes` are sentences about settings that cost something or could not be met; `compare` asks
    for the published choices beside the chosen ones; `query` restores every control.
    """

    spec: RunSpec
    dataset: DatasetStatus
    notes: tuple[str, ...]
    compare: bool = False
    query: str = ""


def choose(names: tuple[str, ...]) -> Choice:
    """Draw the named controls in the sidebar and return what they say."""
    if not names:
        return _as_choice(list_datasets()[0], {})
    with st.sidebar:
        # A page that chooses its data itself has no control for it here.
        dataset = _dataset() if "dataset" in names else list_datasets()[0]
        values = _run_controls(dataset, names)
    return replace(_as_choice(dataset, values), query=_query(dataset, values))


def _query(dataset: DatasetStatus, values: dict[str, object]) -> str:
    """The part of the address that restores these controls; defaults are left out."""
    defaults = defaults_for(dataset)
    pairs: list[tuple[str, str]] = []
    if dataset.name != defaults["dataset"]:
        pairs.append(("dataset", dataset.name))
    for name, value in values.items():
        if name == "protocols":
            if list(value) != defaults[name]:
                pairs.extend((name, METHODS[key].title) for key in value)
        elif value != defaults[name]:
            pairs.append((name, _in_address(value)))
    return urlencode(pairs)


def _in_address(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return plain(value) if isinstance(value, float) else str(value)


def defaults_for(dataset: DatasetStatus) -> dict[str, object]:
    """Every control's default; K and R depend on the data set."""
    return DEFAULTS | {
        "components": dataset.default_components,
        "intermediate": min(2 * dataset.default_components, dataset.n_features),
    }


def remember(choice: Choice) -> None:
    """Hand the choice to the page that runs next."""
    st.session_state["_choice"] = choice


def current() -> Choice:
    """The choice of this run of the script."""
    return st.session_state["_choice"]


def set_controls(**values: object) -> None:
    """Set controls from a callback; those not named take their defaults.

    Bound widgets are assigned, because removing their state does not reset them.
    """
    dataset = next(
        s for s in list_datasets() if s.name == values.get("dataset", DEFAULTS["dataset"])
    )
    for name, value in (defaults_for(dataset) | values).items():
        st.session_state[name] = value


def move(name: str, value: object) -> None:
    """Set one control from a callback."""
    st.session_state[name] = value


def redraw_noise() -> None:
    """A new seed from the present one, so that a row of redraws can be repeated too."""
    previous = st.session_state["seed"]
    st.session_state["seed"] = int(np.random.SeedSequence(previous).generate_state(1)[0] >> 1)


def plain(number: float) -> str:
    """A number as people write it: no exponent, no trailing zeros."""
    return f"{number:,.10f}".rstrip("0").rstrip(".")


def _dataset() -> DatasetStatus:
    statuses = {
        status.name: status for status in list_datasets() if status.default_components is not None
    }
    # Options are named as the address names them, so that ?dataset=mnist works on any machine.
    dataset = statuses[
        st.selectbox("Data set", list(statuses), key="dataset", bind="query-params")
    ]
    state = "" if dataset.ready else ", not on this machine yet"
    st.caption(
        f"{dataset.title}: {dataset.n_samples:,} people × {dataset.n_features} features{state}"
    )
    return dataset


def _run_controls(dataset: DatasetStatus, names: tuple[str, ...]) -> dict[str, object]:
    values: dict[str, object] = {}
    if "protocols" in names:
        values["protocols"] = tuple(
            st.pills(
                "Protocols",
                DISTRIBUTED,
                selection_mode="multi",
                default=DEFAULTS["protocols"],
                format_func=lambda key: METHODS[key].title,
                key="protocols",
                bind="query-params",
            )
        )
    if "epsilon" in names:
        values["epsilon"] = st.select_slider(
            "Privacy parameter ε (smaller is more private)",
            EPSILONS,
            value=DEFAULTS["epsilon"],
            format_func=plain,
            key="epsilon",
            bind="query-params",
        )
    if "delta" in names:
        values["delta"] = st.select_slider(
            "δ, the chance that the promise fails",
            DELTAS,
            value=DEFAULTS["delta"],
            format_func=plain,
            key="delta",
            bind="query-params",
        )
    if "sites" in names:
        values["sites"] = st.slider(
            "Sites S", 1, MOST_SITES, DEFAULTS["sites"], key="sites", bind="query-params"
        )
    if "people" in names:
        values["people"] = st.select_slider(
            "People at each site",
            (*(n for n in PEOPLE_PER_SITE if n <= dataset.n_samples), EVERYBODY),
            value=EVERYBODY,
            format_func=str,
            help="“all” shares everybody out among the sites.",
            key="people",
            bind="query-params",
        )
    if "components" in names:
        values["components"] = st.slider(
            "Components K",
            1,
            min(dataset.n_features, 100),
            dataset.default_components,
            key="components",
            bind="query-params",
        )
    if "intermediate" in names:
        values["intermediate"] = st.slider(
            "Directions each site sends, R",
            1,
            dataset.n_features,
            min(2 * dataset.default_components, dataset.n_features),
            key="intermediate",
            bind="query-params",
        )
    advanced = ADVANCED if "advanced" in names else tuple(n for n in names if n in ADVANCED)
    if advanced:
        with st.expander("Advanced"):
            values |= _advanced(advanced)
            values |= _draws(names)
    return values


def _advanced(names: tuple[str, ...]) -> dict[str, object]:
    values: dict[str, object] = {}
    for name, label, options, told in (
        (
            "calibration",
            "Noise calibration",
            ("analytic", "classic", "published"),
            "Analytic keeps the asked ε exactly. Classic is proven up to ε = 1. Published is the "
            "paper's formula: generous at small ε, broken above about 2.",
        ),
        (
            "noise",
            "Noise shape",
            ("isometric", "triangle"),
            "Triangle is as published. Isometric keeps the same promise with less noise.",
        ),
        (
            "truncation",
            "Truncation",
            ("psd", "svd"),
            "svd is as published and lets strongly negative noise in; psd cuts it.",
        ),
        (
            "preparation",
            "Preparation",
            PREPARATIONS,
            "Published centring and scaling read everybody's rows and are not private.",
        ),
        ("split", "People over sites", SPLITS, "Dirichlet gives each site its own mix of labels."),
        (
            "masks",
            "CAPE's masks",
            ("published", "wide"),
            "Wide masks stand for secure aggregation.",
        ),
    ):
        if name not in names:
            continue
        values[name] = st.segmented_control(
            label,
            options,
            default=DEFAULTS[name],
            required=True,
            key=name,
            help=told,
            bind="query-params",
        )
    if "concentration" in names:
        values["concentration"] = st.select_slider(
            "Dirichlet concentration (small is skewed)",
            (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0),
            value=DEFAULTS["concentration"],
            format_func=plain,
            key="concentration",
            bind="query-params",
            disabled=values["split"] != "dirichlet",
        )
    values["seed"] = st.number_input(
        "Seed", 0, 2**31 - 1, DEFAULTS["seed"], key="seed", bind="query-params"
    )
    return values


def _draws(names: tuple[str, ...]) -> dict[str, object]:
    values: dict[str, object] = {}
    if "draws" in names or "repetitions" in names:
        values["repetitions"] = st.slider(
            "Draws of the noise",
            1,
            MOST_REPETITIONS,
            DEFAULTS["repetitions"],
            key="repetitions",
            bind="query-params",
        )
    if "draws" in names:
        values["compare"] = st.toggle(
            "Compare with the published choices",
            DEFAULTS["compare"],
            key="compare",
            bind="query-params",
        )
    return values


def _as_choice(dataset: DatasetStatus, values: dict[str, object]) -> Choice:
    notes = []
    fields = {"dataset": dataset.name} | values
    people = fields.pop("people", EVERYBODY)
    sites = fields.get("sites", DEFAULTS["sites"])
    if people != EVERYBODY:
        wanted = people * sites
        if wanted > dataset.n_samples:
            notes.append(
                f"{sites} sites × {people:,} people need {wanted:,}, and {dataset.title} has "
                f"{dataset.n_samples:,}: each site gets {dataset.n_samples // sites:,}."
            )
        fields["samples"] = min(wanted, dataset.n_samples // sites * sites)
    if "intermediate" in fields:
        fields["intermediate_dim"] = fields.pop("intermediate")
        components = fields.get("components", dataset.default_components)
        if fields["intermediate_dim"] < components:
            notes.append(
                f"R = {fields['intermediate_dim']} is below K = {components}: each site sends "
                "fewer directions than are wanted, and only different sites can make up for it."
            )
    if not fields.get("protocols", True):
        fields["protocols"] = ("dpdis",)
        notes.append("No protocol is picked: showing DPdisPCA.")
    if fields.get("calibration") == "classic" and fields.get("epsilon", 0) > 1:
        notes.append(
            f"The classic calibration is proven for ε up to 1, got {plain(fields['epsilon'])}: "
            "pick analytic, which holds at every ε."
        )
    compare = fields.pop("compare", False)
    return Choice(RunSpec(**fields), dataset, tuple(notes), compare)
