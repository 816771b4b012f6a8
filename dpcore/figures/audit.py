"""Figures of an audit: bounds on epsilon, scores and the view of the adversary."""

from __future__ import annotations

import math
from collections.abc import Mapping
from xml.sax.saxutils import escape, quoteattr

import plotly.graph_objects as go

from dpcore.arrays import FloatArray
from dpcore.figures.privacy import WITH_YOU, WITHOUT_YOU
from dpcore.figures.style import (
    GREY,
    Table,
    add_named_level,
    base_figure,
    ink,
    put_small_legend_above,
    with_opacity,
)

_VIOLATED, _HOLDS = "#D55E00", "#009E73"
# Narrow, so that the text stays readable on a phone.
_WIDTH, _HEIGHT = 420, 232
_BOX_WIDTH, _BOX_HEIGHT = 112, 42
_LEFT, _MIDDLE, _RIGHT = 4, 154, 304
_TOP, _CENTRE, _BOTTOM = 8, 72, 136
_VISIBLE = "#D55E00"
_NAMES = {
    "outsider": "an outsider with the result",
    "aggregator": "the aggregator",
    "site": "a participating site",
}
_HATCH = (
    '<pattern id="trusted" width="8" height="8" patternUnits="userSpaceOnUse" '
    f'patternTransform="rotate(45)"><rect width="8" height="8" fill="{with_opacity(GREY, 0.12)}"/>'
    f'<line x1="0" y1="0" x2="0" y2="8" stroke="{with_opacity(GREY, 0.55)}" stroke-width="3"/>'
    "</pattern>"
    + "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="{size}" '
        f'markerHeight="{size}" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{colour}"/></marker>'
        for name, size, colour in (("view", 4, _VISIBLE), ("hidden", 6, GREY))
    )
)


def gauge_svg(bound: float, claim: float, *, dark: bool = False) -> str:
    """Return an SVG of a needle: the ε that an attack has proved, against the claimed ε.

    The claim points straight up. The needle is at found / (found + claim) of the half circle, so
    every ε has a position and violations are on the right.
    """
    share = bound / (bound + claim) if bound > 0 else 0.0
    line = ink(dark)

    def at(part: float, radius: float) -> tuple[float, float]:
        angle = math.pi * (1 - part)
        return 200 + radius * math.cos(angle), 190 - radius * math.sin(angle)

    def arc(start: float, end: float, colour: str) -> str:
        (x1, y1), (x2, y2) = at(start, 150), at(end, 150)
        return (
            f'<path d="M{x1:.1f},{y1:.1f} A150,150 0 0 1 {x2:.1f},{y2:.1f}" fill="none" '
            f'stroke="{colour}" stroke-width="26"/>'
        )

    (x, y), (x1, y1), (x2, y2) = at(share, 136), at(0.5, 128), at(0.5, 172)
    needle = _VIOLATED if bound > claim else line
    text = f'fill="{line}"'
    words = f"A needle: the attack proves ε ≥ {bound:.3g}, where {claim:.3g} is claimed."
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 228" role="img" '
        f"aria-label={quoteattr(words)}>"
        f"{arc(0, 0.5, _HOLDS)}{arc(0.5, 1, _VIOLATED)}"
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{line}" '
        'stroke-width="4"/>'
        f'<text x="200" y="14" text-anchor="middle" font-size="15" font-weight="600" {text}>'
        f"claimed: ε = {claim:.3g}</text>"
        f'<text x="50" y="212" text-anchor="middle" font-size="15" {text}>holds</text>'
        f'<text x="350" y="212" text-anchor="middle" font-size="15" {text}>violated</text>'
        f'<line x1="200" y1="190" x2="{x:.1f}" y2="{y:.1f}" stroke="{needle}" stroke-width="6" '
        f'stroke-linecap="round"/><circle cx="200" cy="190" r="10" fill="{needle}"/>'
        f'<text x="200" y="222" text-anchor="middle" font-size="20" font-weight="700" {text}>'
        f"proved: ε ≥ {bound:.3g}</text></svg>"
    )


