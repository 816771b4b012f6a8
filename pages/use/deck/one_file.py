"""A deck as one HTML file that needs no server and no network: ε is still dragged in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

from dpcore.errors import ParameterError
from dpcore.figures.privacy.adversary_test import icon_array_svg
from dpcore.figures.tradeoffs.svg import energy_curves_svg
from pages.presenting.views import LOOKS, SCRIPTS, markup, played, read
from pages.use.deck.told import Curves, Told

MOST_BYTES = 3_000_000
_HERE = Path(__file__).parent
# The browser itself refuses whatever would ask anybody for anything.
_POLICY = (
    "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
)
_DOTS = "Grey: right by luck alone. Orange: right because of the release. Hollow: wrong."
_NAV = """<nav aria-label="Slides"><p>← → move ε · Page Up, Page Down: slides</p>
<button type="button" class="previous">Previous</button><output></output>
<button type="button" class="next">Next</button></nav>"""


def one_file(deck: Sequence[Told]) -> str:
    """The whole file.

    Raises `ParameterError` if it would be larger than one sends by mail.
    """
    slides = "\n".join(_slide(number, told) for number, told in enumerate(deck))
    handed = [
        (played(told.views) if told.views else {"views": []})
        | {"settings": told.settings, "promises": [*told.promises, told.link]}
        for told in deck
    ]
    # Inside a script nothing but its own end ends it.
    data = json.dumps(handed, ensure_ascii=False).replace("<", "\\u003c")
    title = escape(deck[0].caption) if deck else "Deck"
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{title}</title><style>{read(*LOOKS, _HERE / "offline.css")}</style></head>
<body class="stApp"><main class="stMain">{slides}</main>{_NAV}
<script type="application/json" id="deck">{data}</script>
<script type="module">{read(*SCRIPTS, _HERE / "offline.js")}</script></body></html>
"""
    if len(page.encode()) > MOST_BYTES:
        size = f"{len(page.encode()) / 1e6:.1f} MB"
        raise ParameterError("the HTML file", "at most 3 MB: leave some views out", size)
    return page


def _slide(number: int, told: Told) -> str:
    body = markup(len(told.views), f"epsilon-{number}") if told.views else _words(told)
    small = " ".join((told.settings, *told.promises, told.link))
    return (
        f'<section class="slide"><h1>{escape(told.caption)}</h1>{body}'
        f'<p class="small">{escape(small)}</p></section>'
    )


def _words(told: Told) -> str:
    """The number and what it means, beside what was drawn."""
    first, *more = told.said
    said = f'<p class="number">{escape(told.number)}</p><p class="kept">{escape(first)}</p>'
    said += "".join(f"<p>{escape(line)}</p>" for line in more)
    drawn = "".join(map(_curves, told.curves))
    if told.guesses is not None:
        drawn = f"{icon_array_svg(*told.guesses)}<p>{_DOTS}</p>"
    return f'<div class="found"><div>{said}</div><div class="drawn">{drawn}</div></div>'


def _curves(curves: Curves) -> str:
    return energy_curves_svg(
        curves.rows,
        curves.field,
        title=curves.title,
        axis_title=curves.axis,
        logarithmic=curves.logarithmic,
        target=curves.target,
    )
