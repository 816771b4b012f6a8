"""The files of a release: components, certificate, what goes to a registry, and how to use it."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from html import escape
from typing import Any, cast

import numpy as np

from dpcore.arrays import AnyArray
from dpcore.releases.certificate import as_json, certificate_page, who_is_one
from dpcore.releases.dictionary import Dictionary, dictionary_from
from dpcore.releases.exact.integer_rows import GRID
from dpcore.releases.measurement import TOLD, Measured, told_of

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
from dpcore.releases import look_alike

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
    }


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
                "post_processing": "Eigendecomposition of the noisy second moment.",
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
