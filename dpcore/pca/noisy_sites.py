"""The sites' noisy second moments in one repetition, and what several settings take from them.

All R, K, truncations and encodings start from the same noisy second moments. Drawing and
decomposing them once makes a sweep over R cost little more than its largest R. Sharing changes
no digit: `dpcore.spectra.Spectrum` says why. What a site and the aggregator do is in
`dpcore.pca.site` and `dpcore.pca.aggregator`; here it is said who does it when.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Lock
from typing import NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import DTypeLike

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.pca.aggregator import Inbox, averages
from dpcore.pca.messages.encoding import sent
from dpcore.pca.messages.names import rounding_step
from dpcore.pca.settings import ReleaseSettings
from dpcore.pca.site import Calibrate, NoiseScales, NoisySite, SiteMessage, noise_of_sites
from dpcore.pca.site import noisy_mean as noisy_mean_of
from dpcore.spectra import SiteMoments, Spectrum
from dpcore.streams import Purpose, Repetition

# Below this many features a decomposition takes well under a millisecond, less than handing it
# over to a thread.
THREADED_FROM_FEATURES = 256

Made = TypeVar("Made")


class Kind(NamedTuple):
    """A kind of message: a proxy of so many directions, or, with none, the whole matrix."""

    encoding: str
    intermediate_dim: int = 0
    ranking: str = ""

    @classmethod
    def proxy(cls, settings: ReleaseSettings) -> Kind:
        return cls(settings.encoding, settings.intermediate_dim, settings.ranking)


Arrived = Mapping[Kind, tuple[SiteMessage, int]]


@dataclass(frozen=True, eq=False)
class SiteAtWork:
    """One site in one repetition.

    Parameters
    ----------
    site : int
    drawn : NoisySite
        As the noise left it, around zero.
    centred : NoisySite
        What messages are made of: `drawn`, or that around the average of all noisy means.
    arrived : mapping of Kind to (SiteMessage, int)
        Each message as the aggregator gets it, and its length in bytes.
    """

    site: int
    drawn: NoisySite
    centred: NoisySite
    arrived: Arrived


@dataclass(frozen=True, eq=False)
class Received:
    """What the aggregator has after hearing from every site.

    Parameters
    ----------
    average : Spectrum
        Of what was sent, weighted by n_s / N.
    message_bytes : ndarray of shape (n_sites,)
        Lengths of the messages.
    proxies : sequence of ndarray of shape (intermediate_dim, n_features)
        The transpose of each site's P_s; of whole matrices none is kept.
    """

    average: Spectrum
    message_bytes: IntArray
    proxies: Sequence[FloatArray] = ()


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
        calibrate: Calibrate,
        precision: DTypeLike | None = None,
        threads: int | None = None,
        checkpoint: Callable[[], None] = lambda: None,
        watch: Callable[[SiteAtWork], None] = lambda _: None,
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
        self._calibrate = calibrate
        self._precision = precision
        kinds = {Kind.proxy(each) for each in settings} if proxies else set()
        if average:
            kinds |= {Kind(each.encoding) for each in settings}
        # Longest first: shorter proxies are then views of it.
        self._kinds = sorted(kinds, key=lambda kind: (-kind.intermediate_dim, kind))
        self._threads = threads
        self._checkpoint = checkpoint
        self._watch = watch
        self._memo: dict[str, object] = {}
        self._locks: dict[str, Lock] = {}
        self._lock = Lock()

    def once(self, name: str, make: Callable[[], Made]) -> Made:
        """What `make` gives, made by whoever of several threads asks first."""
        with self._lock:
            lock = self._locks.setdefault(name, Lock())
        with lock:
            if name not in self._memo:
                self._memo[name] = make()
            return cast(Made, self._memo[name])

    @property
    def scales(self) -> list[NoiseScales]:
        """Noise scales of each site; not before a protocol asks: PPCA has no delta for them."""
        return self.once(
            "scales",
            lambda: noise_of_sites(
                self.settings, map(int, self.moments.n_samples), self._calibrate
            ),
        )

    @property
    def noisy_means(self) -> FloatArray | None:
        """(S, D) means as the sites release them, or None when rows are taken as centred."""
        return self.once("noisy means", self._noisy_means)

    def _noisy_means(self) -> FloatArray | None:
        if self.settings.mean_share == 0:
            return None
        return np.stack(
            [
                noisy_mean_of(
                    mean, scales.mean, rng=self.repetition.rng(Purpose.PREPARATION, number)
                )
                for number, mean, scales in zip(
                    self.numbers, self.moments.means, self.scales, strict=True
                )
            ]
        )

    def first(self) -> Spectrum:
        """The first site's, centred around its own noisy mean: no other site has a part in it."""
        return self.once("sites", self._gather)[0]

    def received(self, kind: Kind) -> Received:
        return self.once("sites", self._gather)[1][kind]

    def _gather(self) -> tuple[Spectrum, dict[Kind, Received]]:
        inboxes = {kind: Inbox(self.moments.weights, self._precision) for kind in self._kinds}
        first: list[Spectrum] = []
        for alone, arrived in self._in_order(range(self.moments.n_sites if inboxes else 1)):
            first += alone
            for kind, (message, n_bytes) in arrived.items():
                inboxes[kind].receive(message, n_bytes)
        return first[0], {
            kind: Received(average, np.array(inboxes[kind].n_bytes), inboxes[kind].proxies)
            for kind, average in averages(inboxes).items()
        }

    def _in_order(self, sites: range) -> Iterator[tuple[list[Spectrum], Arrived]]:
        # Results are consumed in site order, so sums do not depend on which thread was faster,
        # and a chunk at a time, so that fifty sites don't keep fifty noisy matrices alive.
        workers = min(len(sites), self._threads or os.cpu_count() or 1)
        if self.moments.n_features < THREADED_FROM_FEATURES or workers < 2:
            return map(self._at_site, sites)
        return self._in_threads(sites, workers)

    def _in_threads(self, sites: range, workers: int) -> Iterator[tuple[list[Spectrum], Arrived]]:
        with ThreadPoolExecutor(workers) as pool:
            for start in range(0, len(sites), 4 * workers):
                yield from pool.map(self._at_site, sites[start : start + 4 * workers])

    def _at_site(self, site: int) -> tuple[list[Spectrum], Arrived]:
        self._checkpoint()
        drawn = NoisySite.of(
            self.moments.second_moments[site],
            int(self.moments.n_samples[site]),
            self.scales[site],
            noise=self.settings.noise,
            rng=self.repetition.rng(Purpose.SITE_NOISE, self.numbers[site]),
        )
        centred = alone = drawn
        if self.noisy_means is not None:
            own = self.noisy_means[site]
            alone = drawn.centred(own, own) if site == 0 else drawn
            centred = drawn.centred(own, self.moments.weights @ self.noisy_means)
        arrived = {kind: self._sent(centred, kind, site) for kind in self._kinds}
        self._watch(SiteAtWork(site, drawn, centred, arrived))
        return [alone.spectrum] if site == 0 else [], arrived

    def _sent(self, noisy: NoisySite, kind: Kind, site: int) -> tuple[SiteMessage, int]:
        n_directions = kind.intermediate_dim
        message = noisy.proxy(n_directions, kind.ranking) if n_directions else noisy.whole()
        dithered = rounding_step(kind.encoding) is not None
        rng = self.repetition.rng(Purpose.ROUNDING, self.numbers[site]) if dithered else None
        return sent(message, kind.encoding, rng=rng)


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
