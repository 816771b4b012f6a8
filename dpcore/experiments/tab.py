"""Runs in a visitor's own tab: a question and its answer as JSON, in a Python without threads.

`dpcore publish --live` hands this module to Pyodide, in a worker of the page. A table that a
visitor opens is a text in that worker's memory; it is read here by the standard library alone,
before NumPy is there, and nothing in the tab sends it anywhere.
"""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpcore.data.dataset import HeldTable

OWN_TABLE = "own"
MOST_CELLS = 1 << 24
_MARKS = ",;\t"
_MISSING = frozenset(("", "na", "nan", "null", "none", "?"))


@dataclass(frozen=True)
class TabTable:
    """The cells of a table as numbers, column by column; NaN where there is none."""

    columns: dict[str, list[float]]
    n_rows: int


class Tab:
    """What one tab holds: the visitor's table, if there is one."""

    def __init__(self) -> None:
        self._table: TabTable | None = None

    def answer(self, question: str) -> str:
        """The answer to a question, both JSON; what cannot be is one sentence under "error".

        question: {"ask": "table", "text": ...} or {"ask": "run", "dataset": ..., "protocol": ...,
            "epsilon": ..., "delta": ..., "sites": ..., "components": ..., "intermediate_dim": ...,
            "repetitions": ..., "seed": ..., "limits": {column: [lower, upper]}}.
        """
        asked = json.loads(question)
        try:
            found = self._read(asked) if asked["ask"] == "table" else self._run(asked)
        except ValueError as error:  # a `ParameterError` is one
            found = {"error": f"{error}"}
        except MemoryError:
            found = {"error": "This needs more memory than a tab has: take fewer people or sites."}
        return json.dumps(found)

    def _read(self, asked: dict[str, Any]) -> dict[str, Any]:
        self._table = read_table(asked["text"])
        return {
            "rows": self._table.n_rows,
            "columns": [
                {
                    "name": name,
                    "missing": len(numbers) - len(there),
                    "ends": [min(there), max(there)],
                }
                for name, numbers in self._table.columns.items()
                if (there := [number for number in numbers if not math.isnan(number)])
            ],
        }

    def _run(self, asked: dict[str, Any]) -> dict[str, Any]:
        from dpcore.experiments.published_folder import PublishedGrid, settings_of

        held, name = None, asked["dataset"]
        if name == OWN_TABLE:
            held = hold_table(self._table, asked["limits"])
            name = held.name
        grid = PublishedGrid(
            datasets=(name,),
            protocols=(asked["protocol"],),
            sites=(asked["sites"],),
            components=(asked["components"],),
            intermediate_dim=asked["intermediate_dim"],
            epsilons=(asked["epsilon"],),
            delta=asked["delta"],
            repetitions=asked["repetitions"],
            seed=asked["seed"],
        )
        (setting,) = settings_of(name, asked["sites"], grid)
        if held is not None:  # no command finds a table that only this tab has
            for point in setting["points"][asked["protocol"]]:
                point["command"] = ""
        return setting


def read_table(text: str) -> TabTable:
    """Columns of numbers from a text with a header; other columns are left out.

    Raises `ValueError` with a sentence that repeats no cell.
    """
    head = text.partition("\n")[0]
    mark = max(_MARKS, key=head.count)
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=mark, strict=True) if row]
    except csv.Error as error:
        raise ValueError("The file is not a table as text: its cells do not end.") from error
    if len(rows) < 3:
        raise ValueError("The table needs a header and at least two rows.")
    names = [name.strip().lstrip("\ufeff") for name in rows[0]]
    if len(set(names)) < len(names):
        raise ValueError("The header has two columns of one name.")
    if any(len(row) != len(names) for row in rows):
        raise ValueError("Every row needs as many cells as the header.")
    if len(names) * len(rows) > MOST_CELLS:
        raise ValueError(f"The tab reads at most {MOST_CELLS:,} cells.")
    columns: dict[str, list[float]] = {}
    for name, cells in zip(names, zip(*rows[1:], strict=True), strict=True):
        numbers = [number for cell in cells if (number := _number(cell, mark)) is not None]
        if len(numbers) == len(cells) and not all(map(math.isnan, numbers)):
            columns[name] = numbers
    if not columns:
        raise ValueError("No column holds numbers alone.")
    return TabTable(columns, len(rows) - 1)


def hold_table(table: TabTable | None, limits: dict[str, list[float]]) -> HeldTable:
    """The table as a data set of this tab: columns with limits, scaled to [-1, 1] by them.

    A cell without a number takes the middle of its limits.
    Raises `ValueError` if there is no table or none of its columns has limits.
    """
    import numpy as np

    from dpcore.data import Dataset
    from dpcore.data.dataset import HeldTable

    if table is None:
        raise ValueError("Open a table first.")
    if not limits:
        raise ValueError("Give at least one column its lower and upper limit.")
    for name, (lower, upper) in limits.items():
        if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
            raise ValueError(f"The limits of {name} need a lower end below the upper one.")
    X = np.empty((table.n_rows, len(limits)), dtype=np.float32)
    for position, (name, (lower, upper)) in enumerate(limits.items()):
        scaled = (np.array(table.columns[name]) - (lower + upper) / 2) / ((upper - lower) / 2)
        X[:, position] = np.clip(np.nan_to_num(scaled, nan=0.0), -1, 1)
    return HeldTable(
        Dataset(
            title="your table",
            X=X,
            feature_names=tuple(limits),
            default_components=max(1, min(5, len(limits) // 2)),
            provenance="Rows of a table that this tab holds, scaled to its limits.",
            public_norm_bound=len(limits) ** 0.5,
            column_limits=np.array([[-1.0, 1.0]] * len(limits)),
        )
    )


def _number(cell: str, mark: str) -> float | None:
    """NaN for a missing one, None for what is no number."""
    text = cell.strip()
    if text.lower() in _MISSING:
        return math.nan
    try:
        # Where commas part no cells, one may be a decimal mark.
        number = float(text.replace(",", ".") if mark != "," else text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
