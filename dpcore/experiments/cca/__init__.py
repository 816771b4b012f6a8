"""Runs of private canonical correlation analysis."""
