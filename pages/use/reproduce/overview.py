"""All published panels at a glance: which have been run, and how they came out."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from urllib.parse import urlencode

import streamlit as st

from dpcore.data import dataset_status
from dpcore.experiments.papers.published_points import PanelState, published_points_of
from dpcore.experiments.pca.sentences import counted
from dpcore.figures.tradeoffs.panels import legend_html
from dpcore.figures.tradeoffs.svg import energy_thumbnail
from pages.server import family_cache
from pages.use.reproduce.panel_run import LINEAR, query_of
from pages.widgets import session_ledger
from pages.widgets.charts import is_dark

# Three in a row, as the paper has them, and two on a telephone.
_COLUMNS = "repeat(auto-fill,minmax(max(9.5rem,30%),1fr))"
_GRID = f"display:grid;grid-template-columns:{_COLUMNS};gap:1.2rem"


def overview_shown() -> None:
    """A sentence on all panels, and a thumbnail of each that leads to it."""
    states = family_cache.panel_states()
    # Rows that anybody has left on this machine; this visitor has not asked for them.
    kept = dict.fromkeys(state.figure.base.dataset for state in states if state.draws)
    if not all(session_ledger.curves(dataset) for dataset in kept):
        return
    st.markdown(f"## All {len(states)} panels\n{summary(states)}")
    tiles = "".join(_tile(state, is_dark()) for state in states)
    legend = legend_html(states[0].figure.base.protocols, (), dark=is_dark())
    st.html(f'{legend}<div style="{_GRID}">{tiles}</div>')
    st.caption(
        "Lines: rows kept on this machine, from pages and from the command line. Hollow: the "
        "authors' own. `python -m dpcore reproduce all --out results` runs whatever is missing."
    )


def summary(states: Sequence[PanelState]) -> str:
    """How many have been run, how close they came, and on which the paper's claims hold."""
    ran = [state for state in states if state.draws]
    if not ran:
        return "None has been run on this machine yet."
    agree = sum(state.agrees is True for state in ran)
    fail = sum(state.agrees is False for state in ran)
    compared = [s.comparison for s in ran if s.comparison is not None and not s.comparison.is_part]
    closeness = ""
    if compared:
        worst = max(compared, key=lambda comparison: comparison.largest)
        closeness = (
            f" The largest difference to the published points of {counted(len(compared), 'panel')}"
            f" is **{worst.largest:.3f}**."
        )
    untold = len(ran) - agree - fail
    outcomes = (
        (agree, "every claim of the paper holds on"),
        (fail, "a claim fails on"),
        (untold, "it cannot be told from luck on"),
    )
    told = "; ".join(f"{words} **{count}**" for count, words in outcomes if count)
    return f"**{len(ran)} of {len(states)}** have been run: {told}.{closeness}"


def _tile(state: PanelState, dark: bool) -> str:
    figure = state.figure
    published = [(p.protocol, p.value, p.mean) for p in published_points_of(figure.name)]
    svg = energy_thumbnail(
        state.means,
        ends=(min(figure.values), max(figure.values)),
        logarithmic=figure.field not in LINEAR,
        published=published,
        dark=dark,
    )
    words = verdict_in_words(state)
    data = base64.b64encode(svg.encode()).decode()
    title = f"{figure.name}: {dataset_status(figure.base.dataset).title}"
    along = figure.axis.partition(",")[0]
    return (
        f'<a href="?{escape(urlencode(query_of(figure.name)))}" target="_self" '
        'style="color:inherit;text-decoration:none">'
        f'<img src="data:image/svg+xml;base64,{data}" style="width:100%" '
        f'alt="{escape(f"{title}, {along}. {words}")}">'
        f'<div style="font-size:.9rem"><b>{escape(title)}</b>, {escape(along)}</div>'
        f'<div style="font-size:.85rem">{escape(words)}</div></a>'
    )


def verdict_in_words(state: PanelState) -> str:
    """How a panel came out, in a line."""
    if not state.draws:
        return "Not run yet."
    holds = sum(verdict.holds is True for verdict in state.verdicts)
    fails = sum(verdict.holds is False for verdict in state.verdicts)
    mark = {True: "✓", False: "✗", None: "–"}[state.agrees]
    words = f"{mark} {holds} of {counted(len(state.verdicts), 'claim')} hold"
    if fails:
        words += f", {fails} not"
    words += f" in {counted(state.draws, 'draw')}"
    if state.comparison is None:
        return f"{words}."
    part = ", of a part of the data" if state.comparison.is_part else ""
    return f"{words}; {state.comparison.largest:.3f} from the published{part}."
