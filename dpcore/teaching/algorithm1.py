"""Algorithm 1 of Imtiaz & Sarwate (2018), step by step at one site, and with a class for hospitals.

The steps are those of the first run of the protocol `dpdis`. In a class each hospital has its share
of the digits and its own epsilon. Its message is that of `site_message`, and the result that of
`aggregate`, equal to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.data import load_dataset
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.pca.problem import Problem, local_problem
from dpcore.pca import Draw, SiteMessage, Subspace, aggregate, site_message
from dpcore.pca.aggregator import Inbox, add_up, leading_directions
from dpcore.pca.messages import transmit
from dpcore.pca.protocols.distributed import average_of_sites
from dpcore.pca.protocols.protocol import EVERY_SITE, noise_guarantee
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import MessageKind, SiteAtWork, noise_scales
from dpcore.privacy import Guarantee, PrivacyBudget
from dpcore.spectra import SiteMoments, captured_energy, leading_eigenpairs
from dpcore.streams import Purpose, Repetition

AT_SITE, ON_THE_WIRE, AT_AGGREGATOR = "site", "wire", "aggregator"
STEPS = (
    "moment",
    "noise",
    "denoising",
    "decomposition",
    "truncation",
    "message",
    "average",
    "components",
)
# Titles on a page. Decomposition and truncation share one screen.
STEP_TITLES = {
    "rows": "Rows",
    "moment": "Moment",
    "noise": "Noise",
    "denoising": "Denoising",
    "truncation": "Cut",
    "message": "Message",
    "average": "Sum",
    "components": "Components",
}
_MOST_SITES_SHOWN = 2


@dataclass(frozen=True)
class Panel:
    """One matrix of a step.

    name: Name in LaTeX, without dollars.
    matrix: shape (rows, columns)
    limit: Entries of this size have the strongest colour.
    private: Whether it may leave the site: everything computed after the noise.
    """

    name: str
    matrix: FloatArray
    limit: float
    private: bool


@dataclass(frozen=True)
class Step:
    """One step of the algorithm.

    key: One of `STEPS`.
    where: "site", "wire" or "aggregator".
    energy_ratio: Captured energy of the top K directions after this step, relative to exact PCA.
    directions: shape (up to n_components, n_features). Those directions.
    facts: Numbers for the sentences of a page.
    """

    key: str
    where: str
    panels: tuple[Panel, ...]
    energy_ratio: float
    directions: FloatArray
    facts: dict[str, float] = field(default_factory=dict)


Steps = tuple[Step, ...]


@dataclass(frozen=True)
class Walk:
    """All steps for one site, with the spectrum before and after the noise.

    steps: Steps in the order of `STEPS`.
    eigenvalues: shape (n_features,). Spectrum of the denoised second moment, in truncation order.
    exact_eigenvalues: shape (n_features,). Spectrum of the site's second moment without noise.
    n_kept: Intermediate dimension R.
    message: Message of the site.
    components, exact_components: shape (n_components, n_features)
    centre: shape (n_features,). Average of the sites' noisy means; None without a private mean.
    """

    steps: Steps
    eigenvalues: FloatArray
    exact_eigenvalues: FloatArray
    n_kept: int
    message: SiteMessage
    components: FloatArray
    exact_components: FloatArray
    centre: FloatArray | None


@dataclass(frozen=True, eq=False)
class _SiteInView:
    """Matrices at one site: A_s, E_s, their sum, its denoised version, eigenpairs, message."""

    moment: FloatArray
    noise: FloatArray
    noisy: FloatArray
    denoised: FloatArray
    eigenvalues: FloatArray
    vectors: FloatArray
    n_kept: int
    message: SiteMessage
    n_bytes: int

    def steps(
        self,
        exact_vectors: FloatArray,
        n_components: int,
        energy_of: Callable[[FloatArray], float],
    ) -> Steps:
        moment, noisy, vectors, n_kept = self.moment, self.noisy, self.vectors, self.n_kept
        denoised, noisy_vectors = self.denoised, leading_eigenpairs(noisy, len(noisy))[1]
        eigenvalues, message, proxy = self.eigenvalues, self.message, self.message.values
        scale, denoised_ratio = _strength(moment), energy_of(vectors)
        removed = float(np.linalg.norm(noisy - denoised) / np.linalg.norm(self.noise))
        # The cut changes the top K directions of a single site only if R is below K.
        cut_ratio, cut = energy_of(vectors[:n_kept]), vectors[: min(n_kept, n_components)]
        return (
            Step(
                "moment",
                AT_SITE,
                (Panel(r"A_s", moment, scale, False),),
                energy_of(exact_vectors),
                exact_vectors[:n_components],
                {"people": message.n_samples, "features": len(moment)},
            ),
            Step(
                "noise",
                AT_SITE,
                (
                    Panel(r"A_s", moment, scale, False),
                    Panel(r"E_s", self.noise, scale, False),
                    Panel(r"\hat A_s", noisy, scale, True),
                ),
                energy_of(noisy_vectors),
                noisy_vectors[:n_components],
                {
                    "sigma": message.sigma,
                    "noise_share": float(np.linalg.norm(self.noise) / np.linalg.norm(moment)),
                },
            ),
            Step(
                "denoising",
                AT_SITE,
                (
                    Panel(r"\hat A_s", noisy, scale, True),
                    Panel(r"\tilde A_s", denoised, scale, True),
                ),
                denoised_ratio,
                vectors[:n_components],
                {"removed": removed},
            ),
            Step(
                "decomposition",
                AT_SITE,
                (
                    Panel(r"\tilde A_s", denoised, scale, True),
                    Panel(r"U", vectors.T, _strength(vectors), True),
                ),
                denoised_ratio,
                vectors[:n_components],
                {"negative": int((eigenvalues < 0).sum()), "features": len(noisy)},
            ),
            Step(
                "truncation",
                AT_SITE,
                (
                    Panel(r"\tilde A_s", denoised, scale, True),
                    Panel(r"U_R |\Sigma_R| U_R^\top", proxy @ proxy.T, scale, True),
                ),
                cut_ratio,
                cut,
                {
                    "kept": n_kept,
                    "features": len(noisy),
                    "negative_kept": int((eigenvalues[:n_kept] < 0).sum()),
                },
            ),
            Step(
                "message",
                ON_THE_WIRE,
                (Panel(r"P_s^\top", proxy.T, _strength(proxy), True),),
                cut_ratio,
                cut,
                {
                    "numbers": proxy.size,
                    "bytes": self.n_bytes,
                    "raw_bytes": message.n_samples * len(moment) * proxy.itemsize,
                    "kept": n_kept,
                },
            ),
        )


def walk(spec: RunSpec, problem: Problem, site: int) -> Walk:
    """Return every step of the first run of DPdisPCA at one site.

    Raises `ParameterError` if the specification cannot run.
    """
    settings = spec.settings(problem.n_features, problem.default_components)
    sites: dict[int, SiteAtWork] = {}

    def watch(at_work: SiteAtWork) -> None:
        sites[at_work.site] = at_work

    draw = Draw(problem.moments, settings, Repetition(spec.seed), average=False, watch=watch)
    moments, n_components, n_kept = draw.moments, settings.n_components, settings.intermediate_dim
    released = average_of_sites(draw, draw.proxies())
    subspace = released.subspace(settings)
    arrived = [sites[s].received[MessageKind.proxy(settings)] for s in range(moments.n_sites)]
    moment, at_work = draw.moment_around(draw.centre, site), sites[site]
    centred = at_work.centred
    noise, noisy = at_work.noisy_site.noisy - moment, centred.noisy
    spectrum = centred.denoised(draw.bases_at_sites, draw.diagonal_of_average)
    eigenpairs = spectrum.leading(len(moment), by=settings.ranking)
    in_view = _SiteInView(
        moment, noise, noisy, spectrum.matrix, *eigenpairs, n_kept, *arrived[site]
    )
    exact_values, exact_vectors = leading_eigenpairs(moment, len(moment))

    def energy_of(directions: FloatArray) -> float:
        optimum = float(problem.optimum[n_components - 1])
        return captured_energy(directions[:n_components], problem.reference) / optimum

    messages, average = [message for message, _ in arrived], released.spectrum.matrix
    ratio, scale = energy_of(subspace.components), _strength(moment)
    return Walk(
        (
            *in_view.steps(exact_vectors, n_components, energy_of),
            *_aggregator_steps(messages, average, subspace, ratio, scale),
        ),
        in_view.eigenvalues,
        exact_values,
        n_kept,
        in_view.message,
        subspace.components,
        problem.exact_components[:n_components],
        None if draw.noisy_means is None else subspace.centre,
    )


def _aggregator_steps(
    messages: Sequence[SiteMessage],
    average: FloatArray,
    subspace: Subspace,
    ratio: float,
    scale: float,
) -> Steps:
    components, weakest = subspace.components, float(subspace.eigenvalues[-1])
    return (
        Step(
            "average",
            AT_AGGREGATOR,
            (
                *(
                    Panel(rf"P_{{{s + 1}}} P_{{{s + 1}}}^\top", p.values @ p.values.T, scale, True)
                    for s, p in enumerate(messages[:_MOST_SITES_SHOWN])
                ),
                Panel(r"A_c", average, scale, True),
            ),
            ratio,
            components,
            {"sites": len(messages), "shown": min(_MOST_SITES_SHOWN, len(messages))},
        ),
        Step(
            "components",
            AT_AGGREGATOR,
            (
                Panel(r"A_c", average, scale, True),
                Panel(r"V", components, _strength(components), True),
            ),
            ratio,
            components,
            {"components": len(components), "weakest": weakest},
        ),
    )


def _strength(matrix: FloatArray) -> float:
    """Return a size that 99 % of the entries do not exceed."""
    return float(np.quantile(np.abs(matrix), 0.99)) or 1.0


PICTURES, SHAPE = "mnist-small", (14, 14)
N_COMPONENTS, INTERMEDIATE_DIM = 10, 20
DELTA = 1e-5
# Middle of a pixel's public limits, 0 to 1, and largest norm of a picture around it: a row is
# (pixels - 1/2) / 7.
MIDDLE, REACH = 0.5, 7.0


@dataclass(frozen=True, eq=False)
class ClassOfHospitals:
    """Handwritten digits, dealt to disjoint hospitals.

    moments: Second moments of rows around the middle of a pixel's public limits, of length at most
        1. No private mean is needed, so a hospital need not wait for another.
    exact: shape (n_components, n_features). Components of all rows without noise.
    reference: shape (n_features, n_features). Centred second moment for the captured energy.
    """

    moments: SiteMoments
    exact: FloatArray
    reference: FloatArray

    @classmethod
    @lru_cache(maxsize=2)  # of 60 hospitals, 18 MB
    def deal(cls, n_hospitals: int) -> ClassOfHospitals:
        """Deal the digits to a number of hospitals.

        Raises `ParameterError` if there are fewer than two people for each.
        """
        spec = RunSpec.bounded(dataset=PICTURES, sites=n_hospitals)
        problem = local_problem(spec.problem_key())
        if not isinstance(problem.moments, SiteMoments):
            raise TypeError("rows that wait for a centre have no moments yet")
        exact = leading_eigenpairs(problem.moments.pooled(), N_COMPONENTS)[1]
        # The pictures are float32; a single site's message is computed in float64.
        return cls(replace(problem.moments, precision=None), exact, problem.reference)

    def rebuild(self, components: FloatArray) -> FloatArray:
        """Return ink of ten pictures rebuilt from components, shape (10, 196).

        There is one picture of each numeral.
        """
        rows = (numerals() - MIDDLE) / REACH
        ink: FloatArray = rows @ components.T @ components * REACH + MIDDLE
        return ink

    def people(self, hospital: int) -> int:
        """Return the public number of people of a hospital."""
        return int(self.moments.n_samples[hospital])

    def own_components(self, hospital: int) -> FloatArray:
        """Return (n_components, n_features) without noise, which must not leave the hospital."""
        return leading_eigenpairs(self.moments.second_moments[hospital], N_COMPONENTS)[1]

    @property
    def random_energy(self) -> float:
        """Mean captured energy of a random subspace, relative to `exact`."""
        captured = N_COMPONENTS / len(self.reference) * np.trace(self.reference)
        return float(captured / captured_energy(self.exact, self.reference))

    def energy(self, components: FloatArray) -> float:
        """Return the captured energy of components, relative to `exact`."""
        captured = captured_energy(components, self.reference)
        return float(captured / captured_energy(self.exact, self.reference))


@lru_cache(maxsize=1)
def numerals() -> FloatArray:
    """Return (10, 196) ink of the first picture of each numeral."""
    pictures = load_dataset(PICTURES)
    labels = np.asarray(pictures.labels)
    found: FloatArray = np.array([pictures.X[labels == label][0] for label in np.unique(labels)])
    return found


def settings_of(epsilon: float) -> ReleaseSettings:
    """Return the settings of a hospital's message at its epsilon."""
    return ReleaseSettings(PrivacyBudget(epsilon, DELTA), N_COMPONENTS, INTERMEDIATE_DIM)


