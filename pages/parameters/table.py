"""Every parameter an address may have: one table that controls, checks and tests read."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.parameters.classification import CLASSIFICATION
from pages.parameters.explore import EXPLORE
from pages.parameters.kinds import Parameter, of_page
from pages.parameters.learn import LEARN, of_audit
from pages.parameters.sidebar import SIDEBAR
from pages.parameters.use import USE

DECLARED = SIDEBAR | LEARN | EXPLORE | of_page("classification", CLASSIFICATION) | USE


def parameters() -> dict[str, Parameter]:
    """Every parameter by its name."""
    return DECLARED | of_audit()


def find(name: str) -> Parameter | None:
    """The parameter of this name; None where no page knows it.

    What the audit offers takes a second to list, and is listed where an address asks for it.
    """
    if name not in DECLARED and name.startswith("audit_"):
        return of_audit().get(name)
    return DECLARED.get(name)


def known(name: str) -> Parameter:
    """The parameter of this name, which some page has."""
    found = find(name)
    if found is None:
        raise KeyError(name)
    return found


def ask(name: str, place: DeltaGenerator | None = None, **differently: Any) -> Any:
    """Draw a parameter's control, bound to the address; what it says.

    `differently` overrides what is declared where the data or another control decide.
    """
    parameter = known(name)
    declared = {"label": parameter.title, "help": parameter.help} | parameter.arguments()
    control = getattr(place or st, parameter.control)
    return control(**declared | {"key": name, "bind": "query-params"} | differently)


def address() -> str:
    """What restores every control that is drawn, as the address has it; defaults are left out."""
    said = {name: st.session_state[name] for name in sorted(map(str, st.session_state))}
    return urlencode(
        [
            (name, part)
            for name, value in said.items()
            if (parameter := find(name)) and value is not None and value != parameter.default
            for part in parameter.spelled(value)
        ]
    )
