"""Settings of a private PCA, and the share of its budget that a private mean takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from numbers import Integral
from typing import Any, Self

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError, require_one_of
from dpcore.mechanisms import NOISE_SHAPES
from dpcore.pca.centre_rule import (
    ACCURATE_MEAN,
    ANY_MEAN,
    CENTRE_RULES,
    DIFFERENCES,
    MEAN,
    NO_CENTRE,
    VOTES,
    VoteRule,
    best_mean_share,
    choose_centre,
    mean_error_limit,
    vote_rule,
)
from dpcore.picture_kinds import FULL
from dpcore.privacy import CALIBRATIONS, PrivacyBudget, gaussian_sigma, published_sigma
from dpcore.spectra import (
    COLUMNS,
    COLUMNS_WHERE_BETTER,
    PublicBasis,
    SiteMoments,
    SiteRows,
    cosine_basis,
    picture_basis,
)
from dpcore.streams import AFTER_THE_NOISE, Purpose, Repetition

TRUNCATIONS = ("svd", "psd")
MASKS = ("published", "wide")
DENOISING = ("auto", "columns", "cosines", "none")
# Encodings of messages.
NATIVE = "native"
PRECISIONS = ("float64", "float32", "float16", "int8")
ROUNDED = "rounded:"
# Smallest share of a mean: the weight of the mean, a root of the share, must not round to 0.
SMALLEST_MEAN_SHARE = 1e-300


def check_count(name: str, value: object) -> None:
    """Raise `ParameterError` unless the value is a whole number of at least 1."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ParameterError(name, "a whole number of at least 1", value)


@dataclass(frozen=True)
class ReleaseSettings:
    """Settings of a release: all inputs of a protocol except the data and the randomness.

    The defaults are the calibration that keeps its guarantee at every epsilon, and the noise shape
    and truncation with the smallest error. Algorithm 1 as printed is `ReleaseSettings.published`.

    Parameters
    ----------
    budget : PrivacyBudget
    n_components : int
        K, the dimension of the subspace released.
    intermediate_dim : int
        R, the number of eigen-directions a site sends. R < K is allowed: the
        sites' proxies together may still span K directions, each site just contributes fewer.
    calibration : {"published", "classic", "analytic"}
    noise : {"triangle", "isometric"}
    truncation : {"svd", "psd"}
        Rank eigenvalues by magnitude, as published, or by value with negative ones cut to zero.
    row_norm_bound : float
        Public bound c on the Euclidean norm of a row.
    mean_share : float or None
        Share of the budget in [0, 1), counted in mu squared, for a private
        mean to centre by (`mean_weight`). 0 takes rows as centred; None computes a share from
        public numbers only (`dpcore.pca.settings`).
    on_sphere : bool
        Scale every row to length 1 around that mean before the second moment is computed
        (`SiteRows.moment_around`), instead of subtracting the mean's outer product afterwards.
    centred_by : {"accurate mean", "any mean", "votes"}
        Rule for the centre if `mean_share` is None: a mean if its noise is small, a mean at any
        noise, or on the sphere the choice of noisy votes of pairs (`dpcore.pca.centre_rule`).
    test_share, vote_noise : float
        Share of the budget for these votes, and the noise x from which pairs find their votes
        (`VoteRule`). Set by `with_mean_share`.
    mean_error : float
        Share of the variance that the error of a mean chosen by votes may hold; 0 without votes.
    is_of_differences : bool
        Replace rows by differences of pairs at length 1 (`SiteRows.moment_of_differences`).
    masks : {"published", "wide"}
        Size of CAPE's zero-sum masks.
    honest_sites : int or None
        H: number of sites that are assumed to keep their masks and noises
        secret in CAPE's guarantee. None is all but one, and 1 for a single site.
    encoding : str
        Encoding of messages: "native", a precision, or "rounded:K" for whole matrices
        (`dpcore.pca.messages.encode_message`).
    dropped_sites : int
        Number of sites that never answer. A stream of the repetition selects them
        (`sites_that_answer`).
    bases : tuple of PublicBasis
        Public bases in which a noisy matrix is denoised before it is decomposed
        (`dpcore.spectra.denoising`): by each site before its cut to R, or once by the holder of a
        noisy matrix of all sites. Without bases, matrices are decomposed as they are.

    Raises
    ------
    ParameterError
        If a value is outside its constraint.
    """

    budget: PrivacyBudget
    n_components: int
    intermediate_dim: int
    calibration: str = "analytic"
    noise: str = "isometric"
    truncation: str = "psd"
    row_norm_bound: float = 1.0
    mean_share: float | None = 0.0
    on_sphere: bool = False
    centred_by: str = ACCURATE_MEAN
    test_share: float = 0.0
    vote_noise: float = 0.0
    mean_error: float = 0.0
    is_of_differences: bool = False
    masks: str = "published"
    honest_sites: int | None = None
    encoding: str = "native"
    dropped_sites: int = field(default=0, metadata={AFTER_THE_NOISE: True})
    bases: tuple[PublicBasis, ...] = field(default=(), metadata={AFTER_THE_NOISE: True})

    @classmethod
    def published(
        cls, budget: PrivacyBudget, n_components: int, intermediate_dim: int, **changes: Any
    ) -> Self:
        """Return settings as printed.

        The printed calibration breaks its guarantee for epsilon above about 2.
        """
        printed = {"calibration": "published", "noise": "triangle", "truncation": "svd"}
        return cls(budget, n_components, intermediate_dim, **(printed | changes))

    def __post_init__(self) -> None:
        for name, choices in (
            ("calibration", CALIBRATIONS),
            ("noise", NOISE_SHAPES),
            ("truncation", TRUNCATIONS),
            ("masks", MASKS),
            ("centred_by", CENTRE_RULES),
        ):
            require_one_of(name, getattr(self, name), choices)
        rounding_step(self.encoding)
        if not 0 < self.row_norm_bound < math.inf:
            raise ParameterError("row_norm_bound", "a positive finite number", self.row_norm_bound)
        if self.on_sphere and self.row_norm_bound != 1:
            raise ParameterError(
                "row_norm_bound",
                "1 on the sphere, whose rows come in its units",
                self.row_norm_bound,
            )
        if self.mean_share is not None:
            check_mean_share(self.mean_share)
        for name in ("n_components", "intermediate_dim"):
            check_count(name, getattr(self, name))
        if not isinstance(self.dropped_sites, Integral) or self.dropped_sites < 0:
            raise ParameterError(
                "dropped_sites", "a whole number of at least 0", self.dropped_sites
            )

    def check_sites(self, n_sites: int) -> None:
        """Raise `ParameterError` if all sites drop out."""
        if self.dropped_sites >= n_sites:
            raise ParameterError(
                "dropped_sites", f"fewer than the {n_sites} there are", self.dropped_sites
            )

    def check_features(self, n_features: int) -> None:
        """Raise `ParameterError` if K or R exceeds the number of features."""
        for name in ("n_components", "intermediate_dim"):
            if getattr(self, name) > n_features:
                raise ParameterError(name, f"in [1, n_features={n_features}]", getattr(self, name))

    @property
    def vote_rule(self) -> VoteRule:
        """Return the rule of the votes, for settings from `with_mean_share`."""
        return VoteRule(self.vote_noise, self.mean_share or 0.0, self.test_share)

    @property
    def centre_choice(self) -> str:
        """Return the name of the centre, an item of `CENTRES`."""
        if self.is_of_differences:
            return DIFFERENCES
        return NO_CENTRE if self.mean_share == 0 else MEAN

    @property
    def ranking(self) -> str:
        """Return the ranking of `leading_eigenpairs` that this truncation needs."""
        return "magnitude" if self.truncation == "svd" else "value"


