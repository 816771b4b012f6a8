"""A whole round of a study from fixed keys and numbers, for whoever writes a site or a hub anew.

`python tests/federated/vectors.py` prints what `vectors.json` holds. What a site's numbers are,
noise
included, is given; all that comes after them is determined.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from dpcore.federated.hub import centre_and_count, components
from dpcore.federated.plan import StudyPlan
from dpcore.federated.wire_messages import (
    MOMENT,
    SUM,
    Request,
    frame,
    masked,
    public_key,
    shape_of,
    values_from,
)
from dpcore.release.dictionary import Column, Dictionary

SITES = ("oslo", "porto", "graz")
PROTOCOLS = ("securesum", "full", "dpdis")


def vectors() -> dict[str, Any]:
    """One round of each protocol whose masks, if any, are uniform."""
    return {protocol: _round(protocol) for protocol in PROTOCOLS}


def _round(protocol: str) -> dict[str, Any]:
    columns = (Column("height", 100, 220), Column("weight", 30, 200))
    plan = StudyPlan(
        "heart", Dictionary(columns), SITES, 1.0, 1e-6, 1, intermediate_dim=2, protocol=protocol
    )
    own = {
        site: X25519PrivateKey.from_private_bytes(bytes([number]) * 32)
        for number, site in enumerate(SITES, 1)
    }
    keys = {site: public_key(key) for site, key in own.items()}
    asked = Request(plan.digest, 1, SUM, SITES, keys)
    sums, first = _messages(plan, asked, own)
    centre, n_rows = centre_and_count(plan, sums)
    around = replace(asked, round=MOMENT, centre=centre)
    moments, second = _messages(plan, around, own)
    found = components(plan, moments, centre, n_rows)
    return {
        "plan": plan.json(),
        "digest": plan.digest,
        "private keys": {site: key.private_bytes_raw().hex() for site, key in own.items()},
        "scales": asdict(plan.scales),
        "rounds": [first, second],
        "noisy rows": n_rows,
        "components": found.components.tolist(),
        "eigenvalues": found.eigenvalues.tolist(),
    }


def _messages(plan, request, own) -> tuple[dict[str, Any], dict[str, Any]]:
    """What sites send, as the hub reads it, and the vectors of this round."""
    raw, sites = {}, {}
    for number, site in enumerate(SITES):
        numbers = _numbers(plan, request, number)
        values = numbers
        if plan.is_masked:
            purpose = f"{plan.digest} {request.id}"
            values = masked(numbers, own[site], site, SITES, request.keys, purpose)
        raw[site] = frame(plan, request, site, values)
        sites[site] = {
            "numbers": numbers.tolist(), "sent": values.tolist(), "frame": raw[site].hex()
        }  # fmt: skip
    read = {site: values_from(raw[site], plan, request, site) for site in SITES}
    return read, {"request": request.json().decode(), "sites": sites}


def _numbers(plan, request, number: int):
    """What a site has to send when its noise is drawn: made up here, of any size there may be."""
    shape, dtype = shape_of(plan, request.round)
    size = int(np.prod(shape))
    if dtype == "<f8":
        return (np.arange(1, size + 1) / 8 + number).reshape(shape)
    largest = plan.scales.count_weight * 900 if request.round == SUM else 1 << 45
    return np.array([largest // (1 + k) - number * 7_654_321 for k in range(size)][::-1])


if __name__ == "__main__":
    print(json.dumps(vectors(), indent=1))  # noqa: T201
