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
from dpcore.errors import ParameterError, truncate_text
from dpcore.pca.centre_rule import DIFFERENCES, MEAN
from dpcore.privacy import Cap, delta_of_distance
from dpcore.release.certificate import (
    ASSUMPTIONS,
    FORM,
    as_json,
    estimates_entry,
    mean_share_of,
    mechanism_of,
    noise_of,
    relation,
    say_guarantee,
)
from dpcore.release.dictionary import Dictionary
from dpcore.release.dictionary_file import dictionary_from
from dpcore.release.integer_rows import GRID, LENGTH
from dpcore.release.measurement import ESTIMATES, bases_of
from dpcore.release.project import folder_name
from dpcore.release.release_files import CERTIFICATE, COMPONENTS, derived_files, npz_bytes
from dpcore.release.released_pca import load_release, read_certificate
from dpcore.release.scales import Scales, shares_of, squared_norm_bound
from dpcore.release.software import software

SCHEMA = json.loads(Path(__file__).with_name("certificate.schema.json").read_bytes())
# Numbers of a certificate that follow from private rows or from noise, and from no other number.
UNCHECKED = ("noisy_rows", "trace", "of_best", "above_noise", "the intervals' widths")
_ROUNDING = 1 + 1e-9
# Noise scales are integers, and the sampler takes a share of delta, so epsilon is slightly smaller.
_REQUESTED = 1.02
# Versions of SciPy differ in the results of bisection.
_CLOSE = 1e-6
# Tolerance for sigmas, which are integers. The sampler keeps epsilon below 40 and sigma above 2^15.
_CLOSE_SHARE = 1e-3
_ORTHONORMAL = 1e-6
_LARGEST_FILE, _LARGEST_HEADER = 1 << 32, 1 << 16


@dataclass(frozen=True)
class CertificateVerdict:
    """Result of `verify`.

    sentence: Guarantee that holds, or the first fault.
    """

    holds: bool
    sentence: str


def verify(folder: Path | str) -> CertificateVerdict:
    """Check a release folder, offline and without the data.

    folder: path of one release.
    """
    try:
        certificate = read_certificate(folder)
        for fault in _faults(Path(folder), certificate):
            made_by = _other_version(certificate)
            return CertificateVerdict(False, f"{folder}: {truncate_text(fault, 300)}{made_by}.")
        load_release(folder)
    except ParameterError as error:
        return CertificateVerdict(False, f"{folder}: {error}.")
    except OSError as error:
        return CertificateVerdict(
            False, f"{folder}: {error.filename} cannot be read ({error.strerror})."
        )
    holds = f"{certificate['guarantee'].removesuffix('.')}, if its assumptions hold."
    return CertificateVerdict(True, holds)


def _other_version(certificate: dict[str, Any]) -> str:
    """Return a note if another version made the folder, which may then be sound despite a fault."""
    writer, version = certificate.get("software"), software()["dpcore"]
    stated = writer.get("dpcore") if isinstance(writer, dict) else None
    if not isinstance(stated, str) or stated == version:
        return ""
    return f" (it says that dpcore {truncate_text(stated, 20)} made it; this is {version})"


def _faults(folder: Path, certificate: dict[str, Any]) -> Iterator[str]:
    if certificate.get("form") != FORM:
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
    for fault in _wrong_result(certificate["result"], dictionary.n_features):
        yield f"{CERTIFICATE}: {fault}"
    yield from _wrong_bytes(folder, certificate, arrays)


def _wrong_bytes(
    folder: Path, certificate: dict[str, Any], arrays: dict[str, AnyArray]
) -> Iterator[str]:
    """Yield the files that differ from those that a release writes."""
    if (folder / COMPONENTS).read_bytes() != npz_bytes(arrays):
        yield f"{COMPONENTS} has other bytes than a release writes for its arrays"
    expected = derived_files(certificate, arrays)
    for name in sorted(expected.keys() ^ (certificate["files"].keys() - {COMPONENTS})):
        yield f"{name} is no file of a release, or is missing among those certified"
    for name, content in expected.items():
        if (folder / name).read_bytes() != content:
            yield f"{name} does not say what {CERTIFICATE} and {COMPONENTS} say"
    if (folder / CERTIFICATE).read_bytes() != as_json(certificate):
        yield f"{CERTIFICATE} is not written as a release writes it"


