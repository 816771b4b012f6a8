"""Certificate and privacy label of a federated analysis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import numpy as np

from dpcore.arrays import AnyArray
from dpcore.federated.aggregation import count_sigma
from dpcore.federated.plan import SCORE_CELLS, FederatedPlan
from dpcore.pca.centre_rule import DIFFERENCES
from dpcore.privacy import Adversary, Against, Guarantee, PrivacyBudget
from dpcore.privacy.guarantee_in_words import say_delta, say_number
from dpcore.privacy.label import Label, label_of
from dpcore.privacy.odometer import counted_epsilon
from dpcore.release.certificate import (
    ASSUMPTIONS,
    READER_ALONE,
    describe_person,
    preparation_entry,
    relation,
)
from dpcore.release.certificate_label import NOT_ATTACKED
from dpcore.release.scales import VOTE
from dpcore.release.software import software

FORM = "dp-pca-lab/federated-certificate/1"
_OF_ALL_ATTEMPTS = (
    "The number of attempts is not fixed in advance, so epsilon_of_all_attempts is an odometer's "
    "number at delta. Each site's ledger also keeps its cap for all attempts and all other "
    "releases about the same people."
)
_ASSUMPTIONS_ON_SITES = tuple(
    """\
The rows of a site are at that site only, and its guard runs this program unchanged.
At least `honest` sites keep masks, keys and noise secret; public keys arrive unchanged.
Response times of the guards, which grow with the number of rows, are not observed.
""".splitlines()
)


def certificate_of(
    plan: FederatedPlan, n_attempts: int, result: Mapping[str, AnyArray]
) -> dict[str, Any]:
    """Return the certificate as a JSON document.

    result: Arrays of `dpcore.federated.aggregation.arrays_of_result`.
    """
    choice, n_above = str(result["centre_choice"]), int(result["above_noise"])
    scales = plan.scales.for_differences() if choice == DIFFERENCES else plan.scales
    n_attempts = max(n_attempts, 1)
    worst = max(plan.epsilon_against(who) for who in Adversary)
    all_attempts = epsilon_of_attempts(plan, n_attempts)
    components = np.ascontiguousarray(result["components"], "<f8")
    return {
        "form": FORM,
        "name": plan.name,
        "plan": plan.digest,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "guarantee": f"An attempt is (ε = {say_number(worst)}, δ = {say_delta(plan.delta)})-"
        "differentially private for every person at a site that took part.",
        "relation": relation(scales.rows_per_person),
        "person": describe_person(plan.dictionary.person),
        "protocol": plan.protocol,
        "delta": plan.delta,
        "against": {
            who.value: {
                "epsilon": plan.epsilon_against(who),
                "noises_it_lacks": plan.unknown_noises(who),
            }
            for who in Adversary
        },
        "attempts": n_attempts,
        "epsilon_of_all_attempts": all_attempts if math.isfinite(all_attempts) else None,
        "all_attempts": _OF_ALL_ATTEMPTS,
        "sites": {
            "answered": [str(site) for site in result["sites"]],
            "of": list(plan.sites),
            "fewest": plan.fewest,
            "honest": plan.honest,
        },
        "noise_of_a_site": {field.name: getattr(scales, field.name) for field in fields(scales)},
        "scores": {
            "share": plan.scores_share,
            "cells": SCORE_CELLS,
            "noise_of_a_site": plan.score_sigma / VOTE,
        }
        if plan.scores_share
        else None,
        "distance": plan.distance,
        **preparation_entry(plan, choice),
        "post_processing": {
            "denoised_in": _bases(plan, result),
            "by": "sites" if plan.is_cut else "aggregator",
        },
        "result": {
            "components": len(components),
            "above_noise": None if n_above < 0 else n_above,
            "components_sha256": sha256(components.tobytes()).hexdigest(),
            "eigenvalues": np.asarray(result["eigenvalues"]).tolist(),
            "noisy_rows": float(result["n_rows"]),
            "noisy_rows_sigma": count_sigma(plan, len(result["sites"])),
        },
        "assumptions": [
            *(assumption for assumption in ASSUMPTIONS if assumption != READER_ALONE),
            *_ASSUMPTIONS_ON_SITES,
        ],
        "software": software(),
    }


def label_for(
    plan: FederatedPlan, certificate: Mapping[str, Any], *, is_simulation: bool = False
) -> Label:
    """Return the privacy label of all attempts together.

    certificate: Result of `certificate_of`.
    is_simulation: Whether the rows are public.
    """
    n_attempts, answered = certificate["attempts"], certificate["sites"]["answered"]
    guarantee = Guarantee(
        PrivacyBudget(plan.epsilon, plan.delta),
        epsilon_of_attempts(plan, n_attempts),
        plan.delta,
        # An odometer gives epsilon at one delta, and not the whole profile.
        "composed",
        "every site",
        against=tuple(
            Against(who, _view_of(plan, who), plan.epsilon_against(who)) for who in Adversary
        ),
    )
    m = plan.dictionary.at_most
    cap = "Each site's ledger has its own cap and was charged before its answer left."
    return label_of(
        guarantee,
        f"{plan.dictionary.title or plan.name}: federated over {len(plan.sites)} sites",
        is_simulation=is_simulation,
        who=f"Every person at the {len(answered)} sites that took part "
        f"({describe_person(plan.dictionary.person)})",
        unit=("all rows of one person" if m > 1 else "one row", relation(m)),
        not_protected=(f"Attempts: {n_attempts}. The ε of each adversary holds for one attempt.",),
        assumptions=certificate["assumptions"],
        total=f"{n_attempts} attempt{'s' * (n_attempts > 1)}. {cap}",
        checked=(
            "Each guard charged its ledger and drew the noise; ε follows from the plan's integers.",
            NOT_ATTACKED,
        ),
        made=certificate["made"],
        version=certificate["software"]["dpcore"],
    )


def _view_of(plan: FederatedPlan, who: Adversary) -> str:
    masks = " and the masks and noise of all sites but the honest ones" * plan.is_masked
    if who is Adversary.OUTSIDER:
        return "the result"
    if who is Adversary.SITE:
        return f"the result, its own rows and noise{masks}"
    return f"every site's message{masks}"


def _bases(plan: FederatedPlan, result: Mapping[str, AnyArray]) -> list[str]:
    """Return the names of the bases; sites that cut choose among them and do not report it."""
    if plan.is_cut:
        return [basis.name for basis in plan.bases]
    return [str(name) for name in result["denoised_in"]]


def epsilon_of_attempts(plan: FederatedPlan, number: int) -> float:
    """Return epsilon at the plan's delta for people whose site answered a number of attempts.

    The number depends on the messages seen, so it is an odometer's epsilon. The value is infinite
    if the samplers' distance uses up delta.
    """
    return counted_epsilon(plan.worst_mu, number, plan.delta, distance=plan.distance)
