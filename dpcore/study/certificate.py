"""What a study's result promises, to whom, and on what that rests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import numpy as np

from dpcore.arrays import AnyArray
from dpcore.privacy import Adversary, gaussian_epsilon
from dpcore.privacy.card import say_delta, say_number
from dpcore.releases.calibration import delta_of_distance
from dpcore.releases.certificate import ASSUMPTIONS, READER_ALONE, relation, software, who_is_one
from dpcore.study.hub_state import HubState
from dpcore.study.plan import StudyPlan

FORM = "dp-pca-lab/study-certificate/1"
OF_SITES = tuple(
    """\
Each site's rows lie at that site alone, and its guard is this program, unchanged.
As many sites as are counted on keep their masks, keys and noise to themselves, and their public \
keys reached one another as they are.
Nobody times the guards, which take longer over more rows: a hub can, and ε does not cover it.
""".splitlines()
)


def study_certificate(
    plan: StudyPlan, state: HubState, result: Mapping[str, AnyArray]
) -> dict[str, Any]:
    """The certificate of a study that has ended well, as a JSON document.

    result: As the hub keeps it.
    """
    scales, n_attempts = plan.scales, max(state.attempt, 1)
    worst = max(plan.epsilon_against(who) for who in Adversary)
    components = np.ascontiguousarray(result["components"], "<f8")
    return {
        "form": FORM,
        "study": plan.name,
        "plan": plan.digest,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "promise": f"An attempt is (ε = {say_number(worst)}, δ = {say_delta(plan.delta)})-"
        "differentially private for every person at a site that took part.",
        "relation": relation(scales.rows_per_person),
        "person": who_is_one(plan.dictionary.person),
        "protocol": plan.protocol,
        "delta": plan.delta,
        "against": {
            who.value: {"epsilon": plan.epsilon_against(who), "noises_it_lacks": plan.unknown(who)}
            for who in Adversary
        },
        "attempts": n_attempts,
        "epsilon_of_all_attempts": of_attempts(plan, n_attempts),
        "sites": {"answered": [str(site) for site in result["sites"]], "of": list(plan.sites),
                  "fewest": plan.fewest, "honest": plan.honest},
        "noise_of_a_site": {each.name: getattr(scales, each.name) for each in fields(scales)},
        "distance": plan.distance,
        "preparation": {"name": plan.preparation, "mean_share": plan.mean_share},
        "result": {
            "components": len(components),
            "components_sha256": sha256(components.tobytes()).hexdigest(),
            "eigenvalues": np.asarray(result["eigenvalues"]).tolist(),
            "noisy_rows": float(result["n_rows"]),
        },
        "assumptions": [*(each for each in ASSUMPTIONS if each != READER_ALONE), *OF_SITES],
        "software": software(),
    }  # fmt: skip


def of_attempts(plan: StudyPlan, number: int) -> float:
    """Epsilon, at the plan's delta, for people whose site has answered so many attempts."""
    one = max(plan.epsilon_against(who) for who in Adversary)
    # An upper end, at which the samplers' distance is counted: epsilons and deltas add up.
    left = plan.delta - delta_of_distance(number * plan.distance, number * one)
    mu = math.sqrt(number) * plan.worst.mu
    return gaussian_epsilon(left, 1.0, mu) if left > 0 else math.inf
