"""Experiments with private classifiers: specs, data, budgets of the stages, runs and recipes.

A pipeline has up to three stages: a private mean, a private PCA and the training of a classifier.
    The mean and a Gaussian PCA compose as one Gaussian release: their mu squared add up exactly,
    and together they cost the sum of their shares of epsilon at the full delta. Training and a pure
    PCA have a pure guarantee, and their epsilons are added (basic composition).

The best split of the budget (`best_split`) is found from test errors over many draws. No guarantee
covers this search. Its result is advice for other data sets of the same kind, where the split must
be chosen in advance.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, stdev
from typing import TYPE_CHECKING

import numpy as np

from dpcore.data import load_dataset
from dpcore.data.loading import entry_of
from dpcore.data.row_bounds import shorten
from dpcore.data.splits import Halves, load_halves, split_sites
from dpcore.errors import ParameterError
from dpcore.experiments.charge_keys import COMPONENTS, describe_matrix, get_noise_identity
from dpcore.experiments.engine import Row, Spec, gathered, is_charged, joined, row_from
from dpcore.experiments.export import Recipe, imports_of, source_of
from dpcore.experiments.once_cache import OnceCache
from dpcore.experiments.spec import (
    PRIVATE_MEAN_MODES,
    PUBLISHED,
    Prepares,
    PrivateRow,
    PrivateSpec,
    noise_settings,
)
from dpcore.experiments.statistic_runs import StatisticSpec, release
from dpcore.experiments.sweep import Points, collect
from dpcore.params import again, param
from dpcore.pca import Draw, ReleaseSettings
from dpcore.pca.protocols.protocol import EVERY_SITE, HOLDER, Kind
from dpcore.pca.protocols.register import PROTOCOLS, protocol
from dpcore.pca.settings import with_mean_share
from dpcore.pca.site import centre_of_sphere
from dpcore.privacy import (
    Accountant,
    Charge,
    Guarantee,
    PrivacyBudget,
    Release,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    guarantee_mu,
)
from dpcore.spectra import SiteMoments, SiteRows, site_moments
from dpcore.spectra.moments import directions
from dpcore.streams import Purpose, Repetition, stream

if TYPE_CHECKING:
    from dpcore.classification import PrivateLogisticRegression, PrivateSVM


EXACT, SUBSPACE, PRIVATE, RANDOM, RANDOM_PRIVATE = (
    "exact",
    "subspace",
    "private",
    "random",
    "random-private",
)
PIPELINES = (EXACT, SUBSPACE, PRIVATE, RANDOM, RANDOM_PRIVATE)
MODELS = {"svm": "SVM", "logistic": "Logistic regression"}
_A_MODEL = {"svm": "an SVM", "logistic": "a logistic regression"}
# Shares of epsilon that a control offers.
SHARE_STEPS = tuple(step / 20 for step in range(20))

# Norm bound of bounded rows after a private mean has been subtracted; centred rows are shorter. It
# is the same for all data sets, so that no data are read for it.
CENTRED_NORM_BOUND = 0.6


@dataclass(frozen=True)
class LearningKey(Prepares):
    """Key of the data side: training rows, test rows and sites."""

    dataset: str
    preparation: str
    classes: tuple[int, ...]
    samples: int | None
    sites: int
    seed: int


@dataclass(frozen=True)
class ClassificationSpec(PrivateSpec, Spec):
    """Spec of one pipeline: centre the rows, find a subspace, train a classifier in it.

    classes: Positions in the label names. An empty tuple uses all classes, one against the rest
        each; one class is compared with the rest; two classes use only the rows of these two.
    pipeline: No private stage; a private subspace with a non-private classifier; all stages
        private; a random subspace with a non-private classifier, or with one that gets the whole
        budget.
    protocol: Key of `dpcore.pca.protocols.register.PROTOCOLS` for the private subspace.
    epsilon, delta: Budget of all stages together.
    denoise: "none" by default. A denoised subspace captures more energy but does not separate the
        classes better, and at small epsilon worse: the direction between classes often has a small
        variance, which shrinkage removes.
    preparation: The mean is that of all classes together; "bounded" clips the rows again after
        centring.
    pca_share: Share of epsilon; at 0 the subspace is random. Training gets the rest.
    centring_share: Share of epsilon for a mean that does not depend on labels; at 0 there is none,
        and rows are centred at the public middle. None applies the rule of `dpcore.pca.settings`,
        which reads only public numbers, and takes the share from that of PCA.
    """

    dataset: str = "digits"
    classes: tuple[int, ...] = (0, 1)
    pipeline: str = param(
        PRIVATE,
        "Pipeline",
        choices=PIPELINES,
        offered=(PRIVATE, SUBSPACE, EXACT),
        label={
            PRIVATE: "Everything private",
            SUBSPACE: "Only the subspace private",
            EXACT: "Nothing private",
        }.__getitem__,
    )
    protocol: str = "ag"
    denoise: str = again(PrivateSpec, "denoise", "none")
    preparation: str = again(
        PrivateSpec,
        "preparation",
        help="Sphere scales every row to length 1 around a private mean of all classes together. "
        "Bounded clips rows to a public bound and centres by such a mean. None only clips. "
        "Published centring and scaling read all rows and are not private.",
    )
    pca_share: float = param(
        0.3,
        "Share of ε for PCA",
        low=0,
        high=1,
        constraint="in [0, 1]",
        steps=SHARE_STEPS,
        label="{:.0%}".format,
    )
    centring_share: float | None = param(
        None,
        "Share of ε for the private mean",
        "By default a rule takes it from the share of PCA. The rule reads only public numbers. "
        "With few rows the mean costs more than it gains, and the share is 0.",
        low=0,
        high=1,
        constraint="in [0, 1]",
        steps=SHARE_STEPS,
    )
    model: str = param("svm", "Classifier", choices=tuple(MODELS), label=MODELS.__getitem__)
    sites: int = again(PrivateSpec, "sites", up_to=20)
    regularization: float = param(1e-3, "Regularization Λ", steps=(1e-5, 1e-4, 1e-3, 1e-2, 1e-1))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pipeline == PRIVATE and not self.training_share > 0:
            raise ParameterError(
                "pca_share",
                "such that centring and PCA leave a share for training",
                self.pca_share,
            )
        self._check_centring()
        if len(self.classes) > 2 or len(set(self.classes)) < len(self.classes):
            raise ParameterError("classes", "at most two different ones", self.classes)
        if protocol(self.protocol).kind is Kind.NONE:
            raise ParameterError("protocol", "one with a guarantee", self.protocol)
        if protocol(self.protocol).is_alone:
            # The classifier and the mean read the rows of all sites.
            raise ParameterError("protocol", "one in which all sites take part", self.protocol)

    def _check_centring(self) -> None:
        if not self.centring_share:
            return
        if self.calibration != "analytic":
            raise ParameterError("calibration", "analytic where rows are centred", self.calibration)
        if not self.may_buy_mean:
            offered = (
                f"0 or left to the rule unless preparation is {' or '.join(PRIVATE_MEAN_MODES)}"
            )
            raise ParameterError("centring_share", offered, self.centring_share)

    @property
    def training_share(self) -> float:
        """Return the share for training; a remainder from rounding counts as 0."""
        rest = 1.0 - self.pca_share - (self.centring_share or 0.0)
        return rest if rest > 1e-9 else 0.0

    @classmethod
    def row_type(cls) -> type:
        return ClassificationRow

    def outline(self) -> Sequence[Row]:
        return [{"pipeline": self.pipeline}]

    def problem_key(self, repetition: int = 0) -> LearningKey:  # noqa: ARG002
        return self.key()

    @classmethod
    def load(cls, key: LearningKey) -> LearningProblem:
        return local_learning_problem(key)

    @classmethod
    def data_of(cls, key: LearningKey) -> Hashable:
        return key.dataset

    def rows(self, problem: LearningProblem, repetition: int) -> Sequence[Row]:
        return [run_repetition(self, problem, repetition)]

    def key(self) -> LearningKey:
        return LearningKey(
            self.dataset,
            self.data_preparation,
            self.classes,
            self.samples,
            self.sites if PROTOCOLS[self.protocol].is_distributed else 1,
            self.seed,
        )

    def charges(
        self, guarantees: Mapping[str, Guarantee] | None = None, draws: int | None = None
    ) -> list[Charge]:
        """Return one charge for each private stage in `promised_stages`."""
        numbers = frozenset(range(self.repetitions if draws is None else draws))
        if not guarantees:
            return []
        spec = canonical(self)
        entry = PROTOCOLS[spec.protocol]
        # The rule derives the share of the mean from the budget of the mean and the PCA together.
        by_rule = spec.centring_share is None
        mean_mu, pca = stage_budgets(replace(spec, centring_share=0.0) if by_rule else spec)
        mean = "by rule" if by_rule else mean_mu
        people = ("classification", *vars(spec.key()).values(), entry.is_distributed)
        noise: tuple[object, ...] = ()
        if pca is not None:
            reads = {
                name: getattr(spec, name, None)
                for name in get_noise_identity({}, spec.protocol).settings
            }
            noise = (
                describe_matrix(vars(spec), spec.protocol),
                pca.epsilon,
                pca.delta,
                *reads.values(),
            )
        everything = tuple(value for name, value in vars(spec).items() if name != "repetitions")
        matrix = describe_matrix(vars(spec), spec.protocol)
        found = "random" if spec.pipeline == RANDOM_PRIVATE else "private"
        stages = {
            CENTRING: (
                (mean, *(noise[1:3] if by_rule else ())),
                "the mean of those who learn",
                "mean",
                "centring",
            ),
            PCA: ((mean, *noise), f"{matrix} of those who learn", COMPONENTS, entry.title),
            TRAINING: (
                everything,
                f"training {_A_MODEL[spec.model]} on {found} components",
                "classifier",
                "training",
            ),
        }
        charges = []
        for stage, guarantee in guarantees.items():
            if not is_charged(guarantee):
                continue
            settings, label, what, seen_as = stages[stage]
            release = Release.of(
                guarantee,
                key=joined(stage, *people, *settings),
                label=f"{label}, ε = {spec.epsilon:g} in all, seed {spec.seed}",
                dataset=spec.dataset,
            )
            by_sites = stage != TRAINING and entry.is_distributed
            algorithms = (f"Classification: {seen_as}",)
            stream = joined(
                get_noise_identity({}, entry.key).words if stage == PCA else stage, spec.seed
            )
            charges.append(Charge(release, numbers, (what,), algorithms, by_sites, stream))
        return charges


def canonical(spec: ClassificationSpec) -> ClassificationSpec:
    """Return the spec without settings that its pipeline ignores; equal results give equal rows."""
    if spec.pipeline == PRIVATE:
        return spec
    spec = replace(spec, calibration="analytic" if spec.pipeline != SUBSPACE else spec.calibration)
    if spec.pipeline == SUBSPACE:
        if spec.centring_share is None:
            return replace(spec, pca_share=1.0)
        paid = spec.pca_share + spec.centring_share
        centring = spec.centring_share / paid if paid > 0 else 0.0
        return replace(spec, pca_share=1.0 - centring, centring_share=centring)
    unread = {name: getattr(ClassificationSpec, name) for name in PUBLISHED}
    spec = replace(spec, protocol="ag", sites=1, pca_share=0.0, **unread)
    if spec.pipeline == EXACT:
        # Centring is exact or absent; its cost has no effect.
        centred = spec.may_buy_mean and spec.centring_share != 0
        return replace(spec, epsilon=math.inf, repetitions=1, centring_share=float(centred))
    spec = replace(spec, centring_share=0.0)
    return spec if spec.pipeline == RANDOM_PRIVATE else replace(spec, epsilon=math.inf)


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
        moments=(SiteRows.of if key.on_sphere else site_moments)(X, sites),
        default_components=data.default_components,
    )


def asked_about(labels: np.ndarray, classes: tuple[int, ...]) -> np.ndarray:
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


CENTRING, PCA, TRAINING = "centring", "PCA", "training"


def promised_stages(spec: ClassificationSpec, problem: LearningProblem) -> dict[str, Guarantee]:
    """Return the guarantees of an `Outcome` without running the pipeline.

    The guarantee of training has neither sensitivity nor assumptions.
    """
    guarantees, spec = {}, with_centring_share(spec, problem)
    reads_rows = spec.pipeline in (SUBSPACE, PRIVATE)
    if reads_rows and spec.centring_share:
        guarantees[CENTRING] = mean_guarantee(spec, problem)
    budget = stage_budgets(spec)[1] if reads_rows else None
    if budget is not None:
        settings = pca_settings(spec, problem, budget)
        guarantees[PCA] = PROTOCOLS[spec.protocol].promise(
            settings, problem.moments.n_samples.tolist(), problem.X.shape[1]
        )
    epsilon = training_epsilon(spec)
    if math.isfinite(epsilon):
        guarantees[TRAINING] = Guarantee(
            PrivacyBudget(epsilon), epsilon, 0.0, "objective perturbation", "the curator"
        )
    return guarantees


def with_centring_share(spec: ClassificationSpec, problem: LearningProblem) -> ClassificationSpec:
    """Return the spec with the mean's share as a number.

    If the spec leaves the share to the rule, it is the part that PCA would give the mean from the
    budget of both. No row is read.
    """
    if spec.centring_share is not None:
        return spec
    if not (spec.may_buy_mean and spec.pca_share > 0 and spec.calibration == "analytic"):
        return replace(spec, centring_share=0.0)
    both = PrivacyBudget(spec.pca_share * spec.epsilon, spec.delta)
    people = problem.moments.n_samples.tolist()
    settings = replace(pca_settings(spec, problem, both), mean_share=None)
    share = with_mean_share(settings, people, problem.X.shape[1], n_noises=len(people)).mean_share
    centring = spec.pca_share * (share or 0.0)
    return replace(spec, centring_share=centring, pca_share=spec.pca_share - centring)


def row_norm_bound(spec: ClassificationSpec) -> float:
    """Return the bound on row norms after centring."""
    is_cut = spec.preparation == "bounded" and spec.centring_share
    return CENTRED_NORM_BOUND if is_cut else 1.0


def training_epsilon(spec: ClassificationSpec) -> float:
    """Return the epsilon of training; infinite if training is not private."""
    if spec.pipeline == RANDOM_PRIVATE:
        return spec.epsilon
    return spec.training_share * spec.epsilon if spec.pipeline == PRIVATE else math.inf


def total_guarantee(spec: ClassificationSpec, guarantees: Mapping[str, Guarantee]) -> Guarantee:
    """Return the guarantee of all private stages together, at the requested delta.

    The accountant takes the smaller of basic composition and the privacy loss distribution. A
    non-private stage that reads the training rows makes epsilon infinite.
    """
    requested = PrivacyBudget(spec.epsilon, spec.delta)
    if spec.pipeline not in (PRIVATE, RANDOM_PRIVATE):
        return Guarantee(requested, math.inf, 0.0, "none", "nobody")
    accountant = Accountant(spec.dataset)
    for stage, guarantee in guarantees.items():
        release = Release.of(guarantee, key=stage, label=stage, dataset=spec.dataset)
        accountant.charge(Charge(release))
    pure = all(g.delta == 0 for g in guarantees.values())
    delta = 0.0 if pure else spec.delta
    assumed = (one for guarantee in guarantees.values() for one in guarantee.assumptions)
    added = "; ".join(
        f"{guarantee.noise_added_by} ({stage})" for stage, guarantee in guarantees.items()
    )
    epsilon = accountant.total(delta)
    return Guarantee(
        requested,
        epsilon,
        delta,
        "composed",
        added,
        assumptions=tuple(dict.fromkeys(assumed)),
        # The curator who trains the classifier holds all rows.
        against=HOLDER.against(dict.fromkeys(HOLDER.sees, epsilon)),
    )


def at_delta(guarantee: Guarantee, delta: float) -> Guarantee:
    """Return a Gaussian guarantee converted to another delta; other guarantees do not change.

    The parts of one Gaussian release are calibrated by their mu, at a delta that is only convenient
    for the solver.
    """
    if guarantee_mu(guarantee) is None or guarantee.delta == delta:
        return guarantee

    def moved(epsilon: float) -> float:
        mu = guarantee_mu(replace(guarantee, epsilon=epsilon))
        if mu is None or not math.isfinite(mu):
            return math.inf
        return gaussian_epsilon(delta, 1.0, mu)

    against = tuple(replace(each, epsilon=moved(each.epsilon)) for each in guarantee.against)
    return replace(
        guarantee, asked=None, epsilon=moved(guarantee.epsilon), delta=delta, against=against
    )


def stage_budgets(spec: ClassificationSpec) -> tuple[float, PrivacyBudget | None]:
    """Return mu of the private mean (0 without one) and the budget of the PCA (None without one).

    The mean and a Gaussian PCA share one Gaussian release in proportion to their shares, counted in
    mu squared, which is additive. A pure PCA has its own epsilon, and so has the mean.
    """
    if spec.centring_share is None:
        raise ParameterError("centring_share", "settled before noise is calibrated", None)
    centring, pca = spec.centring_share * spec.epsilon, spec.pca_share * spec.epsilon
    if PROTOCOLS[spec.protocol].kind is Kind.PURE:
        mean_mu = gaussian_mu(PrivacyBudget(centring, spec.delta)) if centring > 0 else 0.0
        return mean_mu, PrivacyBudget(pca) if pca > 0 else None
    if centring == 0:
        return 0.0, PrivacyBudget(pca, spec.delta) if pca > 0 else None
    together = gaussian_mu(PrivacyBudget(centring + pca, spec.delta))
    part = pca / (centring + pca)
    mean_mu, pca_mu = together * math.sqrt(1 - part), together * math.sqrt(part)
    return mean_mu, _budget_of(pca_mu) if pca > 0 else None


def _budget_of(mu: float) -> PrivacyBudget:
    # A point of the exact profile of this mu, which analytic calibration maps to the same noise. At
    # this epsilon, delta is neither lost to rounding nor too large.
    epsilon = mu * mu / 2 + mu
    return PrivacyBudget(epsilon, gaussian_delta(epsilon, 1.0, mu))


def mean_guarantee(spec: ClassificationSpec, problem: LearningProblem) -> Guarantee:
    """Return the guarantee of the private mean."""
    mu, _ = stage_budgets(spec)
    smallest = int(problem.moments.n_samples.min())
    budget = _budget_of(mu)
    distributed = PROTOCOLS[spec.protocol].is_distributed
    trust = EVERY_SITE if distributed else HOLDER
    return Guarantee(
        asked=budget,
        epsilon=budget.epsilon,
        delta=budget.delta,
        mechanism="gaussian",
        noise_added_by="every site, to its own mean" if distributed else "the curator, to the mean",
        l2_sensitivity=2 / smallest,
        sigma=2 / smallest / mu,
        assumptions=trust.assumptions,
        against=trust.against(dict.fromkeys(trust.sees, budget.epsilon)),
    )


def pca_settings(
    spec: ClassificationSpec, problem: LearningProblem, budget: PrivacyBudget
) -> ReleaseSettings:
    """Return the PCA settings for rows that are centred already."""
    n_components = spec.components or problem.default_components
    return ReleaseSettings(
        budget=budget,
        n_components=n_components,
        intermediate_dim=min(2 * n_components, problem.X.shape[1]),
        **noise_settings(spec, entry_of(spec.dataset).image_shape),
        row_norm_bound=row_norm_bound(spec),
    )


class ClassificationRow(PrivateRow):
    """Row of one repetition of a pipeline: its spec with K and N filled in, and the test error.

    `chance_error` is the error of a constant prediction; `tested` is the number of test rows.
    """

    classes: str
    pipeline: str
    preparation: str
    pca_share: float
    centring_share: float | None
    training_share: float
    model: str
    regularization: float
    seed: int
    repetition: int
    tested: int
    test_error: float
    chance_error: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """Trained pipeline with its predictions on the test rows.

    components: shape (n_components, n_features)
    origin: shape (n_features,). Centre subtracted before the projection; zeros without centring.
    row_norm_bound: Norm to which rows were clipped after centring.
    on_sphere: Whether every row was scaled to length 1 instead.
    predicted: ndarray of int of shape (n_test,)
    test_error: Share of the test rows with a wrong prediction.
    guarantees: Guarantee of each stage that reads the training rows.
    """

    components: np.ndarray
    origin: np.ndarray
    row_norm_bound: float
    model: PrivateSVM | PrivateLogisticRegression
    predicted: np.ndarray
    test_error: float
    guarantees: dict[str, Guarantee]
    on_sphere: bool = False

    def project(self, X: np.ndarray) -> np.ndarray:
        """Return rows of X as input of the classifier, float64 of shape (n, n_components)."""
        rows = _centred(X, self.origin, self.row_norm_bound, on_sphere=self.on_sphere)
        return _project(rows, self.components)


def run_pipeline(
    spec: ClassificationSpec, problem: LearningProblem, repetition: int = 0
) -> Outcome:
    """Run one repetition of a pipeline.

    Raises `ParameterError` if the spec cannot run on these rows.
    """
    spec = with_centring_share(spec, problem)
    stages, bound = Repetition(spec.seed, repetition), row_norm_bound(spec)
    guarantees: dict[str, Guarantee] = {}
    origin, on_sphere = np.zeros(problem.X.shape[1]), spec.on_sphere
    if spec.centring_share and spec.pipeline in (EXACT, SUBSPACE, PRIVATE):
        origin = problem.moments.weights @ problem.moments.means
        if spec.pipeline != EXACT:
            noise, guarantees[CENTRING] = _mean_noise(spec, problem, stages)
            origin = origin + noise
    if on_sphere and not origin.any():
        problem = problem.around_public_middle
        rows = problem.X
    else:
        rows = _centred(problem.X, origin, bound, on_sphere=on_sphere)
    components = _components(spec, problem, stages, rows, guarantees)
    # scikit-learn is slower to import than all of dpcore, and specs do not need it.
    from dpcore.classification import PrivateLogisticRegression, PrivateSVM

    estimator = {"svm": PrivateSVM, "logistic": PrivateLogisticRegression}[spec.model](
        epsilon=training_epsilon(spec),
        regularization=spec.regularization,
        row_norm_bound=bound,
    )
    # The second child stream, so that rows of earlier versions can be reproduced.
    rng = stages.rng(Purpose.TRAINING).spawn(2)[1]
    model = estimator.fit_with_noise(_project(rows, components), problem.y, rng=rng)
    if model.guarantee_.is_private:
        guarantees[TRAINING] = model.guarantee_
    test_rows = _centred(problem.test_X, origin, bound, on_sphere=on_sphere)
    predicted = model.predict(_project(test_rows, components))
    return Outcome(
        components,
        origin,
        bound,
        model,
        predicted,
        float(np.mean(predicted != problem.test_y)),
        guarantees,
        on_sphere,
    )


def run_repetition(
    spec: ClassificationSpec, problem: LearningProblem, repetition: int
) -> ClassificationRow:
    """Run one repetition and return its tidy row."""
    started = time.perf_counter()
    outcome = run_pipeline(spec, problem, repetition)
    return row_from(
        ClassificationRow,
        spec,
        classes=" against ".join(problem.class_names) if spec.classes else "all",
        components=len(outcome.components),
        samples=len(problem.X),
        repetition=repetition,
        tested=len(problem.test_X),
        test_error=outcome.test_error,
        chance_error=problem.chance_error,
        seconds=time.perf_counter() - started,
    )


def _mean_noise(
    spec: ClassificationSpec, problem: LearningProblem, stages: Repetition
) -> tuple[np.ndarray, Guarantee]:
    """Draw noise for the mean of rows of norm 1, and return it with its guarantee.

    Replacing a row moves a mean of n rows by at most 2 / n. Each site of a distributed protocol
    adds its own noise to its own mean; otherwise noise is added once.
    """
    mu, _ = stage_budgets(spec)
    moments = problem.moments
    noise = np.zeros(moments.n_features)
    for site, (weight, n_samples) in enumerate(
        zip(moments.weights, moments.n_samples, strict=True)
    ):
        rng = stages.rng(Purpose.PREPARATION, site)
        noise += weight * (2 / n_samples / mu) * rng.standard_normal(moments.n_features)
    return noise, mean_guarantee(spec, problem)


def _components(
    spec: ClassificationSpec,
    problem: LearningProblem,
    stages: Repetition,
    rows: np.ndarray,
    guarantees: dict[str, Guarantee],
) -> np.ndarray:
    budget = stage_budgets(spec)[1] if spec.pipeline in (SUBSPACE, PRIVATE) else None
    key = EXACT if spec.pipeline == EXACT else RANDOM if budget is None else spec.protocol
    chosen = PROTOCOLS[key]
    settings = pca_settings(spec, problem, budget or PrivacyBudget(math.inf))
    moments = problem.moments
    if rows is not problem.X:
        moments = site_moments(rows, problem.sites)
    draw = Draw(
        moments,
        settings,
        stages,
        proxies=chosen.wants_proxies,
        average=chosen.wants_average,
    )
    subspace = chosen.release(draw)
    if key not in (EXACT, RANDOM):
        guarantees[PCA] = subspace.guarantee
    return subspace.components


def _centred(
    X: np.ndarray, origin: np.ndarray, bound: float, *, on_sphere: bool = False
) -> np.ndarray:
    """Return rows around the origin, scaled to length 1 or clipped to the bound."""
    if on_sphere:
        return directions(X, centre_of_sphere(origin).astype(X.dtype))
    if not origin.any():
        return X
    return shorten(X - origin.astype(X.dtype), bound)[0]


def _project(rows: np.ndarray, components: np.ndarray) -> np.ndarray:
    return np.asarray(rows @ components.T.astype(rows.dtype), dtype=np.float64)


@dataclass(frozen=True)
class Plane:
    """Test rows and predictions in the plane of two components.

    points: shape (n, 2)
    classes: ndarray of int of shape (n,)
    regions: ndarray of int of shape (n_vertical, n_horizontal)
    axes: (horizontal, vertical) grid positions
    """

    points: np.ndarray
    classes: np.ndarray
    regions: np.ndarray
    axes: tuple[np.ndarray, np.ndarray]


def confusion_matrix(outcome: Outcome, problem: LearningProblem) -> np.ndarray:
    """Count test rows by true class (rows) and predicted class (columns)."""
    size = len(problem.class_names)
    pairs = problem.test_y * size + outcome.predicted
    return np.bincount(pairs, minlength=size * size).reshape(size, size)


def mistakes(outcome: Outcome, problem: LearningProblem, most: int) -> np.ndarray:
    """Return the row numbers of the first wrongly classified test rows."""
    return np.flatnonzero(outcome.predicted != problem.test_y)[:most]


def plane_of(outcome: Outcome, problem: LearningProblem, *, most: int = 400) -> Plane:
    """Return the plane of a pipeline with two components, with at most `most` test rows."""
    points = outcome.project(problem.test_X[:most])
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.08 * np.maximum(high - low, 1e-9)
    horizontal, vertical = np.linspace(low - margin, high + margin, 160).T
    grid = np.stack(np.meshgrid(horizontal, vertical), axis=-1)
    regions = outcome.model.predict(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    return Plane(points, problem.test_y[:most], regions, (horizontal, vertical))


# Shares of PCA that are compared. At 0 the subspace is random. Training needs a positive share, so
# the last share leaves a twentieth for it.
SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Best:
    """PCA share with the smallest mean test error, and shares that are not significantly worse.

    `ties` are the shares whose mean is within two standard errors of the difference.
    """

    share: float
    error: float
    ties: tuple[float, ...]


def along_the_share(spec: ClassificationSpec) -> list[ClassificationSpec]:
    """Return the spec at every share of PCA; the rule chooses the mean's part."""
    return [
        replace(spec, pipeline=PRIVATE, pca_share=share, centring_share=None) for share in SHARES
    ]


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


