"""Captured energy against the bytes that one site sends, for two kinds of messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.experiments.engine.summaries import bytes_in_words, percent
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.pca.message_bytes import RatePoint, rate_points, rate_sweeps
from dpcore.figures.tradeoffs import energy_frontier
from dpcore.pca.protocols.register import PROTOCOLS
from pages import sweeps
from pages.components import charts, ledger
from pages.sidebar import Selection
from pages.sweeps import RowsOfSweeps

_FIGURE_HEIGHT = 420
_ROUNDED, _PRECISION = "step 1 σ", "float32"
_SHOWN_PRECISIONS = ("float32", "int8")


def draw_frontier(selection: Selection) -> None:
    """Draw captured energy against the bytes that one site sends."""
    spec = replace(selection.spec, protocols=("dpdis",), intermediate_dim=None)
    chosen = rate_sweeps(spec)
    sweeps.watch(chosen, partial(_draw_bytes, spec, selection.dataset))


def _draw_bytes(spec: RunSpec, dataset: DatasetStatus, results: RowsOfSweeps) -> None:
    rows = [row for rows_of_sweep in results for row in rows_of_sweep]
    ledger.charge_rows(rows)
    points = rate_points(rows) if rows else ()
    st.markdown(describe_bytes(points, spec, dataset))
    with st.container(height=_FIGURE_HEIGHT, border=False):
        if points:
            is_shown = [
                row
                for row in rows
                if row["protocol"] == "full" or row["encoding"] in _SHOWN_PRECISIONS
            ]
            best = "; ".join(f"{p.label}, {percent(p.energy)}" for p in points if p.is_best)
            charts.show_figure(
                energy_frontier(
                    [point.as_row() for point in rate_points(is_shown)],
                    byte_range=_byte_range(spec, dataset, points),
                    floor=rows[0]["floor"],
                    dark=charts.is_dark(),
                ),
                key="frontier",
                height="stretch",
                alt=f"Captured energy against bytes per site. Best for their size: {best}.",
            )
    st.caption("Every message has the same guarantee: rounding and cutting come after the noise.")
    _draw_best_messages(points)


def describe_bytes(points: Sequence[RatePoint], spec: RunSpec, dataset: DatasetStatus) -> str:
    """Compare the rounded matrix with the usual message of R directions."""
    components = spec.components or dataset.default_components or 1
    usual = min(2 * components, dataset.n_features)
    proxies = {
        p.intermediate_dim: p
        for p in points
        if p.intermediate_dim is not None and p.encoding == _PRECISION
    }
    rounded = next((p for p in points if p.label == _ROUNDED), None)
    if rounded is None or not proxies:
        return "Waiting for messages of both kinds: R directions, and rounded matrices."
    intermediate_dim = min(proxies, key=lambda dim: abs(dim - usual))
    proxy = proxies[intermediate_dim]
    ratio = proxy.bytes_per_site / rounded.bytes_per_site
    number, word = (ratio, "fewer") if ratio >= 1 else (1 / ratio, "more")
    return (
        f"A rounded matrix needs **{number:.2g} times {word} bytes**: it captures "
        f"**{percent(rounded.energy)}** with {bytes_in_words(rounded.bytes_per_site)} per site. "
        f"R = {intermediate_dim} directions capture **{percent(proxy.energy)}** with "
        f"{bytes_in_words(proxy.bytes_per_site)}. {_advice(rounded, proxy)}"
    )


def _advice(rounded: RatePoint, proxy: RatePoint) -> str:
    if round(100 * rounded.energy) < round(100 * proxy.energy):
        return "Send R directions: they capture more."
    if rounded.bytes_per_site < proxy.bytes_per_site:
        return f"Send the rounded matrix ({PROTOCOLS['coded'].title})."
    return "Send R directions where bytes matter."


def _draw_best_messages(points: Sequence[RatePoint]) -> None:
    best = [point for point in points if point.is_best]
    if not best:
        return
    st.markdown("**Messages that no smaller one beats**")
    st.dataframe(
        [
            {
                "message": f"{'R directions' if point.family == 'proxy' else 'matrix'}, "
                + point.label.replace("int8", "8 bits"),
                "bytes per site": point.bytes_per_site,
                "captured energy, %": 100 * point.energy,
                "range, %": f"{100 * point.least:.0f} to {100 * point.greatest:.0f}",
            }
            for point in best
        ],
        column_config={
            "bytes per site": st.column_config.NumberColumn(format="%,.0f"),
            "captured energy, %": st.column_config.NumberColumn(format="%.1f"),
        },
        hide_index=True,
        height="content",
    )


def _byte_range(
    spec: RunSpec, dataset: DatasetStatus, points: Sequence[RatePoint]
) -> tuple[float, float]:
    """Return the range of the axis, from the smallest message to the whole matrix."""
    features, components = dataset.n_features, spec.components or dataset.default_components or 1
    # On the sphere a private mean is sent to the aggregator and back.
    mean_bytes = 16 * features if spec.on_sphere else 0
    smallest = features * max(1, components // 4) + mean_bytes
    largest = max(4 * features * (features + 1), 8 * features * 4 * components) + mean_bytes
    return 0.7 * min(smallest, *(p.bytes_per_site for p in points)), 1.5 * largest
