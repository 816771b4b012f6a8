"""The controls pages share, defined once, bound to the URL, turned into frozen specs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.data import DatasetStatus
from dpcore.experiments.engine.control_ranges import PEOPLE_PER_SITE
from pages.parameters.table import ask
from pages.server import result_cache
from pages.sidebar.selection import DEFAULTS, EVERYBODY, Choice, as_choice, defaults_for, query_of

_UNSEEN = "controls_out_of_sight"
DATA_CONTROLS = ("dataset",)
IMAGE_CONTROLS = ("dataset", "delta", "sites", "people", "components", "advanced")
CCA_CONTROLS = ("epsilon", "delta", "sites", "advanced", "draws")
CENTRAL_CONTROLS = ("dataset", "epsilon", "delta", "components", "advanced", "draws")
CHAIN_CONTROLS = ("dataset", "epsilon", "components")
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
STEP_CONTROLS = (
    "dataset",
    "epsilon",
    "delta",
    "sites",
    "people",
    "components",
    "intermediate",
    "advanced",
)
LEDGER_CONTROLS = ("dataset", "delta")


def choose(names: tuple[str, ...]) -> Choice:
    """Draw the named controls in the sidebar and return what they all say.

    Those that don't apply to a page are drawn out of sight: a bound widget that is not drawn
    takes its value out of the address, of this page and of the one before in the history.
    """
    with st.sidebar:
        seen = st.container()
        unseen = st.container(key=_UNSEEN)
    st.html(f"<style>.st-key-{_UNSEEN} {{ display: none; }}</style>")

    def where(name: str) -> DeltaGenerator:
        return seen if name in names else unseen

    with where("dataset"):
        dataset = _dataset()
    values = _run_controls(dataset, where)
    return replace(as_choice(dataset, values), query=query_of(dataset, values))


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
        s
        for s in result_cache.dataset_statuses()
        if s.name == values.get("dataset", DEFAULTS["dataset"])
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


def _dataset() -> DatasetStatus:
    statuses = {
        status.name: status
        for status in result_cache.dataset_statuses()
        if status.default_components is not None
    }
    # Options are named as the address names them, so that ?dataset=mnist works on any machine.
    dataset = statuses[ask("dataset", "Data set")]
    state = "" if dataset.ready else ", not on this machine yet"
    st.caption(
        f"{dataset.title}: {dataset.n_samples:,} people × {dataset.n_features} features{state}"
    )
    return dataset


def _run_controls(
    dataset: DatasetStatus, where: Callable[[str], DeltaGenerator]
) -> dict[str, object]:
    values: dict[str, object] = {}
    with where("protocols"):
        values["protocols"] = tuple(ask("protocols", "Protocols"))
    with where("epsilon"):
        values["epsilon"] = ask("epsilon", "Privacy parameter ε (smaller is more private)")
    with where("delta"):
        values["delta"] = ask("delta", "δ, the chance that the promise fails")
    with where("sites"):
        values["sites"] = ask("sites", "Sites S")
    with where("people"):
        values["people"] = ask(
            "people",
            "People at each site",
            options=(*(n for n in PEOPLE_PER_SITE if n <= dataset.n_samples), EVERYBODY),
            help="“all” shares everybody out among the sites.",
        )
    with where("components"):
        values["components"] = ask(
            "components",
            "Components K",
            max_value=min(dataset.n_features, 100),
            value=dataset.default_components,
        )
    with where("intermediate"):
        values["intermediate"] = ask(
            "intermediate",
            "Directions each site sends, R",
            max_value=dataset.n_features,
            value=min(2 * dataset.default_components, dataset.n_features),
        )
    advanced = where("advanced").expander("Advanced")
    with advanced:
        values |= _advanced()
    with advanced if where("draws") is where("advanced") else where("draws"):
        values |= _draws()
    return values


def _advanced() -> dict[str, object]:
    values = {
        name: ask(name, label, help=told)
        for name, label, told in (
            (
                "calibration",
                "Noise calibration",
                "Analytic keeps the asked ε exactly. Classic is proven up to ε = 1. Published is "
                "the paper's formula: generous at small ε, broken above about 2.",
            ),
            (
                "noise",
                "Noise shape",
                "Triangle is as published. Isometric keeps the same promise with less noise.",
            ),
            (
                "truncation",
                "Truncation",
                "svd is as published and lets strongly negative noise in; psd cuts it.",
            ),
            (
                "preparation",
                "Preparation",
                "Published centring and scaling read everybody's rows and are not private.",
            ),
            ("split", "People over sites", "Dirichlet gives each site its own mix of labels."),
            (
                "masks",
                "CAPE's masks",
                "Wide ones stand for secure aggregation. All sites but one are counted on.",
            ),
        )
    }
    values["dropped_sites"] = ask(
        "dropped_sites",
        "Sites that drop out",
        help="So many never answer; which ones is drawn. A chain loses what they were handed.",
    )
    values["concentration"] = ask(
        "concentration",
        "Dirichlet concentration (small is skewed)",
        disabled=values["split"] != "dirichlet",
    )
    values["seed"] = ask("seed", "Seed")
    return values


def _draws() -> dict[str, object]:
    return {
        "repetitions": ask("repetitions", "Draws of the noise"),
        "compare": ask("compare", "Compare with the published choices"),
    }
