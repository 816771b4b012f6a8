"""Canonical pairs of two views: bounded rows, distributed CCA and measured correlations.

Sites release the joint second moment of rows z = [x y] with the protocols of distributed PCA
(`dpcore.pca.protocols`). The canonical pairs of the noisy average are post-processing. The poster
(Imtiaz & Sarwate) has one data holder ("pooled"); the other protocols follow by the same argument.

Guarantee: a release A + E of A = Z^T Z / N, with rows bounded by c, is the Gaussian mechanism under
replace-one with l2-sensitivity sqrt(2) c^2 / N (attained by two orthogonal rows of length c). A
private mean of both views is released as in PCA, at the joint sensitivity of moment and mean
(`dpcore.pca.site.noise_scales`); centring by it is post-processing.

On the sphere, x gets the length sqrt(w) around its mean and y the length sqrt(1 - w), where w is
the share of the first view. Every joined row has length 1, so the sensitivities are those of PCA on
the sphere. The sensitivity sqrt(2) / N of the joint moment is attained at w = 1/2 by a person whose
x changes its sign while y does not change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.data.row_bounds import (
    LONGEST_ON_SPHERE,
    MODES,
    check_norm_bound,
    in_units_of_bound,
    rounding,
    row_norms,
    shorten,
)
from dpcore.errors import ParameterError, require_one_of
from dpcore.pca import Draw, ReleaseSettings
from dpcore.pca.aggregator import NoisyAverage
from dpcore.pca.assessment import noise_edge
from dpcore.pca.protocols.register import PROTOCOLS as REGISTERED
from dpcore.pca.site import NoiseScales, noise_scales
from dpcore.privacy import Guarantee, PrivacyBudget, second_moment_sigma
from dpcore.spectra import SiteMoments, SiteRows, noise_edge_left
from dpcore.spectra.moments import Parts
from dpcore.streams import Repetition


@dataclass(frozen=True, eq=False)
class BoundedViews:
    """Two views whose joined rows [x y] have Euclidean norm at most 1, except in mode "sphere".

    Attributes
    ----------
    joined : ndarray of shape (n_samples, n_x + n_y)
        Rows [x y]; in mode "sphere" of any length, in units of the bound.
    parts : Parts
        The two views, each with the length it gets on the sphere.
    x_mean, y_mean : ndarray of shape (n_x,) and (n_y,)
        Subtracted centres in original units; public ones, except in mode "published".
    x_scale, y_scale : float
        A row that is not clipped is (x - x_mean) * x_scale.
    n_clipped : int
        Number of people whose joined row was longer than the bound and was shortened. It is
        computed from the data and not part of a private release.
    is_private : bool
        Whether this step reads no row before a guarantee applies.
    statement : str
        Sentence that describes this step and whether it is private.
    """

    joined: FloatArray
    parts: Parts
    x_mean: FloatArray
    y_mean: FloatArray
    x_scale: float
    y_scale: float
    n_clipped: int
    is_private: bool
    statement: str

    @property
    def X(self) -> FloatArray:
        """First view, of shape (n_samples, n_x)."""
        return self.joined[:, self.parts[0][0]]

    @property
    def Y(self) -> FloatArray:
        """Second view, of shape (n_samples, n_y)."""
        return self.joined[:, self.parts[1][0]]


def bound_views(
    X: FloatArray,
    Y: FloatArray,
    *,
    x_share: float = 0.5,
    mode: str = "bounded",
    x_norm_bound: float = 1.0,
    y_norm_bound: float = 1.0,
    x_centre: float = 0.0,
    y_centre: float = 0.0,
) -> BoundedViews:
    """Scale two views so that ||[x y]|| <= 1 for every person.

    Each view is divided by its own norm bound and weighted, by sqrt(x_share) and
    sqrt(1 - x_share). The weights do not change the canonical correlations. They change the effect
    of the noise, which is the same in every entry of the joint second moment.

    Parameters
    ----------
    X : array of shape (n_samples, n_x)
    Y : array of shape (n_samples, n_y)
    x_share : float
        Share of the first view in the squared norm bound, in (0, 1).
    mode : {"sphere", "bounded", "none", "published"}
        Mode of `dpcore.data.prepare`. "bounded" and "none" use the two public norm bounds and
        shorten joined rows longer than 1, both views by the same factor, which preserves the
        relation of x and y. "sphere" shortens no row: each view of a person is scaled around a
        private mean that is drawn later (`SiteRows`). "published" subtracts the mean and divides
        by the largest norm in the data, which is not private.
    x_norm_bound, y_norm_bound : float
        Public bounds on ||x - x_centre|| and ||y - y_centre||, chosen without the data. Not read
        in mode "published".
    x_centre, y_centre : float
        Public centres, subtracted from every entry of a view: the middle of the range where
        entries have one, which allows the smallest bound. Not read in mode "published".

    Raises
    ------
    ParameterError
        If the views differ in their number of people, an entry is not finite, or a parameter is
        outside its range.
    """
    X, Y = _check_views(X, Y)
    if not 0 < x_share < 1:
        raise ParameterError("x_share", "in (0, 1)", x_share)
    weights = math.sqrt(x_share), math.sqrt(1 - x_share)
    n_x = X.shape[1]
    parts = (slice(n_x), weights[0]), (slice(n_x, None), weights[1])
    if mode == "published":
        return _bound_as_published(X, Y, parts)
    require_one_of("mode", mode, MODES)
    for name, bound in (("x_norm_bound", x_norm_bound), ("y_norm_bound", y_norm_bound)):
        check_norm_bound(name, bound)
    for name, centre in (("x_centre", x_centre), ("y_centre", y_centre)):
        if not abs(centre) <= 1e15:
            raise ParameterError(name, "in [-1e15, 1e15]", centre)
    x_scale, y_scale = weights[0] / x_norm_bound, weights[1] / y_norm_bound
    rows = np.hstack([_rescale(X, x_centre, x_scale), _rescale(Y, y_centre, y_scale)])
    bounded, n_clipped = shorten(rows, 1.0)
    treatment = "longer joined rows are clipped"
    if mode == "sphere":
        treatment = "each view of a person is brought to its length around a private mean"
    return BoundedViews(
        rows if mode == "sphere" else bounded,
        parts,
        np.full(n_x, float(x_centre)),
        np.full(Y.shape[1], float(y_centre)),
        x_scale,
        y_scale,
        n_clipped,
        is_private=True,
        statement=(
            f"Views centred at the public {x_centre:.3g} and {y_centre:.3g} and divided by the "
            f"public bounds {x_norm_bound:.6g} and {y_norm_bound:.6g}; {treatment}: this step is "
            "private."
        ),
    )


def _rescale(view: FloatArray, centre: float, scale: float) -> FloatArray:
    about = view - view.dtype.type(centre)
    return in_units_of_bound(about, 1 / scale, LONGEST_ON_SPHERE, about)[0]


def _bound_as_published(X: FloatArray, Y: FloatArray, parts: Parts) -> BoundedViews:
    means = X.mean(axis=0, dtype=np.float64), Y.mean(axis=0, dtype=np.float64)
    views = [view - mean.astype(view.dtype) for view, mean in zip((X, Y), means, strict=True)]
    scales = []
    for name, view, (_, weight) in zip("XY", views, parts, strict=True):
        largest = row_norms(view).max()
        if largest == 0:
            raise ParameterError(name, "a view with at least two different rows", "equal rows")
        scales.append(weight / largest)
    joined = np.hypot(row_norms(views[0]) * scales[0], row_norms(views[1]) * scales[1])
    limit = 1 - rounding(views[0]) - rounding(views[1])
    scales = [scale * limit / joined.max() for scale in scales]
    scaled = [view * view.dtype.type(scale) for view, scale in zip(views, scales, strict=True)]
    return BoundedViews(
        np.hstack(scaled),
        parts,
        means[0],
        means[1],
        scales[0],
        scales[1],
        n_clipped=0,
        is_private=False,
        statement=(
            f"Centred with the mean of all {len(X):,} rows and divided by the largest norms, as "
            "published: both are read from the data, so this step is not private."
        ),
    )


def _check_views(X: FloatArray, Y: FloatArray) -> tuple[FloatArray, FloatArray]:
    views = []
    for name, matrix in (("X", X), ("Y", Y)):
        view = np.asarray(matrix)
        if view.ndim != 2 or 0 in view.shape:
            raise ParameterError(name, "a matrix with people in rows", view.shape)
        is_float = view.dtype in (np.float32, np.float64)
        views.append(view if is_float else view.astype(np.float64))
        if not np.isfinite(views[-1]).all():
            raise ParameterError(name, "finite in every entry", "NaN or infinity")
    if len(views[0]) != len(views[1]):
        raise ParameterError(
            "Y", f"a view of the same {len(views[0])} people", f"{len(views[1])} rows"
        )
    return views[0], views[1]


@dataclass(frozen=True, eq=False)
class MeasuredCorrelations:
    """Correlations of given directions on the true data.

    Attributes
    ----------
    pairs : ndarray of shape (n_components,)
        |correlation| of the k-th x score with the k-th y
        score.
    spans : ndarray of shape (n_components,)
        Canonical correlations between the two projected views, descending. They depend only on the
        spans of the directions. The k-th is at most the k-th exact one.
    """

    pairs: FloatArray
    spans: FloatArray

    @property
    def total(self) -> float:
        """Return the total correlation captured by the two subspaces, the sum of `spans`."""
        return float(self.spans.sum())


def noise_floor(noisy_moment: FloatArray, sigma: float, *, noise: str) -> float:
    """Compute the automatic eigenvalue floor of a joint moment with Gaussian noise in every entry.

    Noise spreads the small eigenvalues into a bulk that reaches one noise edge e to either side of
    their true values (`dpcore.pca.assessment`). The smallest noisy eigenvalue m is the lower end of
    this bulk, so its centre is near m + e, and its directions are indistinguishable. The floor is m
    + 1.25 e (at least e / 4): two thirds of the bulk become one variance, which removes most of its
    noise from the cross block too. If the true eigenvalues decay to zero, the floor is e / 4; if
    both views contain independent noise of variance v, it is v + e / 4. A lower floor whitens noise
    into correlations near 1; a higher floor prevents whitening. The effect of the floor vanishes
    with the noise.

    Both m and sigma are public, so this is post-processing.

    Parameters
    ----------
    noisy_moment : ndarray of shape (n_features, n_features), symmetric
    sigma : float
        Noise standard deviation of one of its entries.
    noise : {"triangle", "isometric"}

    Returns
    -------
    float
        Floor in units of the second moment; 0 without noise.
    """
    edge = noise_edge(np.array([sigma]), np.ones(1), len(noisy_moment), noise=noise)
    if edge == 0:
        return 0.0
    smallest = float(np.linalg.eigvalsh(noisy_moment)[0])
    return max(smallest + 1.25 * edge, edge / 4)


def canonical_pairs(
    joint_moment: FloatArray, n_x: int, n_components: int, *, floor: float = 0.0
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute the K most correlated pairs of directions of two views.

    The poster (Imtiaz & Sarwate) takes the leading eigenvectors of C_xx^-1 C_xy C_yy^-1 C_yx.
    The same pairs come from the SVD of the whitened cross block C_xx^-1/2 C_xy C_yy^-1/2, which
    stays symmetric in the two views and needs no inverse of a product.

    A noisy joint moment is indefinite: its blocks may be nearly singular or negative, and the
    "correlations" it implies exceed 1. So eigenvalues of the *joint* matrix below `floor` are
    raised to it first. That is one repair for the three blocks together: the result is the
    nearest matrix (in Frobenius norm) with eigenvalues of at least `floor`, its blocks are at
    least `floor` as well, and all its canonical correlations are below 1 whenever floor > 0.
    Flooring only the two diagonal blocks keeps all of the noise in the cross block, and gives worse
    results. `noise_floor` chooses the floor.

    Parameters
    ----------
    joint_moment : ndarray of shape (n_x + n_y, n_x + n_y), symmetric
        Second moment of rows [x y]; centred for correlations about the mean.
    n_x : int
        Number of columns of the first view.
    n_components : int
        K, from 1 to min(n_x, n_y).
    floor : float
        Smallest eigenvalue, in units of the second moment. With 0 negative eigenvalues become 0,
        and directions in which a view does not vary (to rounding) are left out.

    Returns
    -------
    x_rotations : ndarray of shape (n_x, n_components)
        Columns with unit second moment under the repaired matrix; the entry of largest
        magnitude in each is positive. A column is zero when the views have fewer pairs.
    y_rotations : ndarray of shape (n_y, n_components)
    correlations : ndarray of shape (n_components,)
        Correlations of the repaired matrix, descending, in [0, 1].

    Raises
    ------
    ParameterError
        If the matrix is not square or not finite, or a number is outside its range.
    """
    joint = _check_moment(joint_moment, n_x)
    n_y = len(joint) - n_x
    if not 1 <= n_components <= min(n_x, n_y):
        raise ParameterError("n_components", f"in [1, min(n_x, n_y)={min(n_x, n_y)}]", n_components)
    if not (floor >= 0 and math.isfinite(floor)):
        raise ParameterError("floor", "finite and at least 0", floor)
    # Without a floor the answer does not depend on the columns' units; in units of their own
    # deviation it keeps its digits. A floor is in the units of the matrix.
    scale = _inverse_standard_deviations(joint) if floor == 0 else np.ones(len(joint))
    joint = _with_eigenvalue_floor(joint * np.outer(scale, scale), floor)
    whiten_x = _whitening(joint[:n_x, :n_x])
    whiten_y = _whitening(joint[n_x:, n_x:])
    x_vectors, singular_values, y_vectors = np.linalg.svd(
        whiten_x.T @ joint[:n_x, n_x:] @ whiten_y, full_matrices=False
    )
    n_pairs = min(n_components, len(singular_values))
    x_rotations = np.zeros((n_x, n_components))
    y_rotations = np.zeros((n_y, n_components))
    correlations = np.zeros(n_components)
    x_rotations[:, :n_pairs] = scale[:n_x, None] * (whiten_x @ x_vectors[:, :n_pairs])
    y_rotations[:, :n_pairs] = scale[n_x:, None] * (whiten_y @ y_vectors[:n_pairs].T)
    correlations[:n_pairs] = np.minimum(singular_values[:n_pairs], 1.0)
    peak = np.take_along_axis(x_rotations, np.abs(x_rotations).argmax(axis=0)[None], axis=0)
    signs = np.where(peak < 0, -1.0, 1.0)
    return x_rotations * signs, y_rotations * signs, correlations


