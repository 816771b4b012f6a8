"""The sites' noisy second moments in one repetition, and what several settings take from them.

All R, K, truncations and encodings start from the same noisy second moments. Drawing and
decomposing them once makes a sweep over R cost little more than its largest R. Sharing changes
no digit: `dpcore.spectra.Spectrum` says why.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Lock

import numpy as np

from dpcore.errors import ParameterError
from dpcore.pca.messages.encoding import sent
from dpcore.pca.messages.names import rounding_step
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import (
    NoiseScales,
    SiteMessage,
    noise_of_sites,
    noisy_second_moment,
    proxy_from,
)
from dpcore.spectra import SiteMoments, Spectrum, proxy_aggregates
from dpcore.streams import Purpose, Repetition

# Below this many features a decomposition takes well under a millisecond, less than handing it
# over to a thread.
THREADED_FROM_FEATURES = 256


@dataclass(frozen=True)
class Received:
    """What the aggregator has after hearing from every site.

    Parameters
    ----------
    average : Spectrum
        Of what was sent, weighted by n_s / N.
    message_bytes : ndarray of shape (n_sites,)
        Lengths of the messages.
    messages : tuple of SiteMessage
        One a site; of whole matrices none is kept.
    """

    average: Spectrum
    message_bytes: np.ndarray
    messages: tuple[SiteMessage, ...] = ()


class NoisySites:
    """The sites' noisy second moments in one repetition, and all that several settings take
    from them, gathered in one pass so that no more than a few are in memory at a time."""

    def __init__(
        self,
        moments: SiteMoments,
        settings: Sequence[ReleaseSettings],
        repetition: Repetition,
        *,
        proxies: bool,
        average: bool,
        threads: int | None,
        checkpoint: Callable[[], None],
    ):
        for each in settings:
            each.check_features(moments.n_features)
        if len({noise_of(each) for each in settings}) != 1:
            raise ParameterError("settings", "equal in all that shapes the noise", settings)
        # Streams are keyed by a site's number among all, whoever else is there.
        self.numbers = sites_that_answer(settings[0], moments.n_sites, repetition)
        self.moments = moments.at(self.numbers)
        self.settings = settings[0]
        self.repetition = repetition
        self._proxies = sorted({proxy_key(each) for each in settings}) if proxies else []
        self._whole = sorted({each.encoding for each in settings}) if average else []
        self._threads = threads
        self._checkpoint = checkpoint
        self._memo: dict[str, object] = {}
        self._locks: dict[str, Lock] = {}
        self._lock = Lock()

    def once(self, name: str, make: Callable[[], object]) -> object:
        """What `make` gives, made by whoever of several threads asks first."""
        with self._lock:
            lock = self._locks.setdefault(name, Lock())
        with lock:
            if name not in self._memo:
                self._memo[name] = make()
            return self._memo[name]

    @property
    def scales(self) -> list[NoiseScales]:
        """Noise scales of each site; not before a protocol asks: PPCA has no delta for them."""
        return self.once("scales", self._scales)

    @property
    def noisy_means(self) -> np.ndarray | None:
        """(S, D) means as the sites release them, or None when rows are taken as centred."""
        return self.once("noisy means", self._noisy_means)

    def _scales(self) -> list[NoiseScales]:
        return noise_of_sites(self.settings, self.moments.n_samples)

    def _noisy_means(self) -> np.ndarray | None:
        if self.settings.mean_share == 0:
            return None
        means = self.moments.means.copy()
        for site, scales in enumerate(self.scales):
            rng = self.repetition.rng(Purpose.PREPARATION, self.numbers[site])
            means[site] += scales.mean * rng.standard_normal(means.shape[1])
        return means

    def first(self) -> Spectrum:
        """The first site's, centred around its own noisy mean: no other site has a part in it."""
        return self.once("sites", self._gather)[0]

    def received(self, key: tuple[str, int, str] | str) -> Received:
        return self.once("sites", self._gather)[1][key]

    def _gather(self) -> tuple[Spectrum, dict[object, Received]]:
        moments, weights = self.moments, self.moments.weights
        first: Spectrum | None = None
        messages: dict[tuple, list[SiteMessage]] = {key: [] for key in self._proxies}
        averages: dict[str, np.ndarray] = {}
        lengths: dict[object, list[int]] = {key: [] for key in (*self._proxies, *self._whole)}
        count = moments.n_sites if lengths else 1
        for site, (alone, proxies, whole) in enumerate(self._in_order(range(count))):
            if first is None:
                first = alone
            for key, (message, length) in proxies.items():
                messages[key].append(message)
                lengths[key].append(length)
            for key, (message, length) in whole.items():
                share = message.values * message.values.dtype.type(weights[site])
                averages[key] = share if site == 0 else np.add(averages[key], share, share)
                lengths[key].append(length)
        spectra: dict[object, Spectrum] = {k: Spectrum(matrix) for k, matrix in averages.items()}
        spectra.update(self._proxy_spectra(messages))
        return first, {
            key: Received(spectra[key], np.array(lengths[key]), tuple(messages.get(key, ())))
            for key in lengths
        }

    def _proxy_spectra(self, messages: dict[tuple, list[SiteMessage]]) -> dict[tuple, Spectrum]:
        """Averages of the proxies; those that begin another are added up on the way to it."""
        spectra: dict[tuple, Spectrum] = {}
        weights = self.moments.weights
        for key in sorted(messages, key=lambda key: -key[1]):
            if key in spectra:
                continue
            rows = [message.values.T for message in messages[key]]
            inside = [
                other
                for other in messages
                if other not in spectra
                and all(
                    np.may_share_memory(own.values, row)
                    for own, row in zip(messages[other], rows, strict=True)
                )
            ]
            inside.sort(key=lambda other: other[1])
            aggregates = proxy_aggregates(rows, weights, [rank for _, rank, _ in inside])
            spectra.update(zip(inside, map(Spectrum, aggregates), strict=True))
        return spectra

    def _in_order(self, sites: Iterable[int]) -> Iterator[tuple]:
        # Results are consumed in site order, so sums do not depend on which thread was faster,
        # and a chunk at a time, so that fifty sites don't keep fifty noisy matrices alive.
        sites = list(sites)
        workers = min(len(sites), self._threads or os.cpu_count() or 1)
        if self.moments.n_features < THREADED_FROM_FEATURES or workers < 2:
            yield from map(self._at_site, sites)
            return
        with ThreadPoolExecutor(workers) as pool:
            for start in range(0, len(sites), 4 * workers):
                yield from pool.map(self._at_site, sites[start : start + 4 * workers])

    def _at_site(self, site: int) -> tuple[Spectrum | None, dict, dict]:
        self._checkpoint()
        noisy = noisy_second_moment(
            self.moments.second_moments[site],
            self.scales[site].moment,
            noise=self.settings.noise,
            rng=self.repetition.rng(Purpose.SITE_NOISE, self.numbers[site]),
        )
        alone = None
        if self.noisy_means is not None:
            own = self.noisy_means[site]
            if site == 0:
                alone = Spectrum(centred_around(noisy, own, own))
            noisy = centred_around(noisy, own, self.moments.weights @ self.noisy_means)
        spectrum = Spectrum(noisy)
        if site == 0 and alone is None:
            alone = spectrum
        whole = {key: self._sent(noisy, site, key, whole=True) for key in self._whole}
        return alone, self._proxies_at(spectrum, site), whole

    def _proxies_at(self, spectrum: Spectrum, site: int) -> dict[tuple, tuple[SiteMessage, int]]:
        """The site's proxies; where one begins a longer one, it is a view of that one."""
        proxies: dict[tuple, tuple[SiteMessage, int]] = {}
        longest: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for key in sorted(self._proxies, key=lambda key: -key[1]):
            ranking, rank, encoding = key
            values, vectors = spectrum.leading(rank, by=ranking)
            base = longest.get(ranking)
            if base is None or not np.may_share_memory(vectors, base[0]):
                base = longest[ranking] = vectors, proxy_from(values, vectors, ranking)
            proxies[key] = self._sent(base[1][:, :rank], site, encoding, whole=False)
        return proxies

    def _sent(
        self, values: np.ndarray, site: int, encoding: str, *, whole: bool
    ) -> tuple[SiteMessage, int]:
        message = SiteMessage(
            values, int(self.moments.n_samples[site]), self.scales[site].moment, whole
        )
        dithered = rounding_step(encoding) is not None
        rng = self.repetition.rng(Purpose.ROUNDING, self.numbers[site]) if dithered else None
        return sent(message, encoding, rng=rng)


