"""Messages: who sends to whom, and captured energy as they arrive, for a wall in a class."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from dpcore.figures.style import assembled, horizontal, look_of

_WIDTH, _HEIGHT = 560, 190
_MOST_DRAWN = 12
_FEW = 10


def arrivals(
    kept: Sequence[float], chance: float, n_sites: int, *, dark: bool = False
) -> go.Figure:
    """What an average of the first 1, 2, ... messages keeps, on axes that stand still.

    kept: Share of the optimum after each message.
    chance: What a random subspace keeps.
    n_sites: How many may send.
    """
    exact, random, look = (look_of(key, dark=dark) for key in ("exact", "random", "dpdis"))
    line = {
        "type": "scatter",
        "x": list(range(1, len(kept) + 1)),
        "y": [round(share, 4) for share in kept],
        "mode": "lines+markers",
        "line": {"color": look.colour, "width": 4},
        "marker": {"size": 10, "color": look.colour},
        "hovertemplate": "%{y:.0%} after %{x}<extra></extra>",
    }
    levels = ((1.0, exact, "no noise"), (chance, random, "pure chance"))
    notes = [
        {"x": 1, "xref": "paper", "xanchor": "right", "y": level, "yanchor": "bottom",
         "text": said, "showarrow": False, "font": {"size": 12}}
        for level, _, said in levels
    ]  # fmt: skip
    figure = assembled(
        [line],
        height=320,
        left=64,
        dark=dark,
        xaxis={"title": "messages received", "range": [0.5, max(n_sites, _FEW) + 0.5], "tick0": 0,
               "dtick": 5 if n_sites <= 2 * _FEW else 10, "zeroline": False},
        yaxis={"title": "share found", "range": [0, 1.12], "tickformat": ".0%", "dtick": 0.5},
        shapes=[horizontal(level, colour=of.colour, dash=of.dash, width=2)
                for level, of, _ in levels],
        annotations=notes,
        showlegend=False,
    )  # fmt: skip
    return figure.update_layout(margin={"t": 4, "b": 40})


def network_svg(
    n_sites: int, label: str, *, protocol: str = "dpdis", is_chain: bool = False, dark: bool = False
) -> str:
    """SVG of S sites sending to one aggregator, or handing on; the label stands on the way.

    n_sites: Up to twelve are drawn one by one, more as a row with an ellipsis.
    label: What one site sends, for example "51 kB".
    protocol: Whose colour it has.
    is_chain: Each site hands on to the next, in an order drawn at random; there is no aggregator.
    """
    ink = look_of("exact", dark=dark).colour
    colour = look_of(protocol).colour
    drawn = n_sites if n_sites <= _MOST_DRAWN else _MOST_DRAWN - 1
    slots = drawn + (n_sites > drawn)
    step = (_WIDTH - 60) / slots
    hub_x, hub_y = _WIDTH / 2, _HEIGHT - 34
    what = "hand on" if is_chain else "each send"
    whom = "from one to the next" if is_chain else "to one aggregator"
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'font-family="sans-serif" aria-label="{n_sites} sites {what} {label} {whom}">'
    )
    parts = [opening]
    for slot in range(slots):
        x = 30 + step * (slot + 0.5)
        if slot >= drawn:
            parts.append(
                f'<text x="{x:.0f}" y="34" text-anchor="middle" font-size="14" fill="{ink}">'
                f"… {n_sites}</text>"
            )
            continue
        if is_chain:
            is_last = slot == drawn - 1
            start_y, end_x, end_y = 29.0, x if is_last else x + step, 29.0
        else:
            angle = math.atan2(hub_y - 42, hub_x - x)
            start_y, end_x, end_y = 42.0, hub_x - 30 * math.cos(angle), hub_y - 22 * math.sin(angle)
        parts.append(
            f'<line x1="{x:.0f}" y1="{start_y:.0f}" x2="{end_x:.0f}" y2="{end_y:.0f}" '
            f'stroke="{colour}" '
            'stroke-width="2" opacity="0.75"/>'
            f'<rect x="{x - 13:.0f}" y="16" width="26" height="26" rx="5" fill="{colour}"/>'
            f'<text x="{x:.0f}" y="34" text-anchor="middle" font-size="12" fill="#ffffff" '
            f'font-weight="600">{slot + 1}</text>'
        )
    if is_chain:
        parts.append(
            f'<text x="{hub_x:.0f}" y="80" font-size="14" fill="{ink}" text-anchor="middle">'
            f"in an order drawn at random, {label} handed on each time</text></svg>"
        )
        return "".join(parts)
    parts.append(
        f'<circle cx="{hub_x:.0f}" cy="{hub_y:.0f}" r="20" fill="none" stroke="{ink}" '
        'stroke-width="2.5"/>'
        f'<text x="{hub_x + 30:.0f}" y="{hub_y + 5:.0f}" font-size="14" fill="{ink}">'
        "aggregator</text>"
        f'<text x="{hub_x - 32:.0f}" y="{hub_y + 5:.0f}" font-size="14" fill="{ink}" '
        f'text-anchor="end">{label} from each</text></svg>'
    )
    return "".join(parts)