def _wrong_files(folder: Path, certified: dict[str, str]) -> Iterator[str]:
    """Yield missing, changed and additional files."""
    for name, digest in certified.items():
        path = folder / name
        if not path.is_file():
            yield f"{name} is missing"
        elif path.stat().st_size > _LARGEST_FILE or _digest(path) != digest:
            yield f"{name} is not the file that was certified"
    for path in sorted(folder.iterdir()):
        if path.name != CERTIFICATE and path.name not in certified:
            yield f"{path.name!r} is not part of the release; remove it"


def _wrong_numbers(certificate: dict[str, Any]) -> Iterator[str]:
    dictionary, mechanism = dictionary_from(certificate["dictionary"]), certificate["mechanism"]
    scales = Scales(**{field.name: mechanism[field.name] for field in fields(Scales)})
    follows = {
        "grid": (mechanism["grid"], GRID),
        "length": (scales.length, LENGTH),
        "number of features": (scales.n_features, dictionary.n_features),
        "rows a person": (scales.rows_per_person, dictionary.at_most),
        "row norm bound": (scales.squared_norm, squared_norm_bound(dictionary)),
        "weight of the count": (mechanism["count_weight"], scales.count_weight),
        "diagonal noise": (mechanism["diagonal_sigma"], scales.diagonal_sigma),
        "number of draws": (mechanism["draws"], scales.n_draws),
        "relation": (certificate["relation"], relation(scales.rows_per_person)),
    }
    for name, (stated, computed) in follows.items():
        if stated != computed:
            yield f"the {name} is stated as {stated}, and follows as {computed}"
    yield from _wrong_guarantee(certificate, scales)
    if mechanism["mu"] < scales.mu / _ROUNDING or mechanism["distance"] < scales.distance:
        yield "mu or the sampler's distance is stated as less than it is"
    for name, expected in mechanism_of(scales).items():
        if mechanism[name] != expected:
            yield f"{name} is stated as {mechanism[name]}, and follows as {expected}"
    for name, reach in noise_of(scales).items():
        if not math.isclose(certificate["result"][name], reach, rel_tol=_CLOSE):
            yield f"{name} is stated as {certificate['result'][name]}, and follows as {reach}"
    yield from _wrong_centre(certificate, scales)


def _wrong_centre(certificate: dict[str, Any], scales: Scales) -> Iterator[str]:
    share, centre = mean_share_of(certificate), certificate["preparation"]["centre"]
    shares, _ = shares_of(scales)
    if not math.isclose(share, shares, rel_tol=_CLOSE_SHARE):
        yield f"mean_share is stated as {share}, and follows as {shares}"
    if scales.of_differences != (centre == DIFFERENCES):
        yield f"its centre is stated as {centre}, which its mechanism contradicts"
    if centre != MEAN and scales.vote_sigma == 0:
        yield f"its centre is stated as {centre}, which no votes chose"


def _wrong_guarantee(certificate: dict[str, Any], scales: Scales) -> Iterator[str]:
    epsilon, delta, total = certificate["epsilon"], certificate["delta"], certificate["total"]
    requested = certificate["requested"]
    if epsilon > requested["epsilon"] * _ROUNDING or delta != requested["delta"]:
        yield "it spends more than was requested"
    exact = scales.epsilon(delta, epsilon)
    if exact > epsilon * _ROUNDING:
        yield f"ε is stated as {epsilon}, and follows as {exact}"
    if requested["epsilon"] > epsilon * _REQUESTED:
        yield f"the requested ε is stated as {requested['epsilon']}, and its noise keeps {epsilon}"
    if certificate["guarantee"] != say_guarantee(epsilon, delta, scales.rows_per_person):
        yield "the guarantee in words is not that of the numbers"
    yield from _wrong_total(total, mu=scales.mu, distance=scales.distance)


def _wrong_total(total: dict[str, float], *, mu: float, distance: float) -> Iterator[str]:
    if total["mu"] < mu / _ROUNDING or total["distance"] < distance / _ROUNDING:
        yield "the project's total is less than that of this release"
    cap = Cap(total["cap_epsilon"], total["cap_delta"], total["cap_reserve"])
    share = (total["mu"] / cap.mu) ** 2
    if share > _ROUNDING:
        yield "the project's total is beyond its cap"
    if delta_of_distance(total["distance"], cap.epsilon) > cap.reserve * _ROUNDING:
        yield "the samplers' distance is beyond what the cap keeps for it"
    if not math.isclose(total["share"], share, rel_tol=_CLOSE):
        yield f"the cap's share is stated as {total['share']}, and follows as {share}"