def rounding_step(encoding: str) -> float | None:
    """Return the k of "rounded:k", the step in units of sigma; None for the other encodings.

    Raises `ParameterError` if the encoding is unknown or the step not a positive number.
    """
    if encoding == NATIVE or encoding in PRECISIONS:
        return None
    try:
        step = float(encoding.removeprefix(ROUNDED)) if encoding.startswith(ROUNDED) else 0.0
    except ValueError:
        step = 0.0
    if not 0 < step < math.inf:
        raise ParameterError(
            "encoding",
            f"{NATIVE}, {', '.join(PRECISIONS)} or {ROUNDED}K with a positive step of K sigma",
            encoding,
        )
    return step


def check_mean_share(mean_share: float) -> None:
    """Raise `ParameterError` if a share is outside [0, 1), or too small for finite noise."""
    if not 0 <= mean_share < 1:
        raise ParameterError("mean_share", "in [0, 1)", mean_share)
    if 0 < mean_share < SMALLEST_MEAN_SHARE:
        raise ParameterError("mean_share", f"0 or at least {SMALLEST_MEAN_SHARE:g}", mean_share)


def sites_that_answer(
    settings: ReleaseSettings, n_sites: int, repetition: Repetition
) -> tuple[int, ...]:
    """Return the numbers of the sites that do not drop out, in order.

    If more sites drop out, those that dropped out before are among them. Raises `ParameterError` if
    no site remains.
    """
    settings.check_sites(n_sites)
    if settings.dropped_sites == 0:
        return tuple(range(n_sites))
    shuffled = repetition.rng(Purpose.DROP_OUT).permutation(n_sites)
    return tuple(sorted(shuffled[settings.dropped_sites :].tolist()))


