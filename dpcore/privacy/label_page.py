"""HTML of a privacy label: a card for pages, and a document that prints on one page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from markupsafe import Markup

from dpcore.pictograms import dots_svg
from dpcore.privacy.guarantee_in_words import CARD_TYPE_ONE, say_delta, say_number
from dpcore.privacy.label import FORM, OUT_OF, SIMULATION, Label, Sight, delta_in_words
from dpcore.templates import render

_FOLDER = Path(__file__).parent


def label_page(label: Label) -> Markup:
    """Return the label as an HTML document that prints on one page of A4 or Letter."""
    return _render("label_page.html", label, heading="h1")


def label_card(label: Label) -> Markup:
    """Return the label as an HTML fragment with an h2 heading."""
    return _render("label.html", label, heading="h2")


def _render(name: str, label: Label, heading: str) -> Markup:
    return render(
        _FOLDER / name,
        label=label,
        heading=heading,
        simulation=SIMULATION,
        epsilon=_say_epsilon(label),
        delta=delta_in_words(label.delta),
        requested=_say_requested(label),
        dots_svg=_dots,
        accused=f"{OUT_OF * CARD_TYPE_ONE:g}",
        out_of=OUT_OF,
        sights=sights_svg(label.sights),
        assumptions=[sentence for sentence in label.assumptions if sentence not in label.trust],
        form=FORM,
    )


def _say_epsilon(label: Label) -> str:
    if label.epsilon is None:
        return "ε = ∞: no guarantee"
    return f"ε = {say_number(label.epsilon)} at δ = {say_delta(label.delta)}"


def _say_requested(label: Label) -> str:
    if label.requested is None or label.epsilon is None:
        return ""
    epsilon, delta = label.requested
    same = say_number(epsilon) == say_number(label.epsilon) and delta == label.delta
    return "" if same else f" Requested: ε = {say_number(epsilon)} at δ = {say_delta(delta)}."


def _dots(n_right: int) -> Markup:
    svg = dots_svg(
        n_right, f"{n_right} of {OUT_OF} right", colour="currentColor", outline="currentColor"
    )
    return Markup(svg)  # noqa: S704, made of numbers and constants


_BOXES = (
    ("people", "People"),
    ("sites", "Sites"),
    ("aggregator", "Aggregator"),
    ("reader", "Reader"),
)


def sights_svg(sights: Sequence[Sight]) -> Markup:
    """Draw the parties and what they see as boxes and arrows, from the people to the reader.

    Parameters
    ----------
    sights : sequence of Sight
    """
    places = {sight.place for sight in sights} | {"people"}
    titles = [(place, title) for place, title in _BOXES if place in places]
    step = 700 / len(titles)
    boxes = []
    for number, (place, title) in enumerate(titles):
        x, of_place = number * step + 2, [sight for sight in sights if sight.place == place]
        line_of = partial(_line_of, is_named=len(of_place) > 1)
        boxes.append(
            {
                "x": round(x),
                "middle": round(x + step / 2 - 17),
                "arrow": round(x - 27),
                "name": of_place[0].who if len(of_place) == 1 else title,
                "lines": list(map(line_of, of_place)) or ["own row"],
                "is_trusted": any(sight.is_trusted for sight in of_place),
            }
        )
    return render(
        _FOLDER / "sights.svg",
        boxes=boxes,
        width=round(step - 34),
        description="; ".join(f"{sight.who}: {_line_of(sight)}" for sight in sights),
    )


def _line_of(sight: Sight, *, is_named: bool = False) -> str:
    if sight.is_trusted:
        text = "raw rows" if is_named else "raw rows, trusted"
    else:
        text = "no guarantee" if sight.epsilon is None else f"ε = {say_number(sight.epsilon)}"
    name = {"A person's own site": "own", "Other sites": "others"}.get(sight.who, sight.who)
    return f"{name}: {text}" if is_named else text
