"""Try a release without spending: a table as a data set, rows that a dictionary makes up, examples.

Cells are scaled as a release scales them: from -1 to 1, the column's middle at 0. The laboratory
promises something to every row, so that each person has one row here, the first.

A file that somebody brings is in memory and stays there: nothing is written, and an error repeats
nothing of what is in it.

Before anything private is read: rows that a dictionary makes up, and what a release of such is.

A plan says what the same noise does to people who are not there. Whether the real table looks like
them, its release tells, and nothing before it may.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpcore.arrays import AnyArray, BoolArray, FloatArray, IntArray
from dpcore.data import Dataset
from dpcore.data.splits import MIN_PEOPLE, MOST_SITES
from dpcore.errors import DataUnavailable, ParameterError, require_one_of
from dpcore.params import check_params
from dpcore.pca.assessment import bases_worth
from dpcore.release.certificate import PublicationSettings
from dpcore.release.dictionary import MOST_FEATURES, Column, Dictionary, read_dictionary
from dpcore.release.exact import GRID, MOST_ROWS, noisy_second_moment
from dpcore.release.measurement import (
    Reading,
    Scales,
    bases_of,
    bound_of,
    calibrated,
    grid_blocks,
    moment_around,
    noisy_centre,
    people_of,
    require_decimal_mark,
    sum_and_count,
)
from dpcore.release.tables import (
    DAMAGED,
    TEXTS,
    WORKBOOK,
    Block,
    Cells,
    Header,
    Marks,
    Table,
    TableFile,
    header_of,
    is_date,
    name_of_text,
    names_of,
    numbers_of,
    unpacked_npz,
)
from dpcore.spectra import Spectrum, cumulative_energy, leading_eigenpairs
from dpcore.streams import Purpose, stream

if TYPE_CHECKING:
    import pyarrow as pa

# A table with its dictionary as a data set of the laboratory, for its holder's eyes.

MOST_CELLS = 1 << 26
MOST_CLASSES = 100
_USUAL_COMPONENTS = 5
LARGEST_UPLOAD = 50_000_000
LARGEST_UNPACKED = 500_000_000
_LOOKED_AT = 1_000
_SOME_DAYS = Marks(days_since=date(1970, 1, 1))
_A_TEXT = "a table as text with a header and as many cells in every row"
_READABLE = {
    **dict.fromkeys((*TEXTS, *(f"{ending}.gz" for ending in TEXTS)), _A_TEXT),
    WORKBOOK: "a sound workbook with a header",
    ".parquet": "a sound Parquet file of numbers and texts",
    ".npz": "a sound NPZ file with a matrix X or an array a column",
}
UPLOADS = tuple(_READABLE)


def laboratory_data(data: Any, dictionary: Dictionary, reading: Reading | None = None) -> Dataset:
    """The rows that a release would read, as the laboratory wants them.

    data: path, mapping of str to arrays, DataFrame or ndarray. As in `Table`.
    dictionary: Its label column becomes the labels, its site column the sites.
    reading: Filled with what was met.
    Raises `ParameterError` if the table does not fit the dictionary, has fewer than two rows, more
        than 2^26 cells, more than 100 labels or 60 sites, fewer than two people at a site, or
        somebody at two.
    """
    n_features, blocks, n_rows = dictionary.n_features, [], 0
    label = _column_of_levels(data, "label", dictionary.label, MOST_CLASSES)
    site = _column_of_levels(data, "site", dictionary.site, MOST_SITES)
    _require_one_site(data, dictionary)
    beside = tuple(filter(None, (label, site)))
    everybody = replace(
        dictionary, at_most=1, columns=(*dictionary.columns, *beside), label=None, site=None
    )
    for rows in grid_blocks(Table(data, everybody.keys, everybody.n_features), everybody, reading):
        n_rows += len(rows)
        if n_rows * n_features > MOST_CELLS:
            raise ParameterError("data", f"at most {MOST_CELLS:,} cells for the laboratory", n_rows)
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
        # As many as there are features capture everything, whatever the noise.
        default_components=min(_USUAL_COMPONENTS, max(1, n_features // 2)),
        provenance="Rows of a table that this session holds, scaled to its public limits.",
        public_norm_bound=bound_of(dictionary) ** 0.5 / GRID,
        column_limits=np.concatenate([_limits(column) for column in dictionary.columns]),
    )


def _limits(column: Column) -> FloatArray:
    if column.levels:
        return np.array([[0.0, 1.0]] * len(column.levels))
    ends = np.array([[column.lower - column.middle, column.upper - column.middle]])
    limits: FloatArray = ends / column.reach
    return limits


def _column_of_levels(data: Any, parameter: str, name: str | None, most: int) -> Column | None:
    """Labels or sites as a column of levels, which are read from the rows."""
    if name is None:
        return None
    found: set[str] = set()
    for block in Table(data, [name]).blocks():
        found.update(pc.unique(names_of(block[name], name)).drop_null().to_pylist())
        if len(found) > most:
            kinds = "sites" if parameter == "site" else "classes"
            raise ParameterError(parameter, f"a column of at most {most} {kinds}", len(found))
    return Column(name, levels=tuple(sorted(found))) if found else None


def _require_one_site(data: Any, dictionary: Dictionary) -> None:
    """What sites promise rests on each person being at one of them."""
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
    """Positions of the levels, and their names; one more for rows that have none."""
    if label is None:
        return None, None
    is_any = indicators.any(axis=1)
    labels = np.where(is_any, indicators.argmax(axis=1), indicators.shape[1])
    return labels, label.levels if is_any.all() else (*label.levels, "none")


@dataclass(frozen=True, eq=False)
class Upload:
    """A table in memory.

    file: As it was read, with its content where it may be read in another way.
    columns: As `Table` takes them.
    left_out: Columns that are not there, and why.
    header: Where its names were, of a text or a workbook.
    """

    file: TableFile
    columns: Block
    left_out: Mapping[str, str] = field(default_factory=dict)
    header: Header | None = None

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def digest(self) -> str:
        """SHA-256 of the file's content; of a table that was in memory already, its name."""
        content = self.file.content
        return self.name if content is None else hashlib.sha256(content).hexdigest()

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values())))

    def kind_of(self, column: str) -> str:
        """What the first thousand cells are, where there are any: numbers, dates or texts; for the
        holder."""
        first = self.columns[column][:_LOOKED_AT]
        if isinstance(first, pa.Array) and is_date(first.type):
            return "dates"
        marks = Marks(decimal=self.columns.decimal or ".", thousands=self.columns.thousands or "")
        are_there = pc.is_valid(names_of(first, column)).to_numpy(zero_copy_only=False)
        if np.isfinite(numbers_of(first, column, marks))[are_there].all():
            return "numbers"
        days = numbers_of(first, column, _SOME_DAYS)
        return "dates" if np.isfinite(days)[are_there].all() else "texts"


