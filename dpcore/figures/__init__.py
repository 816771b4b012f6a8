"""Figures from tables of rows, for pages and notebooks."""