def bound_growth(rows: Table, claim: float, n_trials: int, *, dark: bool = False) -> go.Figure:
    """Draw lower bounds on epsilon against the number of trials, and the claim as a level.

    rows: Rows in order, with "trials", "epsilon_exact" and "epsilon". The nominal bound "epsilon"
        is drawn if it differs from the exact one.
    claim: Claimed epsilon.
    n_trials: Fixed end of the axis.
    """
    figure = base_figure(360)
    highest = max([claim, *(max(row["epsilon"], row["epsilon_exact"]) for row in rows)])
    figure.add_hrect(
        y0=claim, y1=1.25 * highest, fillcolor=with_opacity(_VIOLATED, 0.10), line={"width": 0}
    )
    line = {"color": ink(dark), "dash": "dash", "width": 2}
    add_named_level(figure, claim, f"claimed: ε = {claim:.3g}", line=line)
    bounds: list[tuple[str, str, dict[str, object]]] = [
        ("epsilon_exact", "exact limit", {"width": 3})
    ]
    if any(row["epsilon"] != row["epsilon_exact"] for row in rows):
        bounds.append(("epsilon", "nominal limit", {"width": 2, "dash": "dot"}))
    for column, name, line in bounds:
        figure.add_scatter(
            x=[row["trials"] for row in rows],
            y=[row[column] for row in rows],
            name=name,
            mode="lines+markers",
            line={"color": _VIOLATED, **line},
            marker={"size": 7 if column == "epsilon_exact" else 4},
            hovertemplate="ε ≥ %{y:.3g} after %{x:,} trials<extra>" + name + "</extra>",
        )
    put_small_legend_above(figure).update_layout(showlegend=len(bounds) > 1)
    figure.update_xaxes(title="trials under D and under D′", range=[0, 1.02 * n_trials])
    figure.update_yaxes(title="ε is at least", range=[0, 1.25 * highest])
    return figure


def score_histogram(
    columns: Mapping[str, FloatArray], threshold: float, *, dark: bool = False
) -> go.Figure:
    """Draw the scores under both data sets, with the best threshold between them.

    columns: "centre", "width", "with_you" and "without_you", arrays of shape (n_bars,).
    """
    figure = base_figure(340)
    for name, column, colour in (
        ("without you (D′)", "without_you", WITHOUT_YOU),
        ("with you (D)", "with_you", WITH_YOU),
    ):
        figure.add_bar(
            x=columns["centre"],
            y=columns[column],
            width=columns["width"],
            name=name,
            marker={"color": with_opacity(colour, 0.55), "line": {"width": 0}},
            hovertemplate="%{y:.1%} of releases near %{x:.3g}<extra>" + name + "</extra>",
        )
    figure.add_vline(x=threshold, line={"color": ink(dark), "width": 2})
    figure.update_xaxes(title="score of a release (larger: more likely with you)", zeroline=False)
    figure.update_yaxes(title="share of releases", tickformat=".0%", rangemode="tozero")
    figure.update_layout(barmode="overlay", bargap=0)
    return put_small_legend_above(figure)


def adversary_view_words(adversary: str, sees: str, *, trusted_holder: str = "") -> str:
    """Describe the adversary's view in two sentences.

    adversary: {"outsider", "aggregator", "site"}
    sees: View of the adversary, in words that fit after "sees".
    trusted_holder: Party that holds all rows and adds the noise; "" if sites send messages to an
        untrusted aggregator.
    """
    trusts = f"the {trusted_holder}" if trusted_holder else "your own site"
    return f"{_NAMES[adversary].capitalize()} sees {sees}. Trusted with your row: {trusts}."


