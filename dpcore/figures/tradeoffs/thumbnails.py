"""Curves as small as a stamp, to see many panels at once: SVG without text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpcore.figures.style import GREY, ink, look_of

Point = tuple[str, float, float]

_WIDTH, _HEIGHT = 200, 112
_SIDE, _TOP, _BOTTOM = 8, 8, 6
_TOP_OF_SCALE = 1.04


def energy_thumbnail(
    points: Sequence[Point],
    *,
    ends: tuple[float, float],
    logarithmic: bool = True,
    published: Sequence[Point] = (),
    dark: bool = False,
) -> str:
    """Mean captured energy along one field, a line a protocol, over published points.

    Parameters
    ----------
    points : sequence of (protocol, value, energy ratio)
        May be empty: a frame that says nothing has been run.
    ends : (float, float)
        Smallest and largest value of the axis.
    logarithmic : bool
    published : sequence of (protocol, value, energy ratio)
        Drawn hollow.
    """
    scale = math.log10 if logarithmic else float
    low, high = map(scale, ends)

    def x(value: float) -> float:
        return _SIDE + (scale(value) - low) / (high - low) * (_WIDTH - 2 * _SIDE)

    def y(ratio: float) -> float:
        return _HEIGHT - _BOTTOM - ratio / _TOP_OF_SCALE * (_HEIGHT - _TOP - _BOTTOM)

    def level(ratio: float, colour: str, dash: str = "") -> str:
        return (
            f'<line x1="0" x2="{_WIDTH}" y1="{y(ratio):.1f}" y2="{y(ratio):.1f}" '
            f'stroke="{colour}" stroke-dasharray="{dash}"/>'
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}">',
        level(0, GREY),
        level(1, ink(dark), "6 4"),
    ]
    for key in dict.fromkeys(protocol for protocol, _, _ in points):
        own = sorted((value, ratio) for protocol, value, ratio in points if protocol == key)
        line = " ".join(f"{x(value):.1f},{y(ratio):.1f}" for value, ratio in own)
        parts.append(
            f'<polyline points="{line}" fill="none" stroke="{look_of(key).colour}" '
            'stroke-width="2" stroke-linejoin="round"/>'
        )
    parts += [
        f'<circle cx="{x(value):.1f}" cy="{y(ratio):.1f}" r="3" fill="none" '
        f'stroke="{look_of(key).colour}" stroke-width="1.2"/>'
        for key, value, ratio in published
    ]
    return "".join([*parts, "</svg>"])
