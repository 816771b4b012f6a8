"""Experiments: the engine, one package per family, and what is built on all families."""
