"""Release a table's components: the result, its folder, and the steps that lead there."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from hashlib import sha256
from html import escape
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpcore.arrays import AnyArray
from dpcore.errors import ParameterError
from dpcore.params import check_params
from dpcore.privacy.label import label_page
from dpcore.release.certificate import (
    PublicationSettings,
    as_json,
    certificate_of,
    certificate_page,
    label_of_certificate,
    post_processing,
    who_is_one,
)
from dpcore.release.dictionary import Dictionary, dictionary_from, read_dictionary
from dpcore.release.exact import GRID
from dpcore.release.measurement import (
    TOLD,
    Measured,
    Reading,
    bases_of,
    calibrated,
    is_held_once,
    measure,
    sum_and_count,
    told_of,
)
from dpcore.release.project import (
    LEDGER,
    Project,
    folder_name,
    require_ledger_of_releases,
    require_room_to_begin,
)
from dpcore.release.tables import Table

if TYPE_CHECKING:
    from dpcore.release.released_pca import ReleasedPCA

# The files of a release: components, certificate, what goes to a registry, and how to use it.

COMPONENTS, CERTIFICATE, DICTIONARY = "components.npz", "certificate.json", "dictionary.toml"
FOR_THE_CURATOR = "(for the curator to say)"

_SHOWN = """\
print(released.certificate_["promise"])
for number, component in enumerate(released.components_, 1):
    share = released.explained_variance_ratio_[number - 1]
    low, high = released.explained_variance_ratio_interval_[:, number - 1]
    strongest = sorted(range(len(component)), key=lambda i: -abs(component[i]))[:3]
    loadings = ", ".join(f"{component[i]:+.2f} {released.features_[i]}" for i in strongest)
    told = f"{share:.1%} of the variance ({low:.1%} to {high:.1%})"
    print(f"component {number}: {'lost in the noise' if share != share else told}; {loadings}")
"""

_SCRIPT = f'''\
"""What was released, and a table of yours along its components: python use.py [TABLE].

Needs the package that made it, dp-pca-lab. Projected rows are as private as the rows.
"""

import sys
from pathlib import Path

from dpcore import load_release

released = load_release(Path(__file__).parent)
{_SHOWN}
if len(sys.argv) > 1:
    print(*released.get_feature_names_out(), sep=",")
    for row in released.transform(sys.argv[1]):
        print(*row, sep=",")
'''

_LOADED = f"""\
from dpcore import load_release

released = load_release(".")
{_SHOWN}"""

_PROJECTED = """\
from dpcore.release import look_alike

