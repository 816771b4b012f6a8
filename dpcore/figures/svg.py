"""Standalone SVG: published figures, stamps, networks of sites.

Drawn here in under 1 ms each. Plotly's own pictures need Chrome (348 MB, 10 s for one by kaleido);
matplotlib would add 77 MB, 0.7 s a picture, and its import.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any
from xml.sax.saxutils import escape

import plotly.graph_objects as go

from dpcore.figures.style import (
    GREY,
    INK_LIGHT,
    Row,
    Table,
    assembled,
    horizontal,
    ink,
    log_ticks,
    look_of,
    values_by,
)

# Published figures as standalone SVG: pictures for a document, and stamps to see many at once.

Point = tuple[str, float, float]
"""A protocol, a value on the horizontal axis, an energy ratio."""

_WIDTH, _HEIGHT = 640, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 16, 64, 52
_SIDE = 16
_STAMP_WIDTH, _STAMP_HEIGHT = 200, 112
# So many points of a trace are told apart on a stamp.
_MOST_POINTS = 200
_DASHES = {"solid": "", "dash": "7 4", "dot": "2 4"}


def energy_curves_svg(
    rows: Table,
    field: str,
    *,
    title: str,
    axis_title: str,
    logarithmic: bool = True,
    published: Sequence[Point] = (),
    target: float | None = None,
) -> str:
    """Mean captured energy along one field with the range of the draws, as SVG text.

    rows: With protocol, energy_ratio, random_ratio and `field`; at least one.
    field: Column on the horizontal axis; greater than 0 if `logarithmic`.
    published: sequence of (protocol, value, energy ratio). Points to put on top, drawn hollow.
    target: A share that is to be reached.
    """
    values = sorted({float(row[field]) for row in rows})
    ticks, labels = log_ticks(values) if logarithmic else (values, [f"{v:g}" for v in values])
    ends = values[0], values[-1]
    axes = _Axes(ends, logarithmic, (_LEFT, _WIDTH - _RIGHT), (_TOP, _HEIGHT - _BOTTOM), 1.06)
    x, y = axes.x, axes.y
    parts = _opening(title, _HEIGHT)
    for share in (0, 0.2, 0.4, 0.6, 0.8, 1.0):
        parts += [
            _line(_LEFT, y(share), _WIDTH - _RIGHT, y(share), "#e4e4e4"),
            _text(_LEFT - 8, y(share) + 4, f"{share:.0%}", anchor="end"),
        ]
    for tick, label in zip(ticks, labels, strict=True):
        parts += [
            _line(x(tick), y(0), x(tick), y(0) + 5, INK_LIGHT),
            _text(x(tick), y(0) + 20, label),
        ]
    parts += [
        _line(_LEFT, y(0), _WIDTH - _RIGHT, y(0), INK_LIGHT),
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 12, axis_title),
        (
            f'<text transform="translate(16 {y(0.5):.1f}) rotate(-90)" text-anchor="middle">'
            "survives, share of exact PCA</text>"
        ),
    ]
    floor = fmean(row["random_ratio"] for row in rows)
    for level, colour, dash in ((1.0, INK_LIGHT, "7 4"), (floor, GREY, "2 4")):
        parts.append(_line(_LEFT, y(level), _WIDTH - _RIGHT, y(level), colour, dash, 1.5))
    if target is not None:
        parts += [
            _line(_LEFT, y(target), _WIDTH - _RIGHT, y(target), INK_LIGHT, width=1.5),
            _text(_LEFT + 6, y(target) - 5, f"target: {target:.0%}", anchor="start"),
        ]
    legend: float = _LEFT
    for key in dict.fromkeys(row["protocol"] for row in rows):
        own = [row for row in rows if row["protocol"] == key]
        parts += _curve(own, field, axes)
        parts += [
            _line(legend, 42, legend + 22, 42, look_of(key).colour, _dash(key), 2.5),
            _text(legend + 28, 46, look_of(key).label, anchor="start"),
        ]
        legend += 46 + 7.2 * len(look_of(key).label)
    parts += [axes.hollow(point, 5) for point in published]
    if published:
        parts += [
            f'<circle cx="{legend + 8:.1f}" cy="42" r="5" fill="none" stroke="{INK_LIGHT}"/>',
            _text(legend + 20, 46, "published", anchor="start"),
        ]
    return "\n".join([*parts, "</svg>\n"])


def energy_thumbnail(
    points: Sequence[Point],
    *,
    ends: tuple[float, float],
    logarithmic: bool = True,
    published: Sequence[Point] = (),
    dark: bool = False,
) -> str:
    """Mean captured energy along one field, a line a protocol, as small as a stamp, without text.

    points: sequence of (protocol, value, energy ratio). May be empty: a frame that says nothing has
        been run.
    ends: (float, float). Smallest and largest value of the axis.
    published: sequence of (protocol, value, energy ratio). Points to put on top, drawn hollow.
    """
    axes = _Axes(ends, logarithmic, (8, _STAMP_WIDTH - 8), (8, _STAMP_HEIGHT - 6), 1.04)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_STAMP_WIDTH} {_STAMP_HEIGHT}">',
        _line(0, axes.y(0), _STAMP_WIDTH, axes.y(0), GREY),
        _line(0, axes.y(1), _STAMP_WIDTH, axes.y(1), ink(dark), "6 4"),
    ]
    for key in dict.fromkeys(protocol for protocol, _, _ in points):
        own = sorted((value, ratio) for protocol, value, ratio in points if protocol == key)
        parts.append(
            f'<polyline points="{axes.path(own)}" fill="none" stroke="{look_of(key).colour}" '
            'stroke-width="2" stroke-linejoin="round"/>'
        )
    parts += [axes.hollow(point, 3) for point in published]
    return "".join([*parts, "</svg>"])


def figure_thumbnail(figure: go.Figure, *, dark: bool = False) -> str:
    """A chart's lines, points and bars as small as a stamp, without text, on its own background.

    Nothing of a figure without any of them: a map or a table has no likeness so small.
    """
    traces = [trace for trace in figure.data if trace.type in ("scatter", "bar")]
    places = [_placed(trace, figure.layout) for trace in traces]
    across = [x for xs, _ in places for x in xs]
    up = [y for _, ys in places for y in ys]
    if not across:
        return ""
    has_bars = any(trace.type == "bar" for trace in traces)
    is_flat = has_bars and any(trace.orientation == "h" for trace in traces)
    if has_bars:
        (across if is_flat else up).append(0.0)

    def scaled(values: list[float], start: float, end: float) -> Callable[[float], float]:
        low, high = min(values), max(values)
        return lambda value: (
            start + (end - start) * ((value - low) / (high - low) if high > low else 0.5)
        )

    x, y = scaled(across, 8, _STAMP_WIDTH - 8), scaled(up, _STAMP_HEIGHT - 8, 8)
    paper = "#0e1117" if dark else "#ffffff"  # of the theme that the lines were drawn for
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_STAMP_WIDTH} {_STAMP_HEIGHT}">',
        f'<rect width="100%" height="100%" fill="{paper}"/>',
    ]
    for trace, (xs, ys) in zip(traces, places, strict=True):
        points = [(x(a), y(b)) for a, b in zip(xs, ys, strict=True)]
        parts += _small_trace(trace, _colour_of(trace), points, (x(0), y(0)), is_flat)
    return "".join([*parts, "</svg>"])


def _placed(trace: Any, layout: Any) -> tuple[list[float], list[float]]:
    """Where a trace's points lie: names in their order, numbers of a logarithmic axis as such."""

    def numbers(values: Any, axis: Any) -> list[float]:
        found = list(values) if values is not None else []
        if any(isinstance(value, str) for value in found):
            order = list(dict.fromkeys(found))
            return [float(order.index(value)) for value in found]
        read = [math.nan if value is None else float(value) for value in found]
        if axis.type == "log":
            read = [math.log10(value) if value > 0 else math.nan for value in read]
        return read

    pairs = zip(numbers(trace.x, layout.xaxis), numbers(trace.y, layout.yaxis), strict=False)
    there = [(a, b) for a, b in pairs if math.isfinite(a) and math.isfinite(b)]
    return [a for a, _ in there], [b for _, b in there]