def bases_to_denoise_in(
    choice: str,
    image_shape: tuple[int, int] | None = None,
    picture: str = FULL,
    *,
    calibration: str = "analytic",
    noise: str = "isometric",
    truncation: str = "psd",
) -> tuple[PublicBasis, ...]:
    """Return the bases of `ReleaseSettings` for a choice of denoising.

    Parameters
    ----------
    choice : {"auto", "columns", "cosines", "none"}
        "cosines" denoises pictures in cosines and then in columns. "auto" does the same about a
        prior mean (`dpcore.spectra.prior_mean`), and denoises other tables in columns if that is
        better (`dpcore.pca.assessment.choose_bases`). With any published step of Algorithm 1 "auto"
        is "none", so that a published configuration stays as published.
    image_shape : (height, width), optional
        Shape of pictures whose pixels are the columns.
    picture : {"full", "centred"}
        Whether pictures fill the frame or show an object in its middle.
    calibration, noise, truncation : str
        Fields of `ReleaseSettings`.

    Raises
    ------
    ParameterError
        If the choice is unknown, or cosines are selected for data that are
        no pictures.
    """
    require_one_of("denoise", choice, DENOISING)
    printed = calibration == "published" or noise == "triangle" or truncation == "svd"
    if choice == "none" or (choice == "auto" and printed):
        return ()
    if choice == "cosines" and image_shape is None:
        raise ParameterError("denoise", "auto, columns or none where rows are no pictures", choice)
    if choice == "columns":
        return (COLUMNS,)
    if image_shape is None:
        return (COLUMNS_WHERE_BETTER,)
    if choice == "cosines":
        return cosine_basis(image_shape), COLUMNS
    return picture_basis(image_shape, picture), COLUMNS


def noise_of(settings: ReleaseSettings) -> ReleaseSettings:
    """Return the settings without those that apply after the noise.

    These are K, R, truncation, encoding and bases.
    """
    return replace(
        settings,
        n_components=1,
        intermediate_dim=1,
        truncation="svd",
        encoding="native",
        bases=(),
    )


def with_mean_share(
    settings: ReleaseSettings, n_samples: Sequence[float], n_features: int, *, n_noises: int = 1
) -> ReleaseSettings:
    """Return the settings with a mean share, computed by the rule if it is None.

    Where pairs vote, the result also has the share of the votes, and `with_centre` follows.

    n_samples: Samples at each site that contributes to the mean.
    n_noises: Number of noises, each calibrated for one site, that are averaged: S, or 1 if noise is
        added once.
    Raises `ParameterError` if the budget cannot be calibrated.
    """
    if settings.mean_share is not None:
        return settings
    return _with_best_share(settings, sum(n_samples), n_features, n_noises)


# Cached, because every protocol of a draw calls it several times.
@lru_cache(maxsize=256)
def _with_best_share(
    settings: ReleaseSettings, n_people: float, n_features: int, n_noises: int
) -> ReleaseSettings:
    unit = _noise_of_unit_change(settings.budget, settings.calibration)
    noise = math.sqrt(n_noises * n_features) / n_people * unit
    if settings.centred_by != VOTES:
        at_any_noise = settings.centred_by == ANY_MEAN
        return replace(settings, mean_share=best_mean_share(noise, at_any_noise=at_any_noise))
    rule = vote_rule(noise, n_features)
    return replace(settings, mean_share=rule.mean, test_share=rule.test, vote_noise=noise)


def with_centre(settings: ReleaseSettings, centre: str) -> ReleaseSettings:
    """Return settled settings with a chosen centre, whose noise uses all that the votes left.

    centre: Result of `choose_centre`.
    """
    share = settings.mean_share if centre == MEAN else 0.0
    return replace(settings, mean_share=share, is_of_differences=centre == DIFFERENCES)


def settle_by_votes(settings: ReleaseSettings, votes: FloatArray) -> ReleaseSettings:
    """Return settled settings with the centre that noisy votes choose.

    votes: shape (4,). As in `choose_centre`.
    """
    settled = with_centre(settings, choose_centre(votes))
    return replace(settled, mean_error=mean_error_limit(votes, settings.vote_rule))


def check_centring(moments: SiteMoments | SiteRows, settings: ReleaseSettings) -> None:
    """Raise `ParameterError` if rows that need a centre get none, or the reverse.

    Precomputed moments can be of rows at length 1 only around a public point: `on_sphere` then
    needs a `mean_share` of 0.
    """
    has_rows = isinstance(moments, SiteRows)
    if has_rows != settings.on_sphere and (has_rows or settings.mean_share != 0):
        raise ParameterError(
            "on_sphere",
            "true for rows that wait for a centre, and for moments false or with mean_share=0",
            settings.on_sphere,
        )


@lru_cache(maxsize=256)
def _noise_of_unit_change(budget: PrivacyBudget, calibration: str) -> float:
    """Return 1 / mu, the noise for a change of 1."""
    if calibration == "published":
        return published_sigma(budget, 1.0, 1.0) / math.sqrt(2)
    return gaussian_sigma(budget, 1.0, calibration=calibration)
