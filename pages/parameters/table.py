"""Every parameter an address may have: one table that controls, checks and tests read."""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.parameters.explore import EXPLORE
from pages.parameters.kinds import LONGEST_WRITTEN, Parameter
from pages.parameters.learn import CLASSROOM, LEARN, of_audit
from pages.parameters.sidebar import SIDEBAR
from pages.parameters.use import USE
from pages.widgets import glossary

# Of the controls that this session has drawn, and of those that this run has.
_USUAL, _DRAWN = "_usual", "_drawn"
DECLARED = SIDEBAR | LEARN | CLASSROOM | EXPLORE | USE


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
    usual_values()[name] = usual
    drawn().add(name)
    return getattr(st if place is None else place, parameter.control)(**given)


def usual_values() -> dict[str, Any]:
    """What every control that this session has drawn stands at until somebody moves it."""
    values: dict[str, Any] = st.session_state.setdefault(_USUAL, {})
    return values


def drawn() -> set[str]:
    """The controls that this run has drawn so far."""
    names: set[str] = st.session_state.setdefault(_DRAWN, set())
    return names


def moved() -> dict[str, list[str]]:
    """Every control of this session that stands elsewhere than usual, as the address spells it."""
    # Each look into Streamlit's state costs as much as a dozen into a dictionary.
    stands = ((name, usual, st.session_state.get(name)) for name, usual in usual_values().items())
    return {
        name: spelled
        for name, usual, value in stands
        if value not in (usual, None)
        and sum(map(len, spelled := known(name).spelled(value))) <= LONGEST_WRITTEN
    }
