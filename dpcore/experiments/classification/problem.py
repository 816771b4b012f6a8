"""Data side of a classification experiment: training rows, test rows and sites."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpcore.data.splits import Halves, load_halves, split_sites
from dpcore.errors import ParameterError
from dpcore.experiments.engine.cache import OnceCache
from dpcore.experiments.engine.fields import Prepares
from dpcore.spectra import SiteMoments, SiteRows, site_moments
from dpcore.spectra.site_rows import directions
from dpcore.streams import Purpose, stream


@dataclass(frozen=True)
class LearningKey(Prepares):
    """Key of the data side: training rows, test rows and sites."""

    dataset: str
    preparation: str
    classes: tuple[int, ...]
    samples: int | None
    sites: int
    seed: int


@dataclass(frozen=True, eq=False)
class LearningProblem:
    """Training and test rows for one classification question.

    X, test_X: shape (n, n_features). Row norms at most 1, except for the sphere.
    y, test_y: ndarray of int of shape (n,). Positions in `class_names`.
    sites: Row numbers of X at each site.
    moments: Moments of X around zero; on the sphere X itself, because its rows are scaled only
        after the centre is drawn.
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
        """Return the problem with training rows of length 1, which need no private mean."""
        rows = directions(self.X, np.zeros(self.X.shape[1], dtype=self.X.dtype))
        return replace(self, X=rows, moments=site_moments(rows, self.sites))

    @property
    def chance_error(self) -> float:
        """Return the test error of a constant prediction of the most frequent class."""
        return 1.0 - float(np.bincount(self.test_y).max()) / len(self.test_y)


def build_learning_problem(key: LearningKey) -> LearningProblem:
    """Build the data side of a key.

    Raises `ParameterError` if a class is unknown, `samples` exceeds the number of training rows, or
    a site would be empty.
    """
    data = local_halves(key.dataset, key.preparation)
    for label in key.classes:
        if not 0 <= label < len(data.label_names):
            raise ParameterError("classes", f"below {len(data.label_names)}", label)
    learners = rows_of_classes(data.labels, key.classes)
    testers = rows_of_classes(data.test_labels, key.classes)
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
        moments=(SiteRows.of if key.on_sphere else site_moments)(X, sites),
        default_components=data.default_components,
    )


def rows_of_classes(labels: np.ndarray, classes: tuple[int, ...]) -> np.ndarray:
    """Return the row numbers of the classes in question."""
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


# Shared by the pages and the sweeps of this process.
local_halves: OnceCache[Halves] = OnceCache(
    lambda name, mode="bounded": load_halves(name, mode=mode), keep=2
)
local_learning_problem: OnceCache[LearningProblem] = OnceCache(build_learning_problem, keep=8)


def people_steps(n_samples: int, count: int = 3) -> tuple[int, ...]:
    """Return numbers of rows for a control: all, a third and a ninth, rounded to two digits.

    Below 2,000 rows, the numbers are all, a half and a quarter.
    """
    steps = [n_samples]
    factor = 3 if n_samples >= 2000 else 2
    for power in range(1, count):
        target = n_samples / factor**power
        unit = 10 ** max(0, math.floor(math.log10(target)) - 1)
        steps.append(max(20, int(target // unit * unit)))
    return tuple(sorted(set(steps)))
