"""Whether a release folder holds together: its files, its numbers, its epsilon.

What can be checked without the rows is checked, and everything from the integers of the mechanism:
mu, the sampler's distance and epsilon are computed again. That the noise was drawn, and was never
seen, no file can show; and whoever may write the folder can write another certificate.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from dpcore.errors import ParameterError, shortened
from dpcore.privacy import gaussian_epsilon
from dpcore.releases.calibration import Scales, bound_of, delta_of_distance
from dpcore.releases.certificate import FORM, promise, relation
from dpcore.releases.dictionary import dictionary_from
from dpcore.releases.exact.integer_rows import GRID, LENGTH
from dpcore.releases.project import SAMPLER_SHARE
from dpcore.releases.released_pca import load_release, read_certificate

SCHEMA = json.loads(Path(__file__).with_name("certificate.schema.json").read_bytes())
_ROUNDING = 1 + 1e-9
_LARGEST_FILE = 1 << 32


@dataclass(frozen=True)
class Verdict:
    """What `verify` found.

    sentence: What holds, or the first thing that does not.
    """

    holds: bool
    sentence: str


def verify(folder: Path | str) -> Verdict:
    """Check a release folder, offline and without the data.

    folder: path. Of one release.
    """
    try:
        certificate = read_certificate(folder)
        for fault in _faults(Path(folder), certificate):
            return Verdict(False, f"{folder}: {shortened(fault, 300)}.")
        released = load_release(folder)
    except ParameterError as error:
        return Verdict(False, f"{folder}: {error}.")
    if len(released.components_) != certificate["result"]["components"]:
        return Verdict(False, f"{folder}: the components are not as many as certified.")
    return Verdict(True, f"{certificate['promise'].removesuffix('.')}, if its assumptions do.")


def _faults(folder: Path, certificate: dict[str, Any]) -> Iterator[str]:
    if certificate.get("form") != FORM:
        yield f"the certificate is not of the form {FORM}"
    for error in Draft202012Validator(SCHEMA).iter_errors(certificate):
        yield f"the certificate's {error.json_path} breaks its schema: {error.message}"
    for name, digest in certificate["files"].items():
        path = folder / name
        if not path.is_file():
            yield f"{name} is missing"
        elif path.stat().st_size > _LARGEST_FILE or _digest(path) != digest:
            yield f"{name} is not the file that was certified"
    yield from _wrong_numbers(certificate)


def _wrong_numbers(certificate: dict[str, Any]) -> Iterator[str]:
    dictionary, mechanism = dictionary_from(certificate["dictionary"]), certificate["mechanism"]
    scales = Scales(**{each.name: mechanism[each.name] for each in fields(Scales)})
    follows = {
        "grid": (mechanism["grid"], GRID),
        "length": (scales.length, LENGTH),
        "number of features": (scales.n_features, dictionary.n_features),
        "rows a person": (scales.rows_per_person, dictionary.at_most),
        "row norm bound": (scales.squared_norm, bound_of(dictionary)),
        "weight of the count": (mechanism["count_weight"], scales.count_weight),
        "diagonal noise": (mechanism["diagonal_sigma"], scales.diagonal_sigma),
        "number of draws": (mechanism["draws"], scales.n_draws),
        "relation": (certificate["relation"], relation(scales.rows_per_person)),
    }
    for what, (stated, found) in follows.items():
        if stated != found:
            yield f"the {what} is stated as {stated}, and follows as {found}"
    epsilon, delta, total = certificate["epsilon"], certificate["delta"], certificate["total"]
    asked = certificate["asked"]
    if epsilon > asked["epsilon"] * _ROUNDING or delta != asked["delta"]:
        yield "it spends more than was asked for"
    held = scales.epsilon(delta, epsilon)
    if held > epsilon * _ROUNDING:
        yield f"ε is stated as {epsilon}, and follows as {held}"
    if certificate["promise"] != promise(epsilon, delta, scales.rows_per_person):
        yield "the promise in words is not that of the numbers"
    yield from _wrong_total(total, mu=scales.mu, distance=scales.distance)
    if mechanism["mu"] < scales.mu / _ROUNDING or mechanism["distance"] < scales.distance:
        yield "mu or the sampler's distance is stated as less than it is"


def _wrong_total(total: dict[str, float], *, mu: float, distance: float) -> Iterator[str]:
    if total["mu"] < mu / _ROUNDING or total["distance"] < distance / _ROUNDING:
        yield "the project's total is less than this release alone"
    if total["epsilon"] > total["cap_epsilon"] * _ROUNDING:
        yield "the project's total is beyond its cap"
    reserve = SAMPLER_SHARE * total["cap_delta"]
    if delta_of_distance(total["distance"], total["cap_epsilon"]) > reserve * _ROUNDING:
        yield "the samplers' distance is beyond what the cap keeps for it"
    held = gaussian_epsilon(total["cap_delta"] - reserve, 1.0, total["mu"])
    if held > total["epsilon"] * _ROUNDING or total["delta"] < total["cap_delta"]:
        yield f"the project's ε is stated as {total['epsilon']}, and follows as {held}"


def _digest(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
