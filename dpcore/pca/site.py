"""Steps of one site: add noise to its second moment, compute the leading directions, send them.

Algorithm 1, steps 2 to 7, of Imtiaz & Sarwate (2018). A single site calls `site_message`; a
simulation of many sites makes several messages from one `NoisySite` (`dpcore.pca.draw`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.pca.assessment import columns_differ, off_diagonal_energy
from dpcore.pca.settings import ReleaseSettings
from dpcore.picture_kinds import FULL
from dpcore.privacy import (
    Adversary,
    gaussian_sigma,
    l2_sensitivity_of_moment_and_mean,
    l2_sensitivity_of_votes,
    l2_sensitivity_on_sphere,
    mean_weight,
    published_sigma,
)
from dpcore.spectra import (
    COLUMNS_WHERE_BETTER,
    PublicBasis,
    SiteRows,
    Spectrum,
    denoise_mean,
    picture_basis,
    uncentred_bases,
)


@dataclass(frozen=True)
class SiteMessage:
    """A site's message, the only thing that leaves the site.

    Parameters
    ----------
    values : ndarray of shape (n_features, R) or (n_features, n_features)
        The proxy P_s, or the whole noisy second moment when `whole` is true.
    n_samples : int
        Public: number of samples at the site.
    sigma : float
        Public: standard deviation of the noise in one entry of the second moment.
    whole : bool
    """

    values: FloatArray
    n_samples: int
    sigma: float
    whole: bool = False

    @property
    def n_features(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class NoiseScales:
    """Standard deviations of a site's noise, in units of one entry of the perturbed array.

    mean: 0 if no mean is released.
    votes: Noise of the shares of votes on the centre; 0 if there is no vote.
    l2_sensitivity: Change of the matrix when one row is replaced, together with the private mean,
        weighted by its smaller noise; in the matrix's units.
    mu: Parameter of the Gaussian mechanism that each adversary faces, if it knows parts of the
        noise.
    """

    moment: float
    mean: float
    l2_sensitivity: float
    mu: Mapping[Adversary, float] | None = None
    votes: float = 0.0


@lru_cache(maxsize=1024)
def noise_scales(n_samples: float, settings: ReleaseSettings) -> NoiseScales:
    """Calibrate one site's noise, with the private mean paid from the same budget.

    Gaussian releases compose by adding mu^2 = (change / sigma)^2. One row changes the mean and the
    moment together. On the sphere the moment is computed around the mean that was released before,
    so each part counts with its own largest change, and so do the votes that choose the centre.
    The published formula has no mean: with a share s for one, the printed noise is divided by
    sqrt(1 - s).
    """
    bound, share, test = settings.row_norm_bound, settings.mean_share, settings.test_share
    if share is None:
        raise ParameterError("mean_share", "settled before noise is calibrated", share)
    if settings.on_sphere:
        of_votes = l2_sensitivity_of_votes(n_samples)
        of_moment = l2_sensitivity_on_sphere(n_samples, of_differences=settings.is_of_differences)
        per_share = of_moment / math.sqrt(1 - share - test)
        weight = math.sqrt(share) * per_share / (2 / n_samples)
        votes_weight = math.sqrt(test) * per_share / of_votes
        l2_sensitivity = l2_sensitivity_on_sphere(
            n_samples,
            weight=weight,
            votes_weight=votes_weight,
            of_differences=settings.is_of_differences,
        )
    else:
        weight, votes_weight = mean_weight(share, bound), 0.0
        l2_sensitivity = l2_sensitivity_of_moment_and_mean(n_samples, bound, weight=weight)
    if settings.calibration == "published":
        moment = published_sigma(settings.budget, n_samples, bound) / math.sqrt(1 - share - test)
        moment *= 2 if settings.is_of_differences else 1
    else:
        moment = gaussian_sigma(settings.budget, l2_sensitivity, calibration=settings.calibration)
    return NoiseScales(
        moment,
        moment / weight if share > 0 else 0.0,
        l2_sensitivity,
        votes=moment / votes_weight if test > 0 else 0.0,
    )


# Map (n_samples, settings) to the noise scales of the data holder.
Calibrate = Callable[[float, ReleaseSettings], NoiseScales]


def noise_of_sites(
    settings: ReleaseSettings, n_samples: Iterable[int], calibrate: Calibrate = noise_scales
) -> list[NoiseScales]:
    """Return the noise scales of each site."""
    return [calibrate(int(n), settings) for n in n_samples]


def noisy_second_moment(
    second_moment: FloatArray,
    sigma: float,
    *,
    noise: str,
    rng: np.random.Generator,
    precision: DTypeLike | None = None,
) -> FloatArray:
    """Return A + E (Algorithm 1, step 4), with E drawn in `precision`, or in that of A."""
    dtype = precision or second_moment.dtype
    if sigma == 0:
        return second_moment.astype(dtype)
    noise_alone = symmetric_gaussian_noise(
        len(second_moment), sigma, shape=noise, rng=rng, dtype=dtype
    )
    return add_noise(second_moment, noise_alone)


def add_noise(exact: FloatArray, noise: FloatArray) -> FloatArray:
    """Return the sum in float64, rounded to the precision of the noise; overwrites the noise.

    The exact matrix must not be rounded first: the rounding error can be many times the change that
    one row causes.
    """
    return np.add(noise, exact, out=noise, dtype=np.float64, casting="same_kind")


def noisy_mean(mean: FloatArray, sigma: float, *, rng: np.random.Generator) -> FloatArray:
    """Return the mean of a site's rows as released for centring, shape (n_features,)."""
    return mean + sigma * rng.standard_normal(len(mean))


