"""Ranking of configurations, search for the smallest epsilon, and decisions."""