def message_of(
    hospitals: ClassOfHospitals, hospital: int, epsilon: float, seed: int
) -> tuple[SiteMessage, int]:
    """Return a hospital's message, as the aggregator receives it, and its size in bytes.

    The guarantee of `dpcore.pca.site.site_message` holds for each of the hospital's people if it
    sends once and keeps the seed secret. Previews at other epsilons use the same unit noise and
    must not leave the hospital.
    """
    message = site_message(
        hospitals.moments.second_moments[hospital],
        hospitals.people(hospital),
        settings_of(epsilon),
        rng=Repetition(seed).rng(Purpose.SITE_NOISE, hospital),
    )
    return transmit(message, "native")


def components_of(message: SiteMessage) -> FloatArray:
    """Return (n_components, n_features) of the directions in one message."""
    return aggregate([message], N_COMPONENTS)[1]


def combine(messages: Mapping[int, SiteMessage]) -> FloatArray:
    """Return (n_components, n_features) of all messages.

    They are added in the order of the hospitals, so that the order of arrival does not matter.
    """
    return aggregate([messages[hospital] for hospital in sorted(messages)], N_COMPONENTS)[1]


def combine_by_noise(messages: Mapping[int, SiteMessage]) -> FloatArray:
    """Return the components of all messages, weighted by 1 / sigma^2 instead of people.

    Every sigma is public, so this is post-processing. In a plain average one hospital with a small
    epsilon adds its noise to the result of all.
    """
    ordered = [messages[hospital] for hospital in sorted(messages)]
    weights = np.array([message.sigma**-2 for message in ordered])
    inbox = Inbox(weights / weights.sum())
    for message in ordered:
        inbox.receive(message)
    add_up([inbox])
    return leading_directions(inbox.average, N_COMPONENTS, ranking="value", from_proxies=True)[1]


def hospital_guarantee(hospitals: ClassOfHospitals, hospital: int, epsilon: float) -> Guarantee:
    """Return the guarantee of a hospital's message for each of its people."""
    settings = settings_of(epsilon)
    return noise_guarantee(
        settings, EVERY_SITE, [noise_scales(hospitals.people(hospital), settings)]
    )
