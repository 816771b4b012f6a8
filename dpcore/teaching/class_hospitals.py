"""A class of hospitals: each publishes at its own epsilon, then all run the improved version.

Each hospital has its share of the digits. In the first round its message is that of `site_message`
with the published steps, around the middle of a pixel's public limits so that nothing reads the
rows first, and the result is that of `aggregate`, equal to the bit. The improved version is the
protocol `dpdis` of the start page, run once for all hospitals that sent a message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.data import load_dataset
from dpcore.data.catalog import entry_of
from dpcore.experiments.engine.fields import PUBLISHED
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.pca.problem import local_problem
from dpcore.pca import Draw, SiteMessage, aggregate, site_message
from dpcore.pca.aggregator import Inbox, add_up, leading_directions
from dpcore.pca.messages import transmit
from dpcore.pca.protocols.protocol import EVERY_SITE, noise_guarantee
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import noise_scales
from dpcore.privacy import Guarantee, PrivacyBudget
from dpcore.spectra import (
    SiteMoments,
    SiteRows,
    captured_energy,
    leading_eigenpairs,
    public_energy,
)
from dpcore.streams import Purpose, Repetition

PICTURES, SHAPE = "mnist-small", (14, 14)
# Defaults of the start page for these pictures.
N_COMPONENTS, INTERMEDIATE_DIM = 30, 60
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
    rows: Rows of the same hospitals, for moments around a centre that they release together.
    """

    moments: SiteMoments
    exact: FloatArray
    reference: FloatArray
    rows: SiteRows

    @classmethod
    @lru_cache(maxsize=2)  # of 60 hospitals, 18 MB
    def deal(cls, n_hospitals: int) -> ClassOfHospitals:
        """Deal the digits to a number of hospitals.

        Raises `ParameterError` if there are fewer than two people for each.
        """
        spec = RunSpec.bounded(dataset=PICTURES, sites=n_hospitals)
        problem = local_problem(spec.problem_key())
        rows = local_problem(improved_spec(n_hospitals, 1.0).problem_key()).moments
        if not isinstance(problem.moments, SiteMoments) or not isinstance(rows, SiteRows):
            raise TypeError("bounded rows must have moments, and rows on the sphere none")
        exact = leading_eigenpairs(problem.moments.pooled(), N_COMPONENTS)[1]
        # The pictures are float32; a single site's message is computed in float64.
        return cls(replace(problem.moments, precision=None), exact, problem.reference, rows)

    def rebuild(self, components: FloatArray, centre: FloatArray | None = None) -> FloatArray:
        """Return ink of ten pictures rebuilt from components, shape (10, 196).

        There is one picture of each numeral.

        components: shape (n_components, n_features)
        centre: shape (n_features,). Released centre of the rows; the public middle if None.
        """
        rows = (numerals() - MIDDLE) / REACH
        about = np.zeros(rows.shape[1]) if centre is None else centre
        ink: FloatArray = (about + (rows - about) @ components.T @ components) * REACH + MIDDLE
        return ink

    def people(self, hospital: int) -> int:
        """Return the public number of people of a hospital."""
        return int(self.moments.n_samples[hospital])

    def own_components(self, hospital: int) -> FloatArray:
        """Return (n_components, n_features) without noise, which must not leave the hospital."""
        return leading_eigenpairs(self.moments.second_moments[hospital], N_COMPONENTS)[1]

    @cached_property
    def prior_energy(self) -> float:
        """Captured energy of the public constant of pictures, the floor of the improved version."""
        picture = entry_of(PICTURES).picture
        energy = public_energy(self.reference, SHAPE, picture, N_COMPONENTS)
        return energy / captured_energy(self.exact, self.reference)

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
    """Return (10, 196) ink of one picture of each numeral, the nearest to the mean of all."""
    pictures = load_dataset(PICTURES)
    labels = np.asarray(pictures.labels)
    examples = []
    for label in np.unique(labels):
        rows = pictures.X[labels == label]
        distances = np.linalg.norm(rows - rows.mean(axis=0), axis=1)
        examples.append(rows[int(np.argmin(distances))])
    return np.array(examples)


def settings_of(epsilon: float) -> ReleaseSettings:
    """Return the settings of a hospital's message, as published, at its epsilon."""
    steps = {name: value for name, value in PUBLISHED.items() if name != "denoise"}
    budget = PrivacyBudget(epsilon, DELTA)
    return ReleaseSettings(budget, N_COMPONENTS, INTERMEDIATE_DIM, **steps)


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


@dataclass(frozen=True, eq=False)
class ImprovedRound:
    """Result of the improved version for hospitals that answer together.

    epsilon: Epsilon of every hospital: the smallest that one of them has chosen.
    components: shape (n_components, n_features)
    centre: shape (n_features,), or None.
    energy: Captured energy relative to exact PCA.
    guarantee: Guarantee of this release, in addition to that of the first messages.
    """

    epsilon: float
    components: FloatArray
    centre: FloatArray | None
    energy: float
    guarantee: Guarantee


def improved_spec(n_hospitals: int, epsilon: float) -> RunSpec:
    """Return the specification of the start page's improved version."""
    return RunSpec.improved(dataset=PICTURES, sites=n_hospitals, epsilon=epsilon, delta=DELTA)


def improve(hospitals: ClassOfHospitals, epsilons: Mapping[int, float], seed: int) -> ImprovedRound:
    """Run the improved protocol for the hospitals that have sent, at their smallest epsilon.

    No hospital gives more than it has chosen. The noise is new, so that this release adds to that
    of the first messages.

    epsilons: Number of each hospital and the epsilon of its message; not empty.
    seed: Secret seed, not that of the first messages.
    """
    epsilon = min(epsilons.values())
    spec = improved_spec(hospitals.moments.n_sites, epsilon)
    settings = spec.settings(hospitals.moments.n_features, N_COMPONENTS)
    rows = hospitals.rows.at(sorted(epsilons))
    released = PROTOCOLS["dpdis"].release(Draw(rows, settings, Repetition(seed), average=False))
    components = released.components
    return ImprovedRound(
        epsilon, components, released.centre, hospitals.energy(components), released.guarantee
    )
