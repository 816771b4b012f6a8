"""Whole numbers from a row to its noise: rows, sums and moments, and a rounded normal law."""
