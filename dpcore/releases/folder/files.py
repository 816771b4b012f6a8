"""What is in the files of a release."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

import numpy as np

from dpcore.releases.certificate import as_json
from dpcore.releases.certificate_page import certificate_page
from dpcore.releases.dictionary import Dictionary
from dpcore.releases.exact.integer_rows import GRID
from dpcore.releases.folder.deployment import deployment
from dpcore.releases.folder.usage import notebook, script
from dpcore.releases.measurement import TOLD, Measured, told_of

COMPONENTS, CERTIFICATE, DICTIONARY = "components.npz", "certificate.json", "dictionary.toml"


def files_of(
    certificate: dict[str, Any], dictionary: Dictionary, measured: Measured
) -> dict[str, bytes]:
    """All files of a release by name; the certificate gets the hashes of the others.

    certificate: From `certificate_of`.
    """
    files = {
        COMPONENTS: _npz(dictionary, measured),
        "components.csv": _csv(_components(dictionary, measured)),
        "variance.csv": _csv(_variance(measured)),
        DICTIONARY: dictionary.toml().encode(),
        "certificate.html": certificate_page(certificate).encode(),
        # JSON is YAML.
        "deployment.yaml": json.dumps(deployment(certificate), indent=2).encode(),
        "use.py": script().encode(),
        "use.ipynb": json.dumps(notebook(certificate), indent=1).encode(),
    }
    hashes = {name: sha256(content).hexdigest() for name, content in files.items()}
    return files | {CERTIFICATE: as_json(certificate | {"files": hashes})}


def _npz(dictionary: Dictionary, measured: Measured) -> bytes:
    file = io.BytesIO()
    told: dict[str, Any] = {name: told_of(measured, name) for name in TOLD}
    np.savez(
        file,
        components=measured.components,
        centre=measured.centre / GRID,
        eigenvalues=measured.eigenvalues,
        features=np.array(dictionary.features),
        **told,
    )
    return file.getvalue()


def _components(dictionary: Dictionary, measured: Measured) -> Iterator[list[Any]]:
    yield ["row", *dictionary.features]
    yield ["centre", *(measured.centre / GRID).tolist()]
    for number, component in enumerate(measured.components, 1):
        yield [f"component {number}", *component.tolist()]


def _variance(measured: Measured) -> Iterator[list[Any]]:
    """A cell is empty where the release cannot tell."""
    yield ["row", *(f"{name}{end}" for name in TOLD for end in ("", "_low", "_high"))]
    columns = np.concatenate([told_of(measured, name) for name in TOLD]).T
    for number, row in enumerate(columns.tolist(), 1):
        yield [f"component {number}", *("" if math.isnan(cell) else cell for cell in row)]


def _csv(rows: Iterable[list[Any]]) -> bytes:
    file = io.StringIO(newline="")
    csv.writer(file).writerows(rows)
    return file.getvalue().encode()
