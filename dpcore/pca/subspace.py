"""What a PCA gives back: a noisy second moment, and the leading directions of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.pca.aggregator import leading_directions
from dpcore.pca.noise_field import NoisyMean
from dpcore.pca.self_assessment import Assessment, assess
from dpcore.pca.settings import ReleaseSettings
from dpcore.privacy import Guarantee
from dpcore.spectra import Spectrum


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

    def subspace(self, settings: ReleaseSettings) -> Subspace:
        """The K leading directions."""
        eigenvalues, components = leading_directions(
            self.spectrum,
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

    def assessment(self, settings: ReleaseSettings) -> Assessment:
        """How good those directions are, of a noisy second moment that nothing was cut from."""
        return assess(
            self.spectrum,
            settings.n_components,
            sigma=self.sigma_left,
            noise=self.noise or settings.noise,
            ranking=settings.ranking,
            mean=self.subtracted_mean,
        )
