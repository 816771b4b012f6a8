"""Experiments: the engine, one package per family, and packages that use all families."""
