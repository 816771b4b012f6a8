"""Components of pictures from prior knowledge, without data.

The public constant is the leading eigenvectors of the kernel in `dpcore.spectra.public_kernel`.
They read no row, so their captured energy is the floor of every release: the part of a result that
is known without any data.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.spectra.eigen import leading_eigenpairs
from dpcore.spectra.public_kernel import public_kernel
from dpcore.spectra.subspaces import captured_energy


def public_components(shape: tuple[int, int], picture: str, n_components: int) -> FloatArray:
    """Return the public constant: the leading eigenvectors of the public kernel.

    Parameters
    ----------
    shape : (height, width)
    picture : {"full", "centred"}
    n_components : int

    Returns
    -------
    ndarray of shape (n_components, n_pixels), read-only
        Orthonormal rows. No data are read.

    Raises
    ------
    ParameterError
        If there are fewer pixels than components, or the kind of picture is unknown.

    Examples
    --------
    >>> public_components((8, 8), "centred", 10).shape
    (10, 64)
    """
    if not 1 <= n_components <= shape[0] * shape[1]:
        constraint = f"from 1 to {shape[0] * shape[1]}, the number of pixels"
        raise ParameterError("n_components", constraint, n_components)
    return _all_components(tuple(shape), picture)[:n_components]


def public_energy(
    second_moment: FloatArray, shape: tuple[int, int], picture: str, n_components: int
) -> float:
    """Return the captured energy of the public constant.

    In square frames, many directions have almost the same public variance as their transposes, and
    which of the two comes first is arbitrary. The result is the mean of both orders.

    Parameters
    ----------
    second_moment : ndarray of shape (n_pixels, n_pixels)
        Exact second moment.
    shape, picture, n_components
        As in `public_components`, with its exceptions.
    """
    components = public_components(shape, picture, n_components)
    orders = [components]
    if shape[0] == shape[1]:
        transposed = components.reshape(n_components, *shape).transpose(0, 2, 1)
        orders.append(transposed.reshape(components.shape))
    return float(np.mean([captured_energy(order, second_moment) for order in orders]))


@lru_cache(maxsize=16)
def _all_components(shape: tuple[int, int], picture: str) -> FloatArray:
    _, components = leading_eigenpairs(public_kernel(shape, picture), shape[0] * shape[1])
    components.setflags(write=False)
    return components
