"""A run to take away: a script or a notebook that gives the same numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from textwrap import indent
from typing import TYPE_CHECKING, Any

from dpcore.experiments.engine import Row
from dpcore.experiments.pca import RunSpec, run
from dpcore.experiments.sweep import Sweep, collect

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_HEAD = '''"""{title}; the same numbers as the page this came from.

Run it from the folder that holds `dpcore`, with its requirements installed.
"""'''
_TITLE = "Captured energy of private PCA"
_RUN = "rows = list(run(spec))"
_PRINT = """\
for protocol in spec.protocols:
    ratios = [row["energy_ratio"] for row in rows if row["protocol"] == protocol]
    print(f"{protocol:<8} {fmean(ratios):.4f} of exact PCA, mean of {len(ratios)} draws")"""
_FIGURE = """\
from dpcore.figures.energy import protocol_dots

protocol_dots(rows)"""
_SWEEP_RUN = """\
results = [collect(sweep, workers=os.cpu_count()) for sweep in sweeps]
rows = [row for result in results for row in result.rows]"""
_SWEEP_PRINT = """\
for sweep, result in zip(sweeps, results):
    cells = {}
    for row in result.rows:
        cell = (*(row[field] for field, _ in sweep.vary), row["protocol"])
        cells.setdefault(cell, []).append(row["energy_ratio"])
    for cell, ratios in cells.items():
        print(*cell, f"{fmean(ratios):.4f} of exact PCA, mean of {len(ratios)} draws", sep="  ")
    for row in result.skipped:
        print("skipped", *row.values(), sep="  ")"""

_SWEEP_FIGURES = """\
from dpcore.figures.energy import energy_curves

for sweep, result in zip(sweeps, results):
    *others, (field, values) = sweep.vary
    panels = {}
    for row in result.rows:
        panels.setdefault(", ".join(str(row[name]) for name, _ in others), []).append(row)
    for title, own in panels.items():
        wide = max(values) > 20 * min(values)
        figure = energy_curves(own, field, axis_title=field, logarithmic=wide)
        figure.update_layout(title=title, margin={"t": 90}).show()"""


def imports_of(standard: str, *things: Callable[..., object]) -> str:
    """Import lines for classes and functions of this package, wherever they are at home."""
    own = sorted(f"from {thing.__module__} import {thing.__name__}" for thing in things)
    return "\n".join([standard, "", *own])


_IMPORTS = imports_of("from statistics import fmean", run, RunSpec)
_SWEEP_IMPORTS = imports_of("import os\nfrom statistics import fmean", Sweep, collect, RunSpec)


def source_of(spec: DataclassInstance) -> str:
    """Python source that builds a frozen spec, naming what differs from its defaults."""
    default = type(spec)()
    arguments = [
        f"    {field.name}={getattr(spec, field.name)!r},"
        for field in fields(spec)
        if getattr(spec, field.name) != getattr(default, field.name)
    ]
    if not arguments:
        return f"{type(spec).__name__}()"
    return "\n".join([f"{type(spec).__name__}(", *arguments, ")"])


@dataclass(frozen=True)
class Recipe:
    """What gives the same numbers elsewhere.

    cells: Python, run one after the other.
    figure: One more cell, which a notebook alone can show; or none.
    """

    title: str
    cells: tuple[str, ...]
    figure: str = ""

    def script(self) -> str:
        """A Python script with a docstring that says what it is."""
        return "\n\n".join([_HEAD.format(title=self.title), *self.cells]) + "\n"

    def notebook(self) -> str:
        """The same as a Jupyter notebook."""
        cells = [*self.cells, *filter(None, [self.figure])]
        intro = f"# {self.title}\n\nThe same numbers as the page."
        return notebook([("markdown", intro), *(("code", cell) for cell in cells)])


def recipe_of(spec: RunSpec) -> Recipe:
    """Runs the spec and prints what it found; with the dot plot."""
    cells = f"{_IMPORTS}\n\nspec = {source_of(spec)}", f"{_RUN}\n{_PRINT}"
    return Recipe(_TITLE, cells, _FIGURE)


def recipe_of_sweeps(sweeps: Sequence[Sweep]) -> Recipe:
    """Runs the sweeps one after the other; with curves along what varies fastest."""
    cells = f"{_SWEEP_IMPORTS}\n\n{_sweeps_source(sweeps)}", f"{_SWEEP_RUN}\n{_SWEEP_PRINT}"
    return Recipe(_TITLE, cells, _SWEEP_FIGURES)


def _sweeps_source(sweeps: Sequence[Sweep]) -> str:
    lines = ["sweeps = ["]
    for sweep in sweeps:
        base, vary = indent(source_of(sweep.base), " " * 8), f"        vary={sweep.vary!r}"
        lines += ["    Sweep(", f"{base},", f"{vary},", "    ),"]
    return "\n".join([*lines, "]"])


def notebook(cells: Sequence[tuple[str, str]]) -> str:
    """A Jupyter notebook (format 4.5) of (kind, source) pairs; equal cells give equal text."""
    # Takes 0.1 s to import, and only whoever takes something home needs it.
    import nbformat
    from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

    made: dict[str, Any] = {"code": new_code_cell, "markdown": new_markdown_cell}
    document = new_notebook(
        cells=[made[kind](source, id=f"cell-{n}") for n, (kind, source) in enumerate(cells)],
        metadata={
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
        },
    )
    text: str = nbformat.writes(document)
    return text


def csv_of(rows: Sequence[Row]) -> str:
    """Rows as comma-separated text with a header line."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
