"""Docstrings: every example runs, and every parameter of the public API is documented."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from itertools import pairwise
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
    missing = [
        parameter
        for parameter in parameters
        if not parameter.startswith("_") and parameter not in named
    ]
    assert not missing, f"{name} does not document {', '.join(missing)}"


# Lines below which an indented description is right: `name: …`, `name : type`, a heading, a list.
_BEFORE_INDENT = re.compile(
    r"[-*] |\d+\. |>>>|\.\.\.|(Raises|Returns|Yields)\b|-+$|[\w.]+$"
    r"|`?\**\w+`?(, `?\**\w+`?)*( :|:( |$)|$)"
)


def indented_prose(path: Path) -> Iterator[str]:
    """Yield lines of docstrings that continue a sentence at a deeper indentation."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        text = ast.get_docstring(node, clean=False) if isinstance(node, kinds) else None
        if text is None:
            continue
        lines = text.splitlines()
        lines[0] = " " * node.body[0].col_offset + lines[0]
        for line, following in pairwise(lines):
            start, rest = line.strip(), following.strip()
            if start and rest and rest[0].islower() and not start.endswith((":", ";")):
                is_deeper = len(following) - len(rest) > len(line) - len(line.lstrip())
                if is_deeper and not _BEFORE_INDENT.match(start):
                    yield f"{path.relative_to(REPOSITORY)}: {rest}"


def test_no_sentence_continues_at_a_deeper_indentation():
    """Wrapping a paragraph as if it described a parameter damaged six docstrings."""
    files = [path for room in ("dpcore", "pages") for path in (REPOSITORY / room).rglob("*.py")]
    assert [line for path in files for line in indented_prose(path)] == []


@pytest.mark.parametrize("name", [name for name in PUBLIC if re.fullmatch(r"pca\.\w+PCA", name)])
def test_shared_descriptions_of_an_estimator_are_inserted(name):
    """The names in braces that stand for shared descriptions do not reach `help`."""
    text = inspect.cleandoc(PUBLIC[name].__doc__)
    assert not re.search(r"^\s*\{\w+\}$", text, re.MULTILINE)
    assert re.search(r"^random_state : .*\n +None uses fresh entropy", text, re.MULTILINE)
