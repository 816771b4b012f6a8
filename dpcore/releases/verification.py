"""Whether a release folder holds together: its files, its numbers, its epsilon.

What can be checked without the rows is checked, and everything from the integers of the mechanism:
mu, the sampler's distance and epsilon are computed again. That the noise was drawn, and was never
seen, no file can show; and whoever may write the folder can write another certificate.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from dpcore.errors import ParameterError, shortened
from dpcore.privacy.card import say_delta, say_number
from dpcore.releases.calibration import Scales, bound_of, delta_of_distance
from dpcore.releases.certificate import FORM, FORM_OF_PLANS, promise, relation
from dpcore.releases.dictionary import dictionary_from
from dpcore.releases.exact.integer_rows import GRID, LENGTH
from dpcore.releases.project import cap_of_project
from dpcore.releases.released_pca import load_release, read_certificate

SCHEMA = json.loads(Path(__file__).with_name("certificate.schema.json").read_bytes())
_ROUNDING = 1 + 1e-9
# Between versions of SciPy, what is found by bisection.
_CLOSE = 1e-6
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
    holds = f"{certificate['promise'].removesuffix('.')}, if its assumptions do."
    return Verdict(True, f"{holds}{_of_plans(certificate)}")


def _of_plans(certificate: dict[str, Any]) -> str:
    """What is to be said of a number that earlier versions gave for all releases so far."""
    if certificate["form"] != FORM_OF_PLANS:
        return ""
    total = certificate["total"]
    return (
        f" It was made by an earlier version, whose ε = {say_number(total['epsilon'])} for all "
        "releases of the project so far holds only if they were all planned before the first was "
        "seen. Whatever was chosen after seeing some, the project's cap holds: "
        f"ε = {say_delta(total['cap_epsilon'])} at δ = {say_delta(total['cap_delta'])}."
    )


def _faults(folder: Path, certificate: dict[str, Any]) -> Iterator[str]:
    if certificate.get("form") not in (FORM, FORM_OF_PLANS):
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
    if (certificate["form"] == FORM) != ("share" in total):
        yield f"its total is not as the form {certificate['form']} has it"
    yield from _wrong_total(total, mu=scales.mu, distance=scales.distance)
    if mechanism["mu"] < scales.mu / _ROUNDING or mechanism["distance"] < scales.distance:
        yield "mu or the sampler's distance is stated as less than it is"


def _wrong_total(total: dict[str, float], *, mu: float, distance: float) -> Iterator[str]:
    if total["mu"] < mu / _ROUNDING or total["distance"] < distance / _ROUNDING:
        yield "the project's total is less than this release alone"
    cap = cap_of_project(total["cap_epsilon"], total["cap_delta"])
    share = (total["mu"] / cap.mu) ** 2
    if share > _ROUNDING:
        yield "the project's total is beyond its cap"
    if delta_of_distance(total["distance"], cap.epsilon) > cap.reserve * _ROUNDING:
        yield "the samplers' distance is beyond what the cap keeps for it"
    if "share" in total:
        if not math.isclose(total["share"], share, rel_tol=_CLOSE):
            yield f"the cap's share is stated as {total['share']}, and follows as {share}"
    elif cap.epsilon_of(total["mu"]) > total["epsilon"] * _ROUNDING:
        yield f"the project's ε is stated as {total['epsilon']}, and follows as less than it is"
    elif total["delta"] < cap.delta:
        yield f"the project's δ is stated as {total['delta']}, and its cap's is {cap.delta}"


def _digest(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