def best_split(rows: Iterable[Row]) -> Best:
    """Return the best of the shares in the rows, from `pca_share` and `test_error`."""
    errors: dict[float, list[float]] = gathered(
        (row["pca_share"], row["test_error"]) for row in rows
    )
    means = {share: fmean(found) for share, found in errors.items()}
    best = min(means, key=means.__getitem__)
    ties = tuple(
        share
        for share in sorted(means)
        if share != best and means[share] - means[best] <= 2 * _standard_error(errors, share, best)
    )
    return Best(best, means[best], ties)


def _standard_error(errors: Mapping[float, Sequence[float]], share: float, best: float) -> float:
    """Return the standard error of a difference of means, paired by draw.

    Draws are paired because all shares use the same unit noise.
    """
    differences = [a - b for a, b in zip(errors[share], errors[best], strict=False)]
    if len(differences) < 2:
        return math.inf
    return stdev(differences) / math.sqrt(len(differences))


_CLASSIFICATION_IMPORTS = imports_of(
    "from statistics import fmean", Points, collect, ClassificationSpec
)
_CLASSIFICATION_RUN = """\
rows = collect(Points((spec,))).rows
errors = [row["test_error"] for row in rows]
print(f"test error {fmean(errors):.4f}, mean of {len(errors)} draws")"""

_RELEASE = """\
result = release(values, spec)
print(np.round(result.value, 6), result.mechanism, result.guarantee.epsilon)"""


def classification_recipe(spec: ClassificationSpec) -> Recipe:
    """Return a recipe that runs the pipeline and prints its test error."""
    cells = _CLASSIFICATION_IMPORTS, f"spec = {source_of(spec)}", _CLASSIFICATION_RUN
    return Recipe("Test error of a private pipeline", cells)


def statistic_recipe(spec: StatisticSpec, origin: tuple[str, int] | list[float]) -> Recipe:
    """Return a recipe that repeats the page's release.

    origin: (data set, column number) or list of float. Source of the values, or the values.
    """
    needed: list[Callable[..., object]] = [StatisticSpec, release]
    if isinstance(origin, tuple):
        needed.append(load_dataset)
        values = f"load_dataset({origin[0]!r}).X[:, {origin[1]}].astype(float)"
    else:
        values = f"np.array({origin!r})"
    cells = (
        imports_of("import numpy as np", *needed),
        f"values = {values}\nspec = {source_of(spec)}",
        _RELEASE,
    )
    return Recipe("One private statistic", cells)
