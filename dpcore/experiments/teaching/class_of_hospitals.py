"""Algorithm 1 with a class for hospitals: each has its share of the digits and its own epsilon.

What a hospital sends is `site_message` and what comes of it `aggregate`: the class computes what a
simulation with the same messages would, to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.experiments.pca.problem import local_problem
from dpcore.experiments.pca.spec import RunSpec
from dpcore.pca import SiteMessage, aggregate, site_message
from dpcore.pca.aggregator import Inbox, add_up, leading_directions
from dpcore.pca.messages import sent
from dpcore.pca.protocols.protocol import EVERY_SITE, noise_guarantee
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import noise_scales
from dpcore.privacy import Guarantee, PrivacyBudget
from dpcore.spectra import SiteMoments, captured_energy, leading_eigenpairs
from dpcore.streams import Purpose, Repetition

N_COMPONENTS, INTERMEDIATE_DIM = 5, 10
DELTA = 1e-3
# Of a pixel's public limits, and how long a picture can be about it: a row is (pixels - 8) / 64.
MIDDLE, REACH = 8.0, 64.0


@dataclass(frozen=True, eq=False)
class ClassOfHospitals:
    """The digits, dealt to so many hospitals; nobody is at two.

    moments: Rows around the middle of the public limits of a pixel, of length 1 at most by them. No
        mean is bought: a hospital that sends needs to wait for no other.
    exact: shape (n_components, n_features). What everybody's rows together would give without
        noise.
    reference: shape (n_features, n_features). Centred second moment that energy is measured on.
    """

    moments: SiteMoments
    exact: FloatArray
    reference: FloatArray

    @classmethod
    def dealt(cls, n_hospitals: int) -> ClassOfHospitals:
        """Raises `ParameterError` if there are not two people for each."""
        spec = RunSpec(dataset="digits", sites=n_hospitals, preparation="bounded")
        problem = local_problem(spec.problem_key())
        if not isinstance(problem.moments, SiteMoments):
            raise TypeError("a preparation that waits for a centre has no moments yet")
        exact = leading_eigenpairs(problem.moments.pooled(), N_COMPONENTS)[1]
        return cls(problem.moments, exact, problem.reference)

    def people(self, hospital: int) -> int:
        """How many a hospital has; public."""
        return int(self.moments.n_samples[hospital])

    def own_components(self, hospital: int) -> FloatArray:
        """(n_components, n_features) without noise: for this hospital's eyes alone."""
        return leading_eigenpairs(self.moments.second_moments[hospital], N_COMPONENTS)[1]

    @property
    def chance(self) -> float:
        """What a random subspace keeps on average, as a share of what `exact` keeps."""
        kept = N_COMPONENTS / len(self.reference) * np.trace(self.reference)
        return float(kept / captured_energy(self.exact, self.reference))

    def energy(self, components: FloatArray) -> float:
        """What components keep, as a share of what `exact` keeps."""
        kept = captured_energy(components, self.reference)
        return float(kept / captured_energy(self.exact, self.reference))


def settings_of(epsilon: float) -> ReleaseSettings:
    """What a hospital is asked to send at its epsilon."""
    return ReleaseSettings(PrivacyBudget(epsilon, DELTA), N_COMPONENTS, INTERMEDIATE_DIM)


def message_of(
    hospitals: ClassOfHospitals, hospital: int, epsilon: float, seed: int
) -> tuple[SiteMessage, int]:
    """What a hospital sends, as it arrives, and its length in bytes.

    Promise: as `dpcore.pca.site.site_message`, for each of the hospital's people, as long as it
    sends once and nobody else knows the seed. What the hospital looks at before it sends, at other
    epsilons, has the same unit noise and must not leave it.
    """
    message = site_message(
        hospitals.moments.second_moments[hospital],
        hospitals.people(hospital),
        settings_of(epsilon),
        rng=Repetition(seed).rng(Purpose.SITE_NOISE, hospital),
    )
    return sent(message, "native")


def components_of(message: SiteMessage) -> FloatArray:
    """(n_components, n_features) that one message shows of its hospital."""
    return aggregate([message], N_COMPONENTS)[1]


def together(messages: Mapping[int, SiteMessage]) -> FloatArray:
    """(n_components, n_features) of what has arrived, added up by hospital's number: in whatever
    order messages come, the result is the same."""
    return aggregate([messages[hospital] for hospital in sorted(messages)], N_COMPONENTS)[1]


def weighed_together(messages: Mapping[int, SiteMessage]) -> FloatArray:
    """As `together`, each message weighed by 1 / sigma^2 instead of its number of people.

    Every sigma is public, so this is post-processing. In a plain average one hospital with a small
    epsilon brings its noise to all; here it counts for as much as it knows.
    """
    ordered = [messages[hospital] for hospital in sorted(messages)]
    weights = np.array([message.sigma**-2 for message in ordered])
    inbox = Inbox(weights / weights.sum())
    for message in ordered:
        inbox.receive(message)
    add_up([inbox])
    return leading_directions(inbox.average, N_COMPONENTS, ranking="value", of_proxies=True)[1]


def promise_of(hospitals: ClassOfHospitals, hospital: int, epsilon: float) -> Guarantee:
    """What a hospital's message promises each of its people, before or after it is made."""
    settings = settings_of(epsilon)
    return noise_guarantee(
        settings, EVERY_SITE, [noise_scales(hospitals.people(hospital), settings)]
    )
