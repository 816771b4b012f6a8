"""Floor of the captured energy: the pipeline of a protocol, fed with noise and no data.

Denoising uses prior knowledge, for example that neighbouring pixels are alike. Part of the captured
energy of a noisy release comes from this knowledge and would be there without any data. The floor
is that part: every site holds a second moment of zero and a mean of zero, adds the noise of its own
scales, and everything after the noise is as in a release.

No floor is charged, because its draws read no rows. Scoring the components reads the true second
moment, as every captured energy here does, so a floor is a number of a simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.experiments.draws import draw_releases
from dpcore.experiments.problem import Problem
from dpcore.pca import ReleaseSettings
from dpcore.pca.protocols.protocol import Protocol, Where
from dpcore.pca.protocols.register import protocol
from dpcore.pca.protocols.wishart import with_pure_share
from dpcore.pca.settings import with_mean_share
from dpcore.privacy import PrivacyBudget
from dpcore.spectra import SiteMoments, SiteRows, captured_energy, uncentred_bases
from dpcore.streams import Repetition, root_of_release

# Runs behind the field `floor` of a row.
FLOOR_RUNS = 10
# Part of the root of the floor's streams, which are independent of the streams of the noise.
_PURPOSE = "floor of the captured energy"
_ANY_BUDGET = PrivacyBudget(1.0, 0.01)
# Budget share of the mean, where it only matters whether a mean is released.
_ANY_SHARE = 0.1


@dataclass(frozen=True)
class Floor:
    """Captured energies, relative to exact PCA, of runs without data.

    runs: One value per run of the noise; a single value where the expectation is known.
    """

    runs: tuple[float, ...]

    @property
    def mean(self) -> float:
        return fmean(self.runs)

    @property
    def spread(self) -> float:
        """Standard deviation from run to run; 0 where the expectation is known."""
        return stdev(self.runs) if len(self.runs) > 1 else 0.0


_MOST_KEPT = 4096


def compute_floors(
    protocols: Sequence[str],
    settings: Sequence[ReleaseSettings],
    problem: Problem,
    seed: int,
    *,
    n_runs: int = FLOOR_RUNS,
    threads: int | None = None,
    checkpoint: Callable[[], None] = lambda: None,
) -> list[dict[str, Floor]]:
    """Return the floor of each protocol for several settings that share a draw of the noise.

    Floors are computed once per problem, setting and seed. They do not depend on the other
    protocols and settings of the call.

    settings: Equal except for K, R, truncation, encoding and denoising.
    threads, checkpoint: Passed on to `dpcore.experiments.draws.draw_releases`.
    """
    sizes = tuple(problem.moments.n_samples.tolist())
    scaled = [_with_any_budget(each, problem) for each in settings]
    keys = [
        {key: (each, key, sizes, seed, n_runs) for key in protocols if _is_drawn(key, each)}
        for each in scaled
    ]
    # Concurrent callers for one problem wait for the first instead of repeating its draws.
    with problem.floor_lock:
        floors = problem.floors
        if len(floors) >= _MOST_KEPT:
            floors.clear()
        missing = dict.fromkeys(
            name for group in keys for name, key in group.items() if key not in floors
        )
        if missing:
            entries = [protocol(name) for name in missing]
            drawn = _draw_floors(entries, scaled, problem, seed, n_runs, threads, checkpoint)
            for group, own in zip(keys, drawn, strict=True):
                floors.update({group[name]: own[name] for name in missing if name in group})
        return [
            {
                name: floors[group[name]]
                if name in group
                else Floor((random_ratio(problem, each.n_components),))
                for name in protocols
            }
            for group, each in zip(keys, settings, strict=True)
        ]


def random_ratio(problem: Problem, n_components: int) -> float:
    """Return the expected captured energy of a uniformly random subspace, relative to exact PCA."""
    share = n_components / problem.n_features
    return share * float(problem.reference.trace()) / float(problem.optimum[n_components - 1])


def remove_data(moments: SiteMoments | SiteRows) -> SiteMoments | SiteRows:
    """Return moments of the same sites with second moments and means of zero.

    Public numbers (site sizes, limits, picture shape) stay. No row is read.
    """
    means = np.zeros_like(moments.means)
    if isinstance(moments, SiteRows):
        return replace(
            moments, read=_refuse_rows, means=means, moment_cache=_zero_moment, cached_moments=[]
        )
    n_features = moments.n_features
    zero = np.broadcast_to(
        np.zeros((), moments.second_moments.dtype), (moments.n_sites, n_features, n_features)
    )
    return replace(moments, second_moments=zero, means=means)


def _refuse_rows() -> FloatArray:
    raise RuntimeError("a floor reads no rows")


def _zero_moment(
    _sites: tuple[IntArray, ...], centre: FloatArray, _make: Callable[[], FloatArray]
) -> FloatArray:
    return np.zeros((len(centre), len(centre)))


def _is_drawn(name: str, settings: ReleaseSettings) -> bool:
    """Return whether a floor needs draws. Otherwise it is the energy of a random subspace.

    Protocols without noise or without a noisy matrix need none: without data, PPCA draws from the
    uniform distribution over subspaces.
    """
    entry = protocol(name)
    has_noisy_matrix = entry.average is not None or entry.where is not Where.HOLDER
    return has_noisy_matrix and not settings.budget.is_noiseless


def _with_any_budget(settings: ReleaseSettings, problem: Problem) -> ReleaseSettings:
    """Replace the budget by a constant where the components do not depend on it.

    Without data, a noisy matrix is a multiple of unit noise: its scale, and with it the budget,
    changes no component. There are two exceptions. A noisy mean whose outer product is subtracted
    from the matrix grows with the square of the scale. On the sphere, denoising depends on whether
    a mean is released, and this depends on the budget unless `mean_share` is fixed.
    """
    subtracts_mean = settings.mean_share != 0 and not settings.on_sphere
    if subtracts_mean or settings.budget.is_noiseless:
        return settings
    share = settings.mean_share
    if settings.on_sphere and share is None and uncentred_bases(settings.bases) != settings.bases:
        shares = _mean_shares(settings, problem)
        if all(shares):
            share = _ANY_SHARE
        elif not any(shares):
            share = 0.0
        else:
            return settings
    return replace(settings, budget=_ANY_BUDGET, mean_share=share)


def _mean_shares(settings: ReleaseSettings, problem: Problem) -> list[float]:
    """Return the budget share of the mean for the holders with most and with least noise."""
    people, n_features = problem.moments.n_samples.tolist(), problem.n_features
    resolved = (
        with_mean_share(settings, people, n_features, n_noises=len(people)),
        with_mean_share(settings, people[:1], n_features),
        with_mean_share(settings, people, n_features),
        with_pure_share(settings, sum(people), n_features),
    )
    return [each.mean_share or 0.0 for each in resolved]


def _draw_floors(
    entries: Sequence[Protocol],
    settings: Sequence[ReleaseSettings],
    problem: Problem,
    seed: int,
    n_runs: int,
    threads: int | None,
    checkpoint: Callable[[], None],
) -> list[dict[str, Floor]]:
    without_data = replace(problem, moments=remove_data(problem.moments))
    root = root_of_release(seed, _PURPOSE)
    runs: list[dict[str, list[float]]] = [{each.key: [] for each in entries} for _ in settings]
    for run in range(n_runs):
        releases = draw_releases(
            entries,
            settings,
            without_data,
            Repetition(root, run),
            threads=threads,
            checkpoint=checkpoint,
        )
        for energies, own, subspaces in zip(runs, settings, releases, strict=True):
            optimum = float(problem.optimum[own.n_components - 1])
            for name, subspace in subspaces.items():
                energy = captured_energy(subspace.components, problem.reference)
                energies[name].append(energy / optimum)
    return [{name: Floor(tuple(found)) for name, found in each.items()} for each in runs]
