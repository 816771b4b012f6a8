"""Scripts, notebooks and tables that reproduce the numbers of a page outside of it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from dpcore.experiments.engine.spec import Row
from dpcore.experiments.pca import RunSpec, run
from dpcore.notebooks import notebook

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_HEAD = '''"""{title}; the same numbers as the page that wrote this script.

Run it from the folder that contains `dpcore`, with its requirements installed.
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


def imports_of(standard: str, *things: Callable[..., object]) -> str:
    """Return import lines for classes and functions of this package."""
    imports = sorted(f"from {thing.__module__} import {thing.__name__}" for thing in things)
    return "\n".join([standard, "", *imports])


_IMPORTS = imports_of("from statistics import fmean", run, RunSpec)


def source_of(spec: DataclassInstance) -> str:
    """Return Python source that builds a frozen spec, with the values that are not defaults."""
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
    """Python code that reproduces the numbers of a page.

    cells: Source code, run in this order.
    figure: Source of a further cell that only a notebook can show; empty for none.
    """

    title: str
    cells: tuple[str, ...]
    figure: str = ""

    def script(self) -> str:
        """Return a Python script; its docstring is the title."""
        return "\n\n".join([_HEAD.format(title=self.title), *self.cells]) + "\n"

    def notebook(self) -> str:
        """Return the cells as a Jupyter notebook."""
        cells = [*self.cells, *filter(None, [self.figure])]
        intro = f"# {self.title}\n\nThe same numbers as the page."
        return notebook([("markdown", intro), *(("code", cell) for cell in cells)])


def recipe_of(spec: RunSpec) -> Recipe:
    """Return code that runs the spec, prints captured energy and draws the dot plot."""
    cells = f"{_IMPORTS}\n\nspec = {source_of(spec)}", f"{_RUN}\n{_PRINT}"
    return Recipe(_TITLE, cells, _FIGURE)


def csv_of(rows: Sequence[Row]) -> str:
    """Return rows as comma-separated text with a header line."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