def measured_correlations(
    x_rotations: FloatArray, y_rotations: FloatArray, joint_moment: FloatArray
) -> MeasuredCorrelations:
    """Compute the correlations of given directions on a joint moment without noise.

    Parameters
    ----------
    x_rotations : ndarray of shape (n_x, n_components)
    y_rotations : ndarray of shape (n_y, n_components)
        Directions of any length; a direction without variance on the true data has correlation 0.
    joint_moment : ndarray of shape (n_x + n_y, n_x + n_y), symmetric
        True joint moment, centred like the moment of the directions.

    Returns
    -------
    MeasuredCorrelations
        Correlations on the true data, which are not private.
    """
    n_x, n_components = x_rotations.shape
    joint = _check_moment(joint_moment, n_x)
    if y_rotations.shape != (len(joint) - n_x, n_components):
        raise ParameterError(
            "y_rotations", f"of shape {(len(joint) - n_x, n_components)}", y_rotations.shape
        )
    rotation = np.zeros((len(joint), 2 * n_components))
    rotation[:n_x, :n_components] = x_rotations
    rotation[n_x:, n_components:] = y_rotations
    lengths = np.linalg.norm(rotation, axis=0)
    rotation /= np.where(lengths > 0, lengths, 1.0)
    projected = rotation.T @ joint @ rotation
    scale = _inverse_standard_deviations(projected)
    correlation_matrix = projected * np.outer(scale, scale)
    _, _, spans = canonical_pairs(correlation_matrix, n_components, n_components)
    pairs = np.minimum(np.abs(correlation_matrix.diagonal(n_components)), 1.0)
    return MeasuredCorrelations(pairs, spans)


