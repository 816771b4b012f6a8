"""What every private estimator has in common: its parameters' names, and noise of its own.

By keyword, each takes `epsilon`, `delta` where its promise has one, `row_norm_bound`,
`on_long_rows` and `random_state`; what was published with a weaker promise is asked for by name.
Fitted, it has `guarantee_`, and `noise_scale_`: an array with the scale of each site's noise, of
shape (1,) where it is added once.

An estimator is copied, printed, cloned and saved. Whoever has its result and the source of its
noise has the result without noise, so the source stays with the object that was given it.
"""

from __future__ import annotations

import inspect
import operator
import warnings
from collections.abc import Iterator
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from dpcore.errors import ParameterError, PreparationWarning, require_one_of
from dpcore.streams import root_of_release, secret_root

RandomState = int | np.random.Generator | np.random.RandomState | None

ON_LONG_ROWS = ("clip", "refuse")

_PARTS = ("steps", "transformers", "transformer_list")


def check_long_rows(on_long_rows: str, n_long: int, bound: str) -> None:
    """Refuse long rows, where that was asked for.

    Refusing reads the rows: whoever learns that a release was refused learns that somebody's row
    is long, which no guarantee covers. It is for holders who check their table before they
    release anything.

    on_long_rows: {"clip", "refuse"}
    n_long: How many rows are longer than the bound.
    bound: As it is to be read.
    Raises `ParameterError` if `on_long_rows` is unknown, or there are long rows and they are to be
        refused.
    """
    require_one_of("on_long_rows", on_long_rows, ON_LONG_ROWS)
    if n_long and on_long_rows == "refuse":
        raise ParameterError(
            "X", f"of row norms at most row_norm_bound={bound}", f"{n_long} longer rows"
        )


def root_seed(random_state: RandomState) -> int:
    """The seed of one fit.

    An int is the seed itself. None takes 256 bits from the operating system, which are kept
    nowhere, and whose streams are cryptographic. A generator gives 128 bits and moves on; its
    state can be wound back to them. With an int or a generator noise is PCG64's, whose state can
    be worked out from noise that somebody knows.

    Raises `ParameterError` if it is none of these.
    """
    if random_state is None:
        return secret_root()
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        return int.from_bytes(random_state.bytes(16), "little")
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    # What is wrong is named, and not shown: a seed sequence prints its entropy.
    given = random_state if isinstance(random_state, int | str) else type(random_state).__name__
    raise ParameterError("random_state", "an int of at least 0, a NumPy generator or None", given)


class UnprintedSeed(int):
    """A seed that is an int in all but print.

    Estimators are printed to logs, into notebooks, and beside what joblib caches of a pipeline.
    """

    def __repr__(self) -> str:
        return "<not printed>"


class PrivateEstimator(BaseEstimator):
    """An estimator whose noise is its own: for one release, not to be saved, and not printed.

    `random_state` is None in everything that pickle, joblib or copy make of it, fitted or not,
    alone or within other estimators: a copy draws from fresh entropy, in another process too. On
    the live object it stays what it was, for `get_params`, where an int does not show when it is
    printed. Clones share a generator instead of taking its state, so that no two of them draw the
    same.
    """

    def __setattr__(self, name: str, value: object) -> None:
        # What has been wrapped stays the object it is: cloning compares by identity.
        if name == "random_state" and not isinstance(value, UnprintedSeed):
            value = UnprintedSeed(value) if isinstance(value, int | np.integer) else value
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, object]:
        state: dict[str, object] = super().__getstate__() | {"random_state": None}
        return state

    def __sklearn_clone__(self) -> Self:
        twin: Self = super().__sklearn_clone__()
        twin.random_state = self.random_state
        return twin

    def _root_of_release(self, *released_with: object) -> int:
        return root_of_release(root_seed(self.random_state), *released_with)

    def _warn_of_fitted_preparation(self) -> None:
        """Warn where a pipeline around this fit has fitted something to the rows before it."""
        learnt = fitted_before(self)
        if learnt:
            warnings.warn(
                f"{', '.join(learnt)} was fitted to everybody's rows before any noise was added. "
                "What a row becomes then depends on other people's rows, and the guarantee is "
                "about rows that depend on their own person alone.",
                PreparationWarning,
                stacklevel=3,
            )


def fitted_before(estimator: BaseEstimator) -> list[str]:
    """Names of the steps that pipelines around the running `fit` have fitted to the rows.

    Read off the call stack, since a pipeline does not tell a step what came before it. Private
    steps and those scikit-learn calls stateless (``requires_fit`` false) are left out. It cannot
    see what was done by hand before `fit` was called, nor inside of a FunctionTransformer.
    """
    found: dict[int, list[str]] = {}
    inside: list[object] = [estimator]
    frame = inspect.currentframe()
    while frame is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, Pipeline) and id(caller) not in found:
            found[id(caller)] = [
                name for step in _steps_before(caller, inside) for name in _learners(*step)
            ]
        if isinstance(caller, BaseEstimator):
            inside.append(caller)
        frame = frame.f_back
    return [name for names in reversed(found.values()) for name in names]


def _steps_before(pipeline: Pipeline, inside: list[object]) -> list[tuple[str, object]]:
    # A pipeline with a memory fits clones of its steps; those are known by their type.
    steps: list[tuple[str, object]] = pipeline.steps
    for same in (operator.is_, lambda step, own: type(step) is type(own)):
        for position, (_, step) in enumerate(steps):
            if any(same(step, own) for own in inside):
                return steps[:position]
    return steps[:-1]


def _learners(name: str, step: object) -> Iterator[str]:
    parts = next((getattr(step, each) for each in _PARTS if hasattr(step, each)), None)
    if parts is not None:
        for part_name, part, *_ in parts:
            yield from _learners(part_name, part)
    elif isinstance(step, PrivateEstimator) or not isinstance(step, BaseEstimator):
        return
    elif get_tags(step).requires_fit:
        yield name