def adversary_view_svg(
    adversary: str, sees: str, *, trusted_holder: str = "", dark: bool = False
) -> str:
    """Return an SVG of one adversary's view.

    Visible parts are filled, and parts trusted with raw rows are hatched.

    adversary: {"outsider", "aggregator", "site"}. Drawn with a thick outline.
    sees, trusted_holder: Parameters of `adversary_view_words`.
    """
    by_site, by_aggregator = adversary == "site", adversary == "aggregator"
    first_box, holder = (
        ("your row", trusted_holder) if trusted_holder else ("your site", "aggregator")
    )
    other = "another site" if by_site or not trusted_holder else "other rows"
    words = adversary_view_words(adversary, sees, trusted_holder=trusted_holder)
    drawing = _Drawing(ink(dark))
    drawing.arrow(_LEFT + _BOX_WIDTH, _TOP + 21, _MIDDLE, _CENTRE + 12, is_visible=by_aggregator)
    drawing.arrow(
        _LEFT + _BOX_WIDTH, _BOTTOM + 21, _MIDDLE, _CENTRE + 30, is_visible=by_aggregator or by_site
    )
    drawing.arrow(_MIDDLE + _BOX_WIDTH, _CENTRE + 21, _RIGHT, _CENTRE + 21, is_visible=True)
    drawing.box(_LEFT, _TOP, first_box, "trusted")
    drawing.box(_LEFT, _BOTTOM, other, "visible" if by_site else "hidden", is_adversary=by_site)
    holder_state = "trusted" if trusted_holder else "visible" if by_aggregator else "hidden"
    drawing.box(_MIDDLE, _CENTRE, holder, holder_state, is_adversary=by_aggregator)
    drawing.box(_RIGHT, _CENTRE, "result", "visible")
    if by_site:
        below = _RIGHT + _BOX_WIDTH / 2
        drawing.path(f"M{below},{_CENTRE + _BOX_HEIGHT} V{_BOTTOM + 24} H{_LEFT + _BOX_WIDTH + 2}")
    if adversary == "outsider":
        below = _RIGHT + _BOX_WIDTH / 2
        drawing.arrow(below, _CENTRE + _BOX_HEIGHT, below, _BOTTOM, is_visible=True)
        drawing.box(_RIGHT, _BOTTOM, "outsider", "hidden", is_adversary=True)
    drawing.legend(adversary=_NAMES[adversary])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f"aria-label={quoteattr(words)}>"
        f"<defs>{_HATCH}</defs>{''.join(drawing.parts)}</svg>"
    )


class _Drawing:
    """Boxes and arrows of an SVG, collected in `parts`."""

    def __init__(self, ink: str):
        self.ink = ink
        self.parts: list[str] = []

    def box(
        self, x: float, y: float, label: str, state: str, *, is_adversary: bool = False
    ) -> None:
        """Add a labelled box, with a thick outline for the adversary."""
        self._swatch(x, y, _BOX_WIDTH, _BOX_HEIGHT, state, 4 if is_adversary else 1.5)
        middle = x + _BOX_WIDTH / 2
        weight = ' font-weight="700"' if is_adversary else ""
        lines = label.split(" ", 1) if len(label) > 12 else [label]
        for line, text in enumerate(lines):
            height = y + 26 + 17 * line - 8 * (len(lines) - 1)
            self.parts.append(
                f'<text x="{middle}" y="{height}" text-anchor="middle" font-size="15" '
                f'fill="{self.ink}"{weight}>{escape(text)}</text>'
            )

    def arrow(self, x: float, y: float, to_x: float, to_y: float, *, is_visible: bool) -> None:
        self.path(f"M{x},{y} L{to_x},{to_y}", is_visible=is_visible)

    def path(self, data: str, *, is_visible: bool = True) -> None:
        colour, width, head = (_VISIBLE, 3.5, "view") if is_visible else (GREY, 1.5, "hidden")
        self.parts.append(
            f'<path d="{data}" fill="none" stroke="{colour}" stroke-width="{width}" '
            f'marker-end="url(#{head})"/>'
        )

    def legend(self, *, adversary: str) -> None:
        for x, state, label in (
            (4, "visible", "visible"),
            (84, "trusted", "trusted"),
            (184, "", adversary),
        ):
            self._swatch(x, 202, 18, 18, state or "hidden", 1.5 if state else 4)
            self.parts.append(
                f'<text x="{x + 25}" y="216" font-size="14" fill="{self.ink}">'
                f"{escape(label)}</text>"
            )

    def _swatch(
        self, x: float, y: float, width: float, height: float, state: str, outline: float
    ) -> None:
        fill = {
            "visible": with_opacity(_VISIBLE, 0.28),
            "trusted": "url(#trusted)",
            "hidden": "none",
        }[state]
        line = self.ink if outline > 2 else _VISIBLE if state == "visible" else GREY
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{fill}" '
            f'stroke="{line}" stroke-width="{outline}"/>'
        )
