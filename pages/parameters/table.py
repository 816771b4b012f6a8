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
from pages.widgets import glossary

# What each control that was drawn stands at until somebody moves it.
_USUAL = "_usual"
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
    # What it does, and what the terms in its title mean.
    told = (parameter.help, glossary.told(parameter.title))
    declared = {"label": parameter.title, "help": "\n\n".join(filter(None, told)) or None}
    declared |= parameter.arguments()
    given = declared | {"key": name, "bind": "query-params"} | differently
    usual = given.get("default", given.get("value", parameter.default))
    if parameter.control == "selectbox":
        usual = given["options"][given.get("index", 0)]
    st.session_state.setdefault(_USUAL, {})[name] = usual
    return getattr(st if place is None else place, parameter.control)(**given)


def address() -> str:
    """What restores every control that is drawn, as the address has it; defaults are left out."""
    state = st.session_state
    return urlencode(
        [
            (name, part)
            for name, usual in sorted(state[_USUAL].items())
            if name in state and state[name] not in (usual, None)
            for part in known(name).spelled(state[name])
        ]
    )
