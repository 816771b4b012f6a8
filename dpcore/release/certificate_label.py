"""Privacy label of a release, made from its certificate."""

from __future__ import annotations

import math
from typing import Any

from dpcore.privacy import Guarantee, PrivacyBudget
from dpcore.privacy.guarantee_in_words import say_delta
from dpcore.privacy.label import Label, Sight, label_of
from dpcore.release.certificate import describe_person

NOT_ATTACKED = (
    "No attack was run on this release; python -m dpcore audit attacks mechanisms of its kind."
)


def label_of_certificate(certificate: dict[str, Any]) -> Label:
    """Return the privacy label of a release, made from its certificate."""
    requested, total, mechanism = (certificate[key] for key in ("requested", "total", "mechanism"))
    m = mechanism["rows_per_person"]
    guarantee = Guarantee(
        PrivacyBudget(requested["epsilon"], requested["delta"]),
        certificate["epsilon"],
        certificate["delta"],
        "gaussian",
        "the holder of the rows",
    )
    return label_of(
        guarantee,
        certificate["title"] or certificate["name"],
        is_simulation=False,
        who=f"Every person in the table ({name_person(certificate)})",
        unit=("all rows of one person" if m > 1 else "one row", certificate["relation"]),
        sights=(
            Sight("Holder of the rows", "sites", "every raw row", None, is_trusted=True),
            Sight(
                "Reader", "reader", "components, variances, noisy count, this label",
                certificate["epsilon"],
            ),
        ),
        assumptions=certificate["assumptions"],
        total="; ".join(f"{k}: {v}" for k, v in say_total(total).items())
        + ".",
        checked=(
            "Computed again, without the rows, by: python -m dpcore verify FOLDER.",
            NOT_ATTACKED,
        ),
        made=certificate["made"],
        version=certificate["software"]["dpcore"],
    )  # fmt: skip


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