def sites_that_answer(
    settings: ReleaseSettings, n_sites: int, repetition: Repetition
) -> tuple[int, ...]:
    """Numbers of the sites that do not drop out, in order; the more drop out, the same and others.

    Raises
    ------
    ParameterError
        If nobody would be left.
    """
    settings.check_sites(n_sites)
    if settings.dropped_sites == 0:
        return tuple(range(n_sites))
    shuffled = repetition.rng(Purpose.DROP_OUT).permutation(n_sites)
    return tuple(sorted(shuffled[settings.dropped_sites :].tolist()))


def noise_of(settings: ReleaseSettings) -> ReleaseSettings:
    """The settings without what is chosen after the noise: K, R, truncation, encoding."""
    return replace(
        settings, n_components=1, intermediate_dim=1, truncation="svd", encoding="native"
    )


def proxy_key(settings: ReleaseSettings) -> tuple[str, int, str]:
    return settings.ranking, settings.intermediate_dim, settings.encoding


def centred_around(second_moment: np.ndarray, own_mean: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Second moment around `mean` from the one around zero, given the rows' own mean.

    (1/n) sum (x - m)(x - m)^T = A - m mu^T - mu m^T + m m^T. Fed with released quantities only,
    this is post-processing.
    """
    cross = np.outer(mean, own_mean)
    centred = second_moment - cross - cross.T + np.outer(mean, mean)
    return centred.astype(second_moment.dtype, copy=False)
