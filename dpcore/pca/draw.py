"""One repetition at all sites, shared by all protocols and by several settings.

All protocols at sites start from the same noisy second moments, and so do all R, K, truncations and
encodings. Each noisy matrix is therefore drawn and decomposed once, so that several protocols, or a
sweep over R, cost little more than one. The results do not depend on what is shared: see
`dpcore.spectra.Spectrum`. The steps of a site and of the aggregator are in `dpcore.pca.site` and
`dpcore.pca.aggregator`; this module decides when they run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import partial
from threading import Lock
from typing import TypeVar, cast

import numpy as np
from numpy.typing import DTypeLike

from dpcore.arrays import PROCESSORS, FloatArray
from dpcore.errors import ParameterError
from dpcore.pca.aggregator import Inbox, add_up
from dpcore.pca.assessment import columns_differ, off_diagonal_energy
from dpcore.pca.messages import transmit
from dpcore.pca.settings import (
    ReleaseSettings,
    check_centring,
    noise_of,
    rounding_step,
    settle_by_votes,
    sites_that_answer,
    with_mean_share,
)
from dpcore.pca.site import (
    Calibrate,
    MessageKind,
    NoiseScales,
    NoisySite,
    ReceivedMessages,
    SiteAtWork,
    SiteMessage,
    centre_of_site_rows,
    noise_of_sites,
    noise_scales,
    noisy_mean,
    noisy_second_moment,
    noisy_votes,
)
from dpcore.spectra import (
    COLUMNS_WHERE_BETTER,
    PublicBasis,
    SiteMoments,
    SiteRows,
    Spectrum,
    uncentred_bases,
)
from dpcore.streams import Purpose, Repetition

# Below this many features a decomposition takes well under a millisecond, less than handing it
# over to a thread.
THREADED_FROM_FEATURES = 256

# Memory limit for noisy matrices that wait for the average of their diagonals. The noise of further
# sites is drawn a second time.
_MOST_BYTES_STORED = 2**28

Made = TypeVar("Made")


class Draw:
    """One repetition: site moments, settings and the streams of noise.

    Parameters
    ----------
    moments : SiteMoments or SiteRows
        Rows if a centre has to be drawn before their moments can be computed.
    settings : ReleaseSettings
    repetition : Repetition
    proxies, average : bool
        Messages of the sites that the selected protocols need.
    calibrate : callable
        (n_samples, settings) -> NoiseScales of the holder of n_samples rows.
    precision : data type, optional
        Data type of pooled noise and of averages; that of the rows by default.
    threads : int, optional
        Number of sites processed in parallel; one per processor by default.
    checkpoint : callable
        Called before each site and each block of pooled rows; an exception that it raises ends the
        draw.
    watch : callable
        Called with a `SiteAtWork` when a site is done, by the thread that processed it.

    Attributes
    ----------
    all_sites : SiteMoments or SiteRows
        Data of all sites.
    sites : tuple of int
        Numbers of the sites that answer.
    moments : SiteMoments or SiteRows
        Data of the sites that answer. Protocols read nothing else.
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
        self.all_sites = moments
        # Streams are keyed by a site's number among all sites, so that dropouts do not change them.
        self.sites = sites_that_answer(settings, moments.n_sites, repetition)
        self.moments = moments.at(self.sites)
        self.settings = settings
        self.repetition = repetition
        self.calibrate = calibrate
        self.precision = np.dtype(precision or moments.dtype)
        self._average_in = precision
        self._sharing = [settings]
        self._message_kinds = proxies, average
        self._threads = threads
        self._checkpoint = checkpoint
        self._watch = watch
        self._noisy_sites: dict[int, NoisySite] = {}
        self._memo: dict[Callable[..., object], object] = {}
        self._locks: dict[Callable[..., object], Lock] = {}
        self._lock = Lock()

    def draws_with(self, settings: Sequence[ReleaseSettings]) -> list[Draw]:
        """Return one draw per setting, with shared noise and decompositions.

        Raises
        ------
        ParameterError
            If the settings differ in a value that affects the noise, or one cannot run.
        """
        for other in settings:
            other.check_features(self.moments.n_features)
        if {noise_of(other) for other in settings} != {noise_of(self.settings)}:
            raise ParameterError("settings", "equal in all that shapes the noise", settings)
        self._sharing[:] = settings
        draws = [copy(self) for _ in settings]
        for draw, own_settings in zip(draws, settings, strict=True):
            draw.settings = own_settings
        return draws

    def compute_once(self, make: Callable[[Draw], Made]) -> Made:
        """Return make(), computed once for all draws that share the noise. Thread-safe.

        `make` must not depend on K, R, truncation, encoding or denoising.
        """
        with self._lock:
            lock = self._locks.setdefault(make, Lock())
        with lock:
            if make not in self._memo:
                self._memo[make] = make(self)
            return cast(Made, self._memo[make])

    @property
    def n_samples(self) -> list[int]:
        """Return the number of samples at each site that answers."""
        return [int(n) for n in self.moments.n_samples]

    @property
    def n_people(self) -> int:
        """Return N, the number of samples at all sites that answer."""
        return sum(self.n_samples)

    @property
    def of_sites(self) -> ReleaseSettings:
        """Return the settings with the centre that all these sites chose together."""
        return self.compute_once(Draw._settings_of_sites)

    @property
    def noisy_votes(self) -> FloatArray | None:
        """Return the shares of votes that the sites release, shape (S, 4); None without votes."""
        return self.compute_once(Draw._noisy_votes)

    @property
    def scales(self) -> list[NoiseScales]:
        """Return the noise scales of each site.

        Computed on first use, because they need a delta, which PPCA does not have.
        """
        return self.compute_once(Draw._scales)

    @property
    def sigma(self) -> FloatArray:
        """Return the noise standard deviation of each site's second moment, shape (S,)."""
        return np.array([scales.moment for scales in self.scales])

    @property
    def sigma_of_average(self) -> float:
        """Return the noise standard deviation of an entry of the average second moment."""
        return float(np.linalg.norm(self.moments.weights * self.sigma))

    @property
    def shares_diagonal(self) -> bool:
        """Return whether sites that cut share the average of their noisy diagonals first."""
        return self.settings.bases == (COLUMNS_WHERE_BETTER,)

    @property
    def bases_at_sites(self) -> tuple[PublicBasis, ...]:
        """Return the bases in which sites denoise before their cut.

        Columns are left out unless they differ in variance, according to the average of the sites'
        noisy diagonals and of their sums of squares off the diagonal. The matrix of one site is too
        noisy for the decision, and all sites have to be denoised in the same way.
        """
        if not self.shares_diagonal:
            return self._bases_about_centre(self.settings.bases)
        return self.settings.bases if self.compute_once(Draw._columns_differ) else ()

    @property
    def diagonal_of_average(self) -> FloatArray | None:
        """Return the average of the sites' noisy diagonals, shape (D,).

        None if the sites do not share the diagonal.
        """
        return self.compute_once(Draw._average_energy)[0] if self.shares_diagonal else None

    @property
    def noisy_means(self) -> FloatArray | None:
        """Return the released means of the sites, shape (S, D); None without a mean."""
        return self.compute_once(Draw._noisy_means)

    @property
    def centre(self) -> FloatArray | None:
        """Return the centre of the sphere that the sites share, shape (D,).

        None if rows keep their length.
        """
        return self.compute_once(Draw._centre)

    @property
    def pooled_moment(self) -> FloatArray:
        """Return the exact second moment of all sites, without centring."""
        return self.compute_once(Draw.moment_around)

    def moment_around(
        self, centre: FloatArray | None = None, site: int | None = None
    ) -> FloatArray:
        """Return the exact second moment of one site, or of all sites if `site` is None.

        Rows that are not centred yet are centred by `centre`, or by the public middle if it is
        None.
        """
        if isinstance(self.moments, SiteRows):
            # Sites share the processors; the last ones may be fewer than the processors.
            threads = self._threads or PROCESSORS
            if site is not None:
                n_rest = len(self.sites) % threads
                is_last = site >= len(self.sites) - n_rest
                threads = threads // n_rest if is_last else 1
            middle = np.zeros(self.moments.n_features) if centre is None else centre
            ask = self._checkpoint if site is None else lambda: None
            return self.moments.moment_around(middle, site, threads=threads, checkpoint=ask)
        moments: FloatArray = self.moments.second_moments
        return (
            np.tensordot(self.moments.weights, moments, axes=1) if site is None else moments[site]
        )

    def exact_moment(
        self,
        settings: ReleaseSettings,
        centre: FloatArray | None,
        site: int | None = None,
        *,
        across_sites: bool = False,
    ) -> FloatArray:
        """Return the exact second moment of rows about a centre, or of their differences.

        settings: Settings with the chosen centre.
        site: As in `moment_around`.
        across_sites: Form pairs of rows of different sites, too.
        """
        if not settings.is_of_differences or not isinstance(self.moments, SiteRows):
            return self.moment_around(centre, site)
        ask = self._checkpoint if site is None else lambda: None
        threads = self._threads if site is None else 1
        return self.moments.moment_of_differences(
            site, across_sites=across_sites, threads=threads, checkpoint=ask
        )

    def total_around(self, centre: FloatArray | None) -> float | None:
        """Return the energy of all directions of `moment_around(centre)`, if it is public."""
        if centre is None or not isinstance(self.moments, SiteRows):
            return None
        return self.moments.total_around(centre)

    def first_spectrum(self) -> Spectrum:
        """Return the first site's noisy second moment, around the site's own noisy mean."""
        return self.compute_once(Draw._receive_messages)[0]

    def proxies(self) -> Inbox:
        """Return the aggregator's inbox if every site sends its proxy."""
        return self.compute_once(Draw._receive_messages)[1][MessageKind.proxy(self.settings)]

    def whole_matrices(self) -> Inbox:
        """Return the aggregator's inbox if every site sends its whole matrix."""
        return self.compute_once(Draw._receive_messages)[1][MessageKind(self.settings.encoding)]

    @property
    def _needed_kinds(self) -> list[MessageKind]:
        """Return the message kinds that the selected protocols need."""
        proxies, average = self._message_kinds
        kinds = {MessageKind.proxy(entry) for entry in self._sharing if proxies}
        kinds |= {MessageKind(entry.encoding) for entry in self._sharing if average}
        # Longest first: shorter proxies are then views of it.
        return sorted(kinds, key=lambda kind: (-kind.intermediate_dim, repr(kind)))

    def _in_order(self, sites: range) -> Iterator[tuple[list[Spectrum], ReceivedMessages]]:
        # Results are consumed in site order, so sums do not depend on which thread was faster,
        # and in chunks, so that fifty sites do not need fifty noisy matrices in memory.
        workers = min(len(sites), self._threads or PROCESSORS)
        if workers > 1 and self.moments.n_features >= THREADED_FROM_FEATURES:
            return self._in_threads(sites, workers)
        return map(self._site_messages, sites, map(self.noisy_site, sites))

    def _in_threads(
        self, sites: range, workers: int
    ) -> Iterator[tuple[list[Spectrum], ReceivedMessages]]:
        with ThreadPoolExecutor(workers) as pool:
            for start in range(0, len(sites), 4 * workers):
                chunk = sites[start : start + 4 * workers]
                yield from pool.map(
                    lambda site: self._site_messages(site, self.noisy_site(site)), chunk
                )

    def noisy_site(self, site: int) -> NoisySite:
        """Return a site with its noise, the same at every call."""
        if (before := self._noisy_sites.pop(site, None)) is not None:
            return before
        self._checkpoint()
        sigma = self.scales[site].moment
        noisy = noisy_second_moment(
            self.exact_moment(self.of_sites, self.centre, site),
            sigma,
            noise=self.settings.noise,
            rng=self.repetition.rng(Purpose.SITE_NOISE, self.sites[site]),
            precision=self.moments.dtype,
        )
        people = int(self.moments.n_samples[site])
        return NoisySite(noisy, people, sigma, self.settings.noise, self.sigma_of_average)

    def for_each_site(self, work: Callable[[int, NoisySite], Made]) -> Iterator[Made]:
        """Yield work(site, noisy site) of all sites in order, computed in several threads."""

        def work_at(site: int) -> Made:
            return work(site, self.noisy_site(site))

        sites = range(self.moments.n_sites)
        workers = min(len(sites), self._threads or PROCESSORS)
        if workers == 1 or self.moments.n_features < THREADED_FROM_FEATURES:
            yield from map(work_at, sites)
            return
        with ThreadPoolExecutor(workers) as pool:
            # Chunks bound the number of noisy matrices in memory.
            for start in range(0, len(sites), workers):
                yield from pool.map(work_at, sites[start : start + workers])

    def centred_site(self, site: int, drawn: NoisySite) -> NoisySite:
        """Return the site around the average noisy mean, if its rows are not centred yet."""
        if self.noisy_means is None or self.centre is not None:
            return drawn
        return drawn.centred(self.noisy_means[site], self.moments.weights @ self.noisy_means)

    def _site_messages(
        self, site: int, drawn: NoisySite
    ) -> tuple[list[Spectrum], ReceivedMessages]:
        around_own_mean, centred = drawn, self.centred_site(site, drawn)
        if self.noisy_means is not None and self.centre is None and site == 0:
            mean = self.noisy_means[site]
            around_own_mean = drawn.centred(mean, mean)
        received = {kind: self._send(centred, kind, site) for kind in self._needed_kinds}
        self._watch(SiteAtWork(site, drawn, centred, received))
        return [around_own_mean.spectrum] if site == 0 else [], received

    def _send(self, noisy: NoisySite, kind: MessageKind, site: int) -> tuple[SiteMessage, int]:
        message = self._proxy(noisy, kind) if kind.intermediate_dim else noisy.whole()
        dithered = rounding_step(kind.encoding) is not None
        rng = self.repetition.rng(Purpose.ROUNDING, self.sites[site]) if dithered else None
        return transmit(message, kind.encoding, rng=rng)

    def _proxy(self, noisy: NoisySite, kind: MessageKind) -> SiteMessage:
        if kind.bases != (COLUMNS_WHERE_BETTER,):
            bases = self._bases_about_centre(kind.bases)
            return noisy.proxy(kind.intermediate_dim, kind.ranking, bases)
        bases = kind.bases if self.compute_once(Draw._columns_differ) else ()
        diagonal = self.compute_once(Draw._average_energy)[0]
        return noisy.proxy(kind.intermediate_dim, kind.ranking, bases, diagonal)

    def _bases_about_centre(self, bases: tuple[PublicBasis, ...]) -> tuple[PublicBasis, ...]:
        """Return the bases for rows about the released mean, or about the public middle."""
        has_centre = self.noisy_means is not None or self.of_sites.is_of_differences
        is_uncentred = self.settings.on_sphere and not has_centre
        return uncentred_bases(bases) if is_uncentred else bases

    # Arguments of `compute_once`.

    def _settings_before_votes(self) -> ReleaseSettings:
        people, n_features = self.n_samples, self.moments.n_features
        return with_mean_share(self.settings, people, n_features, n_noises=len(people))

    def _settings_of_sites(self) -> ReleaseSettings:
        before = self._settings_before_votes()
        if before.test_share == 0 or self.noisy_votes is None:
            return before
        return settle_by_votes(before, self.moments.weights @ self.noisy_votes)

    def _noisy_votes(self) -> FloatArray | None:
        before, rows = self._settings_before_votes(), self.moments
        if before.test_share == 0 or not isinstance(rows, SiteRows):
            return None
        scales = noise_of_sites(before, self.n_samples, self.calibrate)
        rng = partial(self.repetition.rng, Purpose.VOTES)
        return np.stack(
            [
                noisy_votes(
                    rows.votes(before.vote_rule.votes, site),
                    site_scales.votes,
                    rng=rng(self.sites[site]),
                )
                for site, site_scales in enumerate(scales)
            ]
        )

    def _scales(self) -> list[NoiseScales]:
        return noise_of_sites(self.of_sites, self.n_samples, self.calibrate)

    def _centre(self) -> FloatArray | None:
        if not isinstance(self.moments, SiteRows):
            return None
        if self.noisy_means is None:
            return centre_of_site_rows(self.moments, None)
        weights = self.moments.weights
        sigma = float(np.linalg.norm(weights * [scales.mean for scales in self.scales]))
        return centre_of_site_rows(self.moments, weights @ self.noisy_means, sigma)

    def _columns_differ(self) -> bool:
        sigma = self.sigma_of_average
        if sigma == 0:
            return False
        return columns_differ(*self.compute_once(Draw._average_energy), sigma)

    def _average_energy(self) -> tuple[FloatArray, float]:
        """Return the average noisy diagonal, and the average sum of squares off the diagonal."""
        weights, noise = self.moments.weights, self.settings.noise
        total, off_diagonal = np.zeros(self.moments.n_features), 0.0
        n_bytes = 0
        for site, drawn in enumerate(self.for_each_site(lambda _, noisy: noisy)):
            centred = self.centred_site(site, drawn)
            total += weights[site] * np.diagonal(centred.noisy).astype(np.float64)
            energy = off_diagonal_energy(centred.noisy, centred.sigma, noise=noise)
            off_diagonal += weights[site] * energy
            # Stored for the messages, so that noise is not drawn twice.
            n_bytes += drawn.noisy.nbytes
            if n_bytes <= _MOST_BYTES_STORED:
                self._noisy_sites[site] = drawn
        return total, float(off_diagonal)

    def _noisy_means(self) -> FloatArray | None:
        if self.of_sites.mean_share == 0:
            return None
        sites = zip(self.sites, self.moments.means, self.scales, strict=True)
        rng = partial(self.repetition.rng, Purpose.PREPARATION)
        return np.stack(
            [noisy_mean(mean, site_scales.mean, rng=rng(site)) for site, mean, site_scales in sites]
        )

    def _receive_messages(self) -> tuple[Spectrum, dict[MessageKind, Inbox]]:
        """Return the first site's spectrum and the received messages of every required kind."""
        boxes = {kind: Inbox(self.moments.weights, self._average_in) for kind in self._needed_kinds}
        if any(kind.bases == (COLUMNS_WHERE_BETTER,) for kind in boxes):
            self.compute_once(Draw._columns_differ)
        first: list[Spectrum] = []
        for spectra, received in self._in_order(range(self.moments.n_sites if boxes else 1)):
            first += spectra
            for kind, (message, n_bytes) in received.items():
                boxes[kind].receive(message, n_bytes)
        add_up(boxes.values())
        return first[0], boxes
