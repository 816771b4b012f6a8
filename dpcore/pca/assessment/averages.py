"""Assessment of the leading directions of an average of denoised or cut noisy matrices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.pca.assessment.estimates import Assessment, Estimate
from dpcore.pca.assessment.gaps import smoothed_inverse_gaps
from dpcore.pca.assessment.noise_spectrum import n_above_noise
from dpcore.pca.assessment.probes import NoisyPart, SiteQuery, answer
from dpcore.pca.assessment.smoothing import RankGroups, smooth
from dpcore.spectra import PublicBasis, Spectrum


def assess_by_probes(
    average: Spectrum,
    n_components: int,
    parts: Iterable[tuple[NoisyPart, np.random.Generator]],
    *,
    sigma: float,
    bases: Sequence[PublicBasis] = (),
    intermediate_dim: int | None = None,
    noise: str = "isometric",
    n_parts: int = 1,
    known_total: float | None = None,
    diagonal_of_average: FloatArray | None = None,
) -> Assessment:
    """Assess the leading directions of an average whose parts were denoised or cut.

    Post-processing of the parts' noisy matrices. Sites that cut their messages need an additional
    round: each receives the average, D (D + 1) / 2 numbers, and returns 3 K + 24 numbers and a few
    hundred more (`SiteAnswer`).

    Parameters
    ----------
    average : Spectrum
        Spectrum of the matrix that was decomposed: the denoised matrix, or the average of the
        messages.
    n_components : int
        K, in [1, n_features].
    parts : iterable of (NoisyPart, numpy.random.Generator)
        Parts of the average, each with the generator of its probes; consumed one by one.
    sigma : float
        Standard deviation of the noise in an entry of the average of all parts, before denoising
        and cuts.
    bases : sequence of PublicBasis
        Bases in which each part was denoised; empty without denoising.
    intermediate_dim : int, optional
        R, if each part was then cut to its leading directions by value.
    noise : {"isometric", "triangle"}
        Shape of the noise of every part.
    n_parts : int
        Number of parts.
    known_total : float, optional
        Energy of all directions, if public: 1 for rows of length 1.
    diagonal_of_average : ndarray of shape (n_features,), optional
        Noisy diagonal to which the columns' variances were fitted (`dpcore.spectra.denoise`).

    Returns
    -------
    Assessment
        With `n_above_noise` for a single part that was not cut, and `energy_ratio` if all
        components of that part exceed the noise and no mean was subtracted.

    Raises
    ------
    ParameterError
        If n_components is out of range.
    """
    n_features = len(average.matrix)
    if not 1 <= n_components <= n_features:
        raise ParameterError("n_components", f"in [1, n_features={n_features}]", n_components)
    eigenvalues, vectors = average.leading(n_features)
    query = SiteQuery(
        vectors,
        eigenvalues,
        sigma,
        n_components,
        tuple(bases),
        intermediate_dim,
        noise,
        n_parts,
        diagonal_of_average,
    )
    answers, last = [], None
    for part, rng in parts:
        answers.append(answer(part, query, rng=rng))
        last = part
    groups = RankGroups.of(query, answers, None if last is None else last.mean)
    assessment = smooth(groups, n_components, known_total)
    if last is None or len(answers) > 1 or intermediate_dim is not None:
        return assessment
    return _with_whole_matrix(assessment, groups, last, query)


def _with_whole_matrix(
    assessment: Assessment, groups: RankGroups, part: NoisyPart, query: SiteQuery
) -> Assessment:
    """Add the quantities that need a single matrix without a cut.

    To second order the energy of the best subspace is the sum of the noisy matrix's own leading
    eigenvalues minus half of their bias. Most errors of this sum and of the captured energy are
    equal, so their difference is precise.
    """
    n_components = query.n_components
    leading = slice(n_components)
    eigenvalues, vectors = Spectrum(part.noisy).leading(query.n_features)
    # One may be the noise of the mean, as in `assess`.
    has_mean = part.mean is not None
    n_above = n_above_noise(eigenvalues, part.sigma, noise=query.noise) - has_mean
    assessment = replace(assessment, n_above_noise=min(max(n_above, 0), n_components))
    if has_mean or n_above < n_components or query.noise != "isometric":
        return assessment
    inverse = smoothed_inverse_gaps(eigenvalues, part.sigma)[leading, n_components:]
    bias = part.sigma**2 * float(inverse.sum())
    optimum = float(eigenvalues[leading].sum(dtype=np.float64)) - bias / 2
    loss = optimum - float(groups.energies[leading].sum())
    overlap = float(((vectors[leading] @ query.vectors[leading].T) ** 2).sum())
    variance = 2 * part.sigma**2 * max(n_components - overlap, 0)
    variance += float(groups.choice[leading, leading].sum())
    variance += part.sigma**4 * float((inverse**2).sum()) / 4
    captured = float(assessment.captured.value)
    best = captured + loss
    if best <= 0:
        return assessment
    spread = variance * captured**2 + (loss * float(assessment.captured.standard_error)) ** 2
    ratio = Estimate(np.array(captured / best), np.array(math.sqrt(spread) / best**2), most=1.0)
    return replace(assessment, energy_ratio=ratio)
