"""Jupyter notebooks, written as JSON of format 4.5."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def notebook(cells: Sequence[tuple[str, str]]) -> str:
    """Return a Jupyter notebook of (kind, source) pairs; equal cells give equal text.

    cells: Kinds are "code" and "markdown".
    """
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {
        "cells": [_cell(number, *cell) for number, cell in enumerate(cells)],
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _cell(number: int, kind: str, source: str) -> dict[str, Any]:
    outputs: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {
        "id": f"cell-{number}", "cell_type": kind, "metadata": {}, "source": source, **outputs
    }  # fmt: skip
