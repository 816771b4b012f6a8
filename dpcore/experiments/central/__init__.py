"""Algorithms that hold all rows in one place, many draws at a time."""
