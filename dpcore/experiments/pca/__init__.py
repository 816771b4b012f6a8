"""Runs of private PCA: what is asked for, the data side, tidy rows, and runs to take away."""
