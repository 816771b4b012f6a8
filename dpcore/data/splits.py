"""Splits of people: into sites, and into training and test sets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np

from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.data.catalog import entry_of
from dpcore.data.dataset import DATA_SEED, Dataset
from dpcore.data.loading import load_dataset
from dpcore.data.official_files import find_data_home, read_idx
from dpcore.data.pictures import TEST_FILES
from dpcore.data.row_bounds import prepare, shorten
from dpcore.errors import ParameterError, require_one_of
from dpcore.streams import Purpose, stream

SPLITS = ("equal", "random", "sizes", "dirichlet", "given")

# A site with one person has no covariance, and its mean is that person's row.
MIN_PEOPLE = 2
# Largest number of sites in a control and in a visitor's table.
MOST_SITES = 60


def draw_people(n_people: int, n_samples: int, *, rng: np.random.Generator) -> IntArray:
    """Choose `n_samples` of `n_people` without replacement.

    Parameters
    ----------
    n_people, n_samples : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int, shape (n_samples,), increasing

    Raises
    ------
    ParameterError
        If `n_samples` is not in [1, n_people].
    """
    if not 1 <= n_samples <= n_people:
        raise ParameterError("n_samples", f"in [1, {n_people}]", n_samples)
    return np.sort(rng.choice(n_people, size=n_samples, replace=False))


def split_sites(
    n_samples: int,
    n_sites: int,
    *,
    how: str = "equal",
    sizes: Sequence[int] | None = None,
    labels: IntArray | None = None,
    concentration: float | None = None,
    rng: np.random.Generator,
) -> tuple[IntArray, ...]:
    """Assign people to disjoint sites, so each person spends epsilon once.

    Parameters
    ----------
    n_samples : int
        Number of people.
    n_sites : int
    how : {"equal", "random", "sizes", "dirichlet", "given"}
        "equal": at random, with sizes that differ by at most 1.
        "random": an independent, uniform site for every person; sizes vary.
        "sizes": at random, `sizes` people per site; the others take no part.
        "dirichlet": sizes of "equal", with label shares of each site drawn from a Dirichlet
        distribution around the overall shares. A small `concentration` gives few labels per
        site, a large one the overall shares.
        "given": sites from `labels`, without randomness.
    sizes : sequence of n_sites int
        Sizes for "sizes".
    labels : ndarray of int, shape (n_samples,)
        Labels for "dirichlet"; site of each person, from 0, for "given".
    concentration : float
        Concentration for "dirichlet". The parameters are concentration * C * share for C labels;
        equally frequent labels give the symmetric Dirichlet(concentration).
    rng : numpy.random.Generator

    Returns
    -------
    tuple of n_sites ndarrays of int
        Disjoint, increasing row numbers, at least 2 per site.

    Raises
    ------
    ParameterError
        If a site would have fewer than 2 people, or an argument that `how` needs is missing.

    Notes
    -----
    "dirichlet" follows Hsu, Qi & Brown (2019, arXiv:1909.06335): sites draw their people without
    replacement by their own label shares, renormalised over the remaining labels. The last site
    gets the remaining people, so the order of sites is random.
    """
    require_one_of("how", how, SPLITS)
    if not isinstance(n_sites, Integral) or not 1 <= n_sites <= n_samples // MIN_PEOPLE:
        raise ParameterError(
            "n_sites",
            f"a whole number in [1, {n_samples // MIN_PEOPLE}], so that each site holds at least "
            f"{MIN_PEOPLE} of the {n_samples} people",
            n_sites,
        )
    if how == "given":
        return _given_split(n_samples, n_sites, labels)
    if how == "random":
        return _random_split(n_samples, n_sites, rng)
    if how == "sizes":
        counts = _check_sizes(n_samples, n_sites, sizes)
    else:
        counts = np.full(n_sites, n_samples // n_sites)
        counts[: n_samples % n_sites] += 1
    if how == "dirichlet":
        return _skewed_by_label(n_samples, counts, labels, concentration, rng)
    return _split_order(rng.permutation(n_samples), counts)


def _split_order(order: IntArray, counts: IntArray) -> tuple[IntArray, ...]:
    # Increasing positions let a site read its rows in memory order.
    return tuple(np.sort(part) for part in np.split(order, np.cumsum(counts))[: len(counts)])


def _given_split(n_samples: int, n_sites: int, labels: IntArray | None) -> tuple[IntArray, ...]:
    if labels is None or len(labels) != n_samples:
        raise ParameterError("how", "another split where no column says who is at which", "given")
    counts = np.bincount(labels)
    if len(counts) != n_sites:
        raise ParameterError("n_sites", f"{len(counts)}, as the table's column says", n_sites)
    if counts.min() < MIN_PEOPLE:
        raise ParameterError("sites", f"of at least {MIN_PEOPLE} people each", int(counts.min()))
    return _split_order(np.argsort(labels, kind="stable"), counts)


def _random_split(n_samples: int, n_sites: int, rng: np.random.Generator) -> tuple[IntArray, ...]:
    site = rng.integers(n_sites, size=n_samples)
    counts = np.bincount(site, minlength=n_sites)
    if counts.min() < MIN_PEOPLE:
        raise ParameterError(
            "n_sites",
            f"small enough for {n_samples} people placed at random to leave at least "
            f"{MIN_PEOPLE} at each site (this draw left {counts.min()})",
            n_sites,
        )
    return _split_order(np.argsort(site, kind="stable"), counts)


def _check_sizes(n_samples: int, n_sites: int, sizes: Sequence[int] | None) -> IntArray:
    if sizes is None or len(sizes) != n_sites:
        raise ParameterError("sizes", f"{n_sites} numbers, one for each site", sizes)
    counts = np.asarray(sizes)
    if not np.issubdtype(counts.dtype, np.integer) or counts.min() < MIN_PEOPLE:
        raise ParameterError("sizes", f"whole numbers of at least {MIN_PEOPLE}", tuple(sizes))
    if counts.sum() > n_samples:
        raise ParameterError(
            "sizes", f"at most {n_samples} people in all", f"{tuple(sizes)}, {counts.sum()} in all"
        )
    return counts


def _skewed_by_label(
    n_samples: int,
    counts: IntArray,
    labels: IntArray | None,
    concentration: float | None,
    rng: np.random.Generator,
) -> tuple[IntArray, ...]:
    if labels is None or len(labels) != n_samples:
        raise ParameterError(
            "labels",
            f"given for all {n_samples} people to skew sites by label",
            None if labels is None else f"{len(labels)} labels",
        )
    if concentration is None or not 0 < concentration < np.inf:
        raise ParameterError("concentration", "positive and finite", concentration)
    values, codes = np.unique(labels, return_inverse=True)
    remaining = np.bincount(codes)
    mixes = rng.dirichlet(concentration * len(values) * remaining / n_samples, size=len(counts))
    people = [rng.permutation(np.flatnonzero(codes == label)) for label in range(len(values))]
    sites: list[IntArray] = [np.empty(0, dtype=int)] * len(counts)
    for site in rng.permutation(len(counts)):
        drawn = _draw_labels(counts[site], mixes[site], remaining, rng)
        sites[site] = np.sort(
            np.concatenate(
                [
                    n_people[stop - n : stop]
                    for n_people, stop, n in zip(people, remaining, drawn, strict=True)
                ]
            )
        )
        remaining -= drawn
    return tuple(sites)


def _draw_labels(
    n_people: int, mix: FloatArray, remaining: IntArray, rng: np.random.Generator
) -> IntArray:
    """Draw the number of people of each label for one site, from the remaining people."""
    drawn = np.zeros_like(remaining)
    while (n_missing := n_people - drawn.sum()) > 0:
        share = np.where(drawn < remaining, mix, 0.0)
        if share.sum() == 0.0:
            # All labels of the mix are exhausted: use the shares of the remaining people.
            share = (remaining - drawn).astype(float)
        drawn += np.minimum(rng.multinomial(n_missing, share / share.sum()), remaining - drawn)
    return drawn


_TEST_SHARE = 0.25
_MOST_TESTED = 10_000
_HELD_OUT = 10


@dataclass(frozen=True, eq=False)
class Halves:
    """Labelled data set, split into training and test rows.

    Rows are prepared by `dpcore.data.prepare`, without using test rows.

    X, test_X: Rows of shape (n, n_features), with norms at most 1 except for the sphere.
    labels, test_labels: Positions in `label_names`.
    statement: Description of training set, test set, removed columns and the row bound.
    """

    name: str
    title: str
    X: FloatArray
    labels: IntArray
    test_X: FloatArray
    test_labels: IntArray
    label_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    image_shape: tuple[int, int] | None
    default_components: int
    statement: str


def load_halves(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    mode: str = "bounded",
) -> Halves:
    """Load a labelled data set with its test half.

    The test rows are the official test set if all files are present, else a quarter of the rows, at
    most 10,000, drawn with a fixed stream. Columns that encode the label are removed.

    name, data_home: See `load_dataset`.
    mode: Mode of `prepare`. "none" clips to the bound, too, since a classifier needs one.
        "published" centres and scales by the training rows.

    Raises `ParameterError` if the data set has no labels.
    Raises `DataUnavailable` if its files are not there.
    """
    # The training rows are split into sites later.
    dataset = replace(load_dataset(name, data_home, download=False), sites=None)
    labels, label_names, n_components = (
        dataset.labels,
        dataset.label_names,
        dataset.default_components,
    )
    if labels is None or label_names is None or n_components is None or len(label_names) < 2:
        constraint = "one with labels of two kinds or more, as digits or mnist"
        raise ParameterError("dataset", constraint, dataset.title)
    dataset, left_out = _drop_label_columns(dataset)
    # A part may be the test half itself.
    official = None if dataset.is_part else _official_test_half(name, data_home)
    if official is not None:
        test_X, test_labels = official
        test_text = f"the {len(test_X):,} of the official test half, whom no training reads, test."
    else:
        tested = _draw_test_mask(len(dataset.X))
        test_X, test_labels = dataset.X[tested], labels[tested]
        labels = labels[~tested]
        dataset = replace(dataset, X=dataset.X[~tested], labels=labels)
        test_text = f"{len(test_X):,} others, drawn once for good and read by no training, test."
    split = f"{len(labels):,} people learn; {test_text}"
    mode = "bounded" if mode == "none" else mode
    prepared = prepare(dataset, mode=mode)
    X = prepared.X
    if mode == "published":
        test_X = shorten(
            (test_X - prepared.mean).astype(X.dtype) / X.dtype.type(prepared.scale), 1.0
        )[0]
    else:
        test_X = prepare(replace(dataset, X=test_X, labels=test_labels), mode=mode).X
    return Halves(
        name=name,
        title=dataset.title,
        X=X,
        labels=labels,
        test_X=test_X,
        test_labels=test_labels,
        label_names=label_names,
        feature_names=dataset.feature_names,
        image_shape=dataset.image_shape,
        default_components=min(n_components, X.shape[1]),
        statement=" ".join(filter(None, (split, left_out, prepared.statement))),
    )


def _drop_label_columns(dataset: Dataset) -> tuple[Dataset, str]:
    columns = dataset.label_columns
    if columns is None:
        return dataset, ""
    all_columns = np.arange(dataset.n_features)
    remaining_columns = np.setdiff1d(all_columns, all_columns[columns])
    names = tuple(dataset.feature_names[index] for index in remaining_columns)
    n_dropped = dataset.n_features - len(remaining_columns)
    without = replace(
        dataset,
        X=dataset.X[:, remaining_columns],
        feature_names=names,
        column_limits=(
            None if dataset.column_limits is None else dataset.column_limits[remaining_columns]
        ),
        label_columns=None,
        views=None,
    )
    return without, (
        f"{n_dropped} of the source's {dataset.n_features} columns spell out the label and are "
        "left out: they would give a classifier the answer."
    )


def _draw_test_mask(n_samples: int) -> BoolArray:
    """Return the mask (n_samples,) of the test rows."""
    n_tested = min(round(_TEST_SHARE * n_samples), _MOST_TESTED)
    order = stream(DATA_SEED, Purpose.DATA, _HELD_OUT).permutation(n_samples)
    tested = np.zeros(n_samples, dtype=bool)
    tested[order[:n_tested]] = True
    return tested


def _official_test_half(
    name: str, data_home: str | os.PathLike[str] | None
) -> tuple[FloatArray, IntArray] | None:
    home = find_data_home(data_home)
    official = TEST_FILES.get(name, ())
    located = (entry_of(name).locate(file, home) for file in official)
    files = [file for file in located if file is not None]
    if not official or len(files) < len(official):
        return None
    images, labels = map(read_idx, files)
    pixels = np.divide(images.reshape(len(images), -1), np.float32(255), dtype=np.float32)
    return pixels, labels.astype(np.intp)