def _check_moment(joint_moment: FloatArray, n_x: int) -> FloatArray:
    joint = np.asarray(joint_moment, dtype=np.float64)
    if joint.ndim != 2 or joint.shape[0] != joint.shape[1]:
        raise ParameterError("joint_moment", "square", joint.shape)
    if not 1 <= n_x < len(joint):
        raise ParameterError("n_x", f"in [1, {len(joint) - 1}]", n_x)
    if not np.isfinite(joint).all():
        raise ParameterError("joint_moment", "finite in every entry", "NaN or infinity")
    return joint


def _inverse_standard_deviations(moment: FloatArray) -> FloatArray:
    """Return 1 / sqrt of the diagonal, and 0 for entries at rounding level."""
    variances = moment.diagonal()
    varies = variances > len(moment) * np.finfo(float).eps * max(variances.max(), 0.0)
    return np.where(varies, 1 / np.sqrt(np.where(varies, variances, 1.0)), 0.0)


def _with_eigenvalue_floor(matrix: FloatArray, floor: float) -> FloatArray:
    eigenvalues, vectors = np.linalg.eigh(matrix)
    low = eigenvalues < floor
    # Adding the difference, instead of recomposing, keeps a valid matrix unchanged to the bit.
    lift = vectors[:, low] * np.sqrt(floor - eigenvalues[low])
    raised: FloatArray = matrix + lift @ lift.T
    return raised


