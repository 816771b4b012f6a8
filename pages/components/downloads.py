"""Downloads of a page: rows as CSV, a script, a notebook, the command line, a link."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from dpcore.data.dataset import without_secret_name
from dpcore.experiments.engine.spec import Row
from dpcore.experiments.publish.export import csv_of


def offer_downloads(
    name: str,
    rows: Sequence[Row] | Callable[[], Sequence[Row]],
    *,
    script: Callable[[], str] | None = None,
    notebook: Callable[[], str] | None = None,
    commands: Sequence[str] = (),
) -> None:
    """Draw a menu of downloads. Each file is made when a visitor asks for it.

    name: Beginning of the file names.
    rows: Rows, or a function that returns them when the file is requested.
    script, notebook: Return the text of a Python script and of a notebook that give the same rows;
        None for a visitor's own table, which stays on the server.
    commands: Command lines that print the same rows.
    """
    files: list[tuple[str, Callable[[], str], str, str]] = []
    if rows:
        make_rows = rows if callable(rows) else partial(list, rows)
        files.append(("Rows (CSV)", lambda: csv_of(make_rows()), "rows.csv", "text/csv"))
    if script is not None:
        files.append(("Script (Python)", script, "run.py", "text/x-python"))
    if notebook is not None:
        files.append(("Notebook", notebook, "run.ipynb", "application/x-ipynb+json"))
    with st.popover("Download and share"):
        for label, make, ending, kind in files:
            file, data = f"{name}-{ending}", partial(_without_secret_name, make)
            st.download_button(label, data, file, kind, on_click="ignore", key=f"save_{file}")
        if st.context.url:
            st.caption("The address of this page restores this view:")
            query = "&".join(f"{key}={value}" for key, value in st.query_params.to_dict().items())
            st.code(
                f"{st.context.url}{'?' if query else ''}{query}", language=None, wrap_lines=True
            )
        if commands:
            st.caption("The same rows from the command line:")
            st.code("\n".join(commands), language=None, wrap_lines=True)


def _without_secret_name(make: Callable[[], str]) -> str:
    # The secret name of a table gives access to its rows while the session lasts.
    return without_secret_name(make())
