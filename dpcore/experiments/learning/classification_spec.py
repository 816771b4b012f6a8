"""A classification experiment: what is asked for, and the people it is asked about."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dpcore.data.held_out import Halves, load_halves
from dpcore.data.sites import split_sites
from dpcore.errors import ParameterError
from dpcore.experiments.engine.control_ranges import require_counts
from dpcore.pca.protocols.entry import Kind
from dpcore.pca.protocols.register import PROTOCOLS, protocol
from dpcore.privacy import PrivacyBudget
from dpcore.spectra import SiteMoments, site_moments
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

# Rows are cut to this once a private mean has been taken from them: what is left of a row is
# shorter than the row was. One number for every data set, so that none is read for it.
CENTRED_NORM_BOUND = 0.6


@dataclass(frozen=True)
class LearningKey:
    """Everything that fixes who learns, who tests, and who is at which site."""

    dataset: str
    classes: tuple[int, ...]
    samples: int | None
    sites: int
    seed: int


@dataclass(frozen=True)
class ClassificationSpec:
    """One pipeline: centre, find a subspace, train in it.

    Parameters
    ----------
    dataset : str
    classes : tuple of int
        Positions in the label names: none takes all classes, one against another each; one is
        that class against the rest; two are those two classes' people only.
    pipeline : {"exact", "subspace", "private", "random", "random-private"}
        Nothing private; a private subspace and a classifier that is not; everything private; a
        random subspace and a classifier that is not, or one that has the whole budget.
    protocol : str
        Key of `dpcore.pca.protocols.register.PROTOCOLS` for the private subspace.
    epsilon, delta : float
        Asked of everything released together, under replace-one.
    pca_share, centring_share : float
        Shares of epsilon for the subspace and for a private mean taken from the rows before it;
        training has the rest. A share of 0 leaves the stage out: a random subspace, no centring.
    components : int or None
        K; None takes the data set's default.
    sites, samples : int, int or None
        Sites of a distributed protocol; people who learn, None for everybody.
    model : {"svm", "logistic"}
    regularization : float
        Lambda of the classifier.
    calibration, noise, truncation
        As in `dpcore.pca.ReleaseSettings`.
    repetitions, seed : int
    """

    dataset: str = "digits"
    classes: tuple[int, ...] = (0, 1)
    pipeline: str = PRIVATE
    protocol: str = "ag"
    epsilon: float = 1.0
    delta: float = 0.01
    pca_share: float = 0.3
    centring_share: float = 0.0
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
        PrivacyBudget(self.epsilon, self.delta)
        for name, choices in (("pipeline", PIPELINES), ("model", MODELS)):
            if getattr(self, name) not in choices:
                raise ParameterError(name, f"one of {', '.join(choices)}", getattr(self, name))
        for name in ("pca_share", "centring_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ParameterError(name, "in [0, 1]", getattr(self, name))
        if self.pipeline == PRIVATE and not self.training_share > 0:
            raise ParameterError(
                "pca_share",
                "such that centring and PCA leave something for training",
                self.pca_share,
            )
        if self.centring_share > 0 and self.calibration != "analytic":
            raise ParameterError("calibration", "analytic where rows are centred", self.calibration)
        if len(self.classes) > 2 or len(set(self.classes)) < len(self.classes):
            raise ParameterError("classes", "at most two different ones", self.classes)
        require_counts(self, sites=1, repetitions=1, seed=0)
        if protocol(self.protocol).kind is Kind.NONE:
            raise ParameterError("protocol", "one that keeps a promise", self.protocol)
        if protocol(self.protocol).is_alone:
            # The classifier learns from everybody, and so does the point they are centred around.
            raise ParameterError("protocol", "one in which all sites take part", self.protocol)

    @property
    def training_share(self) -> float:
        """What is left for training; rounding of the shares does not count as something."""
        left = 1.0 - self.pca_share - self.centring_share
        return left if left > 1e-9 else 0.0

    def key(self) -> LearningKey:
        return LearningKey(
            self.dataset,
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
        paid = spec.pca_share + spec.centring_share
        centring = spec.centring_share / paid if paid > 0 else 0.0
        return replace(spec, pca_share=1.0 - centring, centring_share=centring)
    spec = replace(spec, protocol="ag", sites=1, pca_share=0.0, noise="isometric", truncation="psd")
    if spec.pipeline == EXACT:
        # Exact centring or none; what it would cost does not matter.
        return replace(
            spec, epsilon=math.inf, repetitions=1, centring_share=float(spec.centring_share > 0)
        )
    spec = replace(spec, centring_share=0.0)
    return spec if spec.pipeline == RANDOM_PRIVATE else replace(spec, epsilon=math.inf)


@dataclass(frozen=True, eq=False)
class LearningProblem:
    """People who learn and people who test, for one question about their labels.

    Attributes
    ----------
    X, test_X : ndarray of shape (n, n_features), row norms at most 1
    y, test_y : ndarray of int of shape (n,)
        Positions in `class_names`.
    class_names : tuple of str
    sites : tuple of ndarray
        Row numbers of X at each site.
    moments : SiteMoments
        Of X around zero.
    tested : ndarray of int
        Row numbers of the test people in the data set's test half.
    default_components : int
    """

    X: np.ndarray
    y: np.ndarray
    test_X: np.ndarray
    test_y: np.ndarray
    class_names: tuple[str, ...]
    sites: tuple[np.ndarray, ...]
    moments: SiteMoments
    default_components: int

    @property
    def chance_error(self) -> float:
        """Test error of always saying the commonest class."""
        return 1.0 - np.bincount(self.test_y).max() / len(self.test_y)


HalvesSource = Callable[[str], Halves]


def build_learning_problem(key: LearningKey, halves: HalvesSource = load_halves) -> LearningProblem:
    """The people and the question of one key.

    Raises
    ------
    ParameterError
        If a class is unknown, more people are asked for than there are, or a site would be empty.
    """
    data = halves(key.dataset)
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
        moments=site_moments(X, sites),
        default_components=data.default_components,
    )


def asked_about(labels: np.ndarray, classes: tuple[int, ...]) -> np.ndarray:
    """Row numbers of the people a question about these classes concerns."""
    if len(classes) < 2:
        return np.arange(len(labels))
    return np.flatnonzero(np.isin(labels, classes))


def _positions(labels: np.ndarray, classes: tuple[int, ...]) -> np.ndarray:
    if not classes:
        return labels
    return (labels == classes[-1]).astype(np.intp)


def _class_names(names: tuple[str, ...], classes: tuple[int, ...]) -> tuple[str, ...]:
    if not classes:
        return names
    if len(classes) == 1:
        return (f"not {names[classes[0]]}", names[classes[0]])
    return (names[classes[0]], names[classes[1]])
