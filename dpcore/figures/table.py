"""What figures are drawn from: tidy rows, whichever experiment they come from."""

from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
"""One row: the name of each column, and its value."""

Table = Sequence[Row]
"""Rows of one kind."""
