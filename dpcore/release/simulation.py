"""Load a table with its dictionary as a data set for simulations, for the data holder only.

Cells are scaled as in a release: from -1 to 1, with the column's middle at 0. Simulations protect
single rows, so only the first row of each person is loaded.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow.compute as pc

from dpcore.arrays import FloatArray, IntArray
from dpcore.data import Dataset
from dpcore.data.splits import MIN_PEOPLE, MOST_SITES
from dpcore.errors import ParameterError
from dpcore.picture_kinds import FULL
from dpcore.release.cells import names_of
from dpcore.release.dictionary import Column, Dictionary
from dpcore.release.encoding import Reading, grid_blocks, people_of
from dpcore.release.integer_rows import GRID
from dpcore.release.scales import squared_norm_bound
from dpcore.release.tables import Table

MOST_CELLS = 1 << 26
MOST_CLASSES = 100
_USUAL_COMPONENTS = 5


def simulation_data(data: Any, dictionary: Dictionary, reading: Reading | None = None) -> Dataset:
    """Return the rows that a release would read as a data set for simulations.

    data: path, mapping of str to arrays, DataFrame or ndarray. As in `Table`.
    dictionary: Its label column becomes the labels, its site column the sites.
    reading: Counts are added to it.
    Raises `ParameterError` if the table does not fit the dictionary, has fewer than two rows, more
        than 2^26 cells, more than 100 labels or 60 sites, fewer than two people at a site, or
        a person at two sites.
    """
    n_features, blocks, n_rows = dictionary.n_features, [], 0
    label = _column_of_levels(data, "label", dictionary.label, MOST_CLASSES)
    site = _column_of_levels(data, "site", dictionary.site, MOST_SITES)
    _require_one_site(data, dictionary)
    extra_columns = tuple(filter(None, (label, site)))
    one_row_each = replace(
        dictionary,
        at_most=1,
        columns=(*dictionary.columns, *extra_columns),
        label=None,
        site=None,
        image=None,
        picture=FULL,
    )
    for rows in grid_blocks(
        Table(data, one_row_each.keys, one_row_each.n_features), one_row_each, reading
    ):
        n_rows += len(rows)
        if n_rows * n_features > MOST_CELLS:
            raise ParameterError("data", f"at most {MOST_CELLS:,} cells for simulations", n_rows)
        blocks.append((rows / GRID).astype(np.float32))
    if n_rows < 2:
        raise ParameterError("data", "a table with at least two people", n_rows)
    rows = np.concatenate(blocks)
    end = n_features + (len(label.levels) if label else 0)
    labels, label_names = _labels(rows[:, n_features:end], label)
    sites, _ = _labels(rows[:, end:], site)
    if sites is not None and (fewest := int(np.bincount(sites).min())) < MIN_PEOPLE:
        raise ParameterError("site", f"a column with {MIN_PEOPLE} people at each site", fewest)
    return Dataset(
        name="",
        title="your table",
        X=np.ascontiguousarray(rows[:, :n_features]),
        labels=labels,
        label_names=label_names,
        sites=sites,
        feature_names=dictionary.features,
        image_shape=dictionary.image,
        picture=dictionary.picture,
        # If K equals D, every protocol captures everything.
        default_components=min(_USUAL_COMPONENTS, max(1, n_features // 2)),
        provenance="Rows of a table that this session holds, scaled to its public limits.",
        public_norm_bound=squared_norm_bound(dictionary) ** 0.5 / GRID,
        column_limits=np.concatenate([_limits(column) for column in dictionary.columns]),
    )


def _limits(column: Column) -> FloatArray:
    if column.levels:
        return np.array([[0.0, 1.0]] * len(column.levels))
    ends = np.array([[column.lower - column.middle, column.upper - column.middle]])
    limits: FloatArray = ends / column.reach
    return limits


def _column_of_levels(data: Any, parameter: str, name: str | None, most: int) -> Column | None:
    """Return the label or site column with its levels, which are read from the rows."""
    if name is None:
        return None
    names: set[str] = set()
    for block in Table(data, [name]).blocks():
        names.update(pc.unique(names_of(block[name], name)).drop_null().to_pylist())
        if len(names) > most:
            kinds = "sites" if parameter == "site" else "classes"
            raise ParameterError(parameter, f"a column of at most {most} {kinds}", len(names))
    return Column(name, levels=tuple(sorted(names))) if names else None


def _require_one_site(data: Any, dictionary: Dictionary) -> None:
    """Refuse a person at two sites: the guarantees of sites assume disjoint sites."""
    if dictionary.site is None or dictionary.person is None:
        return
    where: dict[str, str] = {}
    at_several: set[str] = set()
    for block in Table(data, [dictionary.person, dictionary.site]).blocks():
        people = people_of(block, dictionary.person).to_pylist()
        sites = names_of(block[dictionary.site], dictionary.site).to_pylist()
        for person, site in zip(people, sites, strict=True):
            if person and site and where.setdefault(person, site) != site:
                at_several.add(person)
    if at_several:
        raise ParameterError(
            "site", "the same in all rows of a person", f"{len(at_several)} people at several sites"
        )


def _labels(
    indicators: FloatArray, label: Column | None
) -> tuple[IntArray | None, tuple[str, ...] | None]:
    """Return the index of each row's level, and the names of levels; rows may have none."""
    if label is None:
        return None, None
    is_any = indicators.any(axis=1)
    labels = np.where(is_any, indicators.argmax(axis=1), indicators.shape[1])
    return labels, label.levels if is_any.all() else (*label.levels, "none")
