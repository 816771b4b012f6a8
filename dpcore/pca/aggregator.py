"""Steps of the aggregator: average the messages of the sites and return the leading directions.

Algorithm 1, steps 9 to 11, of Imtiaz & Sarwate (2018). The aggregator reads only messages, so all
of this is post-processing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
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
    choose_bases,
)
from dpcore.pca.centre_rule import DIFFERENCES, MEAN, NO_CENTRE, n_above_mean_error
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import SiteMessage
from dpcore.privacy import Guarantee
from dpcore.spectra import PublicBasis, Spectrum, proxy_aggregates, uncentred_bases


class Inbox:
    """Messages of one kind, one from each site. Only the average of whole matrices is stored.

    weights: shape (n_sites,). n_s / N, in the order in which the messages arrive.
    precision: Data type of the average of whole matrices; that of the messages by default.
    n_bytes: Length of each message.
    proxies: list of shape (intermediate_dim, n_features). Transpose of each site's P_s; empty for
        whole matrices.
    average: Average with weights n_s / N; set by `add_up`.
    variance: Variance of an entry of the average of proxies, from the differences between them; 0
        for a single proxy and for whole matrices. Set by `add_up`.
    """

    average: Spectrum
    variance: float = 0.0

    def __init__(self, weights: FloatArray, precision: DTypeLike | None = None):
        self.weights = weights
        self.n_bytes: list[int] = []
        self.proxies: list[FloatArray] = []
        self.sum_of_matrices: FloatArray | None = None
        self._precision = precision

    def receive(self, message: SiteMessage, n_bytes: int = 0) -> None:
        """Add the message of a site and its length in bytes."""
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
        """Return R of the longest proxy, or 0 for whole matrices."""
        return max(map(len, self.proxies), default=0)


def add_up(inboxes: Iterable[Inbox]) -> None:
    """Compute the average A_c of each kind of message (step 10).

    A proxy that is the beginning of a longer one shares its sums.

    inboxes: Inboxes that contain a message of every site.
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
            box.variance = _variance_of_average(box, aggregate)
            waiting.remove(box)


def _variance_of_average(box: Inbox, average: FloatArray) -> float:
    """Return the variance of an entry of the average of P_s P_s^T, from their squared distances.

    If all P_s P_s^T have noise of variance v, the weighted mean of the squares of their distances
    from the average is (1 - sum w^2) v, and the average has noise of variance v sum w^2.
    """
    of_weights = float(box.weights @ box.weights)
    if of_weights >= 1:
        return 0.0
    # Columns of P_s are orthogonal.
    squares = [float((np.einsum("rd,rd->r", P, P) ** 2).sum(dtype=float)) for P in box.proxies]
    spread = float(box.weights @ squares) - float(np.vdot(average, average))
    return max(spread, 0.0) / average.size * of_weights / (1 - of_weights)


def leading_directions(
    average: Spectrum, n_components: int, *, ranking: str, from_proxies: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the K leading eigenpairs of the average (step 11), as in `aggregate`."""
    if not from_proxies:
        return average.leading(n_components, by=ranking)
    eigenvalues, components = average.leading(n_components)
    # An average of proxies has negative eigenvalues only by rounding.
    return np.maximum(eigenvalues, 0), components


def aggregate(
    messages: Sequence[SiteMessage], n_components: int, *, ranking: str = "magnitude"
) -> tuple[FloatArray, FloatArray]:
    """Return the top-K subspace of the average of the messages, weighted by n_s / N.

    Parameters
    ----------
    messages : sequence of SiteMessage
        All proxies or all whole matrices, with the same number of
        features.
    n_components : int
        K. If the proxies together span fewer directions, the rest of the subspace is
        arbitrary.
    ranking : {"magnitude", "value"}
        How eigenvalues of an average of whole matrices are ranked; an average of proxies has none
        below zero.

    Returns
    -------
    eigenvalues : ndarray of shape (n_components,)
    components : ndarray of shape (n_components, n_features)

    Raises
    ------
    ParameterError
        If there are no messages, or they differ in kind or in number of
        features.
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
        box.average, n_components, ranking=ranking, from_proxies=not messages[0].whole
    )


