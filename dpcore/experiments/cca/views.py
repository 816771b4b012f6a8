"""Data sets of two views for CCA experiments: cut from the catalogue, or synthetic."""

from __future__ import annotations

from dataclasses import dataclass

from dpcore.data import dataset_status, load_dataset
from dpcore.data.dataset import DATA_SEED
from dpcore.data.synthetic import synthetic_views
from dpcore.data.two_views import TwoViewDataset, two_views
from dpcore.errors import ParameterError
from dpcore.streams import Purpose, stream

SYNTHETIC = "synthetic-views"
COLUMN_HALVES = "column-halves"
# Largest number of digits of a column number.
_DIGITS = 5
Cut = str | tuple[str, str] | tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class CutViews:
    """Data set of the catalogue, cut into two views.

    how: str or pair. Argument of `two_views`, or "column-halves": the first half of the columns and
        the rest.
    """

    dataset: str = "digits"
    how: Cut = "halves-top-bottom"

    @property
    def n_samples(self) -> int:
        return dataset_status(self.dataset).n_samples

    @property
    def name(self) -> str:
        return self.dataset

    def load(self, *, download: bool = True) -> TwoViewDataset:
        dataset = load_dataset(self.dataset, download=download)
        how = self.how
        if how == COLUMN_HALVES:
            middle = dataset.n_features // 2
            how = tuple(range(middle)), tuple(range(middle, dataset.n_features))
        return two_views(dataset, how)


@dataclass(frozen=True)
class SyntheticViews:
    """Views drawn by `synthetic_views`; equal fields give equal rows."""

    people: int = 20_000
    columns: int = 50
    shared: int = 5
    noise: float = 0.5

    @property
    def n_samples(self) -> int:
        return self.people

    @property
    def name(self) -> str:
        return (
            f"two drawn views of {self.people:,} people ({self.columns} columns each, "
            f"{self.shared} shared, noise {self.noise:g})"
        )

    def load(self, *, download: bool = True) -> TwoViewDataset:  # noqa: ARG002
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
    """Parse a cut from the command line.

    "halves-top-bottom", "halves-left-right" and "column-halves" are returned unchanged; "fou,kar"
    names two views; "0-3,7:4-6" gives two groups of column numbers.

    Raises `ParameterError` if the text has none of these forms.
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
