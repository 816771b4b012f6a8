"""What a private PCA is asked to do."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, Self

from dpcore.errors import ParameterError, require_one_of
from dpcore.mechanisms import NOISE_SHAPES
from dpcore.privacy import CALIBRATIONS, PrivacyBudget
from dpcore.spectra import COLUMNS, PublicBasis, cosine_basis
from dpcore.streams import AFTER_THE_NOISE, Purpose, Repetition

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
        reads public numbers only (`dpcore.pca.mean_share`).
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
    denoise : tuple of PublicBasis
        Public bases in which noise is told from signal before a noisy matrix is decomposed
        (`dpcore.spectra.denoise`): by each site before its cut to R, or once by whoever holds a
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
    denoise: tuple[PublicBasis, ...] = field(default=(), metadata={AFTER_THE_NOISE: True})

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
    """The bases of `ReleaseSettings.denoise` that a choice stands for.

    Parameters
    ----------
    choice : {"auto", "columns", "cosines", "none"}
        "cosines" of pictures, and then their columns. "auto" is that for pictures and "columns"
        for other tables; but "none" beside any step of Algorithm 1 as printed, so that what is
        asked for as printed is.
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
    if choice == "columns" or image_shape is None:
        return (COLUMNS,)
    return cosine_basis(image_shape), COLUMNS


def noise_of(settings: ReleaseSettings) -> ReleaseSettings:
    """The settings without what is chosen after the noise: K, R, truncation, encoding and bases
    to denoise in."""
    return replace(
        settings,
        n_components=1,
        intermediate_dim=1,
        truncation="svd",
        encoding="native",
        denoise=(),
    )
