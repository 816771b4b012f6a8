"""A release read back: a fitted scikit-learn transformer, checked against its certificate."""

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
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from dpcore.arrays import AnyArray, FloatArray
from dpcore.errors import ParameterError, shortened
from dpcore.privacy import Cap, delta_of_distance
from dpcore.privacy.guarantee_in_words import say_delta, say_number
from dpcore.release.certificate import (
    ASSUMPTIONS,
    FORM,
    FORM_OF_PLANS,
    as_json,
    explained,
    mean_share_of,
    mechanism_of,
    noise_of,
    promise,
    relation,
    software,
)
from dpcore.release.dictionary import Dictionary, dictionary_from
from dpcore.release.exact import EARLIER_DISTANCE, GRID, LENGTH
from dpcore.release.measurement import TOLD, Scales, bound_of, grid_blocks
from dpcore.release.project import EARLIER_SHARE, folder_name
from dpcore.release.publication import CERTIFICATE, COMPONENTS, files_beside
from dpcore.release.tables import Table

_LARGEST_CERTIFICATE = 1 << 26


class ReleasedPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Principal components from a release folder.

    Parameters
    ----------
    folder : path

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features), orthonormal rows
    mean_ : ndarray of shape (n_features,)
        The private centre, where every column reaches to 1 around its middle.
    eigenvalues_ : ndarray of shape (n_components,)
        Of the noisy second moment.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Estimated from the release itself, without bias; NaN where noise hides it. The first are
        sums over rows, of which none is longer than 1.
    explained_variance_interval_, explained_variance_ratio_interval_ : ndarray, (2, n_components)
        Between these ends the truth lies in 90 of 100 releases.
    features_ : tuple of str
        Names of the features: a column, or one of its levels.
    certificate_ : dict
    dictionary_ : Dictionary
    n_features_in_ : int
        Columns of the table.
    feature_names_in_ : ndarray of str, one a column

    Warnings
    --------
    Projected rows are as private as the rows: only the components were released.
    """

    components_: FloatArray
    mean_: FloatArray
    eigenvalues_: FloatArray
    explained_variance_: FloatArray
    explained_variance_interval_: FloatArray
    explained_variance_ratio_: FloatArray
    explained_variance_ratio_interval_: FloatArray
    features_: tuple[str, ...]
    certificate_: dict[str, Any]
    dictionary_: Dictionary

    def __init__(self, folder: Path | str = "") -> None:
        self.folder = folder

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Read the folder. Rows are not looked at: what was released does not change.

        Raises
        ------
        ParameterError
            If a file is missing or damaged, or the components are not those certified.
        """
        self.certificate_ = read_certificate(self.folder)
        try:
            self.dictionary_ = dictionary_from(self.certificate_["dictionary"])
            content = (Path(self.folder) / COMPONENTS).read_bytes()
            if sha256(content).hexdigest() != self.certificate_["files"][COMPONENTS]:
                raise ParameterError("folder", "a release as it was certified", str(self.folder))
            with np.load(BytesIO(content), allow_pickle=False) as arrays:
                self.components_, self.mean_ = arrays["components"], arrays["centre"]
                self.eigenvalues_ = arrays["eigenvalues"]
                for name in TOLD:
                    setattr(self, f"{name}_", arrays[name][0])
                    setattr(self, f"{name}_interval_", arrays[name][1:])
        except ParameterError:
            raise
        except (KeyError, ValueError, IndexError, OSError, EOFError) as error:
            raise ParameterError("folder", "a sound release", str(self.folder)) from error
        self.features_ = self.dictionary_.features
        if self.components_.shape[1:] != self.mean_.shape != (len(self.features_),):
            raise ParameterError("folder", "a sound release", str(self.folder))
        self.feature_names_in_ = np.array([c.name for c in self.dictionary_.columns], dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Coordinates of new rows along the components, of shape (n_rows, n_components).

        Cells are clipped to the dictionary's limits, as they were in the release. Not private.

        Parameters
        ----------
        X : path, mapping of str to arrays, DataFrame or ndarray
            As in `Table`; a matrix has the dictionary's columns in their order.
        """
        everybody = Dictionary(self.dictionary_.columns)
        table = Table(X, everybody.keys, everybody.n_features)
        blocks = grid_blocks(table, everybody)
        turned = [(rows / GRID - self.mean_) @ self.components_.T for rows in blocks]
        return np.concatenate(turned) if turned else np.empty((0, len(self.components_)))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


def load_release(folder: Path | str) -> ReleasedPCA:
    """A release as a fitted transformer.

    Parameters
    ----------
    folder : path
        Of one release.

    Raises
    ------
    ParameterError
        If it is no sound release.
    """
    return ReleasedPCA(folder).fit()


def read_certificate(folder: Path | str) -> dict[str, Any]:
    """The certificate in a release folder.

    folder: path
    Raises `ParameterError` if there is none, or it is no JSON.
    """
    try:
        with open(Path(folder) / CERTIFICATE, "rb") as file:
            certificate = json.loads(file.read(_LARGEST_CERTIFICATE), parse_constant=_refuse)
    except (OSError, ValueError, RecursionError) as error:
        raise ParameterError("folder", "a release with a certificate", str(folder)) from error
    if not isinstance(certificate, dict):
        raise ParameterError("folder", "a release with a certificate", str(folder))
    return certificate


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


# Whether a release folder holds together: its files, its numbers, its epsilon.
#
# What can be checked without the rows is checked: mu, the sampler's distance and epsilon are
# computed again from the integers of the mechanism, every file but the two that hold the numbers is
# made again from these two, and nothing else may lie beside them. That the noise was drawn, and was
# never seen, no file can show; and whoever may write the folder can write another certificate with
# all its files.

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
    if certificate.get("form") not in (FORM, FORM_OF_PLANS):
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
    if (certificate["form"] == FORM) != ("share" in total):
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
        **dict.fromkeys(TOLD, (3, n_components)),
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
