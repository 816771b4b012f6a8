"""Public limits of columns, as a table to edit; a bound on a row's length follows from them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from dpcore.data.column_limits import (
    ColumnRange,
    half_diagonal,
    limits_of,
    read_limits,
    written_limits,
)
from dpcore.data.held_tables import is_held
from dpcore.errors import ParameterError
from dpcore.experiments.pca.problem import About
from dpcore.experiments.pca.sentences import counted
from pages.sidebar.controls import move_all
from pages.sidebar.selection import Selection
from pages.widgets.messages import not_private
from pages.widgets.plain_text import said

_REFUSED = "_limits_refused"
_LOWEST, _HIGHEST = "lowest", "highest"
# Rows of the table that are shown at once, at most.
_TALLEST = 12
_ROW_PIXELS = 35
Edits = Mapping[int, Mapping[str, float | None]]


def limits_table(selection: Selection, about: About) -> None:
    """The table, closed until somebody wants it, and what follows from it."""
    title, key = "Limits of columns, which are public", "limits_table"
    with st.expander(title, on_change="rerun", key=key) as opened:
        if not opened.open:
            return
        spec, usual = selection.spec, selection.dataset.ranges
        if is_held(spec.dataset):
            st.caption("Limits of your own table are on its page, and in no address.")
            return
        if spec.preparation == "published":
            st.caption("The published preparation reads the rows, and no limits.")
            return
        ranges = read_limits(spec.limits, usual)
        st.markdown(
            "Between which values a column lies, whoever takes part: from its documentation or the "
            "domain, never from the rows, and in their units. An empty cell: nobody has said."
        )
        table, told = st.columns([3, 2], gap="large")
        with table:
            _editor(f"limits_of_{spec.dataset}_{spec.limits}", ranges, usual)
        with told:
            _what_follows(ranges, about)
            if spec.limits:
                st.button("The catalogue's limits again", on_click=move_all, kwargs={"limits": ""})


def edited(ranges: Sequence[ColumnRange], edits: Edits, usual: Sequence[ColumnRange]) -> str:
    """The limits of a table after edits, as the address has them.

    Raises `ParameterError` as `read_limits`.
    """
    changed = (_written(each, edits.get(row, {})) for row, each in enumerate(ranges))
    return written_limits(read_limits("; ".join(changed), usual), usual)


def _written(each: ColumnRange, edit: Mapping[str, float | None]) -> str:
    known = (each.lower, each.upper) if each.is_limited else (None, None)
    texts = [
        "" if (end := edit.get(name, before)) is None else f"{end:.15g}"
        for name, before in zip((_LOWEST, _HIGHEST), known, strict=True)
    ]
    return f"{each.name}={':'.join(texts) if any(texts) else ''}"


def _editor(key: str, ranges: Sequence[ColumnRange], usual: Sequence[ColumnRange]) -> None:
    """Whatever it cannot take is said, and the answer stays as it was."""
    ends = np.array([[each.lower, each.upper] for each in ranges])
    ends[np.isinf(ends)] = math.nan
    shown = {
        "column": [
            each.name if each.n_columns == 1 else f"{each.name} (all {each.n_columns})"
            for each in ranges
        ],
        _LOWEST: ends[:, 0],
        _HIGHEST: ends[:, 1],
    }
    st.data_editor(
        shown,
        key=key,
        on_change=_take,
        args=(key, ranges, usual),
        disabled=["column"],
        hide_index=True,
        width="stretch",
        height=_ROW_PIXELS * (min(len(ranges), _TALLEST) + 1) + 2,
    )
    if refused := st.session_state.get(_REFUSED, {}).get(key):
        st.warning(f"{said(refused)}. What is shown is still from before.")


def _take(key: str, ranges: Sequence[ColumnRange], usual: Sequence[ColumnRange]) -> None:
    st.session_state[_REFUSED] = {}
    try:
        move_all(limits=edited(ranges, st.session_state[key]["edited_rows"], usual))
    except ParameterError as error:
        st.session_state[_REFUSED] = {key: error}


def _what_follows(ranges: Sequence[ColumnRange], about: About) -> None:
    limits = limits_of(ranges)
    if limits is None:
        st.markdown("Not every column has limits, so that a row's bound does not follow from them.")
    else:
        st.markdown(
            f"Half the diagonal between all limits is **{half_diagonal(limits):.4g}**. Rows "
            "are centred at their middle and divided by it, unless the bound that the catalogue "
            "has is smaller."
        )
    st.markdown(about.statement)
    not_private(
        f"{counted(about.n_clipped, 'row')} outside",
        "longer than the bound or with a value beyond its limits, and brought back; only a "
        "laboratory counts them. Energy is that of rows within their limits.",
    )
