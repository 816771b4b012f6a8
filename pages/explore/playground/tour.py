"""Three steps for whoever comes for the first time."""

from __future__ import annotations

import streamlit as st

_STEP = "_tour"
STEPS = (
    (
        "**DP-PCA Lab** finds what many people's records have in common without giving any one of "
        "them away. Move ε to the left: less of it is left."
    ),
    (
        "The upper row of pictures is the truth, the lower what privacy leaves of it. The curve "
        "says how much that is at every ε."
    ),
    (
        "The controls at the side change whose data these are: more people hide one another "
        "better. Further down: who is protected, and from whom. Stories ask, and you guess."
    ),
)


def tour() -> None:
    """The next step, until it is skipped; nobody who followed a link to a view is shown round."""
    step = st.session_state.setdefault(_STEP, len(STEPS) if st.query_params else 0)
    if step >= len(STEPS):
        return
    is_last = step + 1 == len(STEPS)
    st.markdown(f":small[:gray-badge[{step + 1} of {len(STEPS)}] {STEPS[step]}]")
    st.button("Done" if is_last else "Next", on_click=_go, args=(step + 1,), key="tour_next")
    if not is_last:
        skip = len(STEPS)
        st.button("Skip", on_click=_go, args=(skip,), key="tour_skip", type="tertiary")


def _go(step: int) -> None:
    st.session_state[_STEP] = step
