"""What to take away from a page: rows, figures, a script, a notebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from dpcore.data.dataset import is_held
from dpcore.experiments.engine import Row
from dpcore.experiments.export import csv_of


def take_away(
    name: str,
    rows: Sequence[Row],
    *,
    figures: Mapping[str, go.Figure | Callable[[], go.Figure]] | None = None,
    script: Callable[[], str] | None = None,
    notebook: Callable[[], str] | None = None,
    commands: Sequence[str] = (),
    dataset: str | None = None,
) -> None:
    """Buttons for what there is, made when somebody presses one.

    name: What the files are called after.
    figures: mapping of str to Figure, or to what makes one. Each by what tells it from the others,
        "" where it is alone.
    commands: Command lines that give the same rows.
    dataset: Whose rows they are of, where that is not the sidebar's.
    """
    is_own = is_held(dataset or st.session_state.get("dataset"))
    if is_own:
        script = notebook = None
        commands = ()
    offered: list[tuple[str, Callable[[], str], str, str]] = []
    if rows:
        offered.append(("Rows (CSV)", partial(csv_of, rows), "rows.csv", "text/csv"))
    for which, figure in (figures or {}).items():
        offered.append(
            (
                f"Figure{which and f', {which}'} (HTML)",
                partial(_html, figure),
                f"{which or 'figure'}.html",
                "text/html",
            )
        )
    if script is not None:
        offered.append(("Script (Python)", script, "run.py", "text/x-python"))
    if notebook is not None:
        offered.append(("Notebook", notebook, "run.ipynb", "application/x-ipynb+json"))
    # Paper leaves it out.
    with st.container(key=f"take_away_{name}"):
        st.markdown("## Download")
        with st.container(horizontal=True):
            for label, data, ending, mime in offered:
                file = f"{name}-{ending}"
                st.download_button(label, data, file, mime, on_click="ignore", key=f"save_{file}")
        if is_own:
            st.caption("A script would need your table, which stays here: none is offered.")
        if commands:
            st.caption("The same rows from the command line:")
            st.code("\n".join(commands), language=None, wrap_lines=True)


def _html(figure: go.Figure | Callable[[], go.Figure]) -> str:
    import pandas  # noqa: F401  whole, before Plotly looks for it

    made = figure() if callable(figure) else figure
    return str(made.to_html(include_plotlyjs=True, full_html=True))
