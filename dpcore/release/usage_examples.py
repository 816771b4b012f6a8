"""Script and notebook in a release folder that show how to use it."""

from __future__ import annotations

from html import escape
from typing import Any

from dpcore.release.certificate import FORM

# These texts are part of every release folder, which `verify` compares byte by byte.
_SUMMARY = """\
print(released.certificate_["guarantee"])
for number, component in enumerate(released.components_, 1):
    share = released.explained_variance_ratio_[number - 1]
    low, high = released.explained_variance_ratio_interval_[:, number - 1]
    strongest = sorted(range(len(component)), key=lambda i: -abs(component[i]))[:3]
    loadings = ", ".join(f"{component[i]:+.2f} {released.features_[i]}" for i in strongest)
    told = f"{share:.1%} of the variance ({low:.1%} to {high:.1%})"
    print(f"component {number}: {'lost in the noise' if share != share else told}; {loadings}")
"""

SCRIPT = f'''\
"""What was released, and a table of yours along its components: python use.py [TABLE].

Needs the package that made it, dp-pca-lab. Projected rows are as private as the rows.
"""

import sys
from pathlib import Path

from dpcore import load_release

released = load_release(Path(__file__).parent)
{_SUMMARY}
if len(sys.argv) > 1:
    print(*released.get_feature_names_out(), sep=",")
    for row in released.transform(sys.argv[1]):
        print(*row, sep=",")
'''

_LOAD = f"""\
from dpcore import load_release

released = load_release(".")
{_SUMMARY}"""

_PROJECT = """\
from dpcore.{package} import look_alike

# Made up from the dictionary: put a data frame, a mapping of columns or a path of yours here.
table = look_alike(released.dictionary_, 5)
released.transform(table)"""


def notebook(certificate: dict[str, Any]) -> dict[str, Any]:
    """Return the content of `use.ipynb`, which is opened in the release folder."""
    title = escape(certificate["title"] or certificate["name"])
    # Up to version 0.2 this package had another name.
    package = "release" if certificate["form"] == FORM else "releases"
    cells = (
        ("title", "markdown", f"# {title}\n\n{escape(certificate['guarantee'])}"),
        ("released", "code", _LOAD),
        ("warning", "markdown", "Rows that are projected stay **as private as the rows**."),
        ("projected", "code", _PROJECT.format(package=package)),
    )
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"language_info": {"name": "python"}},
        "cells": [_cell(*cell) for cell in cells],
    }


def _cell(identity: str, kind: str, source: str) -> dict[str, Any]:
    outputs: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"id": identity, "cell_type": kind, "metadata": {}, "source": source, **outputs}
