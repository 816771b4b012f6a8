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
    base_figure,
    faded,
    ink,
    named_level,
    small_legend_above,
)

_ATTACK, _KEPT = "#D55E00", "#009E73"
# Narrow, so that words can be read where a phone shrinks it.
_WIDTH, _HEIGHT = 420, 232
_BOX_WIDTH, _BOX_HEIGHT = 112, 42
_LEFT, _MIDDLE, _RIGHT = 4, 154, 304
_TOP, _CENTRE, _BOTTOM = 8, 72, 136
_SEEN = "#D55E00"
_NAMES = {
    "outsider": "an outsider with the result",
    "aggregator": "the aggregator",
    "site": "a participating site",
}
_HATCH = (
    '<pattern id="trusted" width="8" height="8" patternUnits="userSpaceOnUse" '
    f'patternTransform="rotate(45)"><rect width="8" height="8" fill="{faded(GREY, 0.12)}"/>'
    f'<line x1="0" y1="0" x2="0" y2="8" stroke="{faded(GREY, 0.55)}" stroke-width="3"/></pattern>'
    + "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="{size}" '
        f'markerHeight="{size}" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{colour}"/></marker>'
        for name, size, colour in (("sight", 4, _SEEN), ("unseen", 6, GREY))
    )
)


def gauge_svg(found: float, claim: float, *, dark: bool = False) -> str:
    """SVG of a needle: how much ε an attack has proved, against the ε that is promised.

    The promise stands upright, and the needle at found / (found + claim) of the way round, so that
    every ε has its place and what breaks the promise lies to its right.
    """
    share = found / (found + claim) if found > 0 else 0.0
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
    needle = _ATTACK if found > claim else line
    text = f'font-family="sans-serif" fill="{line}"'
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 228">'
        f"{arc(0, 0.5, _KEPT)}{arc(0.5, 1, _ATTACK)}"
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{line}" '
        'stroke-width="4"/>'
        f'<text x="200" y="14" text-anchor="middle" font-size="15" font-weight="600" {text}>'
        f"promised: ε = {claim:.3g}</text>"
        f'<text x="50" y="212" text-anchor="middle" font-size="15" {text}>kept</text>'
        f'<text x="350" y="212" text-anchor="middle" font-size="15" {text}>broken</text>'
        f'<line x1="200" y1="190" x2="{x:.1f}" y2="{y:.1f}" stroke="{needle}" stroke-width="6" '
        f'stroke-linecap="round"/><circle cx="200" cy="190" r="10" fill="{needle}"/>'
        f'<text x="200" y="222" text-anchor="middle" font-size="20" font-weight="700" {text}>'
        f"proved: ε ≥ {found:.3g}</text></svg>"
    )


def bound_growth(rows: Table, claim: float, n_trials: int, *, dark: bool = False) -> go.Figure:
    """Lower bounds on epsilon against the number of trials, and the line of the claim.

    rows: With "trials", "epsilon_exact" and "epsilon", in order; the latter is drawn where it is
        another, nominal bound somewhere.
    claim: The promised epsilon.
    n_trials: Where the axis ends, so that the figure stands still while it fills in.
    """
    figure = base_figure(360)
    highest = max([claim, *(max(row["epsilon"], row["epsilon_exact"]) for row in rows)])
    figure.add_hrect(y0=claim, y1=1.25 * highest, fillcolor=faded(_ATTACK, 0.10), line={"width": 0})
    line = {"color": ink(dark), "dash": "dash", "width": 2}
    named_level(figure, claim, f"promised: ε = {claim:.3g}", line=line)
    bounds: list[tuple[str, str, dict[str, object]]] = [
        ("epsilon_exact", "exact limit", {"width": 3})
    ]
    if any(row["epsilon"] != row["epsilon_exact"] for row in rows):
        bounds.append(("epsilon", "nominal (jackknife)", {"width": 2, "dash": "dot"}))
    for column, name, line in bounds:
        figure.add_scatter(
            x=[row["trials"] for row in rows],
            y=[row[column] for row in rows],
            name=name,
            mode="lines+markers",
            line={"color": _ATTACK, **line},
            marker={"size": 7 if column == "epsilon_exact" else 4},
            hovertemplate="ε ≥ %{y:.3g} after %{x:,} trials<extra>" + name + "</extra>",
        )
    small_legend_above(figure).update_layout(showlegend=len(bounds) > 1)
    figure.update_xaxes(title="trials under D and under D′", range=[0, 1.02 * n_trials])
    figure.update_yaxes(title="ε is at least", range=[0, 1.25 * highest])
    return figure


