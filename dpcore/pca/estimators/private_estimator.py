"""Base class of all private estimators: parameters, and a seed that is never saved or printed.

The result together with the source of the noise reveals the result without noise. Copies, clones
and saved estimators therefore do not contain `random_state`.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from dpcore.errors import ParameterError
from dpcore.streams import root_of_release, secret_root

RandomState = int | np.random.Generator | np.random.RandomState | None


def root_seed(random_state: RandomState) -> int:
    """Return the seed of one fit.

    None reads 256 bits from the operating system, which are not stored; the streams are
    cryptographic. An int is the seed itself. A generator gives 128 bits and advances; anyone who
    has its state can recover them. With an int or a generator the noise is drawn by PCG64, whose
    state can be computed from known noise.

    Raises `ParameterError` for any other value.
    """
    if random_state is None:
        return secret_root()
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        return int.from_bytes(random_state.bytes(16), "little")
    is_int = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    if is_int and random_state >= 0:
        return int(random_state)
    # The error names only the type of other objects: a seed sequence would print its entropy.
    value = random_state if isinstance(random_state, int | str) else type(random_state).__name__
    raise ParameterError("random_state", "an int of at least 0, a NumPy generator or None", value)


class UnprintedSeed(int):
    """Integer seed whose representation hides its value.

    Estimators are printed to logs, to notebooks and to joblib's cache of a pipeline.
    """

    def __repr__(self) -> str:
        return "<not printed>"


class PrivateEstimator(BaseEstimator):
    """Base class of estimators that draw noise.

    The seed `random_state` is None in every copy made by pickle, joblib or copy, also within other
    estimators; a copy therefore draws fresh noise. The live object keeps it for `get_params`, and
    hides an int when it is printed. Clones share a generator instead of copying its state, so that
    no two of them draw the same noise.
    """

    epsilon: float
    delta: float
    preparation: str
    on_long_rows: str
    random_state: RandomState

    def _set_parameters(self, arguments: dict[str, Any]) -> None:
        """Store the arguments of `__init__`, its `locals()`, unchecked as scikit-learn requires."""
        for name, value in arguments.items():
            if name != "self":
                setattr(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        # A wrapped seed is not wrapped again: cloning compares by identity.
        is_seed = name == "random_state" and not isinstance(value, UnprintedSeed | bool)
        if is_seed and isinstance(value, int | np.integer):
            value = UnprintedSeed(int(value))
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, object]:
        state: dict[str, object] = super().__getstate__() | {"random_state": None}
        return state

    def __sklearn_clone__(self) -> Self:
        clone: Self = super().__sklearn_clone__()
        clone.random_state = self.random_state
        return clone

    def _root_of_release(self, *released_with: object) -> int:
        return root_of_release(root_seed(self.random_state), *released_with)
