"""A run to take away: a script or a notebook that gives the same numbers."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import fields

from dpcore.experiments.spec import RunSpec

Row = dict[str, object]

_HEAD = '''"""Captured energy of private PCA; the same numbers as the page this came from.

Run it from the folder that holds `dpcore`, with its requirements installed.
"""'''
_IMPORTS = """\
from statistics import fmean

from dpcore.experiments.run import run
from dpcore.experiments.spec import RunSpec"""
_RUN = "rows = list(run(spec))"
_PRINT = """\
for protocol in spec.protocols:
    ratios = [row["energy_ratio"] for row in rows if row["protocol"] == protocol]
    print(f"{protocol:<8} {fmean(ratios):.4f} of exact PCA, mean of {len(ratios)} draws")"""
_FIGURE = """\
from dpcore.figures.energy import protocol_dots

protocol_dots(rows)"""


def spec_source(spec: RunSpec) -> str:
    """Python source that builds the spec, naming what differs from the defaults."""
    default = RunSpec()
    arguments = [
        f"    {field.name}={getattr(spec, field.name)!r},"
        for field in fields(spec)
        if getattr(spec, field.name) != getattr(default, field.name)
    ]
    if not arguments:
        return "spec = RunSpec()"
    return "\n".join(["spec = RunSpec(", *arguments, ")"])


def script_of(spec: RunSpec) -> str:
    """A Python script that runs the spec and prints what it found."""
    return "\n\n".join([_HEAD, _IMPORTS, spec_source(spec), _RUN, _PRINT]) + "\n"


def notebook_of(spec: RunSpec) -> str:
    """The same as a Jupyter notebook, with the dot plot."""
    return notebook(
        [
            ("markdown", "# Captured energy of private PCA\n\nThe same numbers as the page."),
            ("code", f"{_IMPORTS}\n\n{spec_source(spec)}"),
            ("code", f"{_RUN}\n{_PRINT}"),
            ("code", _FIGURE),
        ]
    )


def notebook(cells: Sequence[tuple[str, str]]) -> str:
    """JSON of a Jupyter notebook (format 4.5) from (kind, source) pairs."""
    return json.dumps(
        {
            "cells": [_cell(number, *cell) for number, cell in enumerate(cells)],
            "metadata": {
                "kernelspec": {
                    "display_name": "Python 3",
                    "language": "python",
                    "name": "python3",
                }
            },
            "nbformat": 4,
            "nbformat_minor": 5,
        },
        ensure_ascii=False,
        indent=1,
    )


def _cell(number: int, kind: str, source: str) -> dict[str, object]:
    cell = {
        "cell_type": kind,
        "id": f"cell-{number}",
        "metadata": {},
        "source": source.splitlines(keepends=True),
    }
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell


def csv_of(rows: Sequence[Row]) -> str:
    """Rows as comma-separated text with a header line."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
