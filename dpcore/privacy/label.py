"""The privacy label: what a release promises, on one card that prints on one page.

One order of facts for every release, in the manner of a nutrition label (Smart and others 2024,
"Models matter"): who is protected, what an attacker may gain as frequencies of one denominator
(Nanayakkara and others 2023), who sees what, what is not protected, who is trusted, what has been
used up, and how all of it was checked. Every number is worked out from the guarantee; the same
facts are a JSON document (`label.schema.json` beside this file) and an HTML card.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

import dpcore
from dpcore.privacy.audit import AuditResult
from dpcore.privacy.budget import Adversary, Against, Assumption, Guarantee
from dpcore.privacy.guarantee_in_words import (
    CARD_TYPE_ONE,
    guarantee_power,
    icon_counts,
    one_in,
    round_up,
    say_delta,
    say_number,
)

# A release's folder is checked to the byte, its label too: whoever changes the card's words or look
# gives it another form, and keeps this one for the folders that have it.
FORM = "dp-pca-lab/label/1"
SCHEMA = json.loads(Path(__file__).with_name("label.schema.json").read_bytes())
SIMULATION = "Simulation: no one is protected by this"
OUT_OF = 100

_TRUSTING = (
    Assumption.HONEST_SITES,
    Assumption.ENOUGH_HONEST_SITES,
    Assumption.JOINT_MASKS,
    Assumption.AGREED_MASKS,
    Assumption.TRUSTED_HOLDER,
)
_ONE_ROW = (
    "one row",
    "Two data sets are neighbours if they differ in one person's row, which is replaced.",
)


@dataclass(frozen=True)
class Sight:
    """What one party sees, and what holds against it.

    Parameters
    ----------
    who : str
        Name of the party, as a label has it.
    place : str
        "people", "sites", "aggregator" or "reader": where it stands in the picture.
    sees : str
        In words that fit after "sees".
    epsilon : float or None
        None where nothing holds against it, or it is trusted.
    is_trusted : bool
        It sees raw rows, or noise, and nothing is promised against it.
    """

    who: str
    place: str
    sees: str
    epsilon: float | None
    is_trusted: bool = False


@dataclass(frozen=True)
class Label:
    """The facts of one card, in the order in which they are shown.

    Parameters
    ----------
    title : str
        Of the release.
    is_simulation : bool
        Rows or seeds are known, so that nobody is protected; the card says so across its face.
    who : str
        Who is protected.
    unit, neighbours : str
        What of a person may change unnoticed, and between which data sets.
    epsilon : float or None
        None where nothing is promised.
    delta : float
    asked : tuple of (float, float) or None
        The epsilon and delta that were asked for.
    right_with, right_without : int
        Of a hundred guesses whether a person's row was used, both answers equally likely before:
        how many can be right with the release, and without.
    caught : int
        Of a hundred people whose rows were used, how many an attacker can find who wrongly accuses
        five of a hundred others.
    sights : tuple of Sight
        In the order of the picture.
    not_protected, trust, checked, assumptions : tuple of str
        Full sentences.
    total : str
        What all releases about these people have used up.
    made : str
        Date and time in UTC.
    version : str
        Of this package.
    """

    title: str
    is_simulation: bool
    who: str
    unit: str
    neighbours: str
    epsilon: float | None
    delta: float
    asked: tuple[float, float] | None
    right_with: int
    right_without: int
    caught: int
    sights: tuple[Sight, ...]
    not_protected: tuple[str, ...]
    trust: tuple[str, ...]
    total: str
    checked: tuple[str, ...]
    assumptions: tuple[str, ...]
    made: str
    version: str

    def as_dict(self) -> dict[str, Any]:
        """The label as a JSON document of `label.schema.json`."""
        return {
            "form": FORM,
            "title": self.title,
            "simulation": self.is_simulation,
            "face": SIMULATION if self.is_simulation else "",
            "protected": {"who": self.who, "unit": self.unit, "neighbours": self.neighbours},
            "epsilon": self.epsilon,
            "delta": self.delta,
            "delta_in_words": delta_in_words(self.delta),
            "asked": self.asked and {"epsilon": _number(self.asked[0]), "delta": self.asked[1]},
            "odds": {
                "of": OUT_OF,
                "right_with": self.right_with,
                "right_without": self.right_without,
                "false_alarms": round(OUT_OF * CARD_TYPE_ONE),
                "caught": self.caught,
            },
            "sights": [asdict(each) for each in self.sights],
            "not_protected": list(self.not_protected),
            "trust": list(self.trust),
            "total": self.total,
            "checked": list(self.checked),
            "assumptions": list(self.assumptions),
            "made": self.made,
            "version": self.version,
        }


def label_of(
    guarantee: Guarantee,
    title: str,
    *,
    is_simulation: bool,
    who: str = "Every person whose row was used",
    unit: tuple[str, str] = _ONE_ROW,
    people: int | None = None,
    sites: int | None = None,
    sights: Sequence[Sight] | None = None,
    not_protected: Sequence[str] = (),
    assumptions: Sequence[str] | None = None,
    total: str = "Not counted on this label.",
    checked: Sequence[str] = (),
    made: str | None = None,
    version: str = dpcore.__version__,
) -> Label:
    """The label of what one guarantee promises.

    Parameters
    ----------
    guarantee : Guarantee
    title : str
        Of the release.
    is_simulation : bool
        Whether rows or seeds are known.
    who : str
        Who is protected, where it is not everybody with a row.
    unit : (str, str)
        What of a person may change unnoticed, and what makes two data sets neighbours.
    people, sites : int, optional
        How many take part.
    sights : sequence of Sight, optional
        Who sees what; by default what the guarantee says of its adversaries.
    not_protected : sequence of str
        Sentences beside those that follow from the guarantee.
    assumptions : sequence of str, optional
        By default the guarantee's own.
    total : str
        What all releases about these people have used up, as a sentence.
    checked : sequence of str
        How the promise was checked, in sentences.
    made : str, optional
        Date and time in ISO's form; now, in UTC, by default.
    version : str
        Of the package that made the release.
    """
    right, blind = icon_counts(guarantee, OUT_OF)
    caught = math.ceil(OUT_OF * float(guarantee_power(guarantee, CARD_TYPE_ONE)) - 1e-6)
    asked = guarantee.asked
    return Label(
        title=title,
        is_simulation=is_simulation,
        who=_who(who, people, sites) if guarantee.is_private else "Nobody: nothing is promised",
        unit=unit[0],
        neighbours=unit[1],
        epsilon=_number(guarantee.epsilon),
        delta=guarantee.delta,
        asked=None if asked is None else (asked.epsilon, asked.delta),
        right_with=right,
        right_without=blind,
        caught=caught,
        sights=tuple(_sights(guarantee) if sights is None else sights),
        not_protected=(*_not_protected(guarantee), *not_protected),
        trust=tuple(_trust(guarantee)),
        total=total,
        checked=tuple(checked) or ("No attack was run on this release.",),
        assumptions=tuple(map(str, guarantee.assumptions if assumptions is None else assumptions)),
        made=made or datetime.now(UTC).isoformat(timespec="seconds"),
        version=version,
    )


def audit_in_words(result: AuditResult) -> str:
    """What an attack proved, as a sentence for a label."""
    found, claimed = say_number(result.epsilon_exact), say_number(result.case.epsilon)
    verdict = "the claim is broken" if result.proves_breach else "no breach found"
    return (
        f"Attacked as {result.case.adversary.who[0].lower()}{result.case.adversary.who[1:]} "
        f"({result.case.name}, {result.n_trials:,} releases with and without one person): ε is at "
        f"least {found} with {100 * result.confidence:.4g} % confidence, claimed {claimed} at "
        f"δ = {say_delta(result.case.delta)}: {verdict}."
    )


def delta_in_words(delta: float) -> str:
    """What delta means, in a sentence."""
    if delta == 0:
        return "There is no slack: the bound holds for every outcome."
    points = round_up(100 * delta, 3)
    return (
        f"The bound on ε may fail by δ, {one_in(delta)}: {say_delta(points)} percentage points on "
        "every chance."
    )


def _who(who: str, people: int | None, sites: int | None) -> str:
    if people is None:
        return who
    at = "" if sites is None else f" at {sites} site{'s' * (sites != 1)}"
    return f"{who}: {people:,}{at}"


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


_PLACES = {
    Adversary.OUTSIDER: ("Reader", "reader"),
    Adversary.AGGREGATOR: ("Aggregator", "aggregator"),
    Adversary.SITE: ("Other sites", "sites"),
}


def _sights(guarantee: Guarantee) -> list[Sight]:
    """From the people to the reader, as the guarantee says of each adversary."""
    if not guarantee.against:
        holder = Sight("Holder of the rows", "aggregator", "every raw row", None, is_trusted=True)
        reader = Sight("Reader", "reader", "the result", _number(guarantee.epsilon))
        return [holder, reader]
    order = (Adversary.SITE, Adversary.AGGREGATOR, Adversary.OUTSIDER)
    found = {each.adversary: each for each in guarantee.against}
    own = Sight("A person's own site", "sites", "its people's raw rows", None, is_trusted=True)
    return [own, *(_sight(found[who]) for who in order if who in found)]


def _sight(each: Against) -> Sight:
    name, place = _PLACES[each.adversary]
    epsilon = None if each.is_trusted else _number(each.epsilon)
    return Sight(name, place, each.sees, epsilon, each.is_trusted)


def _not_protected(guarantee: Guarantee) -> list[str]:
    if not guarantee.is_private:
        return ["Any row: nothing hides it."]
    said = [
        "What is true of the group: the result shows it, and it may be used about anyone.",
        "Rows where they are kept: the label is about what leaves, not about the computers.",
        "What else is published about the same people: every release adds to this one.",
    ]
    if Assumption.PUBLIC_COUNTS in guarantee.assumptions:
        said.append("How many people there are, in all and at each site: it counts as public.")
    if Assumption.ONE_ROW_A_PERSON in guarantee.assumptions:
        said.append("People with several rows are protected less, in proportion.")
    return said


def _trust(guarantee: Guarantee) -> list[str]:
    trusted = [
        f"{each.adversary.who}, who sees {each.sees}: a breach there shows every row."
        for each in guarantee.against
        if each.is_trusted
    ]
    said = [str(each) for each in guarantee.assumptions if each in _TRUSTING]
    return [*trusted, *said] or ["Whoever holds the rows, until the noise is added."]


# The card as HTML: a fragment for a page, and a document that prints on one sheet.

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
    """The label as a document of its own, one page of A4 or Letter."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Privacy label: {escape(label.title)}</title><style>{_PAPER}</style></head>
