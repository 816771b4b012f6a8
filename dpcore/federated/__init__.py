"""Distributed PCA across real sites: a guard at each site, Flower as the network."""
