"""Noisy measurements of a release: sum and count, centre, second moment, components."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.pca.assessment import (
    Assessment,
    Estimate,
    NoisyPart,
    assess,
    assess_by_probes,
    choose_bases,
)
from dpcore.pca.centre_rule import (
    DIFFERENCES,
    MEAN,
    NO_CENTRE,
    VoteRule,
    choose_centre_of_table,
    mean_error_limit,
    n_above_mean_error,
)
from dpcore.pca.settings import bases_to_denoise_in
from dpcore.picture_kinds import FULL
from dpcore.privacy import PrivacyBudget
from dpcore.release.cluster_sums import moment_on_cluster, sum_rows_on_cluster
from dpcore.release.dictionary import Dictionary
from dpcore.release.encoding import Reading
from dpcore.release.exact_pairs import (
    MOST_CELLS,
    Rows,
    count_votes,
    moment_of_differences,
    moment_of_ring,
    read_ring,
)
from dpcore.release.exact_sums import Watch, ignore_progress, moment_of_rows, sum_rows
from dpcore.release.integer_moments import noisy_second_moment, noisy_sum
from dpcore.release.integer_rows import GRID, LENGTH
from dpcore.release.scales import VOTE, Scales, calibrated, shares_of, split_budget
from dpcore.release.settings import PublicationSettings
from dpcore.release.tables import Table
from dpcore.spectra import PublicBasis, Spectrum, denoise_mean, few_of_many

# Share of mu^2 for votes on the centre.
_VOTE_SHARE = 0.04

ESTIMATES = ("explained_variance", "explained_variance_ratio")
# An assessment needs all eigenpairs; above this size they take longer than everything else.
MOST_ASSESSED = 4096
# Lanczos' basis is small next to the matrix up to one component in this many features.
_FEATURES_PER_COMPONENT = 50
_CELLS_PER_STEP = 1 << 22


@dataclass(frozen=True, eq=False)
class Measured:
    """Noisy results from which all files of a release are made.

    centre: ndarray of whole float64, shape (n_features,). Private centre of the rows, on the grid.
    n_rows: Noisy number of rows.
    components: shape (n_components, n_features), orthonormal rows
    eigenvalues: shape (n_components,). Eigenvalues of the noisy moment, after denoising if there
        was any, in units in which a row has length 1: sums over rows.
    trace: Trace of the noisy moment as drawn, in the same units.
    assessment: Estimates of how good the components are; None above `MOST_ASSESSED` features.
    bases: Public bases in which the noisy moment was denoised.
    n_above_noise: Number of leading components above both the noise of the moment and the error of
        a mean that votes chose; None if it is unknown.
    centre_choice: Item of `dpcore.pca.centre_rule.CENTRES`.
    scales: Scales of the noise. After a choice of differences they are not the calibrated ones.
    """

    centre: FloatArray
    n_rows: float
    components: FloatArray
    eigenvalues: FloatArray
    trace: float
    assessment: Assessment | None
    bases: tuple[PublicBasis, ...] = ()
    n_above_noise: int | None = None
    centre_choice: str = MEAN
    scales: Scales | None = None


def sum_and_count(
    table: Table,
    dictionary: Dictionary,
    scales: Scales,
    reading: Reading,
    watch: Watch = ignore_progress,
    *,
    scheduler: str | None = None,
) -> IntArray:
    """Return the exact sum of rows on the grid and, last, their weighted count. Not private.

    reading: Counts of missing and clipped cells are added to it.
    watch: Called with the share of the table that was read.
    scheduler: Address of a Dask cluster whose workers sum the table's parts.
    Raises `ParameterError` if the table has no row, or the scheduler is lost.
    """
    if scheduler is None:
        total, n_rows = sum_rows(table, dictionary, scales, reading, watch)
    else:
        total, n_rows = sum_rows_on_cluster(table, dictionary, scales, reading, watch, scheduler)
    if reading.n_rows == 0:
        raise ParameterError("data", "a table with rows", "none")
    return np.append(total, n_rows * scales.count_weight)


def measure(
    table: Table,
    dictionary: Dictionary,
    scales: Scales,
    total: IntArray,
    *,
    n_components: int,
    on_sphere: bool,
    bases: tuple[PublicBasis, ...] = (),
    watch: Watch = ignore_progress,
    scheduler: str | None = None,
    copies: float = 1.0,
) -> Measured:
    """Draw the noise of a release that has been charged, in this process.

    total: ndarray of int64, shape (n_features + 1,), from `sum_and_count`.
    on_sphere: Scale every row to one length around the private centre; otherwise only shorten
        longer rows.
    bases: Result of `bases_of`.
    watch, scheduler: See `sum_and_count`.
    copies: Weight of each row of a made-up table, which `total` has already.
    """
    centre, n_rows = noisy_centre(total, scales, bases)
    choice, limit = MEAN, None
    if are_votes_counted(scales, n_rows):
        ring = read_ring(table, dictionary, scales, watch)
        choice, limit = _choose_centre(ring, scales, n_rows, copies)
        if choice == DIFFERENCES:
            exact, scales = moment_of_differences(ring), scales.for_differences()
        else:
            centre = np.zeros_like(centre) if choice == NO_CENTRE else centre
            exact = moment_of_ring(ring, centre)
    else:
        if scales.vote_sigma > 0 and n_rows < 1:
            # The count is only noise, so votes would be noise too; `centre` is the middle.
            choice = NO_CENTRE
        exact = moment_around(
            table, dictionary, scales, centre, watch, on_sphere=on_sphere, scheduler=scheduler
        )
    noisy = noisy_second_moment(multiply_rounded(exact, copies), scales.moment_sigma, in_place=True)
    sigma = scales.diagonal_sigma / LENGTH**2
    measured = leading_of(_scale_to_unit_rows(noisy), n_components, centre, n_rows, sigma, bases)
    return name_centre(measured, choice, limit, scales)


def name_centre(measured: Measured, choice: str, limit: float | None, scales: Scales) -> Measured:
    """Return the results with their centre, and the components that its error cannot explain.

    choice: Item of `dpcore.pca.centre_rule.CENTRES`.
    limit: Result of `choose_by_votes`; None without votes.
    """
    if choice == MEAN and limit is not None:
        n_above = n_above_mean_error(
            measured.n_above_noise, measured.eigenvalues, measured.trace, limit
        )
        measured = replace(measured, n_above_noise=n_above)
    return replace(measured, centre_choice=choice, scales=scales)


def scales_of(
    dictionary: Dictionary, settings: PublicationSettings, scheduler: str | None = None
) -> Scales:
    """Return the calibrated scales of a release, which plans, releases and ledgers share.

    A score plot has its own share of the budget (`dpcore.release.score_release.planned_costs`).

    scheduler: See `sum_and_count`.
    Raises `ParameterError` if `calibrated` refuses a value.
    """
    budget = budget_of_components(settings)
    return calibrated(
        dictionary,
        epsilon=budget.epsilon,
        delta=budget.delta,
        mean_share=settings.mean_share,
        vote_share=vote_share(
            dictionary.n_features,
            int(settings.n_components),
            dictionary.image,
            on_sphere=settings.on_sphere,
            scheduler=scheduler,
        ),
    )


def budget_of_components(settings: PublicationSettings) -> PrivacyBudget:
    """Return the budget without the share of a score plot."""
    budget = PrivacyBudget(settings.epsilon, settings.delta)
    return split_budget(budget, settings.scores_share)[0] if settings.scores_share else budget


def vote_share(
    n_features: int,
    n_components: int,
    image_shape: tuple[int, int] | None = None,
    *,
    on_sphere: bool,
    scheduler: str | None = None,
) -> float:
    """Return the share of mu^2 for votes on the centre; 0 where the centre is a private mean.

    Pictures buy a mean, which is denoised. Workers of a cluster hold parts of a table, and the
    largest matrices leave no memory for rows.
    """
    has_votes = on_sphere and image_shape is None and scheduler is None
    return _VOTE_SHARE if has_votes and not is_held_once(n_features, n_components) else 0.0


def multiply_rounded(exact: IntArray, copies: float) -> IntArray:
    """Return whole sums of rows that each count `copies` times."""
    if copies == 1.0:
        return exact
    weighted: IntArray = np.rint(exact * copies).astype(np.int64)
    return weighted


def are_votes_counted(scales: Scales, n_rows: float) -> bool:
    """Return whether pairs vote on the centre, given the noisy number of rows."""
    return scales.vote_sigma > 0 and 1 <= n_rows <= MOST_CELLS / scales.n_features


def vote_rule_of(scales: Scales, n_rows: float) -> VoteRule:
    """Return the rule by which pairs of rows vote, from public and noisy numbers."""
    noise = scales.rows_per_person * math.sqrt(scales.n_features) / (n_rows * scales.mu)
    return VoteRule(noise, *shares_of(scales))


def _choose_centre(
    ring: Rows, scales: Scales, n_rows: float, copies: float = 1.0
) -> tuple[str, float]:
    """Return the result of `choose_by_votes` for the pairs on a ring."""
    exact = VOTE * count_votes(ring, scales, vote_rule_of(scales, n_rows))
    noisy = noisy_sum(multiply_rounded(exact, copies), scales.vote_sigma)
    return choose_by_votes(noisy, scales, n_rows)


def choose_by_votes(noisy: IntArray, scales: Scales, n_rows: float) -> tuple[str, float]:
    """Return the centre that noisy votes of the pairs choose; see `dpcore.pca.centre_rule`.

    noisy: shape (4,). Noisy numbers of `count_votes`, in units of 1 / VOTE.
    Returns limit: Result of `mean_error_limit`.
    """
    rule, votes = vote_rule_of(scales, n_rows), noisy / (VOTE * n_rows)
    choice = choose_centre_of_table(votes, rule, scales.n_features)
    return choice, mean_error_limit(votes, rule)


def _scale_to_unit_rows(moment: IntArray) -> FloatArray:
    """Divide a moment by LENGTH**2, in the memory that it occupies."""
    scaled: FloatArray = moment.view(np.float64)
    step = max(1, _CELLS_PER_STEP // len(moment))
    for start in range(0, len(moment), step):
        scaled[start : start + step] = moment[start : start + step] / LENGTH**2
    return scaled


def bases_of(
    choice: str,
    n_features: int,
    n_components: int,
    image_shape: tuple[int, int] | None = None,
    picture: str = FULL,
) -> tuple[PublicBasis, ...]:
    """Return the public bases in which a release's noisy moment may be denoised.

    choice: {"auto", "none"}. "auto" gives no basis if only one matrix fits (`is_held_once`).
    image_shape: Height and width of pictures whose pixels are the features.
    picture: Whether they fill the frame or show an object in its middle.
    """
    if is_held_once(n_features, n_components):
        return ()
    return bases_to_denoise_in(choice, image_shape, picture)


def leading_of(
    moment: FloatArray,
    n_components: int,
    centre: FloatArray,
    n_rows: float,
    sigma: float | None,
    bases: tuple[PublicBasis, ...] = (),
) -> Measured:
    """Decompose a noisy second moment, and assess its components.

    moment: shape (n_features, n_features), in units in which a row has length 1.
    centre: shape (n_features,)
    sigma: Standard deviation of the noise on its diagonal; None if the moment was cut after the
        noise, so that nothing can be estimated from it.
    bases: Bases in which to denoise (`dpcore.spectra.denoising`) if that captures more; ignored
        without sigma.
    """
    trace = float(np.trace(moment))
    if is_held_once(len(moment), n_components):
        eigenvalues, components = few_of_many(moment, n_components)
        return Measured(centre, n_rows, components, eigenvalues, trace, None)
    spectrum, assessment = Spectrum(moment), None
    if sigma is not None:
        noisy = spectrum
        bases = choose_bases(noisy, sigma=sigma, bases=bases)
        spectrum = noisy.denoised(sigma, bases=bases, noise="isometric")
        if len(moment) <= MOST_ASSESSED:
            assessment = _assess(noisy, spectrum, n_components, sigma, bases)
    eigenvalues, components = spectrum.leading(n_components)
    n_above = None if assessment is None else assessment.n_above_noise
    return Measured(centre, n_rows, components, eigenvalues, trace, assessment, bases, n_above)


def _assess(
    noisy: Spectrum,
    denoised: Spectrum,
    n_components: int,
    sigma: float,
    bases: Sequence[PublicBasis],
) -> Assessment:
    if not bases:
        return assess(noisy, n_components, sigma=sigma, noise="isometric")
    # Probes only read the noisy matrix, so any seed is safe.
    part = NoisyPart(noisy.matrix, sigma), np.random.default_rng(secrets.randbits(128))
    return assess_by_probes(denoised, n_components, [part], sigma=sigma, bases=bases)


def is_held_once(n_features: int, n_components: int) -> bool:
    """Return whether the matrix is too large for a copy, and few components are computed."""
    return n_features > MOST_ASSESSED and n_components <= n_features // _FEATURES_PER_COMPONENT


def estimate_of(measured: Measured, name: str) -> FloatArray:
    """Return an estimate and both ends of its interval, shape (3, n_components), NaN if unknown.

    name: One of `ESTIMATES`.
    """
    if measured.assessment is None:
        return np.full((3, len(measured.components)), np.nan)
    estimate: Estimate = getattr(measured.assessment, name)
    value_and_ends = np.vstack([estimate.value[None], estimate.interval])
    return np.where(np.isnan(estimate.value), np.nan, value_and_ends)


def noisy_centre(
    total: IntArray, scales: Scales, bases: Sequence[PublicBasis] = ()
) -> tuple[FloatArray, float]:
    """Return the private centre on the grid and the noisy number of rows.

    total: ndarray of int64, shape (n_features + 1,), from `sum_and_count`.
    bases: Result of `bases_of`.
    """
    noisy = noisy_sum(total, scales.sum_sigma)
    n_rows = float(noisy[-1]) / scales.count_weight
    return centre_of(noisy[:-1], n_rows, scales.sum_sigma, bases), n_rows


def moment_around(
    table: Table,
    dictionary: Dictionary,
    scales: Scales,
    centre: FloatArray,
    watch: Watch = ignore_progress,
    *,
    on_sphere: bool,
    scheduler: str | None = None,
) -> IntArray:
    """Return the exact second moment of the prepared rows around a centre. Not private.

    centre: ndarray of whole float64, shape (n_features,)
    on_sphere: See `measure`.
    watch: See `sum_and_count`.
    scheduler: See `sum_and_count`; but this process continues if the scheduler is lost.
    """
    if scheduler is not None:
        return moment_on_cluster(
            table, dictionary, scales, centre, watch, on_sphere=on_sphere, scheduler=scheduler
        )
    return moment_of_rows(table, dictionary, scales, centre, watch, on_sphere=on_sphere)


def centre_of(
    noisy: IntArray, n_rows: float, sigma: float, bases: Sequence[PublicBasis] = ()
) -> FloatArray:
    """Return the noisy mean on the grid, with less noise. This is post-processing.

    The mean of pictures is denoised in cosines (`dpcore.spectra.denoise_mean`). Other means are
    shrunk towards the middle: the positive-part estimator of James & Stein (1961) has a smaller
    mean squared error than the mean. Both equal the public middle if the sum is only noise.

    noisy: shape (n_features,). Sum of the rows with noise of scale `sigma` in each entry.
    bases: Result of `bases_of`.
    """
    if n_rows < 1:
        return np.zeros(len(noisy))
    mean, mean_sigma = noisy / n_rows, sigma / n_rows
    if bases and bases[0].frequencies is not None:
        longest = GRID * math.sqrt(len(noisy))
        shrunk = denoise_mean(mean, mean_sigma, bases[0], unit=longest)
    else:
        noise = max(0, len(noisy) - 2) * mean_sigma**2
        shrunk = mean * max(0.0, 1 - noise / max(float(mean @ mean), noise, 1.0))
    return np.clip(np.rint(shrunk), -GRID, GRID)