def score_histogram(
    columns: Mapping[str, FloatArray], threshold: float, *, dark: bool = False
) -> go.Figure:
    """Scores under both data sets, with the threshold that separates them best.

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
            marker={"color": faded(colour, 0.55), "line": {"width": 0}},
            hovertemplate="%{y:.1%} of releases near %{x:.3g}<extra>" + name + "</extra>",
        )
    figure.add_vline(x=threshold, line={"color": ink(dark), "width": 2})
    figure.update_xaxes(title="score of a release (larger: rather with you)", zeroline=False)
    figure.update_yaxes(title="share of releases", tickformat=".0%", rangemode="tozero")
    figure.update_layout(barmode="overlay", bargap=0)
    return small_legend_above(figure)


def adversary_view_words(adversary: str, sees: str, *, trusted_holder: str = "") -> str:
    """The picture in two sentences.

    adversary: {"outsider", "aggregator", "site"}
    sees: Its view, in words that fit after "sees".
    trusted_holder: Who holds everybody's rows and adds the noise; empty where every site sends a
        message to an aggregator whom nobody trusts.
    """
    trusts = f"the {trusted_holder}" if trusted_holder else "your own site"
    return f"{_NAMES[adversary].capitalize()} sees {sees}. Trusted with your row: {trusts}."


def adversary_view_svg(
    adversary: str, sees: str, *, trusted_holder: str = "", dark: bool = False
) -> str:
    """SVG of one adversary's view: seen parts filled, parts trusted with raw rows hatched.

    adversary: {"outsider", "aggregator", "site"}. Drawn with a thick outline.
    sees, trusted_holder: As for `adversary_view_words`.
    """
    by_site, by_aggregator = adversary == "site", adversary == "aggregator"
    own, hub = ("your row", trusted_holder) if trusted_holder else ("your site", "aggregator")
    other = "another site" if by_site or not trusted_holder else "other rows"
    words = adversary_view_words(adversary, sees, trusted_holder=trusted_holder)
    drawing = _Drawing(ink(dark))
    drawing.arrow(_LEFT + _BOX_WIDTH, _TOP + 21, _MIDDLE, _CENTRE + 12, seen=by_aggregator)
    drawing.arrow(
        _LEFT + _BOX_WIDTH, _BOTTOM + 21, _MIDDLE, _CENTRE + 30, seen=by_aggregator or by_site
    )
    drawing.arrow(_MIDDLE + _BOX_WIDTH, _CENTRE + 21, _RIGHT, _CENTRE + 21, seen=True)
    drawing.box(_LEFT, _TOP, own, "trusted")
    drawing.box(_LEFT, _BOTTOM, other, "seen" if by_site else "unseen", looks=by_site)
    hub_state = "trusted" if trusted_holder else "seen" if by_aggregator else "unseen"
    drawing.box(_MIDDLE, _CENTRE, hub, hub_state, looks=by_aggregator)
    drawing.box(_RIGHT, _CENTRE, "result", "seen")
    if by_site:
        below = _RIGHT + _BOX_WIDTH / 2
        drawing.path(f"M{below},{_CENTRE + _BOX_HEIGHT} V{_BOTTOM + 24} H{_LEFT + _BOX_WIDTH + 2}")
    if adversary == "outsider":
        below = _RIGHT + _BOX_WIDTH / 2
        drawing.arrow(below, _CENTRE + _BOX_HEIGHT, below, _BOTTOM, seen=True)
        drawing.box(_RIGHT, _BOTTOM, "outsider", "unseen", looks=True)
    drawing.legend(who=_NAMES[adversary])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'font-family="sans-serif" aria-label={quoteattr(words)}>'
        f"<defs>{_HATCH}</defs>{''.join(drawing.parts)}</svg>"
    )


class _Drawing:
    """Boxes and arrows, as they are put down."""

    def __init__(self, ink: str):
        self.ink = ink
        self.parts: list[str] = []

    def box(self, x: float, y: float, label: str, state: str, *, looks: bool = False) -> None:
        """A labelled box; `looks` for the adversary's own."""
        self._swatch(x, y, _BOX_WIDTH, _BOX_HEIGHT, state, 4 if looks else 1.5)
        middle = x + _BOX_WIDTH / 2
        weight = ' font-weight="700"' if looks else ""
        lines = label.split(" ", 1) if len(label) > 12 else [label]
        for line, text in enumerate(lines):
            height = y + 26 + 17 * line - 8 * (len(lines) - 1)
            self.parts.append(
                f'<text x="{middle}" y="{height}" text-anchor="middle" font-size="15" '
                f'fill="{self.ink}"{weight}>{escape(text)}</text>'
            )

    def arrow(self, x: float, y: float, to_x: float, to_y: float, *, seen: bool) -> None:
        self.path(f"M{x},{y} L{to_x},{to_y}", seen=seen)

    def path(self, way: str, *, seen: bool = True) -> None:
        colour, width, head = (_SEEN, 3.5, "sight") if seen else (GREY, 1.5, "unseen")
        self.parts.append(
            f'<path d="{way}" fill="none" stroke="{colour}" stroke-width="{width}" '
            f'marker-end="url(#{head})"/>'
        )

    def legend(self, *, who: str) -> None:
        for x, state, label in ((4, "seen", "seen"), (84, "trusted", "trusted"), (184, "", who)):
            self._swatch(x, 202, 18, 18, state or "unseen", 1.5 if state else 4)
            self.parts.append(
                f'<text x="{x + 25}" y="216" font-size="14" fill="{self.ink}">'
                f"{escape(label)}</text>"
            )

    def _swatch(
        self, x: float, y: float, width: float, height: float, state: str, outline: float
    ) -> None:
        fill = {"seen": faded(_SEEN, 0.28), "trusted": "url(#trusted)", "unseen": "none"}[state]
        line = self.ink if outline > 2 else _SEEN if state == "seen" else GREY
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{fill}" '
            f'stroke="{line}" stroke-width="{outline}"/>'
        )
