"""What to take away from a page: rows, a script, a notebook, a link."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

import streamlit as st

from dpcore.experiments.pca.export import csv_of

Row = dict[str, object]


def downloads(key: str, rows: Sequence[Row], *, script: str = "", notebook: str = "") -> None:
    """Buttons for what there is, and the link that restores the page.

    Parameters
    ----------
    key : str
        Prefix of the widgets' keys and of the files' names.
    """
    with st.container(horizontal=True):
        for label, data, suffix, mime in (
            ("Rows (CSV)", csv_of(rows) if rows else "", "rows.csv", "text/csv"),
            ("Script (Python)", script, "run.py", "text/x-python"),
            ("Notebook", notebook, "run.ipynb", "application/x-ipynb+json"),
        ):
            if data:
                st.download_button(
                    label,
                    data,
                    f"{key}-{suffix}",
                    mime,
                    on_click="ignore",
                    key=f"{key}_save_{suffix}",
                )
        link_to(
            urlencode(
                [(name, v) for name in st.query_params for v in st.query_params.get_all(name)]
            )
        )


def link_to(query: str) -> None:
    """The address that restores every control, to copy; sent only when somebody asks for it."""
    with st.popover("Link to this view", on_change="rerun", key="link") as asked:
        if asked.open:
            st.caption("It restores every control, on any server that runs the lab.")
            st.code(
                f"{st.context.url}{'?' if query else ''}{query}", language=None, wrap_lines=True
            )
