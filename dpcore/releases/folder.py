"""The files of a release: components, certificate, and what goes to a registry of deployments."""

from __future__ import annotations

import csv
import io
import json
from hashlib import sha256
from typing import Any

import numpy as np

from dpcore.releases.certificate import as_json
from dpcore.releases.certificate_page import certificate_page
from dpcore.releases.dictionary import Dictionary
from dpcore.releases.exact.integer_rows import GRID
from dpcore.releases.measurement import Measured

COMPONENTS, CERTIFICATE, DICTIONARY = "components.npz", "certificate.json", "dictionary.toml"


def files_of(
    certificate: dict[str, Any], dictionary: Dictionary, measured: Measured
) -> dict[str, bytes]:
    """All files of a release by name; the certificate gets the hashes of the others.

    Parameters
    ----------
    certificate : dict
        From `certificate_of`.
    dictionary : Dictionary
    measured : Measured
    """
    files = {
        COMPONENTS: _npz(dictionary, measured),
        "components.csv": _csv(dictionary, measured),
        DICTIONARY: dictionary.toml().encode(),
        "certificate.html": certificate_page(certificate).encode(),
        # JSON is YAML.
        "deployment.yaml": json.dumps(deployment(certificate), indent=2).encode(),
    }
    hashes = {name: sha256(content).hexdigest() for name, content in files.items()}
    return files | {CERTIFICATE: as_json(certificate | {"files": hashes})}


def deployment(certificate: dict[str, Any]) -> dict[str, Any]:
    """An entry in the form of the OpenDP Deployments Registry, to be completed by its curator.

    Parameters
    ----------
    certificate : dict
    """
    mechanism, preparation = certificate["mechanism"], certificate["preparation"]["name"]
    return {
        "status": "Draft",
        "deployment": {
            "product": {
                "name": certificate["title"] or certificate["name"],
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
                "privacy_unit": "Person",
                "privacy_unit_description": certificate["relation"],
                "privacy_parameters": {
                    "epsilon": certificate["epsilon"],
                    "delta": certificate["delta"],
                },
            },
            "model": {
                "model_name": "Central",
                "release_type": "One-time release",
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


def _npz(dictionary: Dictionary, measured: Measured) -> bytes:
    file = io.BytesIO()
    np.savez(
        file,
        components=measured.components,
        centre=measured.centre / GRID,
        eigenvalues=measured.eigenvalues,
        features=np.array(dictionary.features),
    )
    return file.getvalue()


def _csv(dictionary: Dictionary, measured: Measured) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(["row", *dictionary.features])
    writer.writerow(["centre", *(measured.centre / GRID).tolist()])
    for number, component in enumerate(measured.components, 1):
        writer.writerow([f"component {number}", *component.tolist()])
    return file.getvalue().encode()
