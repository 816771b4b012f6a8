"""Tutorials from `dpcore.teaching.tutorial_cells`, run cell by cell or exported as notebooks."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from textwrap import dedent

from dpcore.errors import require_one_of
from dpcore.notebooks import notebook
from dpcore.privacy import Guarantee

TEXT, CODE = "markdown", "code"
_CELL = re.compile(r"^ *# %%(.*)\n", re.MULTILINE)
# End of a cell in the source, removed from the shown code.
_YIELD_NONE = re.compile(r"^yield (?:None)?", re.MULTILINE)
_SOURCE = Path(__file__).with_name("tutorial_cells.py")

Print = Callable[..., None]
Cells = Iterator[object]


@dataclass(frozen=True)
class Tutorial:
    """Cells of a tutorial with a title and one sentence about it.

    about: One sentence.
    imports: Import lines of its code.
    cells: Tuples of kind ("markdown" or "code") and source.
    """

    key: str
    title: str
    about: str
    imports: str
    cells: tuple[tuple[str, str], ...]

    def cells_at(self, epsilon: float) -> list[tuple[str, str]]:
        """Return the cells of the notebook, whose first code cell sets epsilon."""
        cells = list(self.cells)
        first = [kind for kind, _ in cells].index(CODE)
        line = f"epsilon = {float(epsilon)!r}"
        cells[first] = (CODE, f"{self.imports}\n\n{line}\n{cells[first][1]}")
        return cells


@dataclass(frozen=True)
class Output:
    """Output of one code cell.

    It has the printed text, the value of the last line, and the guarantees of the named private
    results.
    """

    printed: str
    value: object = None
    guarantees: dict[str, Guarantee] = field(default_factory=dict)


def run_tutorial(key: str, epsilon: float) -> tuple[Output, ...]:
    """Return the outputs of a tutorial's code cells at this epsilon, in order."""
    lines: list[str] = []
    # The cells get a `print` of their own, because standard output is shared by the whole server.
    cells = import_module(f"{__package__}.{_SOURCE.stem}")
    running = getattr(cells, tutorial(key).key)(
        epsilon, lambda *words: lines.append(" ".join(map(str, words)))
    )
    outputs, reported = [], set[str]()
    for value in running:
        named = inspect.getgeneratorlocals(running)
        # Results carry a guarantee, fitted estimators a guarantee_.
        by_name = {
            name: getattr(result, "guarantee", getattr(result, "guarantee_", None))
            for name, result in named.items()
            if name not in reported
        }
        guarantees = {
            name: guarantee
            for name, guarantee in by_name.items()
            if isinstance(guarantee, Guarantee)
        }
        outputs.append(Output("\n".join(lines), value, guarantees))
        lines.clear()
        reported |= set(named)
    return tuple(outputs)


def tutorial_notebook(key: str, epsilon: float) -> str:
    """Return a tutorial as a Jupyter notebook."""
    chosen = tutorial(key)
    intro = (
        f"# {chosen.title}\n\n{chosen.about}\n\nRun it from the folder that holds `dpcore`, with "
        "its `requirements.txt` installed."
    )
    return notebook([(TEXT, intro), *chosen.cells_at(epsilon)])


def tutorial(key: str) -> Tutorial:
    """Return the tutorial with this name.

    Raises `ParameterError` naming the known ones.
    """
    require_one_of("tutorial", key, TUTORIALS)
    return TUTORIALS[key]


def _read() -> Iterator[Tutorial]:
    # Parsed as text, because the imports of the cells are slow and few visitors need them.
    source = _SOURCE.read_text(encoding="utf-8")
    tree = ast.parse(source)
    for function in tree.body:
        if isinstance(function, ast.FunctionDef):
            title, _, about = (ast.get_docstring(function) or "").partition("\n\n")
            _, *parts = _CELL.split(ast.get_source_segment(source, function) or "")
            yield Tutorial(
                function.name,
                title.removesuffix("."),
                about.replace("\n", " ").strip(),
                "\n".join(_imports_for(function, tree)),
                tuple(map(_cell, parts[::2], parts[1::2])),
            )


def _imports_for(function: ast.FunctionDef, tree: ast.Module) -> Iterator[str]:
    """Return import lines for the names that the body of a function reads."""
    body = (node for statement in function.body for node in ast.walk(statement))
    read = {node.id for node in body if isinstance(node, ast.Name)}
    for line in tree.body:
        if isinstance(line, ast.Import | ast.ImportFrom):
            needed = copy(line)
            needed.names = [alias for alias in line.names if (alias.asname or alias.name) in read]
            if needed.names:
                yield ast.unparse(needed)


def _cell(marker: str, source: str) -> tuple[str, str]:
    source = dedent(source).strip()
    if "[markdown]" not in marker:
        return CODE, _YIELD_NONE.sub("", source).strip()
    return TEXT, " ".join(line.removeprefix("#").strip() for line in source.splitlines())


TUTORIALS: dict[str, Tutorial] = {tutorial.key: tutorial for tutorial in _read()}
