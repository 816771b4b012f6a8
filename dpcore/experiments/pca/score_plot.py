"""Private score plot of one run: people on its first two components, with the exact scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.data import Prepared
from dpcore.errors import ParameterError
from dpcore.experiments.engine.spec import join_key
from dpcore.experiments.pca.problem import Problem
from dpcore.experiments.pca.runs import RunSpec
from dpcore.pca import Subspace
from dpcore.pca.centre_rule import DIFFERENCES
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import Charge, Release
from dpcore.spectra.site_rows import directions
from dpcore.statistics import PrivateScores, private_scores, score_limits
from dpcore.streams import Purpose, root_of_release, stream


@dataclass(frozen=True, eq=False)
class ScorePlot:
    """Released score plot with the exact scores that it shows.

    released: Private histogram and its guarantee.
    points: shape (n_samples, 2). Exact scores: not private.
    groups: Number of each person's group; None without groups.
    names: Names of the groups, or one empty name.
    charge: Charge of the histogram, in addition to that of the components.
    """

    released: PrivateScores
    points: FloatArray
    groups: IntArray | None
    names: tuple[str, ...]
    charge: Charge


def plot_scores(
    spec: RunSpec,
    prepared: Prepared,
    problem: Problem,
    subspace: Subspace,
    *,
    epsilon: float,
    by_group: bool,
) -> ScorePlot:
    """Release where people lie on the first two components of a run.

    Sites add noise as the protocol of the run lets them: to their own counts, or parts of it under
    a secure sum; without sites the holder adds it.

    spec: Specification of one protocol; its sites, delta and seed are used.
    prepared, problem, subspace: Rows, problem and release of the first run of the specification.
    epsilon: Budget of the plot, in addition to that of the components.
    by_group: Whether to count each label of the data set separately.
    Raises `ParameterError` if the run is not private or has fewer than two components, or the rows
        have no labels.
    """
    if not subspace.guarantee.is_private:
        # Limits from exact eigenvalues would not be public.
        raise ParameterError("protocol", "private for a score plot", spec.protocols[0])
    if len(subspace.components) < 2:
        raise ParameterError("components", "at least 2 for a score plot", len(subspace.components))
    labels = prepared.labels if by_group else None
    if by_group and (labels is None or prepared.label_names is None):
        raise ParameterError("by_group", "false for rows without labels", by_group)
    points = _project(prepared, problem, subspace, on_sphere=spec.on_sphere)
    entry = PROTOCOLS[spec.protocols[0]]
    combine = "secure" if entry.noise and "honest_sites" in entry.noise.settings else "noisy"
    names = tuple(prepared.label_names or ()) if by_group else ("",)
    root = root_of_release(
        spec.seed, "score plot", spec.dataset, len(points), epsilon, spec.delta, by_group,
        spec.protocols, spec.epsilon, spec.sites, spec.components, spec.preparation,
    )  # fmt: skip
    released = private_scores(
        points,
        limits=score_limits(
            None if subspace.centre_choice == DIFFERENCES else subspace.eigenvalues
        ),
        epsilon=epsilon,
        delta=spec.delta,
        groups=labels,
        labels=None if labels is None else range(len(names)),
        # The noise depends on the number of sites, not on who is where.
        sites=np.arange(len(points)) % spec.sites if entry.is_distributed else None,
        combine=combine,
        rng=stream(root, Purpose.STATISTIC),
    )
    charge = Charge(
        Release.of(
            released.guarantee,
            key=join_key("score plot", root),
            label=f"score plot, ε = {epsilon:g}, seed {spec.seed}",
            dataset=spec.dataset,
        ),
        quantities=("score plot",),
        algorithms=(entry.title,),
    )
    return ScorePlot(released, points, labels, names, charge)


def _project(
    prepared: Prepared, problem: Problem, subspace: Subspace, *, on_sphere: bool
) -> FloatArray:
    """Return exact scores of the rows as the release prepares them. Not private."""
    centre = subspace.centre
    if centre is None:
        centre = np.zeros(prepared.n_features)
    elif problem.basis is not None:
        centre = centre @ problem.basis
    rows = np.asarray(prepared.X, dtype=np.float64)
    centred = directions(rows, centre) if on_sphere else rows - centre
    points: FloatArray = centred @ subspace.components[:2].T
    return points
