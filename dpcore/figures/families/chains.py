"""Markov chains: what they captured from sweep to sweep, and what their diagnostics say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from dpcore.arrays import FloatArray
from dpcore.figures.plot_parts import (
    ENERGY_TITLE,
    PERCENT_RANGE,
    Table,
    exact_and_random,
    legend_above,
    present_setting,
)
from dpcore.figures.style import base_figure, faded, ink

# Okabe-Ito; no algorithm is drawn in these on this page.
_COLOURS = {"random": "#0072B2", "mode": "#D55E00"}
_DASHES = {"random": "solid", "mode": "dash"}
_NAMES = {"random": "started at random", "mode": "started at exact PCA"}


def energy_traces(
    shares: FloatArray,
    starts: Sequence[str],
    random_share: float,
    *,
    stopped: int | None = None,
    dark: bool = False,
) -> go.Figure:
    """Captured energy of every chain against sweeps, from its start on.

    shares: shape (n_chains, n_sweeps + 1)
    starts: sequence of {"random", "mode"}
    stopped: The sweep at which the diagnostics first passed.
    """
    figure = base_figure(380)
    # The start is drawn as 1, which a logarithmic axis has room for.
    sweeps = np.arange(1, shares.shape[1] + 1)
    for chain, start in enumerate(starts):
        figure.add_scatter(
            x=sweeps,
            y=shares[chain],
            mode="lines",
            line={"color": faded(_COLOURS[start], 0.8), "width": 1.6, "dash": _DASHES[start]},
            name=_NAMES[start],
            legendgroup=start,
            showlegend=start not in starts[:chain],
            hovertemplate="%{y:.1%}<extra>" + _NAMES[start] + "</extra>",
        )
    exact_and_random(figure, random_share, dark=dark)
    present_setting(figure, None if stopped is None else stopped + 1, dark=dark)
    figure.update_xaxes(title="sweeps, the start counted as 1", **_log_axis(len(sweeps)))
    figure.update_yaxes(range=PERCENT_RANGE, tickformat=".0%", title=ENERGY_TITLE)
    return legend_above(figure)


def running_diagnostic(
    rows: Table,
    field: str,
    *,
    title: str,
    threshold: float,
    passes: str,
    ticks: Sequence[float],
    dark: bool = False,
) -> go.Figure:
    """One diagnostic as it would have read after fewer sweeps, with what passes.

    rows: With sweeps and `field`.
    passes: What is said at the threshold.
    ticks: Labelled values of the logarithmic axis.
    """
    figure = base_figure(250)
    figure.add_scatter(
        x=[row["sweeps"] + 1 for row in rows],
        y=[row[field] for row in rows],
        mode="lines+markers",
        line={"color": ink(dark), "width": 2},
        marker={"size": 6},
        hovertemplate="%{y:.3g}<extra></extra>",
    )
    figure.add_hline(y=threshold, line={"color": "#009E73", "dash": "dash", "width": 2})
    figure.add_annotation(
        x=0, xref="paper", xanchor="left", y=np.log10(threshold), yanchor="bottom", text=passes,
        showarrow=False, font={"size": 12},
    )  # fmt: skip
    figure.update_xaxes(title="sweeps", **_log_axis(rows[-1]["sweeps"] + 1))
    figure.update_yaxes(
        type="log", title=title, tickvals=ticks, ticktext=[f"{tick:,g}" for tick in ticks]
    )
    return figure


def _log_axis(last: int) -> dict[str, object]:
    end = np.log10(max(last, 10))
    ticks = [10**power for power in range(6) if 10**power <= last]
    return {
        "type": "log",
        "range": [-0.03 * end, 1.03 * end],
        "tickvals": ticks,
        "ticktext": [f"{tick:,}" for tick in ticks],
    }
