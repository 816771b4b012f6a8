"""Warning of pipeline steps that were fitted to the rows before a private estimator."""

from __future__ import annotations

import inspect
import operator
import warnings
from collections.abc import Iterator

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from dpcore.errors import PreparationWarning
from dpcore.pca.estimators.private_estimator import PrivateEstimator

# Attributes with the steps of a compound estimator of scikit-learn.
_PARTS = ("steps", "transformers", "transformer_list")


def warn_of_fitted_steps(estimator: BaseEstimator) -> None:
    """Warn if a pipeline that calls this `fit` has fitted a step to the rows before."""
    names = _fitted_before(estimator)
    if names:
        warnings.warn(
            f"{', '.join(names)} was fitted to all rows before noise was added. Every prepared row "
            "then depends on other people's rows, and the guarantee does not cover this.",
            PreparationWarning,
            stacklevel=3,
        )


def _fitted_before(estimator: BaseEstimator) -> list[str]:
    """Return the names of the steps that pipelines around the running `fit` fitted to the rows.

    The pipelines are found on the call stack, because a pipeline does not pass this information to
    its steps. Private steps and stateless steps (``requires_fit`` false) are left out. Preparation
    before `fit` or inside a FunctionTransformer is not found.
    """
    paths: dict[int, list[str]] = {}
    inside: list[object] = [estimator]
    frame = inspect.currentframe()
    while frame is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, Pipeline) and id(caller) not in paths:
            paths[id(caller)] = [
                name for step in _steps_before(caller, inside) for name in _fitted_steps(*step)
            ]
        if isinstance(caller, BaseEstimator):
            inside.append(caller)
        frame = frame.f_back
    return [name for names in reversed(paths.values()) for name in names]


def _steps_before(pipeline: Pipeline, inside: list[object]) -> list[tuple[str, object]]:
    # A pipeline with a memory fits clones of its steps, which are recognised by their type.
    steps: list[tuple[str, object]] = pipeline.steps
    for same in (operator.is_, lambda step, other: type(step) is type(other)):
        for position, (_, step) in enumerate(steps):
            if any(same(step, other) for other in inside):
                return steps[:position]
    return steps[:-1]


def _fitted_steps(name: str, step: object) -> Iterator[str]:
    parts = next(
        (getattr(step, attribute) for attribute in _PARTS if hasattr(step, attribute)), None
    )
    if parts is not None:
        for part_name, part, *_ in parts:
            yield from _fitted_steps(part_name, part)
    elif isinstance(step, PrivateEstimator) or not isinstance(step, BaseEstimator):
        return
    elif get_tags(step).requires_fit:
        yield name
