"""Release where a table's rows lie on the components of an earlier release.

The picture is a query of its own: two-dimensional counts with whole-number noise, charged to the
project before the noise is drawn. Components, centre, eigenvalues and the noisy number of rows are
those of the earlier release, so that limits and cells are public. Neighbours differ in all rows of
one person, at most m of which are used, replaced, added or removed: at most m rows leave a cell
and m enter another, so that the counts have l2 sensitivity sqrt(2) m.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.privacy import PrivacyBudget, delta_of_distance, gaussian_epsilon, gaussian_mu
from dpcore.release.certificate import ASSUMPTIONS, relation
from dpcore.release.dictionary import Dictionary
from dpcore.release.encoding import grid_blocks
from dpcore.release.integer_moments import noisy_sum
from dpcore.release.measurement import scales_of
from dpcore.release.normal_sampler import DISTANCE
from dpcore.release.project import Project
from dpcore.release.released_pca import ReleasedPCA, load_release
from dpcore.release.scales import for_gaussian, split_budget
from dpcore.release.score_counts import count_groups, shortest_of
from dpcore.release.settings import PublicationSettings
from dpcore.release.software import software
from dpcore.release.tables import Table
from dpcore.statistics import bins_of, score_limits, shrink_counts
from dpcore.statistics.scores import MOST_BINS

SCORES = "scores.json"
# Ending of the name of a score plot that a release has shared its budget with.
_ENDING = "-people"
_FORM = "dp-pca-lab/scores/1"


@dataclass(frozen=True)
class ScoreScales:
    """Integers that determine the guarantee of a score plot.

    sigma: Noise of a count.
    rows_per_person: m.
    n_counts: Number of counts.
    """

    sigma: int
    rows_per_person: int
    n_counts: int

    @property
    def mu(self) -> float:
        """Parameter mu of the ideal Gaussian mechanism, rounded up."""
        exact = math.sqrt(2) * self.rows_per_person / self.sigma
        return math.nextafter(exact, math.inf) * (1 + 2.0**-50)

    @property
    def distance(self) -> float:
        """Total variation between the sampler and the ideal."""
        return self.n_counts * DISTANCE

    def epsilon(self, delta: float, at_most: float) -> float:
        """Return the epsilon that holds at this delta, including the sampler's distance."""
        ideal_delta = delta - delta_of_distance(self.distance, at_most)
        return gaussian_epsilon(ideal_delta, 1.0, self.mu) if ideal_delta > 0 else math.inf


@dataclass(frozen=True)
class PlannedCosts:
    """Cost of the components of a release, and of their score plot if the settings share it.

    mu: Parameter of both together.
    distance: Upper bound of the samplers' total variation.
    """

    mu: float
    distance: float

    def epsilon(self, delta: float, at_most: float) -> float:
        """Return the epsilon that holds at this delta, including the samplers' distance."""
        ideal_delta = delta - delta_of_distance(self.distance, at_most)
        return gaussian_epsilon(ideal_delta, 1.0, self.mu) if ideal_delta > 0 else math.inf


def planned_costs(dictionary: Dictionary, settings: PublicationSettings) -> PlannedCosts:
    """Return the charge of a release with these settings to its project.

    Raises `ParameterError` if a value is out of range, or there is one component to plot on.
    """
    scales = scales_of(dictionary, settings)
    if settings.scores_share == 0:
        return PlannedCosts(scales.mu, scales.distance)
    if settings.n_components < 2:
        raise ParameterError("n_components", "at least 2 for a score plot", settings.n_components)
    budget = budget_of_scores(settings)
    m = dictionary.at_most
    plot = ScoreScales(_sigma(budget.epsilon, budget.delta, m), m, MOST_BINS**2)
    return PlannedCosts(math.hypot(scales.mu, plot.mu), scales.distance + plot.distance)


def budget_of_scores(settings: PublicationSettings) -> PrivacyBudget:
    """Return the budget of the score plot of a release."""
    budget = PrivacyBudget(settings.epsilon, settings.delta)
    return split_budget(budget, settings.scores_share)[1]


@dataclass(frozen=True, eq=False)
class ReleasedScores:
    """Released score plot, read from its folder.

    counts, density: shape (n_groups, n_bins, n_bins). Noisy counts, and their post-processed form.
    edges: shape (2, n_bins + 1). Scores are in units of the length of a prepared row.
    groups: Levels of the column of groups, or one empty name.
    certificate: Guarantee, charge and settings.
    """

    counts: IntArray
    density: FloatArray
    edges: FloatArray
    groups: tuple[str, ...]
    certificate: dict[str, Any]


