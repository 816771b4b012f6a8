"""Privacy label of a release, made from its certificate."""

from __future__ import annotations

import math
from typing import Any

from dpcore.privacy import Guarantee, PrivacyBudget
from dpcore.privacy.guarantee_in_words import say_delta
from dpcore.privacy.label import Label, Sight, label_of
from dpcore.release.certificate import ASSUMPTIONS, describe_person, relation
from dpcore.release.dictionary import Dictionary
from dpcore.release.measurement import scales_of
from dpcore.release.settings import PublicationSettings

NOT_ATTACKED = (
    "No attack was run on this release; python -m dpcore audit attacks mechanisms of its kind."
)


def label_of_certificate(certificate: dict[str, Any]) -> Label:
    """Return the privacy label of a release, made from its certificate."""
    requested, total, mechanism = (certificate[key] for key in ("requested", "total", "mechanism"))
    return label_of(
        _guarantee(requested["epsilon"], certificate["delta"], certificate["epsilon"]),
        certificate["title"] or certificate["name"],
        is_simulation=False,
        who=f"Every person in the table ({name_person(certificate)})",
        unit=_unit(mechanism["rows_per_person"], certificate["relation"]),
        sights=_sights(certificate["epsilon"]),
        assumptions=certificate["assumptions"],
        total="; ".join(f"{k}: {v}" for k, v in say_total(total).items()) + ".",
        checked=(
            "Computed again, without the rows, by: python -m dpcore verify FOLDER.",
            NOT_ATTACKED,
        ),
        made=certificate["made"],
        version=certificate["software"]["dpcore"],
    )


def label_of_plan(dictionary: Dictionary, settings: PublicationSettings) -> Label:
    """Return the label that a release with these settings would have; nothing is charged.

    Raises `ParameterError` if `scales_of` refuses a value.
    """
    scales, m = scales_of(dictionary, settings), dictionary.at_most
    epsilon = scales.epsilon(settings.delta, settings.epsilon)
    return label_of(
        _guarantee(settings.epsilon, settings.delta, epsilon),
        dictionary.title or "a planned release",
        is_simulation=True,
        who=f"Every person in the table ({describe_person(dictionary.person)})",
        unit=_unit(m, relation(m)),
        sights=_sights(epsilon),
        assumptions=ASSUMPTIONS,
        total="Nothing is charged before the release.",
        checked=(NOT_ATTACKED,),
    )


def purpose_of(title: str, n_components: int) -> str:
    """Return the purpose of a release for the annex to an impact assessment."""
    return (
        f"Publish {n_components} private principal component{'s' * (n_components > 1)} of "
        f"“{title}”: patterns of all people together, and no row."
    )


def _guarantee(requested: float, delta: float, epsilon: float) -> Guarantee:
    budget = PrivacyBudget(requested, delta)
    return Guarantee(budget, epsilon, delta, "gaussian", "the holder of the rows")


def _unit(rows_per_person: int, relation_in_words: str) -> tuple[str, str]:
    return ("all rows of one person" if rows_per_person > 1 else "one row", relation_in_words)


def _sights(epsilon: float) -> tuple[Sight, ...]:
    return (
        Sight("Holder of the rows", "sites", "every raw row", None, is_trusted=True),
        Sight("Reader", "reader", "components, variances, noisy count, this label", epsilon),
    )


def name_person(certificate: dict[str, Any]) -> str:
    return describe_person(certificate["dictionary"]["rows"].get("person"))


def say_total(total: dict[str, Any]) -> dict[str, Any]:
    cap = f"ε = {say_delta(total['cap_epsilon'])} at δ = {say_delta(total['cap_delta'])}"
    return {
        "All releases of the project together": f"{cap}: its cap, fixed before the first, which "
        "holds whatever is chosen after seeing some of them",
        "Used of the cap, with this release": f"{share_in_words(total['share'])} (of μ²)",
    }


def share_in_words(share: float) -> str:
    """Return a part of a cap in percent, rounded up."""
    # Rounding errors must not turn 100 % into 100.1 %.
    return f"{math.ceil(1000 * share - 1e-6) / 10:g} %"