def _colour_of(trace: Any) -> str:
    marked = trace.marker.color
    first = marked[0] if isinstance(marked, list | tuple) and marked else marked
    named = (trace.line.color if trace.type == "scatter" else None, first)
    return next((colour for colour in named if isinstance(colour, str)), GREY)


def _small_trace(
    trace: Any,
    colour: str,
    points: Sequence[tuple[float, float]],
    origin: tuple[float, float],
    is_flat: bool,
) -> list[str]:
    colour = escape(colour, {'"': ""})
    if trace.type == "bar":
        room = (_STAMP_HEIGHT if is_flat else _STAMP_WIDTH) - 16
        wide = max(1.0, 0.7 * room / max(len(points), 1))
        boxes = (
            (min(a, origin[0]), b - wide / 2, abs(a - origin[0]), wide)
            if is_flat
            else (a - wide / 2, min(b, origin[1]), wide, abs(b - origin[1]))
            for a, b in points
        )
        return [
            f'<rect x="{a:.1f}" y="{b:.1f}" width="{w:.1f}" height="{h:.1f}" fill="{colour}"/>'
            for a, b, w, h in boxes
        ]
    few = points[:: -(-len(points) // _MOST_POINTS) or 1]
    parts = []
    if "lines" in (trace.mode or "lines"):
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in few)
        dash = _DASHES.get(trace.line.dash or "solid", "7 4")
        fill = colour if trace.fill not in (None, "none") else "none"
        parts.append(
            f'<polyline points="{path}" fill="{fill}" fill-opacity="0.2" stroke="{colour}" '
            f'stroke-width="2" stroke-dasharray="{dash}"/>'
        )
    if "markers" in (trace.mode or ""):
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.2" fill="{colour}"/>' for a, b in few]
    return parts


def accuracy_dots_svg(rows: Table, *, title: str, published: Table = ()) -> str:
    """Every round's accuracy as a dot, a line an algorithm and a group a task, as SVG text.

    rows: With task, protocol, accuracy (a share); at least one.
    published: With task, protocol, mean and std in percent, drawn as bars.
    """
    printed = {(row["task"], row["protocol"]): row for row in published}
    groups: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        groups.setdefault(row["task"], {}).setdefault(row["protocol"], []).append(row["accuracy"])
    shares: list[float] = [row["accuracy"] for row in rows]
    shares += [(row["mean"] - row["std"]) / 100 for row in published]
    low: float = math.floor(20 * min(shares)) / 20
    left, right = 150, _WIDTH - 96

    def x(share: float) -> float:
        return left + (min(share, 1) - low) / (1 - low) * (right - left)

    parts: list[str] = []
    y = 40
    for task, lines in groups.items():
        parts.append(_text(_SIDE, y + 14, task, anchor="start"))
        y += 22
        for key, accuracies in lines.items():
            y += 24
            parts += _accuracy_line(key, accuracies, printed.get((task, key)), x, y)
        y += 24
    ticks = [low + (1 - low) * part / 5 for part in range(6)]
    grid = [_line(x(tick), 40, x(tick), y, "#e4e4e4") for tick in ticks]
    parts += [_text(x(tick), y + 18, f"{tick:.0%}") for tick in ticks]
    caption = "accuracy on the rows left for testing" + "; bars: published" * bool(published)
    parts.append(_text(_WIDTH / 2, y + 42, caption))
    return "\n".join([*_opening(title, y + 60), *grid, *parts, "</svg>\n"])


def _accuracy_line(
    key: str,
    accuracies: Sequence[float],
    printed: Row | None,
    x: Callable[[float], float],
    y: float,
) -> list[str]:
    look, mean = look_of(key), fmean(accuracies)
    parts = [
        _text(140, y + 4, look.label, anchor="end"),
        *(
            f'<circle cx="{x(share):.1f}" cy="{y}" r="4" fill="{look.colour}" fill-opacity="0.3"/>'
            for share in accuracies
        ),
        f'<circle cx="{x(mean):.1f}" cy="{y}" r="6" fill="{look.colour}"/>',
        _text(_WIDTH - _SIDE, y + 4, f"{mean:.2%}", anchor="end"),
    ]
    if printed is not None:
        centre, spread = printed["mean"] / 100, printed["std"] / 100
        parts += [
            _line(x(centre - spread), y - 9, x(centre + spread), y - 9, INK_LIGHT),
            _line(x(centre), y - 13, x(centre), y - 5, INK_LIGHT, width=2.5),
        ]
    return parts


@dataclass(frozen=True)
class _Axes:
    """Where values and energy ratios lie, in pixels."""

    ends: tuple[float, float]
    logarithmic: bool
    across: tuple[float, float]
    down: tuple[float, float]
    top_of_scale: float

    def x(self, value: float) -> float:
        scale = math.log10 if self.logarithmic else float
        low, high, here = scale(self.ends[0]), scale(self.ends[1]), scale(value)
        part = (here - low) / (high - low) if high > low else 0.5
        left, right = self.across
        return left + (0.02 + 0.96 * part) * (right - left)

    def y(self, ratio: float) -> float:
        top, bottom = self.down
        return bottom - ratio / self.top_of_scale * (bottom - top)

    def path(self, points: Sequence[tuple[float, float]]) -> str:
        return " ".join(f"{self.x(value):.1f},{self.y(ratio):.1f}" for value, ratio in points)

    def hollow(self, point: Point, radius: float) -> str:
        key, value, ratio = point
        return (
            f'<circle cx="{self.x(value):.1f}" cy="{self.y(ratio):.1f}" r="{radius}" fill="none" '
            f'stroke="{look_of(key).colour}" stroke-width="1.5"/>'
        )


def _opening(title: str, height: float) -> list[str]:
    return [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
            f'viewBox="0 0 {_WIDTH} {height}" font-family="Helvetica, Arial, sans-serif" '
            f'font-size="13" fill="{INK_LIGHT}">'
        ),
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        _text(_SIDE, 22, title, anchor="start", size=15),
    ]