def _whitening(block: FloatArray) -> FloatArray:
    """Return W of shape (n, rank) with W^T block W = I."""
    eigenvalues, vectors = np.linalg.eigh(block)
    is_positive = eigenvalues > len(block) * np.finfo(float).eps * eigenvalues[-1]
    whitening: FloatArray = vectors[:, is_positive] / np.sqrt(eigenvalues[is_positive])
    return whitening


# Protocols of PCA that release a noisy average of joint moments.
PROTOCOLS = ("dpdis", "full", "local", "pooled", "cape")
# The poster's tau starts from the replace-one sensitivity sqrt(2) / N, the DPdisPCA paper from
# 1 / N; both then use the classic formula at every epsilon.
_POSTER_SENSITIVITY_RATIO = math.sqrt(2.0)


@dataclass(frozen=True, eq=False)
class CanonicalPairs:
    """Private canonical pairs with their guarantee and the bytes sent.

    Attributes
    ----------
    x_rotations : ndarray of shape (n_x, n_components)
    y_rotations : ndarray of shape (n_y, n_components)
    correlations : ndarray of shape (n_components,)
        Private estimate, of the noisy moment after its repair; in [0, 1].
    joint_moment : ndarray of shape (n_x + n_y, n_x + n_y)
        Noisy joint moment from which the pairs are computed, centred if there is a private mean.
    mean : ndarray of shape (n_x + n_y,)
        Centre of the rows: a private mean, or zero without one.
    floor : float
        Eigenvalue floor that was used, in units of the joint moment.
    sigma_of_average : float
        Remaining noise standard deviation of an entry of the average, before any cut.
    guarantee : Guarantee
        Guarantee of all attributes together.
    sigma : ndarray of shape (n_sites,)
        Noise standard deviation each site added to an entry of its joint moment, without masks
        that cancel.
    bytes_sent : ndarray of shape (n_sites,)
    """

    x_rotations: FloatArray
    y_rotations: FloatArray
    correlations: FloatArray
    joint_moment: FloatArray
    mean: FloatArray
    floor: float
    sigma_of_average: float
    guarantee: Guarantee
    sigma: FloatArray
    bytes_sent: IntArray


