"""Which two views of which people, as a name and numbers: what caches and scripts go by."""

from __future__ import annotations

import os
from dataclasses import dataclass

from dpcore.data import load_dataset
from dpcore.data.dataset import DATA_SEED
from dpcore.data.synthetic import synthetic_views
from dpcore.data.two_views import TwoViewDataset, two_views
from dpcore.errors import ParameterError
from dpcore.streams import Purpose, stream

SYNTHETIC = "synthetic-views"
COLUMN_HALVES = "column-halves"

# More columns than any data set has, few enough to be listed.
_DIGITS = 5

Cut = str | tuple[str, str] | tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class CutViews:
    """A data set of the catalogue, cut into two views.

    how: str or pair. As `two_views` takes it, or "column-halves": the first half of the columns and
        the rest.
    """

    dataset: str = "digits"
    how: Cut = "halves-top-bottom"

    def load(
        self, data_home: str | os.PathLike[str] | None = None, *, download: bool = True
    ) -> TwoViewDataset:
        dataset = load_dataset(self.dataset, data_home, download=download)
        how = self.how
        if how == COLUMN_HALVES:
            middle = dataset.n_features // 2
            how = tuple(range(middle)), tuple(range(middle, dataset.n_features))
        return two_views(dataset, how)


@dataclass(frozen=True)
class SyntheticViews:
    """Views drawn by `synthetic_views`; the same numbers always give the same rows."""

    people: int = 20_000
    columns: int = 50
    shared: int = 5
    noise: float = 0.5

    def load(
        self, data_home: str | os.PathLike[str] | None = None, *, download: bool = True
    ) -> TwoViewDataset:
        return synthetic_views(
            self.people,
            self.columns,
            self.columns,
            self.shared,
            self.noise,
            rng=stream(DATA_SEED, Purpose.DATA),
        )


ViewSource = CutViews | SyntheticViews


def cut_from_text(text: str) -> Cut:
    """A cut from how people write it on a command line.

    "halves-top-bottom", "halves-left-right" and "column-halves" stand for themselves; "fou,kar"
    names two views; "0-3,7:4-6" gives two groups of column numbers.

    Raises `ParameterError` if the text is none of these.
    """
    if ":" in text:
        groups = text.split(":")
        if len(groups) != 2:
            raise ParameterError("views", "two groups of columns with one colon", text)
        return _columns(groups[0]), _columns(groups[1])
    if "," in text:
        names = [name.strip() for name in text.split(",")]
        if len(names) != 2:
            raise ParameterError("views", "two names with one comma", text)
        return names[0], names[1]
    return text


def _columns(text: str) -> tuple[int, ...]:
    columns: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        last = last if dash else first
        if not (first.isdecimal() and last.isdecimal()):
            raise ParameterError("views", "columns such as 0-3,7", text)
        if max(len(first), len(last)) > _DIGITS:
            raise ParameterError("views", f"columns below {10**_DIGITS:,}", text)
        columns.extend(range(int(first), int(last) + 1))
    return tuple(columns)
