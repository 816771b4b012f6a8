"""Whole noisy matrices in few bytes: residuals about a prior mean, coded where signal is expected.

A site fits a prior mean A_0 to its own noisy matrix M (`dpcore.spectra.prior_mean`) and sends A_0
in low precision, as a deviation per pixel and a correlation per distance. About this A_0 it codes
the coefficients of M - A_0 in cosines. A coefficient ij is sent if its expected variance c a_i a_j
is at least D / 1000 of the variance of the noise in the average of all sites; a_i is the diagonal
of A_0 in cosines, rounded to quarters of an octave, so that the receiver derives the same selection
from whole numbers. Without pictures A_0 is 0, and all entries are sent.

Coefficients are rounded with subtractive dither to steps of a multiple of the noise's standard
deviation, and entropy-coded, as in `dpcore.pca.messages`. Rounding adds step^2 / 12 to the variance
of the noise (`noise_factor`). Everything is post-processing of M.
"""

from __future__ import annotations

import math
import struct
import zlib
from typing import NamedTuple

import numpy as np

from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.pca.assessment import off_diagonal_sigma
from dpcore.pca.messages import (
    MOST_STEPS,
    CodingError,
    MessageError,
    decode_rounded,
    round_and_code,
    symmetric_from,
)
from dpcore.pca.site import NoisySite, SiteMessage
from dpcore.spectra import PublicBasis, picture_basis
from dpcore.spectra.prior_mean import PriorMean

MAGIC = b"DPCC"
VERSION = 1
# Step of the rounding, in standard deviations of the noise off the diagonal.
STEP = 2.0
# A coefficient is sent if its variance, for a coupling of this prior size, is at least D times this
# part of the noise in the average: the spectral norm of noise grows with D. Chosen on digits and
# MNIST.
_COUPLING, _LEAST_SIGNAL_PER_FEATURE = 0.1, 1e-3
_LEVELS_PER_OCTAVE = 4
_LOWEST_LEVEL = -127
_DEVIATION_LEVELS = 255
# Magic, version, bytes per value, D, height, width, n, sigma, step, dither key.
_HEADER = struct.Struct("<4sBBIHHQddQ")
# Largest deviation, threshold, lengths of the compressed deviations and levels.
_PICTURES = struct.Struct("<diHH")
_CHECKSUM = struct.Struct("<I")
_MOST_FEATURES = 20_000


def noise_factor() -> float:
    """Return the noise of a decoded matrix, in units of the noise before encoding."""
    return math.sqrt(1 + STEP**2 / 12)


class _Prior(NamedTuple):
    """Prior mean in the form in which it is sent.

    deviations: shape (n_features,), uint8. Deviations of the pixels, in parts of the largest.
    largest: Largest deviation.
    curve: float16. Correlation at each distance in whole pixels.
    levels: shape (n_features,), int8. Rounded logarithms of a_i, relative to the largest.
    threshold: Least sum of the levels of a coefficient that is sent.
    """

    deviations: IntArray
    largest: float
    curve: FloatArray
    levels: IntArray
    threshold: int

    @classmethod
    def fit(cls, site: NoisySite, basis: PublicBasis, shape: tuple[int, int]) -> _Prior:
        variance = off_diagonal_sigma(site.sigma, site.noise) ** 2
        found = PriorMean.fit(site.noisy, variance, site.sigma**2, basis, shape)
        largest = float(found.deviations.max())
        deviations = np.rint(found.deviations.ravel() / largest * _DEVIATION_LEVELS)
        distances = _distances(shape).ravel()
        sums = np.bincount(distances, found.correlations.ravel())
        curve = sums / np.maximum(np.bincount(distances), 1)
        rough = cls(
            deviations.astype(np.uint8),
            largest,
            curve.astype(np.float16),
            np.zeros(0, dtype=np.int8),
            0,
        )
        variances = PriorMean.variances(rough.mean(shape, site.noisy.dtype), basis)
        most = float(variances.max())
        levels = np.rint(_LEVELS_PER_OCTAVE * np.log2(variances / most))
        average = site.sigma_of_average or site.sigma
        least_signal = _LEAST_SIGNAL_PER_FEATURE * math.prod(shape) / _COUPLING
        least = least_signal * off_diagonal_sigma(average, site.noise) ** 2
        threshold = math.ceil(_LEVELS_PER_OCTAVE * math.log2(least / most**2))
        limit = 2 * _LOWEST_LEVEL
        return rough._replace(
            levels=np.clip(levels, _LOWEST_LEVEL, 0).astype(np.int8),
            threshold=min(max(threshold, limit), 1),
        )

    def mean(self, shape: tuple[int, int], dtype: np.dtype[np.floating]) -> FloatArray:
        """Return A_0, shape (n_features, n_features)."""
        deviations = self.deviations.reshape(shape) * (self.largest / _DEVIATION_LEVELS)
        correlations = self.curve.astype(np.float64)[_distances(shape)]
        return PriorMean(deviations, correlations).matrix(dtype)

    def selection(self) -> BoolArray:
        """Return which coefficients of the upper triangle are sent; all of the diagonal are."""
        levels = self.levels.astype(int)
        selected: BoolArray = np.triu(levels[:, None] + levels >= self.threshold)
        np.fill_diagonal(selected, True)
        return selected

    def encode(self) -> bytes:
        deviations = zlib.compress(self.deviations.tobytes(), 9)
        levels = zlib.compress(self.levels.tobytes(), 9)
        header = _PICTURES.pack(self.largest, self.threshold, len(deviations), len(levels))
        return header + deviations + levels + self.curve.astype("<f2").tobytes()

    @classmethod
    def decode(cls, data: bytes, shape: tuple[int, int]) -> tuple[_Prior, bytes]:
        """Return the prior mean, and the bytes that follow it."""
        n_features, n_distances = math.prod(shape), int(_distances(shape).max()) + 1
        largest, threshold, n_deviations, n_levels = _PICTURES.unpack_from(data)
        start = _PICTURES.size
        arrays = []
        for length, dtype in ((n_deviations, np.uint8), (n_levels, np.int8)):
            content = zlib.decompressobj().decompress(data[start : start + length], n_features)
            if len(content) != n_features:
                raise MessageError("damaged coded message: a prior mean of another size")
            arrays.append(np.frombuffer(content, dtype))
            start += length
        end = start + 2 * n_distances
        curve = np.frombuffer(data[start:end], "<f2")
        if len(curve) != n_distances:
            raise MessageError("damaged coded message: a prior mean of another size")
        return cls(arrays[0], largest, curve, arrays[1], threshold), data[end:]