def distributed_cca(
    moments: SiteMoments | SiteRows,
    n_x: int,
    settings: ReleaseSettings,
    *,
    protocol: str = "dpdis",
    floor: float | str = "auto",
    repetition: Repetition,
) -> CanonicalPairs:
    """Compute canonical pairs of two views from the sites' joint second moments.

    Parameters
    ----------
    moments : SiteMoments or SiteRows
        Moments of rows [x y] with norm at most `settings.row_norm_bound`, at each site; on the
        sphere the rows, whose parts are the two views (`BoundedViews.parts`).
    n_x : int
        Number of columns of the first view.
    settings : ReleaseSettings
        `calibration` "published" is the poster's (`joint_moment_sigma`).
    protocol : {"dpdis", "full", "local", "pooled", "cape"}
    floor : "auto" or float
        Eigenvalue floor of `canonical_pairs`; "auto" is `noise_floor` for the remaining noise of
        the average, multiplied by `dpcore.spectra.noise_edge_left` if the average is denoised. An
        average of proxies has no bulk of small eigenvalues; its floor is half the noise edge, the
        root mean square eigenvalue of the noise.
    repetition : Repetition
        Source of the noise, with a separate stream for each site.

    Raises
    ------
    ParameterError
        If a parameter is unknown or outside its range.
    """
    release = noisy_joint_moment(moments, settings, protocol=protocol, repetition=repetition)
    joint: FloatArray = release.decompose(settings).matrix.astype(np.float64)
    mean = np.zeros(moments.n_features) if release.centre is None else release.centre
    if floor == "auto":
        floor = _automatic_floor(release, settings)
    elif isinstance(floor, str):
        raise ParameterError("floor", "'auto' or a number", floor)
    x_rotations, y_rotations, correlations = canonical_pairs(
        joint, n_x, settings.n_components, floor=floor
    )
    return CanonicalPairs(
        x_rotations,
        y_rotations,
        correlations,
        joint,
        mean,
        floor,
        release.remaining_sigma,
        release.guarantee,
        release.sigma,
        release.bytes_sent,
    )