def _curve(rows: Table, field: str, axes: _Axes) -> list[str]:
    look = look_of(rows[0]["protocol"])
    draws = values_by(rows, field, "energy_ratio")
    above = [(value, max(found)) for value, found in draws.items()]
    band = above + [(value, min(found)) for value, found in draws.items()][::-1]
    means = [(value, fmean(found)) for value, found in draws.items()]
    dots = [(axes.x(v), axes.y(mean)) for v, mean in means]
    return [
        f'<polygon points="{axes.path(band)}" fill="{look.colour}" fill-opacity="0.15"/>',
        (
            f'<polyline points="{axes.path(means)}" fill="none" stroke="{look.colour}" '
            f'stroke-width="2.5" stroke-dasharray="{_dash(rows[0]["protocol"])}"/>'
        ),
        *(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{look.colour}"/>' for a, b in dots),
    ]


def _dash(key: str) -> str:
    return _DASHES.get(look_of(key).dash, "")


def _line(
    x1: float, y1: float, x2: float, y2: float, colour: str, dash: str = "", width: float = 1
) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width}" stroke-dasharray="{dash}"/>'
    )


def _text(x: float, y: float, text: str, *, anchor: str = "middle", size: int = 13) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">'
        f"{escape(text)}</text>"
    )


# Messages: who sends to whom, and captured energy as they arrive, for a wall in a class.

_NETWORK_WIDTH, _NETWORK_HEIGHT = 560, 190
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
    levels = ((1.0, exact, "no noise"), (chance, random, "random guess"))
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
    step = (_NETWORK_WIDTH - 60) / slots
    hub_x, hub_y = _NETWORK_WIDTH / 2, _NETWORK_HEIGHT - 34
    what = "hand on" if is_chain else "each send"
    whom = "from one to the next" if is_chain else "to one aggregator"
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_NETWORK_WIDTH} {_NETWORK_HEIGHT}" '
        f'role="img" '
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
