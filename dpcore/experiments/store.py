"""Finished rows on disk: a folder a person can find and clear."""

from __future__ import annotations


class Store:
    """Placeholder until the disk format lands in the next commit."""
