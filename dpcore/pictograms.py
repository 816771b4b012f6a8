"""A hundred dots, some of them filled, as the picture of a probability."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

N_DOTS = 100
# Radius of a dot, if the distance between two dots is 1.
RADIUS = 0.34


def place_dots(columns: int) -> Iterator[tuple[float, float]]:
    """Yield the centre of each dot in reading order, if the distance between two dots is 1."""
    for number in range(N_DOTS):
        yield number % columns + 0.5, number // columns + 0.5


def dots_svg(n_filled: int, alt: str, *, colour: str, outline: str) -> str:
    """Return the dots as an SVG element of an HTML page.

    n_filled: Number of filled dots.
    alt: Alternative text.
    colour, outline: Colours of filled dots and of the outline of the others.
    """
    step, columns = 22, 20
    filled = f'fill="{colour}"'
    empty = f'fill="none" stroke="{outline}" stroke-width="1.5"'
    circles = (
        f'<circle cx="{step * x:g}" cy="{step * y:g}" r="{step * RADIUS:g}" '
        f"{filled if number < n_filled else empty}/>"
        for number, (x, y) in enumerate(place_dots(columns))
    )
    return (
        f'<svg viewBox="0 0 {step * columns} {step * N_DOTS // columns}" '
        f'role="img" aria-label="{escape(alt)}">{"".join(circles)}</svg>'
    )
