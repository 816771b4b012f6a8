"""One repetition at all sites at once, shared by every protocol and several settings.

All protocols at sites start from the same noisy second moments, and so do all R, K, truncations and
encodings. Drawing and decomposing them once makes several protocols, and a sweep over R, cost
little more than one. Sharing changes no digit: `dpcore.spectra.Spectrum` says why. What a site and
the aggregator do is in `dpcore.pca.site` and `dpcore.pca.aggregator`; here it is said who does it
when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from threading import Lock
from typing import TypeVar, cast

import numpy as np
from numpy.typing import DTypeLike

from dpcore.arrays import PROCESSORS, FloatArray, executor
from dpcore.errors import ParameterError
from dpcore.pca.aggregator import Inbox, add_up
from dpcore.pca.assessment import columns_differ
from dpcore.pca.messages import sent
from dpcore.pca.settings import (
    ReleaseSettings,
    check_centring,
    noise_of,
    rounding_step,
    sites_that_answer,
    with_mean_share,
)
from dpcore.pca.site import (
    Arrived,
    Calibrate,
    MessageKind,
    NoiseScales,
    NoisySite,
    SiteAtWork,
    SiteMessage,
    centre_of_sphere,
    noise_of_sites,
    noise_scales,
    noisy_mean,
    noisy_second_moment,
)
from dpcore.spectra import COLUMNS_WHERE_BETTER, PublicBasis, SiteMoments, SiteRows, Spectrum
from dpcore.streams import Purpose, Repetition

# Below this many features a decomposition takes well under a millisecond, less than handing it
# over to a thread.
THREADED_FROM_FEATURES = 256

# Noisy matrices that wait for the average of their diagonals take at most this memory; the noise of
# further sites is drawn again.
_MOST_BYTES_KEPT = 2**28

Made = TypeVar("Made")


class Draw:
    """One repetition: site moments, settings and the streams of noise.

    Parameters
    ----------
    moments : SiteMoments or SiteRows
        Rows where a centre has to be drawn before their moments can be taken.
    settings : ReleaseSettings
    repetition : Repetition
    proxies, average : bool
        Which messages of the sites the protocols to be run will ask for.
    calibrate : callable
        (people, settings) -> NoiseScales: the noise of whoever holds the rows of so many.
    precision : data type, optional
        Of noise that is drawn in one, and of averages; that of the rows by default.
    threads : int, optional
        Sites worked on at the same time; one a processor by default.
    checkpoint : callable
        Called before each site and each block of everybody's rows; what it raises ends the draw.
    watch : callable
        Called with a `SiteAtWork` as each site is done, by the thread that did it.

    Attributes
    ----------
    everybody : SiteMoments or SiteRows
        Of all sites.
    sites : tuple of int
        The numbers of those that answer.
    moments : SiteMoments or SiteRows
        Of those that answer: all that a protocol reads.
    """

    def __init__(
        self,
        moments: SiteMoments | SiteRows,
        settings: ReleaseSettings,
        repetition: Repetition,
        *,
        proxies: bool = True,
        average: bool = True,
        calibrate: Calibrate = noise_scales,
        precision: DTypeLike | None = None,
        threads: int | None = None,
        checkpoint: Callable[[], None] = lambda: None,
        watch: Callable[[SiteAtWork], None] = lambda _: None,
    ):
        settings.check_features(moments.n_features)
        check_centring(moments, settings)
        self.everybody = moments
        # Streams are keyed by a site's number among all, whoever else is there.
        self.sites = sites_that_answer(settings, moments.n_sites, repetition)
        self.moments = moments.at(self.sites)
        self.settings = settings
        self.repetition = repetition
        self.calibrate = calibrate
        self.precision = np.dtype(precision or moments.dtype)
        self._average_in = precision
        self._sharing = [settings]
        self._asked = proxies, average
        self._threads = threads
        self._checkpoint = checkpoint
        self._watch = watch
        self._noisy_sites: dict[int, NoisySite] = {}
        self._memo: dict[Callable[..., object], object] = {}
        self._locks: dict[Callable[..., object], Lock] = {}
        self._lock = Lock()

    def several(self, settings: Sequence[ReleaseSettings]) -> list[Draw]:
        """Draws that share their noise and every decomposition they can, one a setting.

        Raises
        ------
        ParameterError
            If the settings differ in what shapes the noise, or one cannot run.
        """
        for each in settings:
            each.check_features(self.moments.n_features)
        if {noise_of(each) for each in settings} != {noise_of(self.settings)}:
            raise ParameterError("settings", "equal in all that shapes the noise", settings)
        self._sharing[:] = settings
        draws = [copy(self) for _ in settings]
        for draw, each in zip(draws, settings, strict=True):
            draw.settings = each
        return draws

    def once(self, make: Callable[[Draw], Made]) -> Made:
        """What `make` gives, made by whoever of several threads asks first, for all draws that
        share their noise: K, R, truncation, encoding
        and denoising may have no part in it."""
        with self._lock:
            lock = self._locks.setdefault(make, Lock())
        with lock:
            if make not in self._memo:
                self._memo[make] = make(self)
            return cast(Made, self._memo[make])

    @property
    def n_samples(self) -> list[int]:
        """People at each site that answers."""
        return [int(n) for n in self.moments.n_samples]

    @property
    def n_people(self) -> int:
        """N, at all sites that answer together."""
        return sum(self.n_samples)

    @property
    def of_sites(self) -> ReleaseSettings:
        """The settings with the share that a mean shared by all these sites takes."""
        people, n_features = self.n_samples, self.moments.n_features
        return with_mean_share(self.settings, people, n_features, n_noises=len(people))

    @property
    def scales(self) -> list[NoiseScales]:
        """Noise scales of each site; not before a protocol asks: PPCA has no delta for them."""
        return self.once(Draw._scales)

    @property
    def sigma(self) -> FloatArray:
        """(S,) standard deviation of the noise in an entry of each site's second moment."""
        return np.array([scales.moment for scales in self.scales])

    @property
    def sigma_of_average(self) -> float:
        """Noise standard deviation in an entry of the average of the sites' second moments."""
        return float(np.linalg.norm(self.moments.weights * self.sigma))

    @property
    def shares_diagonal(self) -> bool:
        """Whether sites that cut share the average of their noisy diagonals first."""
        return self.settings.bases == (COLUMNS_WHERE_BETTER,)

    @property
    def bases_at_sites(self) -> tuple[PublicBasis, ...]:
        """Bases in which sites denoise before their cut.

        Columns are left out unless they differ in variance, by the average of the sites' noisy
        diagonals: the matrix of one site is too noisy for the decision, and has to be denoised like
        the others.
        """
        if not self.shares_diagonal:
            return self.settings.bases
        return self.settings.bases if self.once(Draw._columns_differ) else ()

    @property
    def diagonal_of_average(self) -> FloatArray | None:
        """(D,) average of the sites' noisy diagonals; None if they do not share it."""
        return self.once(Draw._diagonal_of_average) if self.shares_diagonal else None

    @property
    def noisy_means(self) -> FloatArray | None:
        """(S, D) means as the sites release them, or None when rows are taken as centred."""
        return self.once(Draw._noisy_means)

    @property
    def centre(self) -> FloatArray | None:
        """(D,) centre of the sphere that the sites share; None where rows stay as they are."""
        return self.once(Draw._centre)

    @property
    def pooled_moment(self) -> FloatArray:
        """Everybody's exact second moment, `moment_around` no centre."""
        return self.once(Draw.moment_around)

    def moment_around(
        self, centre: FloatArray | None = None, site: int | None = None
    ) -> FloatArray:
        """Exact second moment of a site, or of everybody; of rows that wait for a centre, around
        that one or else the public middle."""
        if isinstance(self.moments, SiteRows):
            # Sites share the processors.
            at_once = 1 if site is None else len(self.sites)
            threads = max(1, (self._threads or PROCESSORS) // at_once)
            middle = np.zeros(self.moments.n_features) if centre is None else centre
            ask = self._checkpoint if site is None else lambda: None
            return self.moments.around(middle, site, threads=threads, checkpoint=ask)
        own: FloatArray = self.moments.second_moments
        return np.tensordot(self.moments.weights, own, axes=1) if site is None else own[site]

    def total_around(self, centre: FloatArray | None) -> float | None:
        """Energy of all directions of `moment_around` a noisy centre, where it is public."""
        if centre is None or not isinstance(self.moments, SiteRows):
            return None
        return self.moments.total_around(centre)

    def first(self) -> Spectrum:
        """The first site's noisy second moment, around its own noisy mean, and no other site's."""
        return self.once(Draw._gathered)[0]

    def proxies(self) -> Inbox:
        """What arrives when every site sends its proxy."""
        return self.once(Draw._gathered)[1][MessageKind.proxy(self.settings)]

    def whole_matrices(self) -> Inbox:
        """What arrives when every site sends its whole noisy second moment."""
        return self.once(Draw._gathered)[1][MessageKind(self.settings.encoding)]

    @property
    def _kinds(self) -> list[MessageKind]:
        """Of all messages that somebody will ask for."""
        proxies, average = self._asked
        kinds = {MessageKind.proxy(each) for each in self._sharing if proxies}
        kinds |= {MessageKind(each.encoding) for each in self._sharing if average}
        # Longest first: shorter proxies are then views of it.
        return sorted(kinds, key=lambda kind: (-kind.intermediate_dim, repr(kind)))

    def _in_order(self, sites: range) -> Iterator[tuple[list[Spectrum], Arrived]]:
        # Results are consumed in site order, so sums do not depend on which thread was faster,
        # and a chunk at a time, so that fifty sites don't keep fifty noisy matrices alive.
        workers = min(len(sites), self._threads or PROCESSORS)
        if workers > 1 and self.moments.n_features >= THREADED_FROM_FEATURES:
            return self._in_threads(sites, workers)
        return map(self._sent_by, sites, map(self.noisy_site, sites))

    def _in_threads(self, sites: range, workers: int) -> Iterator[tuple[list[Spectrum], Arrived]]:
        with executor(workers) as pool:
            for start in range(0, len(sites), 4 * workers):
                chunk = sites[start : start + 4 * workers]
                yield from pool.map(lambda site: self._sent_by(site, self.noisy_site(site)), chunk)

    def noisy_site(self, site: int) -> NoisySite:
        """A site as its noise left it, the same at every call."""
        if (before := self._noisy_sites.pop(site, None)) is not None:
            return before
        self._checkpoint()
        sigma = self.scales[site].moment
        noisy = noisy_second_moment(
            self.moment_around(self.centre, site),
            sigma,
            noise=self.settings.noise,
            rng=self.repetition.rng(Purpose.SITE_NOISE, self.sites[site]),
            precision=self.moments.dtype,
        )
        people = int(self.moments.n_samples[site])
        return NoisySite(noisy, people, sigma, self.settings.noise, self.sigma_of_average)

    def for_each_site(self, work: Callable[[int, NoisySite], Made]) -> Iterator[Made]:
        """Yield work(site, noisy site) of all sites in order, in several threads."""

        def done(site: int) -> Made:
            return work(site, self.noisy_site(site))

        sites = range(self.moments.n_sites)
        workers = min(len(sites), self._threads or PROCESSORS)
        if workers == 1 or self.moments.n_features < THREADED_FROM_FEATURES:
            yield from map(done, sites)
            return
        with executor(workers) as pool:
            # Chunks bound the number of noisy matrices in memory.
            for start in range(0, len(sites), workers):
                yield from pool.map(done, sites[start : start + workers])

    def centred_site(self, site: int, drawn: NoisySite) -> NoisySite:
        """Return the site around the average noisy mean, if its rows are not centred yet."""
        if self.noisy_means is None or self.centre is not None:
            return drawn
        return drawn.centred(self.noisy_means[site], self.moments.weights @ self.noisy_means)

    def _sent_by(self, site: int, drawn: NoisySite) -> tuple[list[Spectrum], Arrived]:
        alone, centred = drawn, self.centred_site(site, drawn)
        if self.noisy_means is not None and self.centre is None and site == 0:
            own = self.noisy_means[site]
            alone = drawn.centred(own, own)
        arrived = {kind: self._sent(centred, kind, site) for kind in self._kinds}
        self._watch(SiteAtWork(site, drawn, centred, arrived))
        return [alone.spectrum] if site == 0 else [], arrived

    def _sent(self, noisy: NoisySite, kind: MessageKind, site: int) -> tuple[SiteMessage, int]:
        message = self._proxy(noisy, kind) if kind.intermediate_dim else noisy.whole()
        dithered = rounding_step(kind.encoding) is not None
        rng = self.repetition.rng(Purpose.ROUNDING, self.sites[site]) if dithered else None
        return sent(message, kind.encoding, rng=rng)

    def _proxy(self, noisy: NoisySite, kind: MessageKind) -> SiteMessage:
        if kind.bases != (COLUMNS_WHERE_BETTER,):
            return noisy.proxy(kind.intermediate_dim, kind.ranking, kind.bases)
        bases = kind.bases if self.once(Draw._columns_differ) else ()
        diagonal = self.once(Draw._diagonal_of_average)
        return noisy.proxy(kind.intermediate_dim, kind.ranking, bases, diagonal)

    # What is made once, whoever of those that share the noise asks for it.

    def _scales(self) -> list[NoiseScales]:
        return noise_of_sites(self.of_sites, self.n_samples, self.calibrate)

    def _centre(self) -> FloatArray | None:
        if not isinstance(self.moments, SiteRows):
            return None
        if self.noisy_means is None:
            return np.zeros(self.moments.n_features)
        weights = self.moments.weights
        left = float(np.linalg.norm(weights * [scales.mean for scales in self.scales]))
        mean, rows = weights @ self.noisy_means, self.moments
        return centre_of_sphere(mean, rows.half_widths, sigma=left, image_shape=rows.image_shape)

    def _columns_differ(self) -> bool:
        sigma = self.sigma_of_average
        if sigma == 0:
            return False
        diagonal, total = self.once(Draw._diagonal_of_average), self.total_around(self.centre)
        return columns_differ(diagonal, sigma, total=total)

    def _diagonal_of_average(self) -> FloatArray:
        means, weights = self.noisy_means, self.moments.weights
        total = np.zeros(self.moments.n_features)
        n_bytes = 0
        for site, drawn in enumerate(self.for_each_site(lambda _, noisy: noisy)):
            diagonal = np.diagonal(drawn.noisy).astype(np.float64)
            if means is not None and self.centre is None:
                centre = weights @ means
                diagonal = diagonal - 2 * means[site] * centre + centre**2
            total += weights[site] * diagonal
            # Kept for the messages, so that noise is not drawn twice.
            n_bytes += drawn.noisy.nbytes
            if n_bytes <= _MOST_BYTES_KEPT:
                self._noisy_sites[site] = drawn
        return total

    def _noisy_means(self) -> FloatArray | None:
        if self.of_sites.mean_share == 0:
            return None
        sites = zip(self.sites, self.moments.means, self.scales, strict=True)
        rng = partial(self.repetition.rng, Purpose.PREPARATION)
        return np.stack([noisy_mean(mean, own.mean, rng=rng(site)) for site, mean, own in sites])

    def _gathered(self) -> tuple[Spectrum, dict[MessageKind, Inbox]]:
        """The first site alone, and what arrives of every kind that somebody will ask for."""
        boxes = {kind: Inbox(self.moments.weights, self._average_in) for kind in self._kinds}
        if any(kind.bases == (COLUMNS_WHERE_BETTER,) for kind in boxes):
            self.once(Draw._columns_differ)
        first: list[Spectrum] = []
        for alone, arrived in self._in_order(range(self.moments.n_sites if boxes else 1)):
            first += alone
            for kind, (message, n_bytes) in arrived.items():
                boxes[kind].receive(message, n_bytes)
        add_up(boxes.values())
        return first[0], boxes
