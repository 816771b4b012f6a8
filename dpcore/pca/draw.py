"""One repetition at all sites at once, shared by every protocol that needs it.

DPdisPCA, sending whole matrices and a site alone all start from the same noisy second moments.
Drawing and decomposing them once is what makes several protocols cost little more than one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import DTypeLike

from dpcore.arrays import FloatArray, IntArray
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.pca.messages.encoding import message_length
from dpcore.pca.noisy_sites import Kind, NoisySites, Received, SiteAtWork
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import Calibrate, NoiseScales, noise_scales, noisy_mean
from dpcore.spectra import SiteMoments, Spectrum
from dpcore.streams import Purpose, Repetition


class Draw:
    """One repetition: site moments, settings and the streams of noise.

    Parameters
    ----------
    moments : SiteMoments
    settings : ReleaseSettings
    repetition : Repetition
    proxies, average : bool
        Which messages of the sites the protocols to be run will ask for.
    calibrate : callable
        (people, settings) -> NoiseScales: the noise of whoever holds the rows of so many.
    precision : data type, optional
        Of averages and of noise added to them; that of the moments by default.
    watch : callable
        Called with a `SiteAtWork` as each site is done, by the thread that did it.

    Attributes
    ----------
    everybody : SiteMoments
        Of all sites.
    sites : tuple of int
        The numbers of those that answer.
    moments : SiteMoments
        Of those that answer: all that a protocol reads.
    """

    def __init__(
        self,
        moments: SiteMoments,
        settings: ReleaseSettings,
        repetition: Repetition,
        *,
        proxies: bool = True,
        average: bool = True,
        calibrate: Calibrate = noise_scales,
        precision: DTypeLike | None = None,
        watch: Callable[[SiteAtWork], None] = lambda _: None,
        _sites: NoisySites | None = None,
    ):
        self._sites = _sites or NoisySites(
            moments,
            [settings],
            repetition,
            proxies=proxies,
            average=average,
            calibrate=calibrate,
            precision=precision,
            watch=watch,
        )
        self.everybody = moments
        self.moments = self._sites.moments
        self.sites = self._sites.numbers
        self.settings = settings
        self.repetition = repetition
        self.calibrate = calibrate
        self.precision = np.dtype(precision or moments.second_moments.dtype)

    @classmethod
    def several(
        cls,
        moments: SiteMoments,
        settings: Sequence[ReleaseSettings],
        repetition: Repetition,
        *,
        proxies: bool = True,
        average: bool = True,
        threads: int | None = None,
        checkpoint: Callable[[], None] = lambda: None,
    ) -> tuple[Draw, ...]:
        """Draws that share their noise and every decomposition they can, one a setting.

        Parameters
        ----------
        moments, repetition, proxies, average
            As for one draw.
        settings : sequence of ReleaseSettings
            Equal but for K, R, truncation and encoding.
        threads : int, optional
            Sites worked on at the same time; one a processor by default.
        checkpoint : callable
            Called before each site; what it raises ends the draw.

        Raises
        ------
        ParameterError
            If the settings differ in what shapes the noise, or one cannot run.
        """
        shared = NoisySites(
            moments,
            settings,
            repetition,
            proxies=proxies,
            average=average,
            calibrate=noise_scales,
            threads=threads,
            checkpoint=checkpoint,
        )
        return tuple(cls(moments, each, repetition, _sites=shared) for each in settings)

    @property
    def n_samples(self) -> list[int]:
        """People at each site that answers."""
        return [int(n) for n in self.moments.n_samples]

    @property
    def n_sites(self) -> int:
        """S, whether they answer or not."""
        return self.everybody.n_sites

    @property
    def n_people(self) -> int:
        """N, at all sites that answer together."""
        return sum(self.n_samples)

    @property
    def scales(self) -> list[NoiseScales]:
        """Noise scales of each site."""
        return self._sites.scales

    @property
    def sigma(self) -> FloatArray:
        """(S,) standard deviation of the noise in an entry of each site's second moment."""
        return np.array([scales.moment for scales in self.scales])

    @property
    def noisy_means(self) -> FloatArray | None:
        """(S, D) means as the sites release them, or None when rows are taken as centred."""
        return self._sites.noisy_means

    @property
    def first(self) -> Spectrum:
        """The first site's noisy second moment, around nobody's noisy mean but its own."""
        return self._sites.first()

    def proxies(self) -> Received:
        """What arrives when every site sends its proxy."""
        return self._with_means(self._sites.received(Kind.proxy(self.settings)))

    def whole_matrices(self) -> Received:
        """What arrives when every site sends its whole noisy second moment."""
        return self._with_means(self._sites.received(Kind(self.settings.encoding)))

    def decomposed(self, name: str, make: Callable[[], FloatArray]) -> Spectrum:
        """A matrix that depends on the noise only, decomposed once for all that share it."""
        return self._sites.once(name, lambda: Spectrum(make()))

    @property
    def pooled_moment(self) -> FloatArray:
        """Everybody's exact second moment, in the precision of averages."""
        return self._sites.once("pooled moment", self._pooled_moment)

    def pooled_noise(self, sigma: float, purpose: Purpose) -> FloatArray:
        """One noise matrix added where everything has been averaged already."""
        return symmetric_gaussian_noise(
            self.moments.n_features,
            sigma,
            shape=self.settings.noise,
            rng=self.repetition.rng(purpose),
            dtype=self.precision,
        )

    def noisy_pooled_mean(self, sigma: float, purpose: Purpose) -> FloatArray:
        """(D,) mean of everybody with noise added once, where that of the matrices is added."""

        def noisy() -> FloatArray:
            mean = self.moments.weights @ self.moments.means
            return noisy_mean(mean, sigma, rng=self.repetition.rng(purpose, 1))

        return self._sites.once(f"pooled mean {purpose}", noisy)

    def whole_matrix_bytes(self) -> IntArray:
        """(S,) bytes of each site's message when it sends its whole noisy matrix as it is."""
        n_features = self.moments.n_features
        length = message_length(n_features, n_features, self._itemsize, whole=True)
        return np.full(self.moments.n_sites, length + self.mean_bytes)

    def raw_row_bytes(self) -> IntArray:
        """(S,) bytes of each site's rows, sent as they are."""
        return self.moments.n_samples * self.moments.n_features * self._itemsize

    def _with_means(self, received: Received) -> Received:
        return replace(received, message_bytes=received.message_bytes + self.mean_bytes)

    @property
    def mean_bytes(self) -> int:
        """What a site sends besides, when the rows are centred by a private mean."""
        return 0 if self.settings.mean_share == 0 else self.moments.n_features * self._itemsize

    def _pooled_moment(self) -> FloatArray:
        weights = self.moments.weights.astype(self.precision)
        return np.tensordot(weights, self.moments.second_moments, axes=1)

    @property
    def _itemsize(self) -> int:
        return self.moments.second_moments.itemsize