def uploaded(name: str, columns: Mapping[str, Any]) -> Upload:
    """A table that is in memory already, under the name of a file."""
    return Upload(TableFile(name), Block(columns))


def read_upload(name: str, content: bytes, **laid_out: Any) -> Upload:
    """The columns of a file that is in memory.

    name: Of a text, a workbook, .parquet or .npz.
    laid_out: How it is to be read, as in `TableFile`.
    Raises `ParameterError` if it is no such file, or larger than 50 MB, or more than 500 MB
        unpacked, or it cannot be told how it is to be read.
    """
    file = TableFile(name, content, **laid_out)
    if file.ending not in _READABLE:
        raise ParameterError("file", f"named {', '.join(UPLOADS)}", name)
    if len(content) > LARGEST_UPLOAD:
        raise ParameterError(
            "file", f"at most {LARGEST_UPLOAD // 10**6} MB (the command line takes larger ones)",
            f"{len(content) / 1e6:.0f} MB",
        )  # fmt: skip
    try:
        read = {".parquet": _parquet, ".npz": _npz}.get(file.ending, _streamed)
        upload = read(file)
        lengths = set(map(len, upload.columns.values()))
        if len(lengths) > 1:
            raise ValueError("no table")
    except (ParameterError, DataUnavailable):
        raise
    except DAMAGED as error:
        raise ParameterError("file", _READABLE[file.ending], file.name) from error
    if not lengths:
        reasons = "; ".join(sorted(set(upload.left_out.values())))
        raise ParameterError("file", "a table with columns of numbers or texts", reasons or "none")
    if lengths == {0}:
        raise ParameterError("file", "a table with rows", file.name)
    return upload


