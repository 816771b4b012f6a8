"""Captured energy on a page: the dot plot, and the curve that fills in while one looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import plotly.graph_objects as go
import streamlit as st

from dpcore.experiments.engine.control_ranges import EPSILONS
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.pca.sentences import (
    comparison,
    headline,
    in_plain_words,
    percent,
    spread_of,
)
from dpcore.experiments.pca.spec import RunSpec, as_published
from dpcore.figures.tradeoffs.energy import energy_curves, protocol_dots
from pages.server import page_lock, result_cache
from pages.sidebar.controls import move
from pages.widgets import session_ledger
from pages.widgets.charts import chart, is_dark
from pages.widgets.messages import big_number

CURVE_EPSILONS = tuple(epsilon for epsilon in EPSILONS if epsilon >= 0.01)
# Long enough to get somewhere, short enough that a slider moved meanwhile answers at once.
_SLICE_SECONDS = 0.2
# Leaves the browser time to draw between two slices.
_TICK_SECONDS = 0.4
# Pixels, as high as the answer beside it.
_CURVE_HEIGHT = 290


def answer(spec: RunSpec, rows: Sequence[Row], titles: dict[str, str], *, compare: bool) -> None:
    """The first protocol's mean, what it means, and the same in full."""
    lead = spread_of(rows, spec.protocols[0])
    big_number(percent(lead.mean), in_plain_words(rows), beside=False)
    in_full = f"{percent(lead.mean)} {headline(rows, titles)} {comparison(rows, titles)}."
    st.markdown(f":small[{in_full}]")
    if compare:
        st.markdown(against_published(spec, lead.mean))


def dots(spec: RunSpec, rows: Sequence[Row]) -> None:
    """Every draw of every protocol of a spec, whose rows these are."""
    dark = is_dark()
    chart(
        result_cache.shown(("dots", spec, len(rows), dark), lambda: protocol_dots(rows, dark=dark)),
        key="dots",
        alt="Captured energy of each protocol as a share of exact PCA, one dot a draw.",
    )


def against_published(spec: RunSpec, mean: float) -> str:
    """What the published choices keep, beside the first protocol's mean; paid for like the rest."""
    printed = replace(as_published(spec), protocols=spec.protocols[:1])
    session_ledger.pay_run(printed, spec.repetitions)
    before = spread_of(result_cache.rows(printed), spec.protocols[0])
    return (
        f"The published choices (published calibration, triangle noise, svd truncation) keep "
        f"**{percent(before.mean)}**: a difference of "
        f"**{100 * (mean - before.mean):+.0f} points** for a promise that is kept."
    )


def epsilon_curve(spec: RunSpec) -> None:
    """Energy against ε at the present settings; clicking a point moves ε there."""
    specs = tuple(
        replace(spec, epsilon=epsilon)
        for epsilon in CURVE_EPSILONS
        if spec.calibration != "classic" or epsilon <= 1
    )
    unfinished = bool(result_cache.finished_rows(specs)[1])
    every = page_lock.unhurried(_TICK_SECONDS) if unfinished else None
    st.fragment(_draw_curve, run_every=every)(spec, specs, unfinished)


def _draw_curve(spec: RunSpec, specs: tuple[RunSpec, ...], was_unfinished: bool) -> None:
    if st.session_state.pop("_curve_clicked", False):
        # A click runs this fragment alone; the slider it moved belongs to the whole page.
        st.rerun()
    started = st.session_state.get("_curve_started") == spec
    st.session_state["_curve_started"] = spec
    rows, missing = result_cache.finished_rows(specs)
    if missing and started:
        result_cache.compute_for(missing, result_cache.cell_rows, _SLICE_SECONDS)
        rows, missing = result_cache.finished_rows(specs)
    if rows:
        dark = is_dark()
        chart(
            result_cache.shown(
                ("curve", spec, len(rows), dark),
                lambda: _curve(rows, spec.epsilon, dark),
            ),
            key="curve",
            on_select=_move_to_point,
            selection_mode="points",
            alt="Captured energy of each protocol against the asked epsilon; click a point to go.",
        )
    if missing:
        st.progress(
            1 - len(missing) / sum(s.repetitions for s in specs),
            f"{len(missing)} of {sum(s.repetitions for s in specs)} draws to come",
        )
    elif was_unfinished and started:
        # The whole page once more, so that the fragment stops asking to be run again.
        st.rerun()


def _curve(rows: Sequence[Row], epsilon: float, dark: bool) -> go.Figure:
    return energy_curves(
        rows,
        "epsilon",
        axis_title="← more private     asked ε     less private →",
        axis_range=(CURVE_EPSILONS[0], CURVE_EPSILONS[-1]),
        marker=epsilon,
        height=_CURVE_HEIGHT,
        dark=dark,
    )


def _move_to_point() -> None:
    points = st.session_state["curve"].selection.points
    if points:
        nearest = min(EPSILONS, key=lambda epsilon: abs(epsilon - points[0]["x"]))
        move("epsilon", nearest)
        st.session_state["_curve_clicked"] = True
