"""Data sets that somebody holds in memory, under a name that nobody can guess.

One lives as long as its holder keeps the `HeldTable`, a visitor's session say. What is computed
from its rows is kept by it as well (`kept`), and by nothing that outlives it: caches ask
`holder_of` whose a key is, and whoever writes files asks `is_held`.
"""

from __future__ import annotations

from dataclasses import is_dataclass, replace
from secrets import token_hex
from typing import Any
from weakref import WeakValueDictionary

from dpcore.data.dataset import Dataset
from dpcore.errors import ParameterError

PREFIX = "your-table-"


class HeldTable:
    """A data set in its holder's hands.

    dataset: Its rows; it gets a name of its own.
    ending: Of that name, where nobody else is in this process; else it cannot be guessed.
    name: By which `load_dataset` knows it while it is held, in this process.
    kept: What was computed from it, by whatever computed it.
    """

    def __init__(self, dataset: Dataset, *, ending: str = "") -> None:
        self.name = PREFIX + (ending or token_hex(16))
        self.dataset = replace(dataset, name=self.name)
        self.kept: dict[Any, Any] = {}
        _held[self.name] = self
        _ever.add(True)


_held: WeakValueDictionary[str, HeldTable] = WeakValueDictionary()
# Whether anybody ever held one: most servers never look through a key.
_ever: set[bool] = set()


def is_held(name: str | None) -> bool:
    """Whether a data set of this name is, or was, in somebody's hands."""
    return name is not None and name.startswith(PREFIX)


def held_table(name: str) -> HeldTable:
    """The table of this name.

    Raises `ParameterError` if nobody holds it any more.
    """
    table = _held.get(name)
    if table is None:
        raise ParameterError("dataset", "a table that its session still holds", "one that is gone")
    return table


def holder_of(key: object) -> HeldTable | None:
    """The table that a cache's key names somewhere in its tuples and specs; None if it names none.

    Raises `ParameterError` if nobody holds it any more: what is left of it must not go to where
        others look.
    """
    name = held_name(key)
    return None if name is None else held_table(name)


def names_one_gone(key: object) -> bool:
    """Whether a key names a table that nobody holds any more."""
    name = held_name(key)
    return name is not None and name not in _held


def held_name(key: object) -> str | None:
    """The name in a key, held or not; None if there is none."""
    waiting = [key] if _ever else []
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            if part.startswith(PREFIX):
                return part
        elif isinstance(part, tuple | list):
            waiting += part
        elif is_dataclass(part):
            waiting += vars(part).values()
    return None
