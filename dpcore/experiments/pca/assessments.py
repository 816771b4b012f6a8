"""Assessments computed from releases, next to the exact values of a simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.experiments.engine.blas_threads import one_blas_thread
from dpcore.experiments.pca.problem import Problem
from dpcore.experiments.pca.runs import RunSpec
from dpcore.pca import Draw
from dpcore.pca.aggregator import NoisyAverage
from dpcore.pca.assessment import Assessment
from dpcore.pca.centre_rule import DIFFERENCES
from dpcore.pca.protocols.protocol import Protocol, Where
from dpcore.pca.protocols.register import protocol
from dpcore.spectra import SiteRows, cumulative_energy, leading_eigenpairs
from dpcore.streams import Repetition


@dataclass(frozen=True, eq=False)
class AssessedRelease:
    """Assessment of one release, with the exact values, which are not private.

    assessment: Assessment by the release itself; None if it cannot be assessed.
    variances: shape (n_components,). v_i^T A v_i, where A is the second moment of the rows that the
        release reads: those of the first site for a protocol of one site, else of all sites.
    total: tr A.
    optimum: Energy of the best subspace of this dimension.
    """

    assessment: Assessment | None
    variances: FloatArray
    total: float
    optimum: float

    @property
    def energy(self) -> float:
        return float(self.variances.sum())

    @property
    def energy_ratio(self) -> float:
        return self.energy / self.optimum


def assess_releases(
    spec: RunSpec,
    problem: Problem,
    repetition: int = 0,
    *,
    checkpoint: Callable[[], None] = lambda: None,
) -> dict[str, AssessedRelease]:
    """Return the assessment of each protocol's release in one repetition, and the exact values.

    Noise and checkpoint are those of `dpcore.experiments.pca.draw_subspaces`. Noise is drawn only
    for protocols whose release can be assessed.
    """
    entries = [protocol(key) for key in spec.protocols]
    settings = spec.settings(problem.n_features, problem.default_components)
    draw = Draw(
        problem.moments,
        settings,
        Repetition(spec.seed, repetition),
        proxies=any(entry.wants_proxies for entry in entries if entry.average is not None),
        average=any(entry.wants_average for entry in entries),
        checkpoint=checkpoint,
    )
    assessments = {}
    with one_blas_thread():
        for entry in entries:
            if entry.average is not None:
                assessments[entry.key] = _assess_one(entry, entry.average(draw), draw)
    return assessments


def _assess_one(entry: Protocol, average: NoisyAverage, draw: Draw) -> AssessedRelease:
    exact = _exact_matrix(entry, average, draw)
    n_components = draw.settings.n_components
    energies = cumulative_energy(average.subspace(draw.settings).components, exact)
    return AssessedRelease(
        assessment=entry.assess(draw),
        variances=np.diff(energies, prepend=0.0),
        total=float(exact.trace()),
        optimum=float(leading_eigenpairs(exact, n_components)[0].sum()),
    )


def _exact_matrix(entry: Protocol, average: NoisyAverage, draw: Draw) -> FloatArray:
    """Return the exact matrix that the noise was added to, around the released centre."""
    if draw.settings.on_sphere and average.centre is not None:
        site = 0 if entry.reads_first_site_only else None
        if average.centre_choice == DIFFERENCES and isinstance(draw.moments, SiteRows):
            across = entry.where in (Where.AFTER_POOLING, Where.HOLDER)
            exact = draw.moments.moment_of_differences(site, across_sites=across)
        else:
            exact = draw.moment_around(average.centre, site)
        return exact.astype(np.float64)
    rows = draw.moments
    moments = rows.around_public_middle() if isinstance(rows, SiteRows) else rows
    moments = moments.at((0,)) if entry.reads_first_site_only else moments
    mean = moments.weights @ moments.means
    pooled = moments.pooled()
    return pooled if average.centre is None else pooled - np.outer(mean, mean)
