"""HTML of a privacy label: a card for pages, and a document that prints on one page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from dpcore.privacy.guarantee_in_words import CARD_TYPE_ONE, say_delta, say_number
from dpcore.privacy.label import FORM, OUT_OF, SIMULATION, Label, Sight, delta_in_words

_STYLE = """
.privacy-label { position: relative; border: .15em solid currentColor; padding: .7em 1em;
  overflow: hidden; }
.privacy-label h1, .privacy-label h2 { font-size: 1.5em; line-height: 1.15; margin: 0; padding: 0; }
.privacy-label h3 { font-size: 1em; margin: .55em 0 .1em; padding: .25em 0 0;
  border-top: .3em solid currentColor; }
.privacy-label p { margin: 0 0 .25em; }
.privacy-label ul { margin: 0; padding-left: 1.2em; }
.privacy-label li { margin: 0 0 .1em; }
.privacy-label .face { background: #8f1d14; color: #ffffff; font-weight: 700; font-size: 1.15em;
  text-align: center; margin: -.62em -.87em .6em; padding: .35em .8em; }
.privacy-label .big { font-size: 1.25em; font-weight: 700; }
.privacy-label .two { display: grid; grid-template-columns: 1fr 1fr; gap: 0 1.6em; }
.privacy-label .dots { display: grid; grid-template-columns: 1fr 1fr; gap: 1.6em; }
.privacy-label svg { display: block; width: 100%; height: auto; }
.privacy-label .small { font-size: .85em; line-height: 1.2; overflow-wrap: anywhere; }
.privacy-label .columns { columns: 2; column-gap: 2.4em; }
.privacy-label .columns li { break-inside: avoid; }
.privacy-label .across { position: absolute; inset: 0; pointer-events: none; z-index: 1; }
@media (max-width: 38em) {
  .privacy-label .two { grid-template-columns: 1fr; }
  .privacy-label .columns { columns: 1; }
  .privacy-label .picture { overflow-x: auto; }
  .privacy-label .picture svg { min-width: 36em; }
}
"""


_PAPER = """
@page { margin: 9mm; }
:root { color-scheme: light; }
body { font: 8.6pt/1.25 Helvetica, Arial, sans-serif; color: #000000; background: #ffffff;
  max-width: 185mm; margin: 0 auto; padding: 3mm; }
@media print { body { padding: 0; } .privacy-label { break-inside: avoid; } }
"""


def label_page(label: Label) -> str:
    """Return the label as an HTML document that prints on one page of A4 or Letter."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Privacy label: {escape(label.title)}</title><style>{_PAPER}</style></head>
