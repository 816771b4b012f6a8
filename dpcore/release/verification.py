"""Verify a release folder without the data.

Checked: mu, the sampler's distance and epsilon follow from the integers of the mechanism; every
file except `certificate.json` and `components.npz` is made again from these two and compared byte
by byte; nothing else is in the folder. Not checked: that the noise was drawn and stayed secret. An
author who can write the folder can write a different certificate with all its files.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from dpcore.arrays import AnyArray
from dpcore.errors import ParameterError, shortened
from dpcore.privacy import Cap, delta_of_distance
from dpcore.privacy.guarantee_in_words import say_delta, say_number
from dpcore.release.certificate import (
    ASSUMPTIONS,
    FORM,
    FORM_OF_PLANS,
    FORM_OF_TOTALS,
    as_json,
    explained,
    mean_share_of,
    mechanism_of,
    noise_of,
    promise,
    relation,
)
from dpcore.release.dictionary import Dictionary, dictionary_from
from dpcore.release.integer_rows import GRID, LENGTH
from dpcore.release.measurement import ESTIMATES
from dpcore.release.normal_sampler import EARLIER_DISTANCE
from dpcore.release.project import EARLIER_SHARE, folder_name
from dpcore.release.release_files import CERTIFICATE, COMPONENTS, files_beside
from dpcore.release.released_pca import load_release, read_certificate
from dpcore.release.scales import Scales, bound_of
from dpcore.release.software import software

SCHEMA = json.loads(Path(__file__).with_name("certificate.schema.json").read_bytes())


_ROUNDING = 1 + 1e-9


# Between versions of SciPy, what is found by bisection.
_CLOSE = 1e-6


# Of sigmas in whole numbers. The sampler's distance keeps epsilon below 40, and sigmas above 2^15.
_CLOSE_SHARE = 1e-3


_ORTHONORMAL = 1e-6


_LARGEST_FILE, _LARGEST_HEADER = 1 << 32, 1 << 16


@dataclass(frozen=True)
class CertificateVerdict:
    """What `verify` found.

    sentence: What holds, or the first thing that does not.
    """

    holds: bool
    sentence: str


def verify(folder: Path | str) -> CertificateVerdict:
    """Check a release folder, offline and without the data.

    folder: path. Of one release.
    """
    try:
        certificate = read_certificate(folder)
        for fault in _faults(Path(folder), certificate):
            made_by = _other_version(certificate)
            return CertificateVerdict(False, f"{folder}: {shortened(fault, 300)}{made_by}.")
        load_release(folder)
    except ParameterError as error:
        return CertificateVerdict(False, f"{folder}: {error}.")
    except OSError as error:
        return CertificateVerdict(
            False, f"{folder}: {error.filename} cannot be read ({error.strerror})."
        )
    holds = f"{certificate['promise'].removesuffix('.')}, if its assumptions do."
    return CertificateVerdict(True, f"{holds}{_of_plans(certificate)}")


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


def _other_version(certificate: dict[str, Any]) -> str:
    """Beside a fault: a folder of another version may be sound, and be made in another way."""
    made, own = certificate.get("software"), software()
    stated = made.get("dpcore") if isinstance(made, dict) else None
    if not isinstance(stated, str) or stated == own["dpcore"]:
        return ""
    return f" (it says that dpcore {shortened(stated, 20)} made it; this is {own['dpcore']})"


def _faults(folder: Path, certificate: dict[str, Any]) -> Iterator[str]:
    if certificate.get("form") not in (FORM, FORM_OF_TOTALS, FORM_OF_PLANS):
        yield f"{CERTIFICATE} is not of the form {FORM}"
    from jsonschema import Draft202012Validator

    for error in Draft202012Validator(SCHEMA).iter_errors(certificate):
        yield f"{CERTIFICATE}: {error.json_path} breaks its schema: {error.message}"
    yield from _wrong_files(folder, certificate["files"])
    for fault in _wrong_numbers(certificate):
        yield f"{CERTIFICATE}: {fault}"
    dictionary = dictionary_from(certificate["dictionary"])
    arrays = _arrays(folder / COMPONENTS, dictionary, certificate["result"]["components"])
    if isinstance(arrays, str):
        yield f"{COMPONENTS} {arrays}"
        return
    for fault in _wrong_words(certificate, dictionary, arrays):
        yield f"{CERTIFICATE}: {fault}"
    beside = files_beside(certificate, arrays)
    for name in sorted(beside.keys() ^ (certificate["files"].keys() - {COMPONENTS})):
        yield f"{name} is no file of a release, or is missing among those certified"
    for name, content in beside.items():
        if (folder / name).read_bytes() != content:
            yield f"{name} does not say what {CERTIFICATE} and {COMPONENTS} say"
    if (folder / CERTIFICATE).read_bytes() != as_json(certificate):
        yield f"{CERTIFICATE} is not written as a release writes it"


def _wrong_files(folder: Path, certified: dict[str, str]) -> Iterator[str]:
    """What is missing, what has changed, and what nobody certified."""
    for name, digest in certified.items():
        path = folder / name
        if not path.is_file():
            yield f"{name} is missing"
        elif path.stat().st_size > _LARGEST_FILE or _digest(path) != digest:
            yield f"{name} is not the file that was certified"
    for path in sorted(folder.iterdir()):
        if path.name != CERTIFICATE and path.name not in certified:
            yield f"{path.name!r} lies in the folder and is no file of the release: take it out"


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
    earlier = scales.n_draws * EARLIER_DISTANCE
    distance = earlier if mechanism["distance"] == earlier else scales.distance
    yield from _wrong_promise(certificate, scales, distance)
    if mechanism["mu"] < scales.mu / _ROUNDING or mechanism["distance"] < distance:
        yield "mu or the sampler's distance is stated as less than it is"
    for name, said in (mechanism_of(scales) | {"distance": distance}).items():
        if mechanism[name] != said:
            yield f"{name} is stated as {mechanism[name]}, and follows as {said}"
    for name, reach in noise_of(scales).items():
        if not math.isclose(certificate["result"][name], reach, rel_tol=_CLOSE):
            yield f"{name} is stated as {certificate['result'][name]}, and follows as {reach}"
    of_sum = 4 * scales.rows_per_person**2 * scales.squared_norm / scales.sum_sigma**2
    share = mean_share_of(certificate)
    if not math.isclose(share, of_sum / scales.mu**2, rel_tol=_CLOSE_SHARE):
        yield f"mean_share is stated as {share}, and follows as {of_sum / scales.mu**2}"


def _wrong_promise(certificate: dict[str, Any], scales: Scales, distance: float) -> Iterator[str]:
    epsilon, delta, total = certificate["epsilon"], certificate["delta"], certificate["total"]
    asked = certificate["asked"]
    if epsilon > asked["epsilon"] * _ROUNDING or delta != asked["delta"]:
        yield "it spends more than was asked for"
    held = scales.epsilon(delta, epsilon, distance=distance)
    if held > epsilon * _ROUNDING:
        yield f"ε is stated as {epsilon}, and follows as {held}"
    if certificate["promise"] != promise(epsilon, delta, scales.rows_per_person):
        yield "the promise in words is not that of the numbers"
    if (certificate["form"] == FORM_OF_PLANS) == ("share" in total):
        yield f"its total is not as the form {certificate['form']} has it"
    yield from _wrong_total(total, mu=scales.mu, distance=distance)


def _wrong_total(total: dict[str, float], *, mu: float, distance: float) -> Iterator[str]:
    if total["mu"] < mu / _ROUNDING or total["distance"] < distance / _ROUNDING:
        yield "the project's total is less than this release alone"
    reserve = total.get("cap_reserve", EARLIER_SHARE * total["cap_delta"])
    cap = Cap(total["cap_epsilon"], total["cap_delta"], reserve)
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


def _wrong_words(
    certificate: dict[str, Any], dictionary: Dictionary, arrays: dict[str, AnyArray]
) -> Iterator[str]:
    """What a person reads in a certificate and no formula needs."""
    if certificate["assumptions"] != list(ASSUMPTIONS):
        yield "its assumptions are not those that a release rests on"
    if certificate["dictionary"] != dictionary.as_dict():
        yield "its dictionary is not written as a release writes it"
    if certificate["title"] != dictionary.title:
        yield "its title is not the dictionary's"
    folder_name("name", certificate["name"])
    try:
        datetime.fromisoformat(certificate["made"])
    except ValueError:
        yield "it was made at no time"
    result = certificate["result"]
    found = {"eigenvalues": arrays["eigenvalues"].tolist(), **explained(arrays)}
    for name, values in found.items():
        if result[name] != values:
            yield f"its {name} are not those of {COMPONENTS}"


def _arrays(path: Path, dictionary: Dictionary, n_components: int) -> dict[str, AnyArray] | str:
    """What the NPZ file holds, or what is wrong with it."""
    n_features = dictionary.n_features
    shapes = {
        "components": (n_components, n_features), "centre": (n_features,),
        "eigenvalues": (n_components,), "features": (n_features,),
        **dict.fromkeys(ESTIMATES, (3, n_components)),
    }  # fmt: skip
    names = np.array(dictionary.features)
    try:
        content = path.read_bytes()
        with zipfile.ZipFile(BytesIO(content)) as archive:
            members = archive.infolist()
        if sorted(each.filename for each in members) != sorted(f"{name}.npy" for name in shapes):
            return f"holds other arrays than {', '.join(shapes)}"
        for each in members:
            one = names.itemsize if each.filename == "features.npy" else 8
            n_cells = math.prod(shapes[each.filename.removesuffix(".npy")])
            if each.file_size > one * n_cells + _LARGEST_HEADER:
                return f"holds {each.filename} of another size than certified"
        with np.load(BytesIO(content), allow_pickle=False) as kept:
            arrays = {name: kept[name] for name in shapes}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        return f"is no sound NPZ file ({shortened(str(error))})"
    for name, shape in shapes.items():
        kind = names.dtype.kind if name == "features" else "f"
        if arrays[name].shape != shape or arrays[name].dtype.kind != kind:
            return f"holds {name} of shape {arrays[name].shape}, certified as {shape}"
    if arrays["features"].tolist() != names.tolist():
        return "holds other features than the dictionary has"
    if not all(np.isfinite(arrays[name]).all() for name in ("components", "centre", "eigenvalues")):
        return "holds numbers that are not finite"
    products = arrays["components"] @ arrays["components"].T
    if np.abs(products - np.eye(n_components)).max() > _ORTHONORMAL:
        return "holds components that are not orthonormal"
    return arrays


def _digest(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