def _wrong_result(result: dict[str, Any], n_features: int) -> Iterator[str]:
    """Yield the inconsistencies of the estimates of a release."""
    shares, captured = result["explained_variance_ratio"], result["captured"]
    for name in ("captured", "of_best"):
        if (estimate := result[name]) is None:
            continue
        value, low, high = estimate
        if not 0 <= low <= min(max(value, 0), 1) <= high <= 1:
            yield f"its {name} is outside of its interval, or the interval is outside of 0 to 1"
    if captured is not None and all(shares):
        total = sum(share[0] for share in shares)
        if not math.isclose(captured[0], total, rel_tol=_CLOSE, abs_tol=_CLOSE):
            yield f"captured is stated as {captured[0]}, and follows as {total}"
    if result["above_noise"] is not None and result["above_noise"] > n_features:
        yield f"above_noise is stated as {result['above_noise']} of {n_features} features"


def _wrong_words(
    certificate: dict[str, Any], dictionary: Dictionary, arrays: dict[str, AnyArray]
) -> Iterator[str]:
    """Yield the texts of a certificate that differ from those of a release."""
    if certificate["assumptions"] != list(ASSUMPTIONS):
        yield "its assumptions are not those that a release rests on"
    if certificate["dictionary"] != dictionary.as_dict():
        yield "its dictionary is not written as a release writes it"
    bases = certificate["post_processing"]["denoised_in"]
    allowed = bases_of(
        "auto",
        dictionary.n_features,
        certificate["result"]["components"],
        dictionary.image,
        dictionary.picture,
    )
    if bases and bases != [basis.name for basis in allowed]:
        yield f"it was denoised in {' and '.join(bases)}, which does not fit its dictionary"
    if certificate["title"] != dictionary.title:
        yield "its title is not the dictionary's"
    folder_name("name", certificate["name"])
    try:
        datetime.fromisoformat(certificate["made"])
    except ValueError:
        yield "it was made at no time"
    result = certificate["result"]
    computed = {"eigenvalues": arrays["eigenvalues"].tolist(), **estimates_entry(arrays)}
    for name, values in computed.items():
        if result[name] != values:
            yield f"its {name} are not those of {COMPONENTS}"


def _arrays(path: Path, dictionary: Dictionary, n_components: int) -> dict[str, AnyArray] | str:
    """Return the arrays of the NPZ file, or a text that describes its fault."""
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
        if sorted(member.filename for member in members) != sorted(
            f"{name}.npy" for name in shapes
        ):
            return f"holds other arrays than {', '.join(shapes)}"
        for member in members:
            cell_bytes = names.itemsize if member.filename == "features.npy" else 8
            n_cells = math.prod(shapes[member.filename.removesuffix(".npy")])
            if member.file_size > cell_bytes * n_cells + _LARGEST_HEADER:
                return f"holds {member.filename} of another size than certified"
        with np.load(BytesIO(content), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in shapes}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        return f"is no sound NPZ file ({truncate_text(str(error))})"
    if fault := _wrong_type(arrays, shapes, names.dtype.str):
        return fault
    if arrays["features"].tolist() != names.tolist():
        return "holds other features than the dictionary has"
    if not all(np.isfinite(arrays[name]).all() for name in ("components", "centre", "eigenvalues")):
        return "holds numbers that are not finite"
    products = arrays["components"] @ arrays["components"].T
    if np.abs(products - np.eye(n_components)).max() > _ORTHONORMAL:
        return "holds components that are not orthonormal"
    return arrays


def _wrong_type(
    arrays: dict[str, AnyArray], shapes: dict[str, tuple[int, ...]], type_of_names: str
) -> str:
    """Return the fault of an array of another shape or type, or ""."""
    for name, shape in shapes.items():
        array, kind = arrays[name], type_of_names if name == "features" else "<f8"
        if array.shape != shape:
            return f"holds {name} of shape {array.shape}, certified as {shape}"
        # Other types may have bytes that are no part of a number.
        if array.dtype.str != kind or not array.flags.c_contiguous:
            return f"holds {name} of the type {array.dtype.str}, not {kind} in C order"
    return ""


def _digest(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