def encode_site(
    site: NoisySite, bases: tuple[PublicBasis, ...], *, rng: np.random.Generator
) -> bytes:
    """Return the coded noisy matrix of a site.

    Parameters
    ----------
    site : NoisySite
        Noisy matrix of a site, and its noise.
    bases : tuple of PublicBasis
        Bases of `ReleaseSettings`. A prior mean is used if the first basis is of pictures.
    rng : numpy.random.Generator
        Stream of the public key of the dither.
    """
    noisy, n_features = site.noisy, len(site.noisy)
    step = STEP * off_diagonal_sigma(site.sigma, site.noise)
    # Without noise nothing is shrunk, and values are sent unchanged.
    shape = bases[0].image_shape if bases and step > 0 else None
    prior = b""
    if shape is None:
        values = noisy[np.triu_indices(n_features)]
    else:
        fitted = _Prior.fit(site, bases[0], shape)
        residual = bases[0].to_basis(noisy - fitted.mean(shape, noisy.dtype))
        values, prior = residual[fitted.selection()], fitted.encode()
    key = int(rng.integers(2**64, dtype=np.uint64))
    height, width = shape or (0, 0)
    header = _HEADER.pack(
        MAGIC,
        VERSION,
        noisy.dtype.itemsize,
        n_features,
        height,
        width,
        site.n_samples,
        site.sigma,
        step,
        key,
    )
    data = header + prior + _body(values, step, key)
    return data + _CHECKSUM.pack(zlib.crc32(data))


def _body(values: FloatArray, step: float, key: int) -> bytes:
    if step == 0:
        return values.astype(values.dtype.newbyteorder("<")).tobytes()
    if not np.abs(values).max() < MOST_STEPS * step:
        constraint = f"below {MOST_STEPS * step:g}, 2^30 steps of the rounding"
        raise ParameterError("noisy", constraint, float(np.abs(values).max()))
    return round_and_code(values.astype(np.float64), step, key)


def decode_site(data: bytes) -> SiteMessage:
    """Return the matrix that `encode_site` coded, in the data type of the site.

    Raises
    ------
    MessageError
        If the bytes are foreign, of another version, cut short or changed on the way.
    """
    if len(data) < _HEADER.size + _CHECKSUM.size or data[:4] != MAGIC:
        raise MessageError("not a coded message: it does not start with the DPCC mark")
    (checksum,) = _CHECKSUM.unpack(data[-_CHECKSUM.size :])
    if zlib.crc32(data[: -_CHECKSUM.size]) != checksum:
        raise MessageError("damaged coded message: its checksum does not match its content")
    fields = _HEADER.unpack_from(data)
    _, version, itemsize, n_features, height, width, n_samples, sigma, step, key = fields
    is_valid = n_features <= _MOST_FEATURES and height * width in (0, n_features)
    if version != VERSION or itemsize not in (4, 8) or not is_valid:
        raise MessageError("coded message of another version or shape")
    dtype = np.dtype(f"<f{itemsize}")
    body = data[_HEADER.size : -_CHECKSUM.size]
    try:
        values = _decode_values(body, n_features, (height, width), step, key, dtype)
    except (CodingError, struct.error, zlib.error) as error:
        raise MessageError(f"damaged coded message: {error}") from error
    return SiteMessage(values, n_samples, sigma, whole=True)


def _decode_values(
    body: bytes,
    n_features: int,
    shape: tuple[int, int],
    step: float,
    key: int,
    dtype: np.dtype[np.floating],
) -> FloatArray:
    if not math.prod(shape):
        count = n_features * (n_features + 1) // 2
        if step == 0 and len(body) != count * dtype.itemsize:
            raise MessageError("damaged coded message: its length does not match its shape")
        rounded = decode_rounded(body, count, step, key) if step else np.frombuffer(body, dtype)
        triangle = rounded.astype(dtype)
        matrix: FloatArray = symmetric_from(triangle, n_features)
        return matrix
    prior, body = _Prior.decode(body, shape)
    selected = prior.selection()
    residual = np.zeros((n_features, n_features), dtype=dtype)
    residual[selected] = decode_rounded(body, int(np.count_nonzero(selected)), step, key)
    residual += np.triu(residual, 1).T
    return prior.mean(shape, dtype) + picture_basis(shape).from_basis(residual)


def _distances(shape: tuple[int, int]) -> IntArray:
    """Return the distances of all displacements, rounded to whole pixels."""
    height, width = shape
    down, across = np.mgrid[1 - height : height, 1 - width : width]
    distances: IntArray = np.rint(np.hypot(down, across)).astype(int)
    return distances
