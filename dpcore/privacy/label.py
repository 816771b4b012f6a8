"""Privacy label of a release: the facts of its guarantee, as a JSON document.

Every label has the same order of facts, like a nutrition label (Smart et al. 2024, "Models
matter"): who is protected, what an attacker may gain as frequencies with one denominator
(Nanayakkara et al. 2023), who sees what, what is not protected, who is trusted, the total that was
used, and how the guarantee was checked. All numbers are computed from the guarantee. The JSON
document follows `label.schema.json` in this folder.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dpcore
from dpcore.privacy.audit import AuditResult
from dpcore.privacy.budget import Adversary, Against, Assumption, Guarantee
from dpcore.privacy.guarantee_in_words import (
    CARD_TYPE_ONE,
    one_in,
    round_up,
    say_delta,
    say_number,
)
from dpcore.privacy.interpretation import guarantee_power, icon_counts

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
    requested : tuple of (float, float) or None
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
    requested: tuple[float, float] | None
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
            "requested": self.requested
            and {"epsilon": _number(self.requested[0]), "delta": self.requested[1]},
            "odds": {
                "of": OUT_OF,
                "right_with": self.right_with,
                "right_without": self.right_without,
                "false_alarms": round(OUT_OF * CARD_TYPE_ONE),
                "caught": self.caught,
            },
            "sights": [asdict(sight) for sight in self.sights],
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
    right_with, right_without = icon_counts(guarantee, OUT_OF)
    caught = math.ceil(OUT_OF * float(guarantee_power(guarantee, CARD_TYPE_ONE)) - 1e-6)
    requested = guarantee.requested
    return Label(
        title=title,
        is_simulation=is_simulation,
        who=_protected_people(who, people, sites)
        if guarantee.is_private
        else "No one: there is no guarantee",
        unit=unit[0],
        neighbours=unit[1],
        epsilon=_number(guarantee.epsilon),
        delta=guarantee.delta,
        requested=None if requested is None else (requested.epsilon, requested.delta),
        right_with=right_with,
        right_without=right_without,
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


def _protected_people(who: str, people: int | None, sites: int | None) -> str:
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
    by_adversary = {entry.adversary: entry for entry in guarantee.against}
    own_site = Sight("A person's own site", "sites", "its people's raw rows", None, is_trusted=True)
    return [own_site, *(_sight(by_adversary[who]) for who in order if who in by_adversary)]


def _sight(entry: Against) -> Sight:
    name, place = _PLACES[entry.adversary]
    epsilon = None if entry.is_trusted else _number(entry.epsilon)
    return Sight(name, place, entry.sees, epsilon, entry.is_trusted)


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
        f"{entry.adversary.who}, who sees {entry.sees}: a breach there shows every row."
        for entry in guarantee.against
        if entry.is_trusted
    ]
    conditions = [
        str(assumption) for assumption in guarantee.assumptions if assumption in _TRUST_ASSUMPTIONS
    ]
    return [*trusted, *conditions] or ["The holder of the rows, until the noise is added."]
