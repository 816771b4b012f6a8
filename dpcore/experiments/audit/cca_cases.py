"""Private CCA on its worst neighbours, to be audited by the attacks on PCA.

The noisy joint moment comes with the canonical pairs, and is attacked as the matrix that leading
directions give back. Each person has two columns in the first view and one in the second.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from dpcore.cca import PROTOCOLS
from dpcore.cca.canonical import noisy_joint_moment
from dpcore.experiments.audit.mean_cases import private_mean_case, sphere_cases_of
from dpcore.experiments.audit.pca_cases import matrix_case
from dpcore.pca import Draw, Subspace
from dpcore.pca.protocols.protocol import Protocol
from dpcore.pca.protocols.register import PROTOCOLS as REGISTERED
from dpcore.privacy.audit import AuditCase

FAMILY = "CCA"
_HALF = math.sqrt(0.5)
VIEWS = (slice(2), _HALF), (slice(2, None), _HALF)


def cca_cases() -> tuple[AuditCase, ...]:
    """Every protocol without a mean, with one that is subtracted, and on the sphere; there with
    every adversary. A person's first view turns around, while the second stays."""
    return tuple(
        replace(
            case,
            name=f"CCA, {case.name}",
            family=FAMILY,
            covers=case.covers.replace("pca.", "cca."),
        )
        for key in PROTOCOLS
        for case in _cases_of(replace(REGISTERED[key], release=partial(_released, key)))
    )


def _cases_of(entry: Protocol) -> Iterator[AuditCase]:
    yield matrix_case(entry)
    if entry.neighbours.noisy_mean is not None:
        yield private_mean_case(entry, entry.neighbours.noisy_mean)
    yield from sphere_cases_of(entry, parts=VIEWS)


def _released(protocol: str, draw: Draw) -> Subspace:
    """The noisy joint moment by its eigenpairs, and what it is centred by."""
    average = noisy_joint_moment(
        draw.everybody, draw.settings, protocol=protocol, repetition=draw.repetition
    )
    eigenvalues, vectors = np.linalg.eigh(average.spectrum.matrix)
    return Subspace(vectors.T, eigenvalues, average.guarantee, centre=average.centre)
