"""Runs of private classifiers and statistics."""
