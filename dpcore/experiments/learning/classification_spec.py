"""What is asked for in a classification experiment, one pipeline and its budget; and who learns
and who tests, at which sites."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpcore.data.splits import Halves, load_halves, split_sites
from dpcore.errors import ParameterError
from dpcore.experiments.engine.control_ranges import require_counts
from dpcore.experiments.engine.once_cache import OnceCache
from dpcore.experiments.pca.spec import BUYING, check_asked
from dpcore.pca.protocols.protocol import Kind
from dpcore.pca.protocols.register import PROTOCOLS, protocol
from dpcore.spectra import SiteMoments, SiteRows, site_moments
from dpcore.spectra.moments import directions
from dpcore.streams import Purpose, stream

EXACT, SUBSPACE, PRIVATE, RANDOM, RANDOM_PRIVATE = (
    "exact",
    "subspace",
    "private",
    "random",
    "random-private",
)
PIPELINES = (EXACT, SUBSPACE, PRIVATE, RANDOM, RANDOM_PRIVATE)
MODELS = ("svm", "logistic")

# Bounded rows are cut to this once a private mean has been taken from them: what is left of a row
# is shorter than the row was. One number for every data set, so that none is read for it.
CENTRED_NORM_BOUND = 0.6


@dataclass(frozen=True)
class LearningKey:
    """Everything that fixes who learns, who tests, and who is at which site."""

    dataset: str
    preparation: str
    classes: tuple[int, ...]
    samples: int | None
    sites: int
    seed: int


@dataclass(frozen=True)
class ClassificationSpec:
    """One pipeline: centre, find a subspace, train in it.

    classes: Positions in the label names: none takes all classes, one against another each; one is
        that class against the rest; two are those two classes' people only.
    pipeline: {"exact", "subspace", "private", "random", "random-private"}. Nothing private; a
        private subspace and a classifier that is not; everything private; a random subspace and a
        classifier that is not, or one that has the whole budget.
    protocol: Key of `dpcore.pca.protocols.register.PROTOCOLS` for the private subspace.
    epsilon, delta: Asked of everything released together, under replace-one.
    preparation: {"sphere", "bounded", "none", "published"}. Sphere brings every row to length 1
        around a private mean of all classes together. Bounded takes that mean from clipped rows and
        cuts what is left; none only clips. Published centring and scaling read everybody's rows and
        are not private.
    pca_share: Share of epsilon for the subspace; at 0 it is a random one. Training has the rest.
    centring_share: Share of epsilon for that mean, which is of nobody's label; 0 buys none, and
        rows are taken around the public middle. None leaves it to the rule of
        `dpcore.pca.settings`, which reads public numbers alone, and takes it out of PCA's share.
    components: K; None takes the data set's default.
    sites, samples: Sites of a distributed protocol; people who learn, None for everybody.
    model: {"svm", "logistic"}
    regularization: Lambda of the classifier.
    calibration, noise, truncation: As in `dpcore.pca.ReleaseSettings`.
    """

    experiment = "dpcore.experiments.learning.classification_runs:CLASSIFICATION"

    dataset: str = "digits"
    classes: tuple[int, ...] = (0, 1)
    pipeline: str = PRIVATE
    protocol: str = "ag"
    epsilon: float = 1.0
    delta: float = 0.01
    preparation: str = "sphere"
    pca_share: float = 0.3
    centring_share: float | None = None
    components: int | None = None
    sites: int = 5
    samples: int | None = None
    model: str = "svm"
    regularization: float = 1e-3
    calibration: str = "analytic"
    noise: str = "isometric"
    truncation: str = "psd"
    repetitions: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        check_asked(self, pipeline=PIPELINES, model=MODELS)
        for name in ("pca_share", "centring_share"):
            if not 0 <= (getattr(self, name) or 0.0) <= 1:
                raise ParameterError(name, "in [0, 1]", getattr(self, name))
        if self.pipeline == PRIVATE and not self.training_share > 0:
            raise ParameterError(
                "pca_share",
                "such that centring and PCA leave something for training",
                self.pca_share,
            )
        self._check_centring()
        if len(self.classes) > 2 or len(set(self.classes)) < len(self.classes):
            raise ParameterError("classes", "at most two different ones", self.classes)
        require_counts(self, sites=1, repetitions=1, seed=0)
        if protocol(self.protocol).kind is Kind.NONE:
            raise ParameterError("protocol", "one that keeps a promise", self.protocol)
        if protocol(self.protocol).is_alone:
            # The classifier learns from everybody, and so does the point they are centred around.
            raise ParameterError("protocol", "one in which all sites take part", self.protocol)

    def _check_centring(self) -> None:
        if not self.centring_share:
            return
        if self.calibration != "analytic":
            raise ParameterError("calibration", "analytic where rows are centred", self.calibration)
        if not self.may_buy_mean:
            offered = f"0 or left to the rule unless preparation is {' or '.join(BUYING)}"
            raise ParameterError("centring_share", offered, self.centring_share)

    @property
    def may_buy_mean(self) -> bool:
        """Whether the preparation centres by a private mean."""
        return self.preparation in BUYING

    @property
    def training_share(self) -> float:
        """What is left for training; rounding of the shares does not count as something."""
        left = 1.0 - self.pca_share - (self.centring_share or 0.0)
        return left if left > 1e-9 else 0.0

    def key(self) -> LearningKey:
        return LearningKey(
            self.dataset,
            # Both clip, and differ in the mean that is bought afterwards.
            "bounded" if self.preparation == "none" else self.preparation,
            self.classes,
            self.samples,
            self.sites if PROTOCOLS[self.protocol].is_distributed else 1,
            self.seed,
        )


def canonical(spec: ClassificationSpec) -> ClassificationSpec:
    """The spec without the settings its pipeline does not read: equal ones give equal rows."""
    if spec.pipeline == PRIVATE:
        return spec
    spec = replace(spec, calibration="analytic" if spec.pipeline != SUBSPACE else spec.calibration)
    if spec.pipeline == SUBSPACE:
        if spec.centring_share is None:
            return replace(spec, pca_share=1.0)
        paid = spec.pca_share + spec.centring_share
        centring = spec.centring_share / paid if paid > 0 else 0.0
        return replace(spec, pca_share=1.0 - centring, centring_share=centring)
    spec = replace(spec, protocol="ag", sites=1, pca_share=0.0, noise="isometric", truncation="psd")
    if spec.pipeline == EXACT:
        # Exact centring or none; what it would cost does not matter.
        centred = spec.may_buy_mean and spec.centring_share != 0
        return replace(spec, epsilon=math.inf, repetitions=1, centring_share=float(centred))
    spec = replace(spec, centring_share=0.0)
    return spec if spec.pipeline == RANDOM_PRIVATE else replace(spec, epsilon=math.inf)


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
