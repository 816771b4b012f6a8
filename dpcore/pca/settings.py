"""Settings of a private PCA, and the share of its budget that a private mean takes.

How much of a budget a private mean is worth: from public numbers, and from no row.

Rows are at most 1 long, N of them at S sites, each with D entries; mu is the budget as a Gaussian
mechanism. Averaged over the sites, the mean's noise is 2 x / sqrt(s) long for a share s of mu
squared, with x = sqrt(S D) / (N mu), and that of the second moment has the operator norm
2 x / sqrt(1 - s) (the edge of the semicircle of isometric noise of scale sqrt(2) / (n mu)).

A centre that is off by e bends the moment by second order, |e|^2 over the squared distance of the
rows; measured against the diameter 2 of the ball this is x^2 / s. Since 2 / sqrt(1 - s) is at most
1 + 1 / (1 - s), both together are at most

    x + x / (1 - s) + x^2 / s,

which is least at s = sqrt(x) / (1 + sqrt(x)), where it is 2 x + 2 x^(3/2) + x^2. Without a mean
rows are taken around the public middle, which is at most 1 off, that is 1/4 by the same measure,
and the moment's noise costs 2 x: from 2 x^(3/2) + x^2 = 1/4 on, at x = 0.22, a mean costs more
than any centre it could find is worth, and none is bought.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from numbers import Integral
from typing import Any, Self

from dpcore.errors import ParameterError, require_one_of
from dpcore.mechanisms import NOISE_SHAPES
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

# What a private PCA is asked to do.

TRUNCATIONS = ("svd", "psd")
MASKS = ("published", "wide")
DENOISING = ("auto", "columns", "cosines", "none")
# How a message may be put into bytes.
NATIVE = "native"
PRECISIONS = ("float64", "float32", "float16", "int8")
ROUNDED = "rounded:"
# Below it the weight of the mean, its root, may be no number above 0.
SMALLEST_MEAN_SHARE = 1e-300


@dataclass(frozen=True)
class ReleaseSettings:
    """Everything a protocol needs besides the data and the randomness.

    By default noise that keeps its promise at every epsilon, in the shape and the truncation that
    cost least; what Algorithm 1 prints is `ReleaseSettings.published`.

    Parameters
    ----------
    budget : PrivacyBudget
    n_components : int
        K, the dimension of the subspace released.
    intermediate_dim : int
        R, the number of eigen-directions a site sends. R < K is allowed: the sites' proxies
        together may still span K directions, each site just contributes fewer.
    calibration : {"published", "classic", "analytic"}
    noise : {"triangle", "isometric"}
    truncation : {"svd", "psd"}
        Rank eigenvalues by magnitude, as published, or by value with negative ones cut to zero.
    row_norm_bound : float
        Public bound c on the Euclidean norm of a row.
    mean_share : float or None
        In [0, 1). Share of the budget, counted in mu squared, that pays for a private mean to
        centre by (`mean_weight`). 0 takes rows as centred; None finds a share by a rule that
        reads public numbers only (`dpcore.pca.settings`).
    on_sphere : bool
        Send every row to length 1 around that mean before the second moment is taken
        (`SiteRows.around`), instead of subtracting the mean's outer product afterwards.
    masks : {"published", "wide"}
        Size of CAPE's zero-sum masks.
    honest_sites : int or None
        H: how many sites CAPE's guarantee counts on to keep their masks and noises to
        themselves; None is all but one, and one of one.
    encoding : str
        How messages are put into bytes: "native", a precision, or "rounded:K" for whole matrices
        (`dpcore.pca.messages.encode_message`).
    dropped_sites : int
        How many of the sites never answer; which ones, a stream of the repetition says
        (`sites_that_answer`).
    bases : tuple of PublicBasis
        Public bases in which noise is told from signal before a noisy matrix is decomposed
        (`dpcore.spectra.denoising`): by each site before its cut to R, or once by whoever holds a
        noisy matrix of everybody. With none, matrices are decomposed as they are.

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
    masks: str = "published"
    honest_sites: int | None = None
    encoding: str = "native"
    dropped_sites: int = field(default=0, metadata={AFTER_THE_NOISE: True})
    bases: tuple[PublicBasis, ...] = field(default=(), metadata={AFTER_THE_NOISE: True})

    @classmethod
    def published(
        cls, budget: PrivacyBudget, n_components: int, intermediate_dim: int, **changes: Any
    ) -> Self:
        """Noise and truncation as printed, whose calibration breaks its promise above about 2."""
        printed = {"calibration": "published", "noise": "triangle", "truncation": "svd"}
        return cls(budget, n_components, intermediate_dim, **(printed | changes))

    def __post_init__(self) -> None:
        for name, choices in (
            ("calibration", CALIBRATIONS),
            ("noise", NOISE_SHAPES),
            ("truncation", TRUNCATIONS),
            ("masks", MASKS),
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
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < 1:
                raise ParameterError(name, "a whole number of at least 1", value)

        if not isinstance(self.dropped_sites, Integral) or self.dropped_sites < 0:
            raise ParameterError(
                "dropped_sites", "a whole number of at least 0", self.dropped_sites
            )

    def check_sites(self, n_sites: int) -> None:
        """Refuse that nobody answers."""
        if self.dropped_sites >= n_sites:
            raise ParameterError(
                "dropped_sites", f"fewer than the {n_sites} there are", self.dropped_sites
            )

    def check_features(self, n_features: int) -> None:
        """Refuse K or R above the number of features."""
        for name in ("n_components", "intermediate_dim"):
            if getattr(self, name) > n_features:
                raise ParameterError(name, f"in [1, n_features={n_features}]", getattr(self, name))

    @property
    def ranking(self) -> str:
        """The criterion of `leading_eigenpairs` that this truncation asks for."""
        return "magnitude" if self.truncation == "svd" else "value"


def rounding_step(encoding: str) -> float | None:
    """The k of "rounded:k", the step in units of sigma; None for the other encodings.

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
    """Refuse a share outside [0, 1), or so small that its mean would have noise without bound."""
    if not 0 <= mean_share < 1:
        raise ParameterError("mean_share", "in [0, 1)", mean_share)
    if 0 < mean_share < SMALLEST_MEAN_SHARE:
        raise ParameterError("mean_share", f"0 or at least {SMALLEST_MEAN_SHARE:g}", mean_share)


def sites_that_answer(
    settings: ReleaseSettings, n_sites: int, repetition: Repetition
) -> tuple[int, ...]:
    """Numbers of the sites that do not drop out, in order; the more drop out, the same and others.

    Raises `ParameterError` if nobody would be left.
    """
    settings.check_sites(n_sites)
    if settings.dropped_sites == 0:
        return tuple(range(n_sites))
    shuffled = repetition.rng(Purpose.DROP_OUT).permutation(n_sites)
    return tuple(sorted(shuffled[settings.dropped_sites :].tolist()))


def bases_to_denoise_in(
    choice: str,
    image_shape: tuple[int, int] | None = None,
    *,
    calibration: str = "analytic",
    noise: str = "isometric",
    truncation: str = "psd",
) -> tuple[PublicBasis, ...]:
    """The bases of `ReleaseSettings` that a choice stands for.

    Parameters
    ----------
    choice : {"auto", "columns", "cosines", "none"}
        "cosines" reduces pictures in cosines and then in columns. "auto" does the same about a
        prior mean (`dpcore.spectra.prior_mean`), and reduces other tables in columns if that is
        better (`dpcore.pca.assessment.bases_worth`). With any published step of Algorithm 1
        "auto" is "none", so that a published configuration stays as published.
    image_shape : (height, width), optional
        Of pictures whose pixels are the columns.
    calibration, noise, truncation : str
        As in `ReleaseSettings`.

    Raises
    ------
    ParameterError
        If there is no such choice, or cosines are asked of what are no pictures.
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
    return picture_basis(image_shape), COLUMNS


def noise_of(settings: ReleaseSettings) -> ReleaseSettings:
    """The settings without what is chosen after the noise: K, R, truncation, encoding and bases."""
    return replace(
        settings,
        n_components=1,
        intermediate_dim=1,
        truncation="svd",
        encoding="native",
        bases=(),
    )


# How much of a budget a private mean is worth: from public numbers, and from no row.

# What no centre at all costs at most, in the measure above.
_WITHOUT = 0.25
# Where there is no noise the mean costs nothing, and any share will do.
_SMALLEST = 1e-6


def with_mean_share(
    settings: ReleaseSettings, n_samples: Sequence[float], n_features: int, *, n_noises: int = 1
) -> ReleaseSettings:
    """The settings with the share that the rule finds, where it was left to it.

    n_samples: People at each site that has a part in the mean.
    n_noises: How many noises, each calibrated for a site of its own, are averaged: S, or 1 where
        noise is added once.
    Raises `ParameterError` if the budget cannot be calibrated.
    """
    if settings.mean_share is not None:
        return settings
    return _settled(settings, sum(n_samples), n_noises * n_features)


# Every protocol of a draw asks several times.
@lru_cache(maxsize=256)
def _settled(settings: ReleaseSettings, n_people: float, n_entries: int) -> ReleaseSettings:
    unit = _noise_of_unit_change(settings.budget, settings.calibration)
    noise = math.sqrt(n_entries) / n_people * unit
    return replace(settings, mean_share=best_mean_share(noise))


def best_mean_share(noise: float) -> float:
    """s for noise x = sqrt(S D) / (N mu); 0 where no mean is worth its price."""
    root = math.sqrt(noise)
    if 2 * noise * root + noise**2 >= _WITHOUT:
        return 0.0
    return max(root / (1 + root), _SMALLEST)


def check_centring(moments: SiteMoments | SiteRows, settings: ReleaseSettings) -> None:
    """Refuse rows that wait for a centre where none is asked for, and the reverse.

    Moments that were taken already can be of rows at length 1 around a public point, and of no
    others: `on_sphere` then goes with a `mean_share` of 0.
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
    """1 / mu: the noise that a change of 1 gets."""
    if calibration == "published":
        return published_sigma(budget, 1.0, 1.0) / math.sqrt(2)
    return gaussian_sigma(budget, 1.0, calibration=calibration)
