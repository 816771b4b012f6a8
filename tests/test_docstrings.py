"""Docstrings: every example runs, and every parameter of the public API is documented."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

import pytest

import dpcore

REPOSITORY = Path(__file__).resolve().parents[1]
ROOMS = [name for name in dir(dpcore) if inspect.ismodule(getattr(dpcore, name))]
WITH_EXAMPLES = [
    ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((REPOSITORY / "dpcore").rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_every_example_runs(module):
    results = doctest.testmod(importlib.import_module(module))
    assert results.attempted > 0
    assert results.failed == 0


def public() -> Iterator[tuple[str, object]]:
    """Return functions and classes that a package exports, with their names."""
    for room in ROOMS:
        module = getattr(dpcore, room)
        for name in getattr(module, "__all__", dpcore.__all__):
            if not hasattr(module, name):
                continue
            thing = getattr(module, name)
            if str(getattr(thing, "__module__", "")).startswith("dpcore") and callable(thing):
                yield f"{room}.{name}", thing


PUBLIC = dict(public())


def documented(text: str) -> set[str]:
    """Return the names in the sections Parameters and Attributes of a numpydoc docstring."""
    names: set[str] = set()
    lines, section = text.splitlines(), ""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if following and not following.strip("-"):
            section = line
        elif section in ("Parameters", "Attributes") and line and not line.startswith((" ", "-")):
            names |= {name.strip().lstrip("*") for name in line.split(":")[0].split(",")}
    return names


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_is_documented(name):
    thing = PUBLIC[name]
    text = inspect.cleandoc(thing.__doc__ or "")
    # A dataclass without a docstring is given its own signature for one.
    assert text and not text.startswith(f"{name.split('.')[1]}("), "no docstring"
    if inspect.isclass(thing) and issubclass(thing, Exception | Enum):
        return
    parameters = inspect.signature(thing).parameters
    # A docstring without sections names them in what it says.
    named = documented(text) or set(re.findall(r"\w+", text))
    missing = [each for each in parameters if not each.startswith("_") and each not in named]
    assert not missing, f"{name} does not document {', '.join(missing)}"
