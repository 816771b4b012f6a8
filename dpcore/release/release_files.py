"""Files of a release folder, made from the certificate and the released arrays."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, cast

import numpy as np

from dpcore.arrays import AnyArray
from dpcore.privacy.impact_annex import annex_page
from dpcore.privacy.label_page import label_page
from dpcore.release.certificate import as_json
from dpcore.release.certificate_label import label_of_certificate, purpose_of
from dpcore.release.certificate_page import certificate_page
from dpcore.release.deployment import deployment
from dpcore.release.dictionary import Dictionary
from dpcore.release.dictionary_file import dictionary_from
from dpcore.release.integer_rows import GRID
from dpcore.release.measurement import (
    ESTIMATES,
    Measured,
    estimate_of,
)
from dpcore.release.usage_examples import SCRIPT, usage_notebook
from dpcore.spreadsheets import plain_cell

COMPONENTS, CERTIFICATE, DICTIONARY = "components.npz", "certificate.json", "dictionary.toml"


def files_of(
    certificate: dict[str, Any], dictionary: Dictionary, measured: Measured
) -> dict[str, bytes]:
    """Return all files of a release by name; the certificate gets the hashes of the others.

    certificate: Result of `certificate_of`.
    """
    arrays: dict[str, AnyArray] = {
        "components": measured.components,
        "centre": measured.centre / GRID,
        "eigenvalues": measured.eigenvalues,
        "features": np.array(dictionary.features),
        **{name: estimate_of(measured, name) for name in ESTIMATES},
    }
    files = {COMPONENTS: npz_bytes(arrays), **derived_files(certificate, arrays)}
    hashes = {name: sha256(content).hexdigest() for name, content in files.items()}
    return files | {CERTIFICATE: as_json(certificate | {"files": hashes})}


def npz_bytes(arrays: Mapping[str, AnyArray]) -> bytes:
    """Return the content of `components.npz`; the same arrays give the same bytes."""
    file = io.BytesIO()
    np.savez(file, **cast(dict[str, Any], dict(arrays)))
    return file.getvalue()


def derived_files(certificate: dict[str, Any], arrays: Mapping[str, AnyArray]) -> dict[str, bytes]:
    """Return all files except the two from which they are made, by name.

    certificate: Its hashes are not read.
    arrays: Arrays of the NPZ file.
    """
    label = label_of_certificate(certificate)
    purpose = purpose_of(label.title, certificate["result"]["components"])
    return {
        "components.csv": _csv(_components(arrays)),
        "variance.csv": _csv(_variance(arrays)),
        DICTIONARY: dictionary_from(certificate["dictionary"]).toml().encode(),
        "certificate.html": certificate_page(certificate).encode(),
        # Every JSON document is valid YAML.
        "deployment.yaml": json.dumps(deployment(certificate), indent=2).encode(),
        "use.py": SCRIPT.encode(),
        "use.ipynb": usage_notebook(certificate).encode(),
        "label.json": as_json(label.as_dict()),
        "label.html": label_page(label).encode(),
        "annex.html": annex_page(label, purpose=purpose).encode(),
    }


def _components(arrays: Mapping[str, AnyArray]) -> Iterator[list[Any]]:
    yield ["row", *map(plain_cell, arrays["features"].tolist())]
    yield ["centre", *arrays["centre"].tolist()]
    for number, component in enumerate(arrays["components"], 1):
        yield [f"component {number}", *component.tolist()]


def _variance(arrays: Mapping[str, AnyArray]) -> Iterator[list[Any]]:
    """Yield the rows of `variance.csv`; cells of unknown estimates are empty."""
    yield ["row", *(f"{name}{end}" for name in ESTIMATES for end in ("", "_low", "_high"))]
    columns = np.concatenate([arrays[name] for name in ESTIMATES]).T
    for number, row in enumerate(columns.tolist(), 1):
        yield [f"component {number}", *("" if math.isnan(cell) else cell for cell in row)]


def _csv(rows: Iterable[list[Any]]) -> bytes:
    file = io.StringIO(newline="")
    csv.writer(file).writerows(rows)
    return file.getvalue().encode()
