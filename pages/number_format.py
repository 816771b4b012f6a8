"""Numbers as pages write them."""

from __future__ import annotations


def plain(number: float, digits: int = 12) -> str:
    """Format a number to some significant digits, without exponent and trailing zeros."""
    rounded = float(f"{number:.{digits}g}")
    return f"{rounded:,.10f}".rstrip("0").rstrip(".").replace("-", "−")
