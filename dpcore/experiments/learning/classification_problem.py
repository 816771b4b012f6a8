"""Who learns and who tests in a classification experiment, and at which sites."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpcore.data.held_out import Halves, load_halves
from dpcore.data.sites import split_sites
from dpcore.errors import ParameterError
from dpcore.experiments.engine.once_cache import OnceCache
from dpcore.experiments.learning.classification_spec import LearningKey
from dpcore.spectra import SiteMoments, SiteRows, site_moments
from dpcore.spectra.site_rows import directions
from dpcore.streams import Purpose, stream


@dataclass(frozen=True, eq=False)
class LearningProblem:
    """People who learn and people who test, for one question about their labels.

    X, test_X: shape (n, n_features). Row norms at most 1, unless for the sphere.
    y, test_y: ndarray of int of shape (n,). Positions in `class_names`.
    sites: Row numbers of X at each site.
    moments: Of X around zero; X itself for the sphere, in which rows wait for a centre.
    tested: Row numbers of the test people in the data set's test half.
    """

    X: np.ndarray
    y: np.ndarray
    test_X: np.ndarray
    test_y: np.ndarray
    class_names: tuple[str, ...]
    sites: tuple[np.ndarray, ...]
    moments: SiteMoments | SiteRows
    default_components: int

    @cached_property
    def around_public_middle(self) -> LearningProblem:
        """The same with rows of those who learn at length 1, for which no mean is bought."""
        rows = directions(self.X, np.zeros(self.X.shape[1], dtype=self.X.dtype))
        return replace(self, X=rows, moments=site_moments(rows, self.sites))

    @property
    def chance_error(self) -> float:
        """Test error of always saying the commonest class."""
        return 1.0 - float(np.bincount(self.test_y).max()) / len(self.test_y)


def build_learning_problem(key: LearningKey) -> LearningProblem:
    """The people and the question of one key.

    Raises `ParameterError` if a class is unknown, more people are asked for than there are, or a
        site would be empty.
    """
    data = local_halves(key.dataset, key.preparation)
    for label in key.classes:
        if not 0 <= label < len(data.label_names):
            raise ParameterError("classes", f"below {len(data.label_names)}", label)
    learners = asked_about(data.labels, key.classes)
    testers = asked_about(data.test_labels, key.classes)
    if key.samples is not None:
        if key.samples > len(learners):
            raise ParameterError(
                "samples", f"at most the {len(learners)} people who learn", key.samples
            )
        # A prefix of one permutation, so that a larger sample contains the smaller one.
        order = stream(key.seed, Purpose.SAMPLE).permutation(len(learners))
        learners = learners[np.sort(order[: key.samples])]
    if len(learners) < 2 * key.sites:
        raise ParameterError(
            "sites", f"at most {len(learners) // 2}, for 2 of {len(learners)} each", key.sites
        )
    X = data.X if len(learners) == len(data.X) else data.X[learners]
    test_X = data.test_X if len(testers) == len(data.test_X) else data.test_X[testers]
    sites = split_sites(len(X), key.sites, how="equal", rng=stream(key.seed, Purpose.SPLIT))
    return LearningProblem(
        X=X,
        y=_positions(data.labels[learners], key.classes),
        test_X=test_X,
        test_y=_positions(data.test_labels[testers], key.classes),
        class_names=_class_names(data.label_names, key.classes),
        sites=sites,
        moments=(SiteRows.of if key.preparation == "sphere" else site_moments)(X, sites),
        default_components=data.default_components,
    )


def asked_about(labels: np.ndarray, classes: tuple[int, ...]) -> np.ndarray:
    """Row numbers of the people a question about these classes concerns."""
    if len(classes) < 2:
        return np.arange(len(labels))
    return np.flatnonzero(np.isin(labels, classes))


def _positions(labels: np.ndarray, classes: tuple[int, ...]) -> np.ndarray:
    return np.asarray(labels == classes[-1], dtype=np.intp) if classes else labels


def _class_names(names: tuple[str, ...], classes: tuple[int, ...]) -> tuple[str, ...]:
    if not classes:
        return names
    if len(classes) == 1:
        return (f"not {names[classes[0]]}", names[classes[0]])
    return (names[classes[0]], names[classes[1]])


# Shared by everything in this process, a page as well as the sweeps beside it.
local_halves: OnceCache[Halves] = OnceCache(
    lambda name, mode="bounded": load_halves(name, mode=mode), keep=2
)
local_learning_problem: OnceCache[LearningProblem] = OnceCache(build_learning_problem, keep=8)
