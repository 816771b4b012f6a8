"""Public subspaces that a data holder may project rows onto before noise is added.

Public knowledge about pictures in general does not concern the people in a table: the lowest
frequencies of the discrete cosine transform, or the leading directions of another data set, which
is public. A projection does not lengthen a row, so a guarantee for the projected rows holds for the
rows, and noise is added in fewer dimensions. The projection loses the energy outside the subspace
at every epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.data import dataset_status
from dpcore.data.loading import CATALOG, entry_of, load_dataset
from dpcore.errors import ParameterError
from dpcore.spectra import leading_eigenpairs, site_moments

NO_KNOWLEDGE, FREQUENCIES = "none", "dct"
SHARES = (5, 10, 20, 40, 60)
_FORM = "none, dct:P or DATASET:P, the percentage P of its directions from 1 to 100"


# What a control offers: of each source that says something of some data set, some shares.
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
    """A public subspace by its name: where it is from, and which share of D it keeps.

    source: "dct", or the name of a public data set of pictures of the same shape.
    percent: Of all D directions, the lowest frequencies or the leading ones; rounded up.
    """

    source: str
    percent: int

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """None for "none".

        Raises `ParameterError` if the name has another form.
        """
        if name == NO_KNOWLEDGE:
            return None
        source, _, percent = name.partition(":")
        known = source == FREQUENCIES or source in CATALOG
        if not (known and percent.isascii() and percent.isdigit() and 1 <= int(percent) <= 100):
            raise ParameterError("knowledge", _FORM, name)
        return cls(source, int(percent))

    def n_directions(self, n_features: int) -> int:
        """d, of D features."""
        return math.ceil(self.percent * n_features / 100)

    def picture_shape(self, dataset: str) -> tuple[int, int]:
        """Of this data set's rows, which the subspace has to be of.

        Raises `ParameterError` if its rows are no pictures, are of another shape, or are the
            source's own.
        """
        shape, own = entry_of(dataset).image_shape, f"{self.source}:{self.percent}"
        if shape is None:
            raise ParameterError("knowledge", f"none, for {dataset} has no pictures", own)
        if self.source == dataset:
            raise ParameterError("knowledge", f"of other people than those of {dataset}", own)
        if self.source != FREQUENCIES and CATALOG[self.source].image_shape != shape:
            size = f"{shape[0]} × {shape[1]}"
            raise ParameterError("knowledge", f"of pictures of {size}, as {dataset}'s are", own)
        return shape


def describe_knowledge(name: str) -> str:
    """A choice as a control shows it."""
    knowledge = Knowledge.parse(name)
    if knowledge is None:
        return NO_KNOWLEDGE
    if knowledge.source == FREQUENCIES:
        return f"lowest {knowledge.percent} % of frequencies"
    return f"{CATALOG[knowledge.source].title}, leading {knowledge.percent} %"


def count_directions(name: str, n_features: int) -> int:
    """How many dimensions are left of D, and get noise."""
    knowledge = Knowledge.parse(name)
    return n_features if knowledge is None else knowledge.n_directions(n_features)


def check_knowledge(name: str, dataset: str) -> None:
    """Refuse a subspace that says nothing about a data set's rows.

    Raises `ParameterError` as `Knowledge.parse` and `Knowledge.picture_shape`.
    """
    if (knowledge := Knowledge.parse(name)) is not None:
        knowledge.picture_shape(dataset)


def public_basis(knowledge: Knowledge, dataset: str) -> FloatArray:
    """The subspace, for the rows of a data set.

    Returns: shape (d, n_features), orthonormal rows, read-only
    Raises `ParameterError` if it says nothing about these rows (`Knowledge.picture_shape`).
    Raises `DataUnavailable` if the source's files are not there.
    """
    shape = knowledge.picture_shape(dataset)
    is_transform = knowledge.source == FREQUENCIES
    directions = lowest_frequencies(shape) if is_transform else _read_knowledge(knowledge.source)
    return directions[: knowledge.n_directions(len(directions))]


@lru_cache(maxsize=4)
def lowest_frequencies(shape: tuple[int, int]) -> FloatArray:
    """The 2-D discrete cosine transform (DCT-II, orthonormal), lowest frequencies first.

    Returns: shape (height * width, height * width), orthonormal rows, read-only
    """
    height, width = shape
    rows, columns = (_cosines(size) for size in shape)
    squares = np.add.outer((np.arange(height) / height) ** 2, (np.arange(width) / width) ** 2)
    basis: FloatArray = np.kron(rows, columns)[np.argsort(squares.ravel(), kind="stable")]
    basis.flags.writeable = False
    return basis


def _cosines(size: int) -> FloatArray:
    """c_k(t) = sqrt(2 / n) cos(pi k (t + 1/2) / n), and sqrt(1 / n) for k = 0."""
    frequency, place = np.arange(size)[:, None], np.arange(size) + 0.5
    cosines: FloatArray = np.sqrt(2 / size) * np.cos(np.pi * frequency * place / size)
    cosines[0] /= math.sqrt(2)
    return cosines


@lru_cache(maxsize=2)
def _read_knowledge(source: str) -> FloatArray:
    """All principal directions of a public data set, leading first."""
    X = load_dataset(source, download=False).X
    moment = site_moments(X, (np.arange(len(X)),)).centred().pooled()
    directions = leading_eigenpairs(moment, len(moment))[1]
    directions.flags.writeable = False
    return directions


def sources_for(dataset: str) -> tuple[str, ...]:
    """Where public subspaces of pictures like these come from; nowhere for what has none."""
    shape = entry_of(dataset).image_shape
    if shape is None:
        return ()
    others = (
        name
        for name, entry in CATALOG.items()
        if name != dataset and entry.image_shape == shape and dataset_status(name).ready
    )
    return (FREQUENCIES, *others)
