"""Differentially private distributed PCA and its relatives: a pure numerical core."""
