"""Attacks on every mechanism of this house, on its worst neighbours."""