def _streamed(file: TableFile) -> Upload:
    """A text or a workbook."""
    header = header_of(file)
    if header is None:
        raise ParameterError("file", f"named {', '.join(UPLOADS)}", file.name)
    names, left_out = _checked(header.names)
    if not names:
        raise ParameterError("file", "a table whose columns have different names", file.name)
    parts: dict[str, list[Cells]] = {name: [] for name in names}
    size, like = 0, Block()
    # The line that is told now stays, also for who reads the file again.
    file = replace(file, header_line=header.line, sheet=header.sheet or None)
    if file.is_text:
        file = replace(file, separator=header.separator)
    for block in Table(file, names).blocks():
        like = block
        for name, cells in block.items():
            parts[name].append(cells)
            size += int(cells.nbytes)
        _check_size(size)
    columns = {name: _joined(cells) for name, cells in parts.items()}
    return Upload(file, like.like(columns), left_out, header)


def _joined(cells: list[Cells]) -> Cells:
    first = cells[0]
    if isinstance(first, np.ndarray):
        return np.concatenate(cells)
    # The text of one array is at most 2 GB, and an upload far less.
    return pa.concat_arrays(cells)


def _parquet(file: TableFile) -> Upload:
    from pyarrow import parquet

    content = pa.BufferReader(file.content)
    with parquet.ParquetFile(content) as stored:
        schema = stored.schema_arrow
        different, left_out = _checked(schema.names)
        kinds = {name: schema.field(name).type for name in different}
        names = [name for name, kind in kinds.items() if _is_readable(kind)]
        left_out |= {
            name: f"of the type {kind}, neither numbers nor texts nor dates"
            for name, kind in kinds.items()
            if name not in names
        }
        _check_size(stored.metadata.num_rows * 8 * len(names))
    # As the dictionaries they are stored as: a text that is repeated is there once.
    as_stored = [name for name in names if _is_text(kinds[name])]
    table = parquet.read_table(
        pa.BufferReader(file.content), columns=names, read_dictionary=as_stored
    )
    for name in as_stored:
        _check_size(sum(map(_unpacked_size, table.column(name).chunks)))
    return Upload(file, Block(_whole(table)), left_out)


def _npz(file: TableFile) -> Upload:
    arrays: dict[str, Any] = unpacked_npz(io.BytesIO(file.content or b""), LARGEST_UNPACKED)
    matrix = arrays.get("X")
    if matrix is not None and matrix.ndim == 2:
        arrays = {f"x{number}": column for number, column in enumerate(matrix.T, 1)}
    _checked(list(arrays))
    columns = {name: each for name, each in arrays.items() if each.ndim == 1}
    left_out = {
        name: f"an array of {each.ndim} dimensions, not one cell a row"
        for name, each in arrays.items()
        if each.ndim != 1
    }
    return Upload(file, Block(columns), left_out)


