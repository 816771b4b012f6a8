"""Public subspaces that a data holder may project rows onto before noise is added.

The subspace is that of the lowest frequencies of the discrete cosine transform, or of the leading
directions of another, public data set of images. Neither depends on the rows of the private data
set. A projection does not lengthen a row, so a guarantee for the projected rows holds for the rows,
and noise is added in fewer dimensions. The energy outside the subspace is lost at every epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.data.catalog import CATALOG, entry_of
from dpcore.data.loading import load_dataset
from dpcore.errors import ParameterError
from dpcore.spectra import leading_eigenpairs, site_moments

NO_KNOWLEDGE, FREQUENCIES = "none", "dct"
SHARES = (5, 10, 20, 40, 60)
_FORM = "none, dct:P or DATASET:P, the percentage P of its directions from 1 to 100"

# Options of the "Public knowledge" control.
CHOICES = (
    NO_KNOWLEDGE,
    *(
        f"{source}:{percent}"
        for source in (FREQUENCIES, "mnist", "fashion-mnist", "patches")
        for percent in SHARES
    ),
)


@dataclass(frozen=True)
class Knowledge:
    """Public subspace, identified by its source and dimension.

    source: "dct", or the name of a public data set of images of the same shape.
    percent: Percentage of the D directions that span the subspace, rounded up: the lowest
        frequencies, or the leading directions.
    """

    source: str
    percent: int

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """Parse a name; return None for "none".

        Raises `ParameterError` if the name has another form.
        """
        if name == NO_KNOWLEDGE:
            return None
        source, _, percent = name.partition(":")
        is_known = source == FREQUENCIES or source in CATALOG
        if not (is_known and percent.isascii() and percent.isdigit() and 1 <= int(percent) <= 100):
            raise ParameterError("knowledge", _FORM, name)
        return cls(source, int(percent))

    def n_directions(self, n_features: int) -> int:
        """Return the dimension d of the subspace for D features."""
        return math.ceil(self.percent * n_features / 100)

    def image_shape(self, dataset: str) -> tuple[int, int]:
        """Return the image shape of a data set, which the subspace must have too.

        Raises `ParameterError` if the rows are not images, have another shape, or are those of the
        source.
        """
        shape, specification = entry_of(dataset).image_shape, f"{self.source}:{self.percent}"
        if shape is None:
            raise ParameterError("knowledge", f"none, since {dataset} has no images", specification)
        if self.source == dataset:
            raise ParameterError(
                "knowledge", f"from another data set than {dataset}", specification
            )
        if self.source != FREQUENCIES and CATALOG[self.source].image_shape != shape:
            size = f"{shape[0]} × {shape[1]}"
            raise ParameterError("knowledge", f"of images of {size}, like {dataset}", specification)
        return shape


def describe_knowledge(name: str) -> str:
    """Return the label of a choice of public knowledge, for a control."""
    knowledge = Knowledge.parse(name)
    if knowledge is None:
        return NO_KNOWLEDGE
    if knowledge.source == FREQUENCIES:
        return f"lowest {knowledge.percent} % of frequencies"
    return f"{CATALOG[knowledge.source].title}, leading {knowledge.percent} %"


def count_directions(name: str, n_features: int) -> int:
    """Return the number of dimensions, out of D, that get noise."""
    knowledge = Knowledge.parse(name)
    return n_features if knowledge is None else knowledge.n_directions(n_features)


def check_knowledge(name: str, dataset: str) -> None:
    """Raise `ParameterError` if the subspace does not fit the rows of a data set.

    The conditions are those of `Knowledge.parse` and `Knowledge.image_shape`.
    """
    if (knowledge := Knowledge.parse(name)) is not None:
        knowledge.image_shape(dataset)


def public_basis(knowledge: Knowledge, dataset: str) -> FloatArray:
    """Return a basis of the subspace for the rows of a data set.

    Returns: shape (d, n_features), orthonormal rows, read-only
    Raises `ParameterError` if the subspace does not fit these rows (`Knowledge.image_shape`).
    Raises `DataUnavailable` if the files of the source are absent.
    """
    shape = knowledge.image_shape(dataset)
    is_transform = knowledge.source == FREQUENCIES
    directions = lowest_frequencies(shape) if is_transform else _read_knowledge(knowledge.source)
    return directions[: knowledge.n_directions(len(directions))]


@lru_cache(maxsize=4)
def lowest_frequencies(shape: tuple[int, int]) -> FloatArray:
    """Return the 2-D discrete cosine transform (DCT-II, orthonormal), lowest frequencies first.

    Returns: shape (height * width, height * width), orthonormal rows, read-only
    """
    height, width = shape
    rows, columns = (_cosines(size) for size in shape)
    squares = np.add.outer((np.arange(height) / height) ** 2, (np.arange(width) / width) ** 2)
    basis: FloatArray = np.kron(rows, columns)[np.argsort(squares.ravel(), kind="stable")]
    basis.flags.writeable = False
    return basis


def _cosines(size: int) -> FloatArray:
    """Return c_k(t) = sqrt(2 / n) cos(pi k (t + 1/2) / n), and sqrt(1 / n) for k = 0."""
    frequency, position = np.arange(size)[:, None], np.arange(size) + 0.5
    cosines: FloatArray = np.sqrt(2 / size) * np.cos(np.pi * frequency * position / size)
    cosines[0] /= math.sqrt(2)
    return cosines


@lru_cache(maxsize=2)
def _read_knowledge(source: str) -> FloatArray:
    """Return all principal directions of a public data set, leading first."""
    X = load_dataset(source, download=False).X
    moment = site_moments(X, (np.arange(len(X)),)).centred().pooled()
    directions = leading_eigenpairs(moment, len(moment))[1]
    directions.flags.writeable = False
    return directions
