"""One repetition at all sites at once, shared by every protocol that needs it.

DPdisPCA, sending whole matrices and a site alone all start from the same noisy second moments.
Drawing and decomposing them once is what makes several protocols cost little more than one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

import numpy as np

from dpcore.mechanisms import symmetric_gaussian_noise
from dpcore.pca.messages import message_length
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import SiteMessage, noise_scales, noisy_second_moment, proxy_from
from dpcore.spectra import SiteMoments, leading_eigenpairs
from dpcore.streams import Purpose, Repetition

# Below this many features a decomposition takes well under a millisecond, less than handing it
# over to a thread.
THREADED_FROM_FEATURES = 256


Eigenpairs = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class SiteRound:
    """What the sites hold after adding their noise.

    `proxies` is empty unless asked for, `average` None likewise; `first` is the noisy second
    moment of the first site, and `first_leading` its eigenpairs where its proxy needed them.
    """

    proxies: tuple[SiteMessage, ...]
    average: np.ndarray | None
    first: np.ndarray
    first_leading: Eigenpairs | None
    sigma: np.ndarray


class Draw:
    """One repetition: site moments, settings and the streams of noise.

    Parameters
    ----------
    moments : SiteMoments
    settings : ReleaseSettings
    repetition : Repetition
    proxies, average : bool
        Which site products the protocols to be run will ask for.
    """

    def __init__(
        self,
        moments: SiteMoments,
        settings: ReleaseSettings,
        repetition: Repetition,
        *,
        proxies: bool = True,
        average: bool = True,
    ):
        settings.check_features(moments.n_features)
        self.moments = moments
        self.settings = settings
        self.repetition = repetition
        self._wants_proxies = proxies
        self._wants_average = average
        self._site_round: SiteRound | None = None
        self._lock = Lock()

    @property
    def n_people(self) -> int:
        """N, at all sites together."""
        return int(self.moments.n_samples.sum())

    @cached_property
    def scales(self):
        """Noise scales of each site."""
        return [noise_scales(int(n), self.settings) for n in self.moments.n_samples]

    @cached_property
    def noisy_means(self) -> np.ndarray | None:
        """(S, D) means as the sites release them, or None when rows are taken as centred."""
        if self.settings.mean_share == 0:
            return None
        means = self.moments.means.copy()
        for site, scales in enumerate(self.scales):
            rng = self.repetition.rng(Purpose.PREPARATION, site)
            means[site] += scales.mean * rng.standard_normal(means.shape[1])
        return means

    @property
    def sites(self) -> SiteRound:
        """What the sites hold; drawn once, whoever of several threads asks first."""
        # Not a cached_property, whose lock is one for all draws in Python 3.11 and none later.
        with self._lock:
            if self._site_round is None:
                self._site_round = self._draw_sites()
            return self._site_round

    def _draw_sites(self) -> SiteRound:
        """Noise at every site, in one pass; only the sums and proxies are kept."""
        moments, settings = self.moments, self.settings
        weights = moments.weights
        proxies: list[SiteMessage] = []
        average = first = first_leading = None
        count = moments.n_sites if self._wants_proxies or self._wants_average else 1
        for site, (noisy, leading) in enumerate(self._in_order(range(count))):
            if first is None:
                first, first_leading = noisy, leading
            if leading is not None:
                values, vectors = (part[: settings.intermediate_dim] for part in leading)
                proxies.append(
                    SiteMessage(
                        proxy_from(values, vectors, settings.ranking),
                        int(moments.n_samples[site]),
                        self.scales[site].moment,
                    )
                )
            if self._wants_average:
                share = noisy * noisy.dtype.type(weights[site])
                average = share if average is None else np.add(average, share, out=average)
        return SiteRound(
            proxies=tuple(proxies),
            average=average,
            first=first,
            first_leading=first_leading,
            sigma=np.array([scales.moment for scales in self.scales]),
        )

    def first_leading(self) -> Eigenpairs:
        """Leading eigenpairs of the first site's noisy second moment: the larger of K and R."""
        sites = self.sites
        if sites.first_leading is not None:
            return sites.first_leading
        return leading_eigenpairs(sites.first, self._n_leading, by=self.settings.ranking)

    @cached_property
    def pooled_moment(self) -> np.ndarray:
        """Everybody's exact second moment, in the precision the sites work in."""
        second_moments = self.moments.second_moments
        weights = self.moments.weights.astype(second_moments.dtype)
        return np.tensordot(weights, second_moments, axes=1)

    def pooled_noise(self, sigma: float, purpose: Purpose) -> np.ndarray:
        """One noise matrix added where everything has been averaged already."""
        return symmetric_gaussian_noise(
            self.moments.n_features,
            sigma,
            shape=self.settings.noise,
            rng=self.repetition.rng(purpose),
            dtype=self.moments.second_moments.dtype,
        )

    def mean_bytes(self) -> int:
        """What a site sends besides, when the rows are centred by a private mean."""
        if self.settings.mean_share == 0:
            return 0
        return self.moments.n_features * self._itemsize

    def whole_matrix_bytes(self) -> np.ndarray:
        """(S,) bytes of each site's message when it sends its whole noisy matrix."""
        n_features = self.moments.n_features
        length = message_length(n_features, n_features, self._itemsize, whole=True)
        return np.full(self.moments.n_sites, length + self.mean_bytes())

    def raw_row_bytes(self) -> np.ndarray:
        """(S,) bytes of each site's rows, sent as they are."""
        return self.moments.n_samples * self.moments.n_features * self._itemsize

    @property
    def _itemsize(self) -> int:
        return self.moments.second_moments.itemsize

    @property
    def _n_leading(self) -> int:
        # The first site's proxy and its own components come from one decomposition, and the
        # components alone from the same one, so that company changes no digit.
        return max(self.settings.intermediate_dim, self.settings.n_components)

    def _in_order(self, sites: Iterable[int]) -> Iterator[tuple[np.ndarray, Eigenpairs | None]]:
        # Results are consumed in site order, so sums do not depend on which thread was faster,
        # and a chunk at a time, so that fifty sites don't keep fifty noisy matrices alive.
        sites = list(sites)
        workers = min(len(sites), os.cpu_count() or 1)
        if self.moments.n_features < THREADED_FROM_FEATURES or workers < 2:
            yield from map(self._at_site, sites)
            return
        with ThreadPoolExecutor(workers) as pool:
            for start in range(0, len(sites), 4 * workers):
                yield from pool.map(self._at_site, sites[start : start + 4 * workers])

    def _at_site(self, site: int) -> tuple[np.ndarray, Eigenpairs | None]:
        settings = self.settings
        noisy = noisy_second_moment(
            self.moments.second_moments[site],
            self.scales[site].moment,
            noise=settings.noise,
            rng=self.repetition.rng(Purpose.SITE_NOISE, site),
        )
        if self.noisy_means is not None:
            noisy = centred_around(
                noisy, self.noisy_means[site], self.moments.weights @ self.noisy_means
            )
        if not self._wants_proxies:
            return noisy, None
        count = self._n_leading if site == 0 else settings.intermediate_dim
        return noisy, leading_eigenpairs(noisy, count, by=settings.ranking)


def centred_around(second_moment: np.ndarray, own_mean: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Second moment around `mean` from the one around zero, given the rows' own mean.

    (1/n) sum (x - m)(x - m)^T = A - m mu^T - mu m^T + m m^T. Fed with released quantities only,
    this is post-processing.
    """
    cross = np.outer(mean, own_mean)
    centred = second_moment - cross - cross.T + np.outer(mean, mean)
    return centred.astype(second_moment.dtype, copy=False)