def _checked(names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Names of columns that can be told apart, and why others cannot."""
    if len(names) > MOST_FEATURES:
        raise ParameterError("file", f"a table of at most {MOST_FEATURES:,} columns", len(names))
    counts = Counter(names)
    left_out = {
        name: f"the name of {count} columns" if name else "without a name"
        for name, count in counts.items()
        if count > 1 or not name
    }
    return [name for name in counts if name not in left_out], left_out


def _whole(table: pa.Table) -> dict[str, Cells]:
    def one(chunks: pa.ChunkedArray) -> pa.Array:
        joined = chunks.combine_chunks()
        is_stored = pa.types.is_dictionary(joined.type)
        return joined.dictionary_decode() if is_stored else joined

    return {name: one(table.column(name)) for name in table.column_names}


def _is_text(kind: pa.DataType) -> bool:
    of = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(of) or pa.types.is_large_string(of))


def _is_readable(kind: pa.DataType) -> bool:
    is_one = (
        pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal, is_date
    )  # fmt: skip
    return _is_text(kind) or any(test(kind) for test in is_one)


def _unpacked_size(chunk: pa.Array) -> int:
    if not pa.types.is_dictionary(chunk.type):
        return int(chunk.nbytes)
    return int(pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices)).as_py() or 0)


def _check_size(n_bytes: int) -> None:
    if n_bytes > LARGEST_UNPACKED:
        most = f"at most {LARGEST_UNPACKED // 10**6} MB unpacked"
        raise ParameterError("file", most, f"{n_bytes / 1e6:.0f} MB")


# Before anything private is read: rows that a dictionary makes up, and what a release of such is.

_N_SITES = 3
# How far answers scatter around the middle, and how much of that is a column's own.
_SPREAD, _OWN = 0.35, 0.15
# Between whole limits so far apart answers are whole.
_WIDE = 4
# More rows than these are counted as so many copies: it is the noise that is tried.
_ROWS_MADE = 4096


def look_alike(
    dictionary: Dictionary, n_rows: int, *, n_factors: int = 3, seed: int = 0
) -> dict[str, AnyArray]:
    """A made-up table that fits a dictionary, all of its columns with person, site and label.

    A few common factors, each of half the variance of the one before, move all columns, each of
    which has some noise of its own. A person has from one to `at_most` rows, at one site.

    Parameters
    ----------
    dictionary : Dictionary
    n_rows : int
    n_factors : int
        How many directions there are to be found.
    seed : int
        Of the rows: public, like everything else here.

    Raises
    ------
    ParameterError
        If there are no rows, or too many, or no factors, or more than features.
    """
    check_rows(n_rows)
    if not 1 <= n_factors <= dictionary.n_features:
        raise ParameterError(
            "n_factors", f"from 1 to the {dictionary.n_features} features", n_factors
        )
    rng = stream(seed, Purpose.DATA)
    last_rows = np.cumsum(rng.integers(1, dictionary.at_most + 1, size=n_rows))
    person = np.searchsorted(last_rows, np.arange(n_rows), side="right")
    factors = rng.standard_normal((person[-1] + 1, n_factors))
    weights = 0.5 ** (np.arange(n_factors) / 2)
    factors *= _SPREAD * weights * np.sqrt(n_factors) / np.linalg.norm(weights)
    table: dict[str, AnyArray] = {}
    if dictionary.person is not None:
        table[dictionary.person] = np.char.mod("P%04d", person)
    for column in dictionary.columns:
        load = rng.standard_normal(n_factors)
        load /= np.linalg.norm(load)
        own = rng.normal(scale=_OWN, size=n_rows)
        table[column.name] = _cells(column, (factors @ load)[person] + own)
    if dictionary.site is not None:
        table[dictionary.site] = np.char.mod("site %d", 1 + person % _N_SITES)
    if dictionary.label is not None:
        table[dictionary.label] = np.where(factors[person, 0] > 0, "yes", "no")
    return table


def check_rows(n_rows: int) -> None:
    """Refuse numbers of rows that no release has."""
    if not 1 <= n_rows <= MOST_ROWS:
        raise ParameterError("n_rows", f"from 1 to {MOST_ROWS:,}", n_rows)


def _cells(column: Column, score: FloatArray) -> AnyArray:
    if column.levels:
        place = np.clip((score + 1) / 2 * len(column.levels), 0, len(column.levels) - 1)
        levels: AnyArray = np.array(column.levels)[place.astype(int)]
        return levels
    answer: FloatArray = np.clip(column.middle + score * column.reach, column.lower, column.upper)
    has_whole_limits = column.lower.is_integer() and column.upper.is_integer()
    whole = has_whole_limits and column.upper - column.lower >= _WIDE
    return np.rint(answer) if whole else answer


@dataclass(frozen=True, eq=False)
class Plan:
    """A release that was tried on made-up rows.

    Attributes
    ----------
    scales : Scales
        Noise of the release, which does not depend on any rows.
    epsilon : float
        What holds at the asked delta.
    visible_share : float
        A direction with less of all variance than this is lost in the noise: the point from which
        a noisy eigenvector turns towards it at all, sigma sqrt(D) over the number of rows.
    captured, best : ndarray of shape (n_draws, n_components)
        Share of the made-up rows' variance that the first 1, 2, ... released components capture
        in each draw of the noise, and that the best ones capture.
    """

    scales: Scales
    epsilon: float
    visible_share: float
    captured: FloatArray
    best: FloatArray


def plan(
    dictionary: Dictionary,
    *,
    n_rows: int,
    epsilon: float,
    delta: float,
    n_components: int,
    n_factors: int = 3,
    n_draws: int = 3,
    seed: int = 0,
    **choices: Any,
) -> Plan:
    """Try a release on a look-alike: public numbers in, nothing private read, nothing charged.

    Parameters
    ----------
    dictionary : Dictionary
    n_rows : int
        As many as the real table is known to have, or may have.
    epsilon, delta, n_components
        As in `release`.
    n_factors, seed : int
        As in `look_alike`.
    n_draws : int
        How often the noise is drawn.
    **choices
        What else `dpcore.release.certificate.PublicationSettings` has, as in `release`.

    Raises
    ------
    ParameterError
        As `calibrated` and `look_alike`.
    """
    check_rows(n_rows)
    asked = PublicationSettings(epsilon, delta, n_components, **choices)
    check_params(asked)
    if not 1 <= n_components <= dictionary.n_features:
        raise ParameterError(
            "n_components", f"from 1 to the {dictionary.n_features} features", n_components
        )
    scales = calibrated(dictionary, epsilon=epsilon, delta=delta, mean_share=asked.mean_share)
    n_made = min(n_rows, _ROWS_MADE)
    rows = look_alike(dictionary, n_made, n_factors=n_factors, seed=seed)
    table, copies = Table(rows, dictionary.keys, dictionary.n_features), n_rows / n_made
    total = _times(sum_and_count(table, dictionary, scales, Reading()), copies)
    drawn, bases = [], bases_of(asked.denoise, dictionary.n_features, n_components)
    for _ in range(n_draws):
        centre, _ = noisy_centre(total, scales)
        exact = moment_around(table, dictionary, scales, centre, on_sphere=asked.on_sphere)
        noisy = noisy_second_moment(_times(exact, copies), scales.moment_sigma)
        likely: FloatArray = noisy.astype(np.float64)
        spectrum, sigma = Spectrum(likely), scales.diagonal_sigma
        chosen = bases_worth(spectrum, n_components, sigma=sigma, bases=bases)
        _, found = spectrum.denoised(sigma, bases=chosen, noise="isometric").leading(n_components)
        doubles = exact.astype(np.float64)
        best = np.cumsum(leading_eigenpairs(doubles, n_components)[0])
        drawn.append(np.array([cumulative_energy(found, doubles), best]) / np.trace(exact))
    captured, best = np.swapaxes(drawn, 0, 1)
    visible = scales.moment_sigma * scales.n_features**0.5 / scales.length**2 / n_rows
    return Plan(scales, scales.epsilon(delta, epsilon), visible, captured, best)


def _times(exact: IntArray, copies: float) -> IntArray:
    counted: IntArray = np.rint(exact * copies).astype(np.int64)
    return counted


# Two tables with their dictionaries, to try a release on: nobody's privacy is at stake in them.

EXAMPLES = ("breast-cancer", "class-survey")
SURVEYED = 440


def example(name: str) -> tuple[dict[str, AnyArray], Dictionary]:
    """A table, as a mapping of its columns, and its dictionary.

    name: {"breast-cancer", "class-survey"}. scikit-learn's table of 569 tumours, which has been
        public since 1995; or 440 made-up answers of pupils, about half of whom answer twice.
    Raises `ParameterError` if there is no such example.
    """
    require_one_of("name", name, EXAMPLES)
    dictionary = read_dictionary(Path(__file__).with_name(f"{name}.toml"))
    return (
        _breast_cancer()
        if name == "breast-cancer"
        else look_alike(dictionary, SURVEYED, n_factors=2)
    ), dictionary


def write_example(name: str, folder: Path) -> Dictionary:
    """The same as `table.csv` and `dictionary.toml` in a folder, which is made.

    folder: path
    Raises `ParameterError` if there is no such example.
    Raises `OSError` if the files are there, or cannot be written.
    """
    table, dictionary = example(name)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "table.csv", "x", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))
    source = Path(__file__).with_name(f"{name}.toml")
    with open(folder / "dictionary.toml", "xb") as file:
        file.write(source.read_bytes())
    return dictionary


def _breast_cancer() -> dict[str, AnyArray]:
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    columns = dict(zip(bunch.feature_names.tolist(), bunch.data.T, strict=True))
    return columns | {"diagnosis": bunch.target_names[bunch.target]}


# What a dictionary makes of a table: for its holder's eyes, before anything is charged.
#
# The counts are exact. They are no release and are not private: nothing here writes them down, and
# whoever changes more because of them than how cells are written (a decimal mark, a unit, a code)
# has read limits from the rows, which a certificate's assumptions exclude.


@dataclass
class ColumnCounts:
    """Cells of one column.

    Attributes
    ----------
    missing : int
        With nothing in them, or a code that stands for nothing.
    unknown : int
        Neither missing nor a number, or no level of the dictionary.
    below, above : int
        Beyond a limit, and moved to it.
    """

    missing: int = 0
    unknown: int = 0
    below: int = 0
    above: int = 0


@dataclass
class Inspection:
    """What was met in a table.

    Attributes
    ----------
    n_rows : int
    columns : dict of str to ColumnCounts
        By the dictionary's columns, in their order.
    n_people : int or None
        Named in the dictionary's person column; None without one.
    n_nameless, n_beyond : int
        Rows without a person, and beyond the most that a person may have: both are left out.
    """

    n_rows: int = 0
    columns: dict[str, ColumnCounts] = field(default_factory=dict)
    n_people: int | None = None
    n_nameless: int = 0
    n_beyond: int = 0

    @property
    def empty_columns(self) -> tuple[str, ...]:
        """Columns without a number, or a known level, in any row."""
        return tuple(
            name
            for name, counts in self.columns.items()
            if self.n_rows and counts.missing + counts.unknown == self.n_rows
        )


def inspect_table(data: Any, dictionary: Dictionary) -> Inspection:
    """Count what a release would read: nothing is charged, and nothing written.

    Parameters
    ----------
    data : path, TableFile, mapping of str to arrays, DataFrame, ndarray, Dask array or DataFrame
        As in `Table`.
    dictionary : Dictionary

    Raises
    ------
    ParameterError
        If the table does not fit the dictionary, or it cannot be told how it is to be read.
    OSError
        If a file cannot be read.
    """
    found = Inspection(columns={each.name: ColumnCounts() for each in dictionary.columns})
    rows_of = Counter[str]()
    for block in Table(data, dictionary.keys).blocks():
        require_decimal_mark(block, dictionary)
        for column in dictionary.columns:
            marks = dictionary.marks_of(column, block.decimal, block.thousands)
            cells, counts = block[column.name], found.columns[column.name]
            _count(counts, cells, column, marks)
        found.n_rows += len(block[dictionary.keys[0]])
        if dictionary.person is not None:
            found.n_nameless += _count_people(rows_of, block, dictionary)
    if dictionary.person is not None:
        found.n_people = len(rows_of)
        found.n_beyond = sum(max(0, rows - dictionary.at_most) for rows in rows_of.values())
    return found


def _count(counts: ColumnCounts, cells: Cells, column: Column, marks: Marks) -> None:
    if column.levels:
        names = names_of(cells, column.name, marks)
        is_missing = _is_null(names)
        is_read = _is_in(names, column.levels)
    else:
        numbers = numbers_of(cells, column.name, marks)
        is_missing = _is_missing(cells, column.name, marks)
        is_read = ~np.isnan(numbers)
        counts.below += int(np.count_nonzero(numbers < column.lower))
        counts.above += int(np.count_nonzero(numbers > column.upper))
    counts.missing += int(np.count_nonzero(is_missing))
    counts.unknown += int(np.count_nonzero(~is_missing & ~is_read))


def _count_people(rows_of: Counter[str], block: Block, dictionary: Dictionary) -> int:
    """Add up each person's rows; how many have none."""
    people = people_of(block, dictionary.person or "", dictionary.marks_of(None))
    rows_of.update(people.drop_null().to_pylist())
    return int(people.null_count)


def _is_missing(cells: Cells, name: str, marks: Marks) -> BoolArray:
    import pyarrow as pa

    if isinstance(cells, pa.Array) and is_date(cells.type):
        return _is_null(cells)
    return _is_null(names_of(cells, name, marks))


def _is_null(names: pa.Array) -> BoolArray:
    found: BoolArray = names.is_null().to_numpy(zero_copy_only=False)
    return found


def _is_in(names: pa.Array, levels: tuple[str, ...]) -> BoolArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pa.array(map(name_of_text, levels), pa.string())
    found: BoolArray = pc.is_in(names, value_set=known, skip_nulls=True).to_numpy(
        zero_copy_only=False
    )
    return found
