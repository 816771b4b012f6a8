"""What releases say of themselves, beside what only a laboratory knows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.experiments.engine.one_blas_thread import one_blas_thread
from dpcore.experiments.pca.problem import Problem
from dpcore.experiments.pca.spec import RunSpec
from dpcore.pca import Draw
from dpcore.pca.protocols.entry import Protocol
from dpcore.pca.protocols.register import protocol
from dpcore.pca.self_assessment import Assessment
from dpcore.pca.subspace import NoisyAverage
from dpcore.spectra import SiteMoments, cumulative_energy, leading_eigenpairs
from dpcore.streams import Repetition


@dataclass(frozen=True, eq=False)
class Assessed:
    """One release: its own assessment, and the truth, which is not private.

    Parameters
    ----------
    own : Assessment or None
        None where the release cannot tell.
    variances : ndarray of shape (n_components,)
        v_i^T A v_i on the second moment of the rows it was made from: those of the first site for
        a site alone, of everybody else.
    total : float
        tr A.
    optimum : float
        Of the best subspace of this dimension.
    """

    own: Assessment | None
    variances: FloatArray
    total: float
    optimum: float

    @property
    def energy(self) -> float:
        return float(self.variances.sum())

    @property
    def energy_ratio(self) -> float:
        return self.energy / self.optimum


def assessed(spec: RunSpec, problem: Problem, repetition: int = 0) -> dict[str, Assessed]:
    """What each protocol's release in one repetition says of itself, and the truth.

    The noise is that of `dpcore.experiments.pca.runs.draw_subspaces`. Nothing is drawn but for
    protocols whose release can tell.
    """
    entries = [protocol(key) for key in spec.protocols]
    settings = spec.settings(problem.n_features, problem.default_components)
    draw = Draw(
        problem.moments,
        settings,
        Repetition(spec.seed, repetition),
        proxies=False,
        average=any(each.wants_average for each in entries),
    )
    with one_blas_thread():
        return {
            each.key: _of(each, each.average(draw), draw)
            for each in entries
            if each.average is not None
        }


def _of(entry: Protocol, average: NoisyAverage, draw: Draw) -> Assessed:
    moments = draw.moments.at((0,)) if entry.is_alone else draw.moments
    exact = _exact(moments, is_centred=average.mean is not None)
    n_components = draw.settings.n_components
    energies = cumulative_energy(average.subspace(draw.settings).components, exact)
    return Assessed(
        own=entry.assess(draw),
        variances=np.diff(energies, prepend=0.0),
        total=float(exact.trace()),
        optimum=float(leading_eigenpairs(exact, n_components)[0].sum()),
    )


def _exact(moments: SiteMoments, *, is_centred: bool) -> FloatArray:
    mean = moments.weights @ moments.means
    return moments.pooled() - np.outer(mean, mean) if is_centred else moments.pooled()