def noisy_votes(votes: FloatArray, sigma: float, *, rng: np.random.Generator) -> FloatArray:
    """Return the shares of pairs that vote for each position as released, shape (4,)."""
    return votes + sigma * rng.standard_normal(len(votes))


def centre_of_sphere(
    noisy_mean: FloatArray,
    half_widths: FloatArray | None = None,
    *,
    sigma: float = 0.0,
    image_shape: tuple[int, int] | None = None,
    picture: str = FULL,
) -> FloatArray:
    """Return the centre of the rows, from a noisy mean and public numbers only.

    The mean of pictures is denoised first (`dpcore.spectra.denoise_mean`). Other means are shrunk
    towards the public middle by the share of their squared length that is noise, of scale `sigma`
    in each entry (James & Stein 1961), which is closer to the rows' mean on average for every mean,
    and is the middle itself if all is noise. If the rows lie in a box, the centre is the point of
    the box next to the result: the part outside it is noise. Otherwise it is cut to the unit ball.
    """
    if image_shape is not None and sigma > 0:
        noisy_mean, sigma = (
            denoise_mean(noisy_mean, sigma, picture_basis(image_shape, picture)),
            0.0,
        )
    squared = float(noisy_mean @ noisy_mean)
    if squared == 0:
        return noisy_mean
    factor = max(0.0, 1 - max(len(noisy_mean) - 2, 0) * sigma**2 / squared)
    if half_widths is not None:
        nearest: FloatArray = np.clip(factor * noisy_mean, -half_widths, half_widths)
        return nearest
    return noisy_mean * min(factor, 1 / math.sqrt(squared))


def centre_of_site_rows(
    rows: SiteRows, noisy_mean: FloatArray | None, sigma: float = 0.0
) -> FloatArray:
    """Return `centre_of_sphere` with the public facts of the rows; zero without a mean."""
    if noisy_mean is None:
        return np.zeros(rows.n_features)
    return centre_of_sphere(
        noisy_mean,
        rows.half_widths,
        sigma=sigma,
        image_shape=rows.image_shape,
        picture=rows.picture,
    )


