"""What the aggregator does: average what the sites sent, and give their leading directions.

Algorithm 1, steps 9 to 11, of Imtiaz & Sarwate (2018). The aggregator sees messages and nothing
else, so all of this is post-processing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.pca.assessment import (
    Assessment,
    NoisyMean,
    NoisyPart,
    assess,
    assess_by_probes,
    bases_worth,
)
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import SiteMessage
from dpcore.privacy import Guarantee
from dpcore.spectra import PublicBasis, Spectrum, proxy_aggregates


class Inbox:
    """Messages of one kind, one a site: of whole matrices their average alone is kept.

    weights: shape (n_sites,). n_s / N, in the order in which the messages come.
    precision: Of the average of whole matrices; that of the messages by default.
    n_bytes: Length of each message.
    proxies: list of shape (intermediate_dim, n_features). The transpose of each site's P_s; of
        whole matrices none is kept.
    average: Weighted by n_s / N; once `add_up` has made it.
    """

    average: Spectrum

    def __init__(self, weights: FloatArray, precision: DTypeLike | None = None):
        self.weights = weights
        self.n_bytes: list[int] = []
        self.proxies: list[FloatArray] = []
        self.sum_of_matrices: FloatArray | None = None
        self._precision = precision

    def receive(self, message: SiteMessage, n_bytes: int = 0) -> None:
        """Take what a site sent, and how many bytes it took."""
        precision = np.dtype(self._precision or message.values.dtype)
        weight = self.weights[len(self.n_bytes)].astype(precision)
        self.n_bytes.append(n_bytes)
        if not message.whole:
            self.proxies.append(message.values.T)
            return
        share, before = message.values * weight, self.sum_of_matrices
        self.sum_of_matrices = share if before is None else np.add(before, share, share)

    @property
    def rank(self) -> int:
        """R of the longest proxy; 0 of whole matrices."""
        return max(map(len, self.proxies), default=0)


def add_up(inboxes: Iterable[Inbox]) -> None:
    """A_c for messages of each kind: step 10. Proxies that begin others are added up on the way.

    inboxes: Each with a message of every site.
    """
    waiting = sorted(inboxes, key=lambda box: -box.rank)
    while waiting:
        longest = waiting[0]
        if longest.sum_of_matrices is not None:
            longest.average = Spectrum(longest.sum_of_matrices)
            waiting.remove(longest)
            continue
        inside = [
            box
            for box in reversed(waiting)
            if box.proxies and all(map(np.may_share_memory, box.proxies, longest.proxies))
        ]
        aggregates = proxy_aggregates(
            longest.proxies, longest.weights, [box.rank for box in inside]
        )
        for box, aggregate in zip(inside, aggregates, strict=True):
            box.average = Spectrum(aggregate)
            waiting.remove(box)


def leading_directions(
    average: Spectrum, n_components: int, *, ranking: str, of_proxies: bool
) -> tuple[FloatArray, FloatArray]:
    """Step 11: the K leading eigenpairs of the average, as in `aggregate`."""
    if not of_proxies:
        return average.leading(n_components, by=ranking)
    eigenvalues, components = average.leading(n_components)
    # An average of proxies has no eigenvalue below zero but by rounding.
    return np.maximum(eigenvalues, 0), components


def aggregate(
    messages: Sequence[SiteMessage], n_components: int, *, ranking: str = "magnitude"
) -> tuple[FloatArray, FloatArray]:
    """Top-K subspace of the average of what the sites sent, weighted by n_s / N.

    Parameters
    ----------
    messages : sequence of SiteMessage
        All proxies or all whole matrices, with the same number of features.
    n_components : int
        K. If the proxies together span fewer directions, the rest of the subspace is arbitrary.
    ranking : {"magnitude", "value"}
        How eigenvalues of an average of whole matrices are ranked; an average of proxies has
        none below zero.

    Returns
    -------
    eigenvalues : ndarray of shape (n_components,)
    components : ndarray of shape (n_components, n_features)

    Raises
    ------
    ParameterError
        If there are no messages, or they differ in kind or in number of features.
    """
    if not messages:
        raise ParameterError("messages", "at least one", 0)
    kinds = {(message.whole, message.n_features) for message in messages}
    if len(kinds) > 1:
        raise ParameterError(
            "messages", "all of one kind and of one number of features", sorted(kinds)
        )
    counts = np.array([message.n_samples for message in messages], dtype=float)
    box = Inbox(counts / counts.sum())
    for message in messages:
        box.receive(message)
    add_up([box])
    return leading_directions(
        box.average, n_components, ranking=ranking, of_proxies=not messages[0].whole
    )


@dataclass(frozen=True)
class Subspace:
    """A K-dimensional subspace, what it promises and what it cost to send.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        Orthonormal rows, leading one first.
    eigenvalues : ndarray of shape (n_components,)
        In units of the second moment the subspace was taken from.
    guarantee : Guarantee
    sigma : ndarray of shape (n_sites,)
        Noise standard deviation each site added to a second-moment entry, without masks that
        cancel; empty where sites add none.
    bytes_sent : ndarray of shape (n_sites,)
        Length of what each site sent, and of the average mean that came back to it where sites
        share one; zero where a site sends nothing.
    n_rounds : int
        How many messages travel one after the other; those of different sites may go at once. A
        mean that sites share takes two more: their means, and the average back.
    centre : ndarray of shape (n_features,) or None
        The released point that rows were centred by, in their units; None where there is none.
    diagnostics : dict
        What the method has to say about how it ran; empty for closed forms.
    """

    components: FloatArray
    eigenvalues: FloatArray
    guarantee: Guarantee
    sigma: FloatArray = field(default_factory=lambda: np.zeros(0))
    bytes_sent: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    n_rounds: int = 1
    centre: FloatArray | None = None
    diagnostics: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class NoisyAverage:
    """The noisy second moment of everybody, as it is where the sites' parts have come together.

    sigma, bytes_sent: shape (n_sites,). As in `Subspace`.
    sigma_left: Noise standard deviation in an entry of the average, before any truncation at the
        sites.
    of_proxies: Whether sites sent their leading directions only.
    mean_sigma: Of the noise in the centre, where its outer product was subtracted; 0 on the sphere.
    noise: Shape of the noise, where it is not that of the settings.
    centre: shape (n_features,) or None. As in `Subspace`.
    total: Energy of all directions, where it is public.
    """

    spectrum: Spectrum
    guarantee: Guarantee
    sigma: FloatArray
    bytes_sent: IntArray
    sigma_left: float
    of_proxies: bool = False
    mean_sigma: float = 0.0
    noise: str | None = None
    n_rounds: int = 1
    centre: FloatArray | None = None
    total: float | None = None

    def decomposed(self, settings: ReleaseSettings) -> Spectrum:
        """What the leading directions are taken of: a noisy second moment without what is likely
        to be noise, where that is asked for. Proxies were denoised before they were cut."""
        if self.of_proxies:
            return self.spectrum
        noise, bases = self.noise or settings.noise, self.bases(settings)
        return self.spectrum.denoised(self.sigma_left, bases=bases, noise=noise)

    def bases(self, settings: ReleaseSettings) -> tuple[PublicBasis, ...]:
        """In which a noisy second moment is denoised."""
        return bases_worth(
            self.spectrum,
            settings.n_components,
            sigma=self.sigma_left,
            bases=settings.bases,
            noise=self.noise or settings.noise,
            total=self.total,
        )

    def subspace(self, settings: ReleaseSettings) -> Subspace:
        """The K leading directions."""
        eigenvalues, components = leading_directions(
            self.decomposed(settings),
            settings.n_components,
            ranking=settings.ranking,
            of_proxies=self.of_proxies,
        )
        return Subspace(
            components,
            eigenvalues,
            self.guarantee,
            self.sigma,
            self.bytes_sent,
            self.n_rounds,
            self.centre,
        )

    @property
    def subtracted_mean(self) -> NoisyMean | None:
        """None where none was, and where there was no noise in it."""
        if self.centre is None or self.mean_sigma == 0:
            return None
        return NoisyMean(self.centre, self.mean_sigma)

    def assessment(
        self, settings: ReleaseSettings, *, rng: np.random.Generator
    ) -> Assessment | None:
        """How good those directions are, of a noisy second moment that nothing was cut from.

        rng: Of the probes of a denoised one. None where denoised ones are ranked by magnitude.
        """
        noise, mean = self.noise or settings.noise, self.subtracted_mean
        bases = self.bases(settings)
        if not bases or self.sigma_left == 0:
            return assess(
                self.spectrum,
                settings.n_components,
                sigma=self.sigma_left,
                noise=noise,
                ranking=settings.ranking,
                mean=mean,
            )
        if settings.ranking != "value":
            return None
        return assess_by_probes(
            self.spectrum.denoised(self.sigma_left, bases=bases, noise=noise),
            settings.n_components,
            [(NoisyPart(self.spectrum.matrix, self.sigma_left, mean=mean), rng)],
            sigma=self.sigma_left,
            bases=bases,
            noise=noise,
            known_total=self.total,
        )