<body>{label_card(label).replace("<h2>", "<h1>", 1).replace("</h2>", "</h1>", 1)}</body></html>
"""


def label_card(label: Label) -> str:
    """The label as a part of a page; its heading is an h2."""
    face = f'<p class="face">{SIMULATION}</p>' if label.is_simulation else ""
    return f"""<section class="privacy-label" aria-label="Privacy label"><style>{_STYLE}</style>
{face}{_across() if label.is_simulation else ""}
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
<div><h3>Whom one trusts</h3><ul>{_items(label.trust)}</ul></div></div>
<h3>Used up</h3><p>{escape(label.total)}</p>
<h3>How it was checked</h3><ul class="small">{_items(label.checked)}</ul>
<h3>It holds if</h3>
<ul class="small columns">{_items(e for e in label.assumptions if e not in label.trust)}</ul>
<p class="small">{escape(label.made[:10])}, dpcore {escape(label.version)}, {FORM}</p></section>"""


def _say_epsilon(label: Label) -> str:
    if label.epsilon is None:
        return "ε = ∞: nothing is promised"
    return f"ε = {say_number(label.epsilon)} at δ = {say_delta(label.delta)}"


def _say_asked(label: Label) -> str:
    if label.asked is None or label.epsilon is None:
        return ""
    epsilon, delta = label.asked
    same = say_number(epsilon) == say_number(label.epsilon) and delta == label.delta
    return "" if same else f" Requested: ε = {say_number(epsilon)} at δ = {say_delta(delta)}."


def _items(sentences: Any) -> str:
    return "".join(f"<li>{escape(each)}</li>" for each in sentences)


def _across() -> str:
    """The same words across the face, for a copy in which the band is cut off."""
    return (
        '<svg class="across" viewBox="0 0 100 120" preserveAspectRatio="none" aria-hidden="true">'
        '<text x="50" y="62" transform="rotate(-50 50 60)" text-anchor="middle" font-size="15" '
        'font-weight="700" fill="#8f1d14" opacity=".13">SIMULATION</text></svg>'
    )


def _dots(right: int, what: str) -> str:
    """A hundred guesses: filled where right."""
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
    """Who sees what, from the people to the reader, as boxes and arrows.

    Parameters
    ----------
    sights : sequence of Sight
    """
    places = {each.place for each in sights} | {"people"}
    boxes = [(place, title) for place, title in _BOXES if place in places]
    step, width = 700 / len(boxes), 700 / len(boxes) - 34
    parts = []
    for number, (place, title) in enumerate(boxes):
        left, here = number * step + 2, [each for each in sights if each.place == place]
        name = here[0].who if len(here) == 1 else title
        lines = [_line_of(each, len(here) > 1) for each in here] or ["own row"]
        dash = ' stroke-dasharray="6 4"' if any(each.is_trusted for each in here) else ""
        parts.append(
            f'<rect x="{left:.0f}" y="2" width="{width:.0f}" height="76" rx="6" fill="none" '
            f'stroke="currentColor" stroke-width="2"{dash}/>'
            + _text(left + width / 2, 24, name, 700)
            + "".join(_text(left + width / 2, 46 + 20 * n, line) for n, line in enumerate(lines))
        )
        if number:
            tip = left - 5
            parts.append(
                f'<path d="M{tip - 22:.0f} 40H{tip:.0f}m-7 -5l7 5l-7 5" fill="none" '
                'stroke="currentColor" stroke-width="2"/>'
            )
    told = "; ".join(f"{each.who}: {_line_of(each, False)}" for each in sights)
    return (
        f'<svg viewBox="0 0 672 82" role="img" aria-label="{escape(told)}">{"".join(parts)}</svg>'
    )


def _line_of(each: Sight, is_named: bool) -> str:
    if each.is_trusted:
        said = "raw rows" if is_named else "raw rows, trusted"
    else:
        said = "no promise" if each.epsilon is None else f"ε = {say_number(each.epsilon)}"
    named = {"A person's own site": "own", "Other sites": "others"}.get(each.who, each.who)
    return f"{named}: {said}" if is_named else said


def _text(x: float, y: float, said: str, weight: int = 400) -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="middle" font-size="14" fill="currentColor" '
        f'font-weight="{weight}">{escape(said)}</text>'
    )
