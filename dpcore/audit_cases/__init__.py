"""Audit cases: attacks on every mechanism on its worst neighbouring data sets."""