# Made up from the dictionary: put a data frame, a mapping of columns or a path of yours here.
table = look_alike(released.dictionary_, 5)
released.transform(table)"""


def notebook(certificate: dict[str, Any]) -> dict[str, Any]:
    """The content of `use.ipynb`, to be opened where it lies."""
    title = escape(certificate["title"] or certificate["name"])
    cells = (
        ("title", "markdown", f"# {title}\n\n{escape(certificate['promise'])}"),
        ("released", "code", _LOADED),
        ("warning", "markdown", "Rows that are projected stay **as private as the rows**."),
        ("projected", "code", _PROJECTED),
    )
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"language_info": {"name": "python"}},
        "cells": [_cell(*cell) for cell in cells],
    }


def _cell(identity: str, kind: str, source: str) -> dict[str, Any]:
    runs: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"id": identity, "cell_type": kind, "metadata": {}, "source": source, **runs}


def files_of(
    certificate: dict[str, Any], dictionary: Dictionary, measured: Measured
) -> dict[str, bytes]:
    """All files of a release by name; the certificate gets the hashes of the others.

    certificate: From `certificate_of`.
    """
    arrays: dict[str, AnyArray] = {
        "components": measured.components,
        "centre": measured.centre / GRID,
        "eigenvalues": measured.eigenvalues,
        "features": np.array(dictionary.features),
        **{name: told_of(measured, name) for name in TOLD},
    }
    file = io.BytesIO()
    np.savez(file, **cast(dict[str, Any], arrays))
    files = {COMPONENTS: file.getvalue(), **files_beside(certificate, arrays)}
    hashes = {name: sha256(content).hexdigest() for name, content in files.items()}
    return files | {CERTIFICATE: as_json(certificate | {"files": hashes})}


def files_beside(certificate: dict[str, Any], arrays: Mapping[str, AnyArray]) -> dict[str, bytes]:
    """All files but the two that they are made of, by name.

    certificate: Its hashes are not read.
    arrays: Of the NPZ file.
    """
    return {
        "components.csv": _csv(_components(arrays)),
        "variance.csv": _csv(_variance(arrays)),
        DICTIONARY: dictionary_from(certificate["dictionary"]).toml().encode(),
        "certificate.html": certificate_page(certificate).encode(),
        # JSON is YAML.
        "deployment.yaml": json.dumps(deployment(certificate), indent=2).encode(),
        "use.py": _SCRIPT.encode(),
        "use.ipynb": json.dumps(notebook(certificate), indent=1).encode(),
        **_label_files(certificate),
    }


def _label_files(certificate: dict[str, Any]) -> dict[str, bytes]:
    if "label" not in certificate:  # of an earlier version
        return {}
    label = label_of_certificate(certificate)
    return {"label.json": as_json(label.as_dict()), "label.html": label_page(label).encode()}


def _components(arrays: Mapping[str, AnyArray]) -> Iterator[list[Any]]:
    yield ["row", *arrays["features"].tolist()]
    yield ["centre", *arrays["centre"].tolist()]
    for number, component in enumerate(arrays["components"], 1):
        yield [f"component {number}", *component.tolist()]


def _variance(arrays: Mapping[str, AnyArray]) -> Iterator[list[Any]]:
    """A cell is empty where the release cannot tell."""
    yield ["row", *(f"{name}{end}" for name in TOLD for end in ("", "_low", "_high"))]
    columns = np.concatenate([arrays[name] for name in TOLD]).T
    for number, row in enumerate(columns.tolist(), 1):
        yield [f"component {number}", *("" if math.isnan(cell) else cell for cell in row)]


def _csv(rows: Iterable[list[Any]]) -> bytes:
    file = io.StringIO(newline="")
    csv.writer(file).writerows(rows)
    return file.getvalue().encode()


def deployment(certificate: dict[str, Any]) -> dict[str, Any]:
    """An entry in the form of the OpenDP Deployments Registry, to be completed by its curator."""
    mechanism, preparation = certificate["mechanism"], certificate["preparation"]["name"]
    return {
        "status": "Draft",
        "deployment": {
            "product": {
                "name": certificate["title"] or certificate["name"],
                "data_curators": [FOR_THE_CURATOR],
                "intended_use": FOR_THE_CURATOR,
                "data_product_type": "Principal components",
                "description": "Leading principal components of a table of people.",
                "publication_date": certificate["made"][:10],
            },
            "dp_flavor": {
                "name": "Approximate DP",
                "data_domain": "Rows of numbers and levels within the public limits of the "
                "dictionary.",
                "unprotected_quantities": "None: limits, levels and parameters are public and were "
                "fixed without the data.",
            },
            "privacy_loss": {
                "privacy_unit": "User-level",
                "privacy_unit_description": f"{certificate['relation']} A person: "
                f"{who_is_one(certificate['dictionary']['rows'].get('person'))}.",
                "privacy_parameters": {
                    "epsilon": certificate["epsilon"],
                    "delta": certificate["delta"],
                },
            },
            "model": {
                "model_name": "Central",
                "release_type": "One release",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": post_processing(certificate),
                "composition": f"Gaussian differential privacy: mu = {mechanism['mu']:.6g} for "
                f"this release, {certificate['total']['mu']:.6g} for all of its project, under a "
                "filter whose cap was fixed beforehand.",
            },
            "implementation": {
                "pre_processing_eda_hyperparameter_tuning": "Cells are clipped to public limits; "
                f"rows are centred with a private mean ({preparation}).",
                "mechanisms": "Gaussian noise rounded to whole numbers, on whole numbers, from the "
                "operating system's entropy; its distance from the law is inside delta.",
                "justification": "\n".join(certificate["assumptions"]),
            },
        },
    }


# From a table to components that may be published: one charge, one folder, one certificate.

# Of doubles, D x D: the moment and what LAPACK needs for all eigenpairs; or the moment alone, with
# what is added to it at a time.
_MATRICES, _HELD_ONCE = 7.0, 1.4


def release(
    data: Any,
    dictionary: Dictionary | Mapping[str, Any] | Path | str,
    *,
    epsilon: float,
    delta: float,
    n_components: int,
    project: Project | Path | str,
    name: str,
    preparation: str = "sphere",
    mean_share: float = 0.1,
    denoise: str = "auto",
    cap: tuple[float, float] | None = None,
    reading: Reading | None = None,
    confirm: Callable[[Reading], None] = lambda _: None,
    watch: Callable[[str, float], None] = lambda *_: None,
    scheduler: str | None = None,
) -> ReleasedPCA:
    """Release the principal components of a table of people.

    Promise: the folder that is written is (epsilon, delta)-DP for every person, whose rows, at
    most `at_most` of the dictionary, may be replaced, added or removed. The sampler's distance is
    inside delta, and no floating-point number stands between a row and its noise. Everything
    released in the project keeps the project's cap. The dictionary has to be public.

    Parameters
    ----------
    data : path, TableFile, mapping of str to arrays, DataFrame, ndarray, Dask array or DataFrame,
            pyarrow.dataset.Dataset
        As in `Table`: a folder or glob of Parquet files is one table. Read twice, in blocks: a
        file may be larger than memory, but for NPZ.
    dictionary : Dictionary, mapping, or path of a TOML file
    epsilon, delta : float
    n_components : int
        K.
    project : Project or path
    name : str
        Of this release, new to the project.
    preparation : {"sphere", "bounded"}
        Rows around a private centre are brought to length 1 ("sphere"), or shortened to the row
        norm bound where they are longer.
    mean_share : float
        Part of mu^2 for the private centre and count.
    denoise : {"auto", "none"}
        Take likely noise out of the noisy second moment before it is decomposed
        (`dpcore.spectra.denoise`, in the basis of the columns): post-processing, which costs no
        privacy and is named in the certificate. With "auto" not where the noisy matrix says that
        more is captured without, nor where there are so many features that it is held once.
    cap : (epsilon, delta), optional
        For a new project.
    reading : Reading, optional
        Filled with what was met in the table, for the holder alone.
    confirm : callable
        Given what was met in the table when all of it was read and nothing is charged: what it
        raises ends the release. Whether there is a release then depends on the rows, and is for
        the holder alone.
    watch : callable
        Told the stage ("centre", then "components") and the share of the table it has read.
    scheduler : str, optional
        Address of a Dask cluster ("tcp://host:8786") whose workers read the parts of a table of
        Parquet or Dask's, wherever those are, and send their exact sums, which are the same to the
        bit. The workers are the holder's own. Noise is drawn here, and never travels. A scheduler
        that is lost ends the release before it is charged; later this process reads on, with a
        `RuntimeWarning`.

    Returns
    -------
    ReleasedPCA
        As `load_release` gives it.

    Raises
    ------
    ParameterError
        If the table does not fit the dictionary, a value is out of range, or the name taken.
    BeyondCap
        If the project's cap does not admit it. Nothing is charged in either case.
    OSError
        If a file cannot be read or written. What was charged stays charged.
    """
    from dpcore.release.released_pca import load_release

    asked = PublicationSettings(epsilon, delta, n_components, preparation, mean_share, denoise)
    return load_release(write_release(data, dictionary, asked, project=project, name=name, cap=cap,
                                      reading=reading, confirm=confirm, watch=watch,
                                      scheduler=scheduler))  # fmt: skip


def write_release(
    data: Any,
    dictionary: Dictionary | Mapping[str, Any] | Path | str,
    asked: PublicationSettings,
    *,
    project: Project | Path | str,
    name: str,
    cap: tuple[float, float] | None = None,
    reading: Reading | None = None,
    confirm: Callable[[Reading], None] = lambda _: None,
    watch: Callable[[str, float], None] = lambda *_: None,
    scheduler: str | None = None,
) -> Path:
    """`release` without scikit-learn, whose import takes longer than most releases: the folder.

    Parameters, promise and errors are those of `release`.
    """
    dictionary = _as_dictionary(dictionary)
    _check(dictionary, asked)
    _require_memory(dictionary.n_features, int(asked.n_components))
    scales = calibrated(
        dictionary, epsilon=asked.epsilon, delta=asked.delta, mean_share=asked.mean_share
    )
    exact = scales.epsilon(asked.delta, asked.epsilon)
    table = Table(data, dictionary.keys, dictionary.n_features)
    folder_name("name", name)
    # Before the table is read, which may take long; decided for good with the charge. Of a refused
    # release no project begins, whose cap is for good.
    if isinstance(project, Project) or cap is None or (Path(project) / LEDGER).exists():
        project = project if isinstance(project, Project) else Project(project, cap)
        project.require_room(name, scales, asked.delta)
    else:
        require_ledger_of_releases(Path(project))
        require_room_to_begin(cap, scales, asked.delta)
    reading = Reading() if reading is None else reading
    total = sum_and_count(
        table, dictionary, scales, reading, partial(watch, "centre"), scheduler=scheduler
    )
    confirm(reading)
    project = project if isinstance(project, Project) else Project(project, cap)
    spent = project.charge(name, scales, exact, asked.delta)
    bases = bases_of(asked.denoise, dictionary.n_features, int(asked.n_components))
    measured = measure(
        table, dictionary, scales, total, n_components=int(asked.n_components),
        on_sphere=asked.on_sphere, bases=bases, watch=partial(watch, "components"),
        scheduler=scheduler,
    )  # fmt: skip
    certificate = certificate_of(
        name, dictionary, scales, measured, asked=asked, epsilon=exact, total=spent,
    )  # fmt: skip
    return project.publish(name, files_of(certificate, dictionary, measured))


def _check(dictionary: Dictionary, asked: PublicationSettings) -> None:
    check_params(asked)
    n_components = asked.n_components
    if not isinstance(n_components, Integral) or not 1 <= n_components <= dictionary.n_features:
        raise ParameterError(
            "n_components", f"from 1 to the {dictionary.n_features} features", n_components
        )


def _require_memory(n_features: int, n_components: int) -> None:
    """One sentence instead of a process that the system ends, before anything is charged."""
    matrices = _HELD_ONCE if is_held_once(n_features, n_components) else _MATRICES
    needed, there = matrices * 8 * n_features**2, _memory_there()
    if needed > there:
        raise ParameterError(
            "columns",
            f"few enough features for {there / 1e9:.1f} GB of memory (these take about "
            f"{needed / 1e9:.1f} GB)",
            n_features,
        )  # fmt: skip


def _memory_there() -> float:
    """Bytes that the system could give, or more than any table needs where it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return math.inf
    said = [line.split()[1] for line in lines if line.startswith("MemAvailable")]
    return 1024 * int(said[0]) if said else math.inf


def _as_dictionary(given: Dictionary | Mapping[str, Any] | Path | str) -> Dictionary:
    if isinstance(given, Dictionary):
        return given
    return dictionary_from(given) if isinstance(given, Mapping) else read_dictionary(given)
