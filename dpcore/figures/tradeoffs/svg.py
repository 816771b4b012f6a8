"""Published figures as standalone SVG: pictures for a document, without a browser to draw them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from xml.sax.saxutils import escape

from dpcore.figures.style import GREY, INK_LIGHT, log_ticks, look_of

Row = dict[str, object]

_WIDTH, _HEIGHT = 640, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 16, 64, 52
_SIDE = 16
_TOP_OF_SCALE = 1.06
_DASHES = {"solid": "", "dash": "7 4", "dot": "2 4"}


def energy_curves_svg(
    rows: Sequence[Row],
    field: str,
    *,
    title: str,
    axis_title: str,
    logarithmic: bool = True,
    published: Sequence[tuple[str, float, float]] = (),
) -> str:
    """Mean captured energy along one field with the range of the draws, as SVG text.

    Parameters
    ----------
    rows : sequence of dict
        With protocol, energy_ratio, random_ratio and `field`; at least one.
    field : str
        Column on the horizontal axis; greater than 0 if `logarithmic`.
    title, axis_title : str
    logarithmic : bool
    published : sequence of (protocol, value, energy ratio)
        Points to put on top, drawn hollow.
    """
    values = sorted({float(row[field]) for row in rows})
    ticks, labels = log_ticks(values) if logarithmic else (values, [f"{v:g}" for v in values])
    scale = math.log10 if logarithmic else float
    low, high = scale(values[0]), scale(values[-1])

    def x(value: float) -> float:
        part = (scale(value) - low) / (high - low) if high > low else 0.5
        return _LEFT + (0.02 + 0.96 * part) * (_WIDTH - _LEFT - _RIGHT)

    def y(ratio: float) -> float:
        return _HEIGHT - _BOTTOM - ratio / _TOP_OF_SCALE * (_HEIGHT - _TOP - _BOTTOM)

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
        f'<text transform="translate(16 {y(0.5):.1f}) rotate(-90)" text-anchor="middle">'
        "captured energy, share of exact PCA</text>",
    ]
    floor = fmean(row["random_ratio"] for row in rows)
    for level, colour, dash in ((1.0, INK_LIGHT, "7 4"), (floor, GREY, "2 4")):
        parts.append(_line(_LEFT, y(level), _WIDTH - _RIGHT, y(level), colour, dash, 1.5))
    legend = _LEFT
    for key in dict.fromkeys(row["protocol"] for row in rows):
        own = [row for row in rows if row["protocol"] == key]
        parts += _curve(own, field, x, y)
        parts += [
            _line(legend, 42, legend + 22, 42, look_of(key).colour, _dash(key), 2.5),
            _text(legend + 28, 46, look_of(key).label, anchor="start"),
        ]
        legend += 46 + 7.2 * len(look_of(key).label)
    for key, value, ratio in published:
        parts.append(
            f'<circle cx="{x(value):.1f}" cy="{y(ratio):.1f}" r="5" fill="none" '
            f'stroke="{look_of(key).colour}" stroke-width="1.5"/>'
        )
    if published:
        parts += [
            f'<circle cx="{legend + 8:.1f}" cy="42" r="5" fill="none" stroke="{INK_LIGHT}"/>',
            _text(legend + 20, 46, "published", anchor="start"),
        ]
    return "\n".join([*parts, "</svg>\n"])


def accuracy_dots_svg(rows: Sequence[Row], *, title: str, published: Sequence[Row] = ()) -> str:
    """Every round's accuracy as a dot, a line an algorithm and a group a task, as SVG text.

    Parameters
    ----------
    rows : sequence of dict
        With task, protocol, accuracy (a share); at least one.
    title : str
    published : sequence of dict
        With task, protocol, mean and std in percent, drawn as bars.
    """
    printed = {(row["task"], row["protocol"]): row for row in published}
    groups: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        groups.setdefault(row["task"], {}).setdefault(row["protocol"], []).append(row["accuracy"])
    shares = [row["accuracy"] for row in rows]
    shares += [(row["mean"] - row["std"]) / 100 for row in published]
    low = math.floor(20 * min(shares)) / 20
    left, right = 150, _WIDTH - 96

    def x(share: float) -> float:
        return left + (min(share, 1) - low) / (1 - low) * (right - left)

    parts, y = [], 40
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
    caption = "accuracy on the people left for testing" + "; bars: published" * bool(published)
    parts.append(_text(_WIDTH / 2, y + 42, caption))
    return "\n".join([*_opening(title, y + 60), *grid, *parts, "</svg>\n"])


def _accuracy_line(
    key: str, accuracies: Sequence[float], printed: Row | None, x, y: float
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


def _opening(title: str, height: float) -> list[str]:
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="Helvetica, Arial, sans-serif" '
        f'font-size="13" fill="{INK_LIGHT}">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        _text(_SIDE, 22, title, anchor="start", size=15),
    ]


def _curve(rows: Sequence[Row], field: str, x, y) -> list[str]:
    look = look_of(rows[0]["protocol"])
    draws: dict[float, list[float]] = {}
    for row in rows:
        draws.setdefault(float(row[field]), []).append(row["energy_ratio"])
    values = sorted(draws)
    band = [(v, max(draws[v])) for v in values] + [(v, min(draws[v])) for v in values[::-1]]
    outline = " ".join(f"{x(v):.1f},{y(r):.1f}" for v, r in band)
    points = [(x(v), y(fmean(draws[v]))) for v in values]
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    return [
        f'<polygon points="{outline}" fill="{look.colour}" fill-opacity="0.15"/>',
        f'<polyline points="{line}" fill="none" stroke="{look.colour}" stroke-width="2.5" '
        f'stroke-dasharray="{_dash(rows[0]["protocol"])}"/>',
        *(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{look.colour}"/>' for a, b in points),
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
