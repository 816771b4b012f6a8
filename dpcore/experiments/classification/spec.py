"""Settings of a classification pipeline, and the budget of each of its stages."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeVar

from dpcore.errors import ParameterError
from dpcore.experiments.classification.problem import LearningKey
from dpcore.experiments.engine.fields import PRIVATE_MEAN_MODES, PUBLISHED, PrivateSpec
from dpcore.params import param, redeclare
from dpcore.pca.protocols.protocol import Kind
from dpcore.pca.protocols.register import PROTOCOLS, protocol
from dpcore.privacy import PrivacyBudget, gaussian_delta, gaussian_mu

EXACT, SUBSPACE, PRIVATE, RANDOM, RANDOM_PRIVATE = (
    "exact",
    "subspace",
    "private",
    "random",
    "random-private",
)
PIPELINES = (EXACT, SUBSPACE, PRIVATE, RANDOM, RANDOM_PRIVATE)
MODELS = {"svm": "SVM", "logistic": "Logistic regression"}
# Shares of epsilon that a control offers.
SHARE_STEPS = tuple(step / 20 for step in range(20))
# Norm bound of bounded rows after a private mean has been subtracted; centred rows are shorter. It
# is the same for all data sets, so that no data are read for it.
CENTRED_NORM_BOUND = 0.6


@dataclass(frozen=True)
class PipelineSpec(PrivateSpec):
    """Settings of one pipeline: centre the rows, find a subspace, train a classifier in it.

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
    denoise: str = redeclare(PrivateSpec, "denoise", "none")
    preparation: str = redeclare(
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
    sites: int = redeclare(PrivateSpec, "sites", up_to=20)
    regularization: float = param(1e-3, "Regularization Λ", steps=(1e-5, 1e-4, 1e-3, 1e-2, 1e-1))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pipeline == PRIVATE and not self.training_share > 0:
            raise ParameterError(
                "pca_share",
                "such that centring and PCA leave a share for training",
                self.pca_share,
            )
        if self.centring_share:
            self._check_centring()
        if len(self.classes) > 2 or len(set(self.classes)) < len(self.classes):
            raise ParameterError("classes", "at most two different ones", self.classes)
        if protocol(self.protocol).kind is Kind.NONE:
            raise ParameterError("protocol", "one with a guarantee", self.protocol)
        if protocol(self.protocol).reads_first_site_only:
            # The classifier and the mean read the rows of all sites.
            raise ParameterError("protocol", "one in which all sites take part", self.protocol)

    def _check_centring(self) -> None:
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
        remainder = 1.0 - self.pca_share - (self.centring_share or 0.0)
        return remainder if remainder > 1e-9 else 0.0

    def problem_key(self, repetition: int = 0) -> LearningKey:  # noqa: ARG002
        """Return the key of the data side."""
        return LearningKey(
            self.dataset,
            self.data_preparation,
            self.classes,
            self.samples,
            self.sites if PROTOCOLS[self.protocol].is_distributed else 1,
            self.seed,
        )


P = TypeVar("P", bound=PipelineSpec)


def canonical(spec: P) -> P:
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
    unread = {name: getattr(PipelineSpec, name) for name in PUBLISHED}
    spec = replace(spec, protocol="ag", sites=1, pca_share=0.0, **unread)
    if spec.pipeline == EXACT:
        # Centring is exact or absent; its cost has no effect.
        centred = spec.may_buy_mean and spec.centring_share != 0
        return replace(spec, epsilon=math.inf, repetitions=1, centring_share=float(centred))
    spec = replace(spec, centring_share=0.0)
    return spec if spec.pipeline == RANDOM_PRIVATE else replace(spec, epsilon=math.inf)


def row_norm_bound(spec: PipelineSpec) -> float:
    """Return the bound on row norms after centring."""
    is_cut = spec.preparation == "bounded" and spec.centring_share
    return CENTRED_NORM_BOUND if is_cut else 1.0


def training_epsilon(spec: PipelineSpec) -> float:
    """Return the epsilon of training; infinite if training is not private."""
    if spec.pipeline == RANDOM_PRIVATE:
        return spec.epsilon
    return spec.training_share * spec.epsilon if spec.pipeline == PRIVATE else math.inf


def stage_budgets(spec: PipelineSpec) -> tuple[float, PrivacyBudget | None]:
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
    both_mu = gaussian_mu(PrivacyBudget(centring + pca, spec.delta))
    part = pca / (centring + pca)
    mean_mu, pca_mu = both_mu * math.sqrt(1 - part), both_mu * math.sqrt(part)
    return mean_mu, budget_of_mu(pca_mu) if pca > 0 else None


def budget_of_mu(mu: float) -> PrivacyBudget:
    # A point of the exact profile of this mu, which analytic calibration maps to the same noise. At
    # this epsilon, delta is neither lost to rounding nor too large.
    epsilon = mu * mu / 2 + mu
    return PrivacyBudget(epsilon, gaussian_delta(epsilon, 1.0, mu))