<body>{label_card(label).replace("<h2>", "<h1>", 1).replace("</h2>", "</h1>", 1)}</body></html>
"""


def label_card(label: Label) -> str:
    """Return the label as an HTML fragment with an h2 heading."""
    face = f'<p class="face">{SIMULATION}</p>' if label.is_simulation else ""
    return f"""<section class="privacy-label" aria-label="Privacy label"><style>{_STYLE}</style>
{face}{_watermark() if label.is_simulation else ""}
<h2>Privacy label</h2><p class="big">{escape(label.title)}</p>
<div class="two"><div><h3>Who is protected</h3><p>{escape(label.who)}</p>
<p><strong>Unit:</strong> {escape(label.unit)}. {escape(label.neighbours)}</p></div>
<div><h3>How strongly</h3><p class="big">{_say_epsilon(label)}</p>
<p>{escape(delta_in_words(label.delta))}{_say_asked(label)}</p></div></div>
<h3>What an attacker gains: guesses whether one person was in the data</h3>
<div class="dots">{_dots(label.right_without, "without the release")}
{_dots(label.right_with, "with the release, at most")}</div>
<p>An attacker who accuses {OUT_OF * CARD_TYPE_ONE:g} of {OUT_OF} innocent people finds at most
{label.caught} of {OUT_OF} real ones.</p>
<h3>Who sees what</h3><div class="picture">{sights_svg(label.sights)}</div>
<ul class="small">{_items(f"{e.who}: sees {e.sees}." for e in label.sights)}</ul>
<div class="two"><div><h3>Not protected</h3><ul>{_items(label.not_protected)}</ul></div>
<div><h3>Who is trusted</h3><ul>{_items(label.trust)}</ul></div></div>
<h3>Used up</h3><p>{escape(label.total)}</p>
<h3>How it was checked</h3><ul class="small">{_items(label.checked)}</ul>
<h3>Assumptions</h3>
<ul class="small columns">{_items(e for e in label.assumptions if e not in label.trust)}</ul>
<p class="small">{escape(label.made[:10])}, dpcore {escape(label.version)}, {FORM}</p></section>"""


def _say_epsilon(label: Label) -> str:
    if label.epsilon is None:
        return "ε = ∞: no guarantee"
    return f"ε = {say_number(label.epsilon)} at δ = {say_delta(label.delta)}"


def _say_asked(label: Label) -> str:
    if label.requested is None or label.epsilon is None:
        return ""
    epsilon, delta = label.requested
    same = say_number(epsilon) == say_number(label.epsilon) and delta == label.delta
    return "" if same else f" Requested: ε = {say_number(epsilon)} at δ = {say_delta(delta)}."


def _items(sentences: Any) -> str:
    return "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)


def _watermark() -> str:
    """Return the watermark, for copies without the band at the top."""
    return (
        '<svg class="across" viewBox="0 0 100 120" preserveAspectRatio="none" aria-hidden="true">'
        '<text x="50" y="62" transform="rotate(-50 50 60)" text-anchor="middle" font-size="15" '
        'font-weight="700" fill="#8f1d14" opacity=".13">SIMULATION</text></svg>'
    )


def _dots(right: int, what: str) -> str:
    """Return 100 circles, one per guess, filled for right guesses."""
    circles = "".join(
        f'<circle cx="{12 * (n % 20) + 6}" cy="{12 * (n // 20) + 6}" r="4.4" '
        + ('fill="currentColor"/>' if n < right else 'fill="none" stroke="currentColor"/>')
        for n in range(OUT_OF)
    )
    return (
        f'<div><svg viewBox="0 0 240 60" role="img" aria-label="{right} of {OUT_OF} right">'
        f"{circles}</svg><p><strong>{right} of {OUT_OF}</strong> right {what}</p></div>"
    )


_BOXES = (
    ("people", "People"),
    ("sites", "Sites"),
    ("aggregator", "Aggregator"),
    ("reader", "Reader"),
)


def sights_svg(sights: Sequence[Sight]) -> str:
    """Draw the parties and what they see as boxes and arrows, from the people to the reader.

    Parameters
    ----------
    sights : sequence of Sight
    """
    places = {sight.place for sight in sights} | {"people"}
    boxes = [(place, title) for place, title in _BOXES if place in places]
    step, width = 700 / len(boxes), 700 / len(boxes) - 34
    parts = []
    for number, (place, title) in enumerate(boxes):
        x, of_place = number * step + 2, [sight for sight in sights if sight.place == place]
        name = of_place[0].who if len(of_place) == 1 else title
        lines = [_line_of(sight, len(of_place) > 1) for sight in of_place] or ["own row"]
        dash = ' stroke-dasharray="6 4"' if any(sight.is_trusted for sight in of_place) else ""
        parts.append(
            f'<rect x="{x:.0f}" y="2" width="{width:.0f}" height="76" rx="6" fill="none" '
            f'stroke="currentColor" stroke-width="2"{dash}/>'
            + _text(x + width / 2, 24, name, 700)
            + "".join(_text(x + width / 2, 46 + 20 * n, line) for n, line in enumerate(lines))
        )
        if number:
            tip = x - 5
            parts.append(
                f'<path d="M{tip - 22:.0f} 40H{tip:.0f}m-7 -5l7 5l-7 5" fill="none" '
                'stroke="currentColor" stroke-width="2"/>'
            )
    description = "; ".join(f"{sight.who}: {_line_of(sight, False)}" for sight in sights)
    return (
        f'<svg viewBox="0 0 672 82" role="img" aria-label="{escape(description)}">'
        f"{''.join(parts)}</svg>"
    )


def _line_of(sight: Sight, is_named: bool) -> str:
    if sight.is_trusted:
        text = "raw rows" if is_named else "raw rows, trusted"
    else:
        text = "no guarantee" if sight.epsilon is None else f"ε = {say_number(sight.epsilon)}"
    name = {"A person's own site": "own", "Other sites": "others"}.get(sight.who, sight.who)
    return f"{name}: {text}" if is_named else text


def _text(x: float, y: float, text: str, weight: int = 400) -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="middle" font-size="14" fill="currentColor" '
        f'font-weight="{weight}">{escape(text)}</text>'
    )
