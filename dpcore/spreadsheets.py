"""Texts for cells of CSV files and workbooks."""

from __future__ import annotations

_STARTS_OF_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def plain_cell(text: str) -> str:
    """Return a text that no spreadsheet reads as a formula.

    Names of columns come from strangers' files. An apostrophe marks a cell as a text.
    """
    return f"'{text}" if text.startswith(_STARTS_OF_FORMULAS) else text
