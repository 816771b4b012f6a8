"""Where the best split of a budget lies, and how it moves."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dpcore.figures.style import Table, base_figure, error_range, ink, look_of, values_by


def share_multiples(
    panels: Mapping[str, Table],
    chosen: Mapping[tuple[str, float], float],
    *,
    protocol: str,
    chance: float,
    dark: bool = False,
) -> go.Figure:
    """Error against the PCA share, a panel a number of people, a line an epsilon.

    panels: mapping of panel title to rows. Rows with epsilon, pca_share, test_error; may be
        incomplete.
    chosen: mapping of (panel title, epsilon) to share. The best shares, marked.
    """
    titles = list(panels)
    figure = make_subplots(
        rows=1, cols=len(titles), shared_yaxes=True, subplot_titles=titles, horizontal_spacing=0.03
    )
    base = base_figure(360).layout
    figure.update_layout(
        height=base.height, margin={"l": 8, "r": 8, "t": 60, "b": 8}, font=base.font, dragmode=False
    )
    epsilons = sorted({row["epsilon"] for rows in panels.values() for row in rows})
    colour = look_of(protocol, dark=dark).colour
    dashes = ("dot", "dash", "solid", "longdash", "dashdot")
    for column, (title, rows) in enumerate(panels.items(), start=1):
        for number, epsilon in enumerate(epsilons):
            own = [row for row in rows if row["epsilon"] == epsilon]
            errors = values_by(own, "pca_share", "test_error")
            means = {share: fmean(found) for share, found in errors.items()}
            look = {
                "color": colour,
                "dash": dashes[number % len(dashes)],
                "width": 1.5 + number * 0.6,
            }
            figure.add_scatter(
                x=list(means),
                y=list(means.values()),
                mode="lines",
                name=f"ε = {epsilon:g}",
                legendgroup=f"{epsilon}",
                showlegend=column == 1,
                line=look,
                hovertemplate=f"%{{y:.1%}} at %{{x:.0%}}<extra>ε = {epsilon:g}</extra>",
                row=1,
                col=column,
            )
            best = chosen.get((title, epsilon))
            if best in means:
                figure.add_scatter(
                    x=[best],
                    y=[means[best]],
                    mode="markers",
                    marker={"symbol": "star", "size": 13, "color": ink(dark)},
                    showlegend=False,
                    hovertemplate=f"best at %{{x:.0%}}<extra>ε = {epsilon:g}</extra>",
                    row=1,
                    col=column,
                )
    figure.update_xaxes(
        tickformat=".0%", tickvals=[0, 0.5], range=[-0.04, 1.0], title="share for PCA"
    )
    figure.update_yaxes(
        tickformat=".0%",
        range=error_range(chance, [row for rows in panels.values() for row in rows]),
    )
    figure.update_yaxes(title="test error", col=1)
    figure.update_layout(
        showlegend=True, legend={"orientation": "h", "y": 1.14, "yanchor": "bottom", "x": 0}
    )
    return figure


def three_way_map(
    rows: Table, best: tuple[float, float] | None, *, chance: float, dark: bool = False
) -> go.Figure:
    """Ternary map of the error over the shares of centring, PCA and training.

    rows: With centring_share, pca_share, training_share, test_error.
    best: (centring_share, pca_share)
    """
    errors: dict[tuple[float, float, float], list[float]] = {}
    for row in rows:
        split = (row["centring_share"], row["pca_share"], row["training_share"])
        errors.setdefault(split, []).append(row["test_error"])
    figure = base_figure(520)
    figure.add_scatterternary(
        a=[split[0] for split in errors],
        b=[split[1] for split in errors],
        c=[split[2] for split in errors],
        mode="markers",
        cliponaxis=False,
        marker={
            "size": 22,
            "symbol": "hexagon",
            "color": [fmean(found) for found in errors.values()],
            "colorscale": "Cividis",
            "cmin": min(fmean(found) for found in errors.values()),
            "cmax": chance,
            "colorbar": {
                "title": {"text": "test error", "side": "top"},
                "tickformat": ".0%",
                "orientation": "h",
                "thickness": 14,
                "y": -0.12,
                "yanchor": "top",
            },
        },
        hovertemplate="centring %{a:.0%}, PCA %{b:.0%}, training %{c:.0%}: "
        "%{marker.color:.1%}<extra></extra>",
    )
    if best is not None:
        centring, pca = best
        figure.add_scatterternary(
            a=[centring],
            b=[pca],
            c=[1 - centring - pca],
            mode="markers",
            cliponaxis=False,
            marker={
                "symbol": "star",
                "size": 20,
                "color": "#ffffff",
                "line": {"color": "#1a1a1a", "width": 2},
            },
            hovertemplate="best: centring %{a:.0%}, PCA %{b:.0%}, training %{c:.0%}<extra></extra>",
        )
    axis = {"tickformat": ".0%", "ticks": "outside", "linecolor": ink(dark)}
    figure.update_layout(
        ternary={
            "sum": 1,
            "aaxis": axis | {"title": "centring"},
            "baxis": axis | {"title": "PCA"},
            "caxis": axis | {"title": "training"},
            "bgcolor": "rgba(0,0,0,0)",
        },
        margin={"l": 50, "r": 30, "t": 40, "b": 40},
    )
    return figure