def noisy_joint_moment(
    moments: SiteMoments | SiteRows,
    settings: ReleaseSettings,
    *,
    protocol: str,
    repetition: Repetition,
) -> NoisyAverage:
    """Release the noisy joint moment; `distributed_cca` post-processes it.

    Raises `ParameterError` if the protocol is unknown or a setting is outside its range.
    """
    average = REGISTERED[protocol].average if protocol in PROTOCOLS else None
    if average is None:
        raise ParameterError("protocol", f"one of {', '.join(PROTOCOLS)}", protocol)
    entry = REGISTERED[protocol]
    draw = Draw(
        moments,
        settings,
        repetition,
        proxies=entry.wants_proxies,
        average=entry.wants_average,
        calibrate=joint_noise,
        precision=np.float64,
    )
    return average(draw)


def joint_moment_sigma(
    budget: PrivacyBudget, n_samples: float, *, calibration: str, row_norm_bound: float = 1.0
) -> float:
    """Compute the noise of the joint second moment of one site.

    "published" is the poster's tau = sqrt(2) c^2 / (N epsilon) sqrt(2 ln(1.25 / delta)), the
    classic formula at the correct sensitivity. The formula is proven for epsilon <= 1 only; above,
    `gaussian_epsilon` gives its guarantee. "classic" is refused above 1, and "analytic" is exact at
    every epsilon.

    Parameters
    ----------
    budget : PrivacyBudget
    n_samples : float
        Number of people at the site.
    calibration : {"analytic", "classic", "published"}
    row_norm_bound : float
        Bound c on the length of a joined row.
    """
    sigma = second_moment_sigma(
        budget, n_samples, calibration=calibration, row_norm_bound=row_norm_bound
    )
    return sigma * _POSTER_SENSITIVITY_RATIO if calibration == "published" else sigma


def joint_noise(n_samples: float, settings: ReleaseSettings) -> NoiseScales:
    """Return the noise scales of the joint moment and mean of `n_samples` people."""
    scales = noise_scales(n_samples, settings)
    if settings.calibration != "published":
        return scales
    moment, mean = (
        _POSTER_SENSITIVITY_RATIO * scales.moment,
        _POSTER_SENSITIVITY_RATIO * scales.mean,
    )
    return replace(scales, moment=moment, mean=mean)


def _automatic_floor(release: NoisyAverage, settings: ReleaseSettings) -> float:
    sigma, noise = release.remaining_sigma, settings.noise
    noisy: FloatArray = release.spectrum.matrix.astype(np.float64)
    if release.from_proxies:
        return noise_edge(np.array([sigma]), np.ones(1), len(noisy), noise=noise) / 2
    floor = noise_floor(noisy, sigma, noise=noise)
    for basis in release.bases(settings):
        floor *= noise_edge_left(noisy, sigma, basis=basis, noise=noise)
    return floor