def release_scores(
    data: Any,
    project: Project | Path | str,
    *,
    of: str,
    name: str,
    epsilon: float,
    delta: float,
    groups: str | None = None,
) -> ReleasedScores:
    """Release a score plot of a table on the first two components of an earlier release.

    Parameters
    ----------
    data : path, mapping of str to arrays, DataFrame, ndarray
        The table of that release; see `dpcore.release.release`.
    project : Project or path
    of : str
        Name of the earlier release in the project.
    name : str
        Name of this query, new to the project.
    epsilon, delta : float
        Budget of this query, in addition to that of the components.
    groups : str, optional
        Column with levels by which rows are counted separately. Rows without a known level are
        not counted.

    Raises
    ------
    ParameterError
        If the release has fewer than two components, or a value is out of range.
    BeyondCap
        If the query exceeds the project's cap. Nothing is charged in either case.
    """
    project = project if isinstance(project, Project) else Project(project)
    earlier = load_release(project.path_of(of))
    if len(earlier.components_) < 2:
        raise ParameterError("of", "a release with 2 components or more", of)
    dictionary = earlier.dictionary_
    levels, columns = _levels_of(dictionary, groups)
    m, n_rows = dictionary.at_most, max(1.0, earlier.certificate_["result"]["noisy_rows"])
    sigma = _sigma(epsilon, delta, m)
    bins = bins_of(round(n_rows), sigma, n_groups=len(levels))
    scales = ScoreScales(sigma, m, len(levels) * bins**2)
    exact_epsilon = scales.epsilon(delta, epsilon)
    if not exact_epsilon <= epsilon * (1 + 1e-9):
        raise ParameterError("delta", "large enough for the sampler at this epsilon", delta)
    project.require_room(name, scales, delta)
    limits = score_limits(earlier.eigenvalues_ / n_rows)
    edges = np.array([np.linspace(-limit, limit, bins + 1) for limit in limits])
    table = Table(data, dictionary.keys, dictionary.n_features)
    exact = np.zeros((len(levels), bins, bins), dtype=np.int64)
    for rows in grid_blocks(table, dictionary):
        exact += _count(rows, earlier, edges, columns)
    total = project.charge(name, scales, exact_epsilon, delta)
    counts = noisy_sum(exact.ravel(), sigma).reshape(exact.shape)
    certificate = {
        "form": _FORM,
        "name": name,
        "of": of,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "epsilon": exact_epsilon,
        "delta": delta,
        "requested": {"epsilon": epsilon, "delta": delta},
        "relation": relation(m),
        "mechanism": {**asdict(scales), "mu": scales.mu, "distance": scales.distance},
        "groups": list(levels),
        "edges": edges.tolist(),
        "counts": counts.tolist(),
        "noisy_rows": n_rows,
        "total": asdict(total),
        "assumptions": list(ASSUMPTIONS),
        "software": software(),
    }
    content = json.dumps(certificate, indent=1, ensure_ascii=False).encode()
    return read_scores(project.publish(name, {SCORES: content}))


def name_of_scores(name: str) -> str:
    """Return the name of the score plot that a release makes with a share of its budget."""
    return f"{name}{_ENDING}"


def read_scores(folder: Path | str) -> ReleasedScores:
    """Read a released score plot.

    Raises `ParameterError` if the folder holds none.
    """
    try:
        certificate = json.loads((Path(folder) / SCORES).read_bytes())
        counts = np.array(certificate["counts"], dtype=np.int64)
        edges = np.array(certificate["edges"], dtype=np.float64)
        density = shrink_counts(
            counts.astype(np.float64),
            certificate["mechanism"]["sigma"],
            max(1, round(certificate["noisy_rows"])),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ParameterError("folder", "a released score plot", str(folder)) from error
    return ReleasedScores(counts, density, edges, tuple(certificate["groups"]), certificate)


def _sigma(epsilon: float, delta: float, rows_per_person: int) -> int:
    """Return the smallest whole-number noise of a count for a budget."""
    budget = PrivacyBudget(epsilon, delta)
    if budget.is_noiseless or not delta > 0:
        raise ParameterError("epsilon and delta", "finite and above 0", (epsilon, delta))
    exact = math.sqrt(2) * rows_per_person / gaussian_mu(for_gaussian(budget))
    return math.floor(exact) + 1


def _levels_of(dictionary: Dictionary, groups: str | None) -> tuple[tuple[str, ...], slice | None]:
    """Return the levels of the column of groups, and the features that encode it."""
    if groups is None:
        return ("",), None
    start = 0
    for column in dictionary.columns:
        stop = start + len(column.features)
        if column.name == groups and column.levels:
            return column.levels, slice(start, stop)
        start = stop
    offered = ", ".join(column.name for column in dictionary.columns if column.levels) or "none"
    raise ParameterError("groups", f"a column with levels ({offered})", groups)


def _count(
    rows: FloatArray, earlier: ReleasedPCA, edges: FloatArray, columns: slice | None
) -> IntArray:
    """Return the exact counts of some rows on the grid. Not private."""
    on_sphere = earlier.certificate_["preparation"]["name"] == "sphere"
    shortest = shortest_of(earlier.dictionary_, on_sphere=on_sphere)
    return count_groups(rows, earlier.components_[:2], earlier.mean_, edges, shortest, columns)