def centred_around(second_moment: FloatArray, own_mean: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the second moment around `mean` from the one around zero, given the rows' own mean.

    (1/n) sum (x - m)(x - m)^T = A - m mu^T - mu m^T + m m^T. Given released quantities only, this
    is post-processing.
    """
    cross = np.outer(mean, own_mean)
    centred = second_moment - cross - cross.T + np.outer(mean, mean)
    return centred.astype(second_moment.dtype, copy=False)


def proxy_from(eigenvalues: FloatArray, vectors: FloatArray, ranking: str) -> FloatArray:
    """Return P = U_R |Sigma_R|^(1/2) from the leading R eigenpairs of a noisy second moment.

    The noisy matrix is symmetric but indefinite, so its singular values are the magnitudes of its
    eigenvalues. Ranking by "magnitude" is the published step; it treats strongly negative noise as
    signal. Ranking by "value" keeps the largest eigenvalues and cuts negative ones to zero. Both
    are post-processing of the noisy matrix.

    eigenvalues: shape (intermediate_dim,)
    vectors: shape (intermediate_dim, n_features), orthonormal rows
    ranking: {"magnitude", "value"}. Ranking of the given eigenpairs.
    Returns: shape (n_features, intermediate_dim)
    """
    magnitudes = np.abs(eigenvalues) if ranking == "magnitude" else np.maximum(eigenvalues, 0)
    return vectors.T * np.sqrt(magnitudes)


class NoisySite:
    """A site's noisy second moment, and the messages that are computed from it.

    All messages share one decomposition, which does not change their values
    (`dpcore.spectra.Spectrum`).

    noisy: shape (n_features, n_features), symmetric. A + E. Stored without copying.
    sigma: Standard deviation of E.
    noise: {"isometric", "triangle"}. Shape of E.
    sigma_of_average: Noise of the average of all sites' matrices, to which denoising is adapted;
        that of this matrix by default.
    """

    def __init__(
        self,
        noisy: FloatArray,
        n_samples: int,
        sigma: float,
        noise: str = "isometric",
        sigma_of_average: float | None = None,
    ):
        self.noisy = noisy
        self.n_samples = n_samples
        self.sigma = sigma
        self.noise = noise
        self.sigma_of_average = sigma_of_average
        self.spectrum = Spectrum(noisy)
        self._longest: dict[tuple[object, ...], tuple[FloatArray, FloatArray]] = {}

    def centred(self, own_mean: FloatArray, mean: FloatArray) -> NoisySite:
        """Return the site with the same noise around a mean.

        The site's own noisy mean and that mean are given.
        """
        centred = centred_around(self.noisy, own_mean, mean)
        return NoisySite(centred, self.n_samples, self.sigma, self.noise, self.sigma_of_average)

    def denoised(
        self, bases: Sequence[PublicBasis], diagonal_of_average: FloatArray | None = None
    ) -> Spectrum:
        """Return the spectrum of the denoised matrix (`dpcore.spectra.denoise`)."""
        return self.spectrum.denoised(
            self.sigma,
            bases=bases,
            noise=self.noise,
            sigma_of_average=self.sigma_of_average,
            diagonal_of_average=diagonal_of_average,
        )

    def whole(self) -> SiteMessage:
        """Return the whole noisy matrix as a message."""
        return SiteMessage(self.noisy, self.n_samples, self.sigma, whole=True)

    def proxy(
        self,
        intermediate_dim: int,
        ranking: str,
        bases: Sequence[PublicBasis] = (),
        diagonal_of_average: FloatArray | None = None,
    ) -> SiteMessage:
        """Return P_s (steps 5 and 6), as a view of a longer proxy if one was made before.

        bases: Public bases in which the matrix is denoised before the cut.
        diagonal_of_average: Average noisy diagonal of all sites (`dpcore.spectra.denoise`).
        """
        spectrum = self.denoised(bases, diagonal_of_average)
        eigenvalues, vectors = spectrum.leading(intermediate_dim, by=ranking)
        made_of = ranking, *bases
        within, proxy = self._longest.get(made_of, (vectors[:0], vectors[:0].T))
        if len(within) < intermediate_dim or not np.may_share_memory(vectors, within):
            proxy = proxy_from(eigenvalues, vectors, ranking)
            self._longest[made_of] = vectors, proxy
        return SiteMessage(proxy[:, :intermediate_dim], self.n_samples, self.sigma)


class MessageKind(NamedTuple):
    """A kind of message: a proxy of R directions, or the whole matrix if R is None."""

    encoding: str
    intermediate_dim: int = 0
    ranking: str = ""
    bases: tuple[PublicBasis, ...] = ()

    @classmethod
    def proxy(cls, settings: ReleaseSettings) -> MessageKind:
        return cls(settings.encoding, settings.intermediate_dim, settings.ranking, settings.bases)


ReceivedMessages = Mapping[MessageKind, tuple[SiteMessage, int]]


@dataclass(frozen=True, eq=False)
class SiteAtWork:
    """One site in one repetition.

    noisy_site: Noisy site, around zero.
    centred: Source of the messages: `noisy_site`, or its matrix around the average of all noisy
        means.
    received: mapping of MessageKind to (SiteMessage, int). Each message as the aggregator receives
        it, and its length in bytes.
    """

    site: int
    noisy_site: NoisySite
    centred: NoisySite
    received: ReceivedMessages


def site_message(
    second_moment: FloatArray,
    n_samples: int,
    settings: ReleaseSettings,
    *,
    rng: np.random.Generator,
    whole: bool = False,
    means: tuple[FloatArray, FloatArray] | None = None,
    sigma_of_average: float | None = None,
    diagonal_of_average: FloatArray | None = None,
    off_diagonal_of_average: float | None = None,
) -> SiteMessage:
    """Return a site's message to the aggregator.

    Guarantee: (epsilon, delta)-DP for each of the site's people under replace-one, with the exact
        epsilon of `dpcore.pca.protocols.distributed.guarantee_of_sites`: without a mean that is
        `gaussian_epsilon(delta, message.sigma, sqrt(2) c^2 / n_samples)`. All steps after the noise
        are post-processing.

    Parameters
    ----------
    second_moment : ndarray of shape (n_features, n_features), symmetric
        X^T X / n of rows with Euclidean norm at most `settings.row_norm_bound`.
    n_samples : int
        n, taken as public.
    settings : ReleaseSettings
        A `mean_share` reserves that share of the budget for the mean, released before.
    rng : numpy.random.Generator
        Generator of this site; no two sites may share one.
    whole : bool
        Send the whole noisy matrix instead of the proxy.
    means : pair of ndarray of shape (n_features,), optional
        The site's own `noisy_mean` and the average of all sites', to centre around the latter; none
        if rows are taken as centred.
    sigma_of_average : float, optional
        Public: noise of the average of all sites' matrices, to which denoising is adapted. Default:
        the noise of this site.
    diagonal_of_average : ndarray of shape (n_features,), optional
    off_diagonal_of_average : float, optional
        Averages of all sites' noisy diagonals, and of their `off_diagonal_energy`, which together
        decide whether columns are denoised. Default: those of this site.

    Raises
    ------
    ParameterError
        If R or K exceeds the number of features, or the budget cannot be calibrated.
    """
    settings.check_features(len(second_moment))
    sigma = noise_scales(n_samples, settings).moment
    noisy = noisy_second_moment(second_moment, sigma, noise=settings.noise, rng=rng)
    site = NoisySite(noisy, n_samples, sigma, settings.noise, sigma_of_average)
    if means is not None:
        site = site.centred(*means)
    if whole:
        return site.whole()
    is_uncentred = settings.on_sphere and not settings.mean_share
    bases = uncentred_bases(settings.bases) if is_uncentred else settings.bases
    if bases == (COLUMNS_WHERE_BETTER,):
        diagonal: FloatArray = np.diagonal(site.noisy).astype(np.float64)
        off_diagonal, spread = off_diagonal_of_average, sigma
        if off_diagonal is None:
            off_diagonal = off_diagonal_energy(site.noisy, sigma, noise=settings.noise)
        if diagonal_of_average is not None:
            diagonal, spread = diagonal_of_average, sigma_of_average or sigma
        bases = bases if spread > 0 and columns_differ(diagonal, off_diagonal, spread) else ()
    return site.proxy(settings.intermediate_dim, settings.ranking, bases, diagonal_of_average)