@dataclass(frozen=True)
class Subspace:
    """A K-dimensional subspace with its guarantee and its communication cost.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        Orthonormal rows, leading one first.
    eigenvalues : ndarray of shape (n_components,)
        Eigenvalues of the second moment that was decomposed, in its units.
    guarantee : Guarantee
    sigma : ndarray of shape (n_sites,)
        Noise standard deviation each site added to a second-moment entry, without masks that
        cancel; empty if sites add none.
    bytes_sent : ndarray of shape (n_sites,)
        Length of the messages of each site, and of the average mean that is sent back if sites
        share one; zero if a site sends nothing.
    n_rounds : int
        Number of messages that are sent one after the other; those of different sites
        may be sent in parallel. A shared mean takes two more: the means, and the average back.
    centre : ndarray of shape (n_features,) or None
        Released centre of the rows, in their units;
        None without centring.
    centre_choice : str
        Name of the centre, an item of `dpcore.pca.centre_rule.CENTRES`. With differences there is
        no centre, and `centre` is the public middle.
    diagnostics : dict
        Diagnostics of the method; empty for closed forms.
    """

    components: FloatArray
    eigenvalues: FloatArray
    guarantee: Guarantee
    sigma: FloatArray = field(default_factory=lambda: np.zeros(0))
    bytes_sent: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    n_rounds: int = 1
    centre: FloatArray | None = None
    centre_choice: str = NO_CENTRE
    diagnostics: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class NoisyAverage:
    """Noisy second moment of all sites, after their parts were combined.

    sigma, bytes_sent: shape (n_sites,). As in `Subspace`.
    remaining_sigma: Noise standard deviation in an entry of the average, before any truncation at
        the sites.
    from_proxies: Whether sites sent their leading directions only.
    mean_sigma: Noise of the centre, if its outer product was subtracted; 0 on the sphere.
    noise: Shape of the noise, if it differs from that of the settings.
    centre: shape (n_features,) or None. As in `Subspace`.
    centre_choice: As in `Subspace`.
    mean_error: As in `ReleaseSettings`.
    total: Energy of all directions, if it is public.
    proxy_variance: Variance of an entry of an average of proxies, from their differences.
    """

    spectrum: Spectrum
    guarantee: Guarantee
    sigma: FloatArray
    bytes_sent: IntArray
    remaining_sigma: float
    from_proxies: bool = False
    mean_sigma: float = 0.0
    noise: str | None = None
    n_rounds: int = 1
    centre: FloatArray | None = None
    centre_choice: str = NO_CENTRE
    mean_error: float = 0.0
    total: float | None = None
    proxy_variance: float = 0.0

    def decompose(self, settings: ReleaseSettings) -> Spectrum:
        """Return the spectrum whose leading directions are released.

        This is the denoised matrix if the settings denoise, and the average otherwise. Proxies were
        denoised before they were cut. Those of pictures get the public order of directions below
        the noise of their average.
        """
        if self.from_proxies:
            first = settings.bases[0] if settings.bases else None
            if first is None or first.image_shape is None or first.pixels is not None:
                return self.spectrum
            return self.spectrum.in_public_order(self.proxy_variance, first)
        noise, bases = self.noise or settings.noise, self.bases(settings)
        return self.spectrum.denoised(self.remaining_sigma, bases=bases, noise=noise)

    def bases(self, settings: ReleaseSettings) -> tuple[PublicBasis, ...]:
        """Return the bases in which the noisy second moment is denoised."""
        # The centre of rows on the sphere is exactly zero if no mean was released.
        has_mean = self.centre is not None and self.centre.any()
        has_centre = has_mean or self.centre_choice == DIFFERENCES
        is_uncentred = settings.on_sphere and not has_centre
        bases = uncentred_bases(settings.bases) if is_uncentred else settings.bases
        return choose_bases(
            self.spectrum,
            sigma=self.remaining_sigma,
            bases=bases,
            noise=self.noise or settings.noise,
        )

    def subspace(self, settings: ReleaseSettings) -> Subspace:
        """Return the K leading directions."""
        eigenvalues, components = leading_directions(
            self.decompose(settings),
            settings.n_components,
            ranking=settings.ranking,
            from_proxies=self.from_proxies,
        )
        return Subspace(
            components,
            eigenvalues,
            self.guarantee,
            self.sigma,
            self.bytes_sent,
            self.n_rounds,
            self.centre,
            self.centre_choice,
        )

    @property
    def subtracted_mean(self) -> NoisyMean | None:
        """Return the noisy mean whose outer product was subtracted.

        None if no mean was subtracted or it is exact.
        """
        if self.centre is None or self.mean_sigma == 0:
            return None
        return NoisyMean(self.centre, self.mean_sigma)

    def assessment(
        self, settings: ReleaseSettings, *, rng: np.random.Generator
    ) -> Assessment | None:
        """Assess the leading directions of a noisy second moment that was not cut.

        Components that the error of a mean chosen by votes could give are not above the noise.

        rng: Generator of the probes of a denoised matrix. Returns None for denoised matrices ranked
            by magnitude.
        """
        assessment = self._assessment_by_noise(settings, rng=rng)
        if assessment is None or self.centre_choice != MEAN or self.mean_error == 0:
            return assessment
        eigenvalues, _ = self.decompose(settings).leading(settings.n_components)
        trace = float(np.trace(self.spectrum.matrix))
        n_above = n_above_mean_error(assessment.n_above_noise, eigenvalues, trace, self.mean_error)
        return replace(assessment, n_above_noise=n_above)

    def _assessment_by_noise(
        self, settings: ReleaseSettings, *, rng: np.random.Generator
    ) -> Assessment | None:
        noise, mean = self.noise or settings.noise, self.subtracted_mean
        bases = self.bases(settings)
        if not bases or self.remaining_sigma == 0:
            return assess(
                self.spectrum,
                settings.n_components,
                sigma=self.remaining_sigma,
                noise=noise,
                ranking=settings.ranking,
                mean=mean,
            )
        if settings.ranking != "value":
            return None
        return assess_by_probes(
            self.spectrum.denoised(self.remaining_sigma, bases=bases, noise=noise),
            settings.n_components,
            [(NoisyPart(self.spectrum.matrix, self.remaining_sigma, mean=mean), rng)],
            sigma=self.remaining_sigma,
            bases=bases,
            noise=noise,
            known_total=self.total,
        )
