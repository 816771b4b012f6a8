"""Privacy label of a release: the facts of its guarantee, as JSON and as an HTML card.

Every label has the same order of facts, like a nutrition label (Smart et al. 2024, "Models
matter"): who is protected, what an attacker may gain as frequencies with one denominator
(Nanayakkara et al. 2023), who sees what, what is not protected, who is trusted, the total that was
used, and how the guarantee was checked. All numbers are computed from the guarantee. The JSON
document follows `label.schema.json` in this folder. The HTML card prints on one page.
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

# A release's folder, its label included, is verified to the byte. A published form must not change:
# give a changed card another form and keep the old one for existing folders.
FORM = "dp-pca-lab/label/1"
SCHEMA = json.loads(Path(__file__).with_name("label.schema.json").read_bytes())
SIMULATION = "Simulation: no one is protected by this"
OUT_OF = 100

_TRUST_ASSUMPTIONS = (
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
    """Data that one party sees, with the guarantee against it.

    Parameters
    ----------
    who : str
        Name of the party on the label.
    place : str
        Position in the picture: "people", "sites", "aggregator" or "reader".
    sees : str
        Data, as the end of a sentence "sees …".
    epsilon : float or None
        None without a guarantee, or for a trusted party.
    is_trusted : bool
        Whether the party sees raw rows or the noise, so no guarantee holds against it.
    """

    who: str
    place: str
    sees: str
    epsilon: float | None
    is_trusted: bool = False


@dataclass(frozen=True)
class Label:
    """Facts of one label, in their order on the card.

    Parameters
    ----------
    title : str
        Title of the release.
    is_simulation : bool
        Whether rows or seeds are known, so no one is protected. The card shows a watermark.
    who : str
        Protected people.
    unit, neighbours : str
        Protected unit of a person's data, and the neighbouring relation.
    epsilon : float or None
        None without a guarantee.
    delta : float
    asked : tuple of (float, float) or None
        Requested epsilon and delta.
    right_with, right_without : int
        Largest number of right guesses out of 100 whether a person's row was used, both answers
        equally likely before, with the release and without it.
    caught : int
        Number of people out of 100 with used rows that an attacker can find at 5 false accusations
        out of 100 other people.
    sights : tuple of Sight
        Parties in the order of the picture.
    not_protected, trust, checked, assumptions : tuple of str
        Full sentences.
    total : str
        Total that all releases about these people have used.
    made : str
        Date and time in UTC.
    version : str
        Version of this package.
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
        """Return the label as a JSON document of `label.schema.json`."""
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
    """Return the label of one guarantee.

    Parameters
    ----------
    guarantee : Guarantee
    title : str
        Title of the release.
    is_simulation : bool
        Whether rows or seeds are known.
    who : str
        Protected people, if not every person with a row.
    unit : (str, str)
        Protected unit of a person's data, and the neighbouring relation.
    people, sites : int, optional
        Numbers of people and sites.
    sights : sequence of Sight, optional
        Parties and what they see. Default: the adversaries of the guarantee.
    not_protected : sequence of str
        Sentences in addition to those that follow from the guarantee.
    assumptions : sequence of str, optional
        Default: the assumptions of the guarantee.
    total : str
        Total that all releases about these people have used, as a sentence.
    checked : sequence of str
        Checks of the guarantee, as sentences.
    made : str, optional
        Date and time in ISO format. Default: now, in UTC.
    version : str
        Version of the package that made the release.
    """
    right, blind = icon_counts(guarantee, OUT_OF)
    caught = math.ceil(OUT_OF * float(guarantee_power(guarantee, CARD_TYPE_ONE)) - 1e-6)
    asked = guarantee.asked
    return Label(
        title=title,
        is_simulation=is_simulation,
        who=_who(who, people, sites) if guarantee.is_private else "No one: there is no guarantee",
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
    """Return the result of an attack as a sentence for a label."""
    bound, claimed = say_number(result.epsilon_exact), say_number(result.case.epsilon)
    verdict = "the claim is broken" if result.proves_breach else "no breach found"
    return (
        f"Attacked as {result.case.adversary.who[0].lower()}{result.case.adversary.who[1:]} "
        f"({result.case.name}, {result.n_trials:,} releases with and without one person): ε is at "
        f"least {bound} with {100 * result.confidence:.4g} % confidence, claimed {claimed} at "
        f"δ = {say_delta(result.case.delta)}: {verdict}."
    )


def delta_in_words(delta: float) -> str:
    """Return the meaning of delta as a sentence."""
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
    """Return the sights of all parties, from the people to the reader."""
    if not guarantee.against:
        holder = Sight("Holder of the rows", "aggregator", "every raw row", None, is_trusted=True)
        reader = Sight("Reader", "reader", "the result", _number(guarantee.epsilon))
        return [holder, reader]
    order = (Adversary.SITE, Adversary.AGGREGATOR, Adversary.OUTSIDER)
    by_adversary = {each.adversary: each for each in guarantee.against}
    own = Sight("A person's own site", "sites", "its people's raw rows", None, is_trusted=True)
    return [own, *(_sight(by_adversary[who]) for who in order if who in by_adversary)]


def _sight(each: Against) -> Sight:
    name, place = _PLACES[each.adversary]
    epsilon = None if each.is_trusted else _number(each.epsilon)
    return Sight(name, place, each.sees, epsilon, each.is_trusted)


def _not_protected(guarantee: Guarantee) -> list[str]:
    if not guarantee.is_private:
        return ["Any row: nothing hides it."]
    sentences = [
        "Facts about the group: the result shows them, and they may be used about anyone.",
        "Rows in storage: the label covers the result, not the computers that store rows.",
        "Other publications about the same people: every release adds to this one.",
    ]
    if Assumption.PUBLIC_COUNTS in guarantee.assumptions:
        sentences.append("The number of people, in total and at each site: it counts as public.")
    if Assumption.ONE_ROW_A_PERSON in guarantee.assumptions:
        sentences.append("People with several rows are protected less, in proportion.")
    return sentences


def _trust(guarantee: Guarantee) -> list[str]:
    trusted = [
        f"{each.adversary.who}, who sees {each.sees}: a breach there shows every row."
        for each in guarantee.against
        if each.is_trusted
    ]
    conditions = [str(each) for each in guarantee.assumptions if each in _TRUST_ASSUMPTIONS]
    return [*trusted, *conditions] or ["The holder of the rows, until the noise is added."]


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
    if label.asked is None or label.epsilon is None:
        return ""
    epsilon, delta = label.asked
    same = say_number(epsilon) == say_number(label.epsilon) and delta == label.delta
    return "" if same else f" Requested: ε = {say_number(epsilon)} at δ = {say_delta(delta)}."


def _items(sentences: Any) -> str:
    return "".join(f"<li>{escape(each)}</li>" for each in sentences)


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
    places = {each.place for each in sights} | {"people"}
    boxes = [(place, title) for place, title in _BOXES if place in places]
    step, width = 700 / len(boxes), 700 / len(boxes) - 34
    parts = []
    for number, (place, title) in enumerate(boxes):
        x, here = number * step + 2, [each for each in sights if each.place == place]
        name = here[0].who if len(here) == 1 else title
        lines = [_line_of(each, len(here) > 1) for each in here] or ["own row"]
        dash = ' stroke-dasharray="6 4"' if any(each.is_trusted for each in here) else ""
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
    description = "; ".join(f"{each.who}: {_line_of(each, False)}" for each in sights)
    return (
        f'<svg viewBox="0 0 672 82" role="img" aria-label="{escape(description)}">'
        f"{''.join(parts)}</svg>"
    )


def _line_of(each: Sight, is_named: bool) -> str:
    if each.is_trusted:
        text = "raw rows" if is_named else "raw rows, trusted"
    else:
        text = "no guarantee" if each.epsilon is None else f"ε = {say_number(each.epsilon)}"
    name = {"A person's own site": "own", "Other sites": "others"}.get(each.who, each.who)
    return f"{name}: {text}" if is_named else text


def _text(x: float, y: float, text: str, weight: int = 400) -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="middle" font-size="14" fill="currentColor" '
        f'font-weight="{weight}">{escape(text)}</text>'
    )
