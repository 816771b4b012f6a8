"""Second moment of pictures from prior knowledge, without data.

Neighbouring pixels are alike, and the objects of many picture sets are in the middle of the frame.
The public kernel of pictures of height h and width w states both:

    A(x, x') = p(x) exp(-(r / l)^nu) p(x'),
    "full":     p = 1,                        l = 0.25, nu = 1,
    "centred":  p = sin(pi u) sin(pi v),      l = 0.13, nu = 1.5.

r is the distance of two pixels, and (u, v) a pixel's place, in units of the height and the width. p
has the factor that gives A the trace 1. Lengths and powers were chosen on digits and MNIST
(centred), and on faces (full). Whether objects are centred is declared by the catalogue or by a
table's dictionary, and is never learnt from rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import require_one_of
from dpcore.picture_kinds import CENTRED, FULL, PICTURE_KINDS

# Factor on vertical distances. Without it, square pictures have pairs of equal eigenvalues, whose
# directions would depend on the rounding of a machine.
_STRETCH = 1.001


class Kernel(NamedTuple):
    """Kernel of pictures: power of the window, correlation length, and power of the distance."""

    window: float
    length: float
    power: float

    def pixel_deviations(self, shape: tuple[int, int]) -> FloatArray:
        """Return p, shape (height, width), with squares of mean 1."""
        waves = [np.sin(np.pi * (np.arange(size) + 0.5) / size) for size in shape]
        window = np.outer(*waves) ** self.window
        deviations: FloatArray = window / np.sqrt(np.mean(window**2))
        return deviations

    def correlations(self, shape: tuple[int, int]) -> FloatArray:
        """Return exp(-(r / l)^nu) per displacement, with displacement 0 in the middle.

        shape: (height, width)
        Returns: shape (2 height - 1, 2 width - 1)
        """
        down, across = (np.arange(1 - size, size) / size for size in shape)
        distances = np.hypot(_STRETCH * down[:, None], across[None, :])
        correlations: FloatArray = np.exp(-((distances / self.length) ** self.power))
        return correlations


KERNELS = {FULL: Kernel(0.0, 0.25, 1.0), CENTRED: Kernel(1.0, 0.13, 1.5)}


def kernel_matrix(deviations: FloatArray, correlations: FloatArray) -> FloatArray:
    """Return p(x) rho(x - x') p(x') as a matrix of pixels.

    deviations: shape (height, width)
    correlations: shape (2 height - 1, 2 width - 1), with displacement 0 in the middle.
    """
    height, width = deviations.shape
    down = np.subtract.outer(np.arange(height), np.arange(height)) + height - 1
    across = np.subtract.outer(np.arange(width), np.arange(width)) + width - 1
    blocks = correlations[down[:, None, :, None], across[None, :, None, :]]
    p = deviations.ravel()
    matrix: FloatArray = blocks.reshape(p.size, p.size) * np.outer(p, p)
    return matrix


def public_kernel(shape: tuple[int, int], picture: str) -> FloatArray:
    """Return the public kernel, shape (n_pixels, n_pixels), with trace 1.

    Parameters
    ----------
    shape : (height, width)
    picture : {"full", "centred"}
        Whether pictures fill the frame or show an object in its middle.

    Raises
    ------
    ParameterError
        If the kind of picture is unknown.
    """
    require_one_of("picture", picture, PICTURE_KINDS)
    kernel = KERNELS[picture]
    matrix = kernel_matrix(kernel.pixel_deviations(shape), kernel.correlations(shape))
    return matrix / len(matrix)
