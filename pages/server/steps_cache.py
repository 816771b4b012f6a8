"""The walk through Algorithm 1, kept for whoever steps back and forth."""

from __future__ import annotations

from dpcore.experiments.engine.once_cache import OnceCache
from dpcore.experiments.pca.spec import RunSpec
from dpcore.experiments.teaching.algorithm1_steps import Walk, walk
from dpcore.figures.components.images import matrix_png
from pages.server import result_cache


def steps(spec: RunSpec, site: int) -> Walk:
    result_cache.problem(spec.problem_key())
    return result_cache.waited_for(_walks, spec, site, saying="Running Algorithm 1 …")


def picture(spec: RunSpec, site: int, step: int, panel: int) -> bytes:
    """PNG of one matrix of one step."""
    return _pictures(spec, site, step, panel)


def _draw(spec: RunSpec, site: int, step: int, panel: int) -> bytes:
    shown = _walks(spec, site).steps[step].panels[panel]
    return matrix_png(shown.matrix, shown.limit)


_walks = OnceCache(
    lambda spec, site: walk(spec, result_cache.problems(spec.problem_key()), site), keep=4
)
_pictures = OnceCache(_draw, keep=64)
