"""Audit cases of CCA on rows of length 1.

The noisy joint moment is released with the canonical pairs and attacked like the matrix of a PCA
protocol. Each row has two columns in the first view and one in the second.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from dpcore.audit_cases.protocol_cases import matrix_case
from dpcore.audit_cases.sphere_cases import sphere_cases_of
from dpcore.cca import PROTOCOLS
from dpcore.cca.distributed import noisy_joint_moment
from dpcore.pca import Draw, Subspace
from dpcore.pca.protocols.protocol import Protocol
from dpcore.pca.protocols.register import PROTOCOLS as REGISTERED
from dpcore.privacy.audit import AuditCase

CCA_FAMILY = "CCA"
_VIEW_SIZE = math.sqrt(0.5)
CCA_VIEWS = (slice(2), _VIEW_SIZE), (slice(2, None), _VIEW_SIZE)


def cca_cases() -> tuple[AuditCase, ...]:
    """Return the cases of every CCA protocol.

    Without a mean, the adversary is an outsider; on the sphere, all adversaries attack.

    The first view of a person is reversed, and the second view stays.
    """
    return tuple(
        replace(
            case,
            name=f"CCA, {case.name}",
            family=CCA_FAMILY,
            covers=case.covers.replace("pca.", "cca."),
        )
        for key in PROTOCOLS
        for case in _cases_of(replace(REGISTERED[key], release=partial(_release, key)))
    )


def _cases_of(entry: Protocol) -> Iterator[AuditCase]:
    yield matrix_case(entry)
    yield from sphere_cases_of(entry, parts=CCA_VIEWS)


def _release(protocol: str, draw: Draw) -> Subspace:
    """Return the eigenpairs of the noisy joint moment, and its centre."""
    average = noisy_joint_moment(
        draw.all_sites, draw.settings, protocol=protocol, repetition=draw.repetition
    )
    eigenvalues, vectors = np.linalg.eigh(average.spectrum.matrix)
    return Subspace(vectors.T, eigenvalues, average.guarantee, centre=average.centre)
