"""Six short tutorials: the files beside this one, shown cell by cell, run live, or taken home.

Each is a script in the percent format (`# %%` begins a cell, `# %% [markdown]` one of text) whose
docstring gives its title and one sentence about it. Its line `epsilon = 1.0` is a parameter.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from importlib.resources import files

from dpcore.errors import ParameterError
from dpcore.experiments.pca.export import notebook
from dpcore.privacy import Guarantee

TEXT, CODE = "markdown", "code"
_NAMES = ("mean", "variance", "histogram", "pca", "svm", "logistic")
_CELL = re.compile(r"^# %%(.*)\n", re.MULTILINE)
_PARAMETER = re.compile(r"^epsilon = 1\.0$", re.MULTILINE)


@dataclass(frozen=True)
class Tutorial:
    """Cells in order, and what they are about.

    Parameters
    ----------
    key, title : str
    about : str
        One sentence.
    cells : tuple of (kind, source)
        Kind is "markdown" or "code".
    """

    key: str
    title: str
    about: str
    cells: tuple[tuple[str, str], ...]

    def filled(self, epsilon: float) -> list[tuple[str, str]]:
        """The cells with this epsilon in place of the file's."""
        line = f"epsilon = {float(epsilon)!r}"
        return [
            (kind, _PARAMETER.sub(line, source) if kind == CODE else source)
            for kind, source in self.cells
        ]


@dataclass(frozen=True)
class Output:
    """What one code cell printed, the value of its last line, a figure or None, and what the
    private results it named promise."""

    printed: str
    value: object = None
    promises: dict[str, Guarantee] = field(default_factory=dict)


def run_cells(cells: list[tuple[str, str]]) -> tuple[Output, ...]:
    """Run code cells in one fresh namespace, as a notebook would; one output a code cell."""
    namespace: dict[str, object] = {"__name__": "tutorial"}
    return tuple(_run_cell(source, namespace) for kind, source in cells if kind == CODE)


def _run_cell(source: str, namespace: dict[str, object]) -> Output:
    lines: list[str] = []
    # Standard output belongs to the whole server; a print of its own belongs to this run.
    namespace["print"] = lambda *words: lines.append(" ".join(map(str, words)))
    tree = ast.parse(source)
    before = set(namespace)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<tutorial>", "exec"), namespace)  # noqa: S102 - files of this package
    value = None
    if isinstance(last, ast.Expr):
        expression = compile(ast.Expression(last.value), "<tutorial>", "eval")
        value = eval(expression, namespace)  # noqa: S307
    named = {name: result for name, result in namespace.items() if name not in before}
    # Results carry a guarantee, fitted estimators a guarantee_.
    found = {
        name: getattr(result, "guarantee", getattr(result, "guarantee_", None))
        for name, result in named.items()
    }
    promises = {name: each for name, each in found.items() if isinstance(each, Guarantee)}
    return Output("\n".join(lines), value, promises)


def run_tutorial(key: str, epsilon: float) -> tuple[Output, ...]:
    """Outputs of a tutorial's code cells at this epsilon."""
    return run_cells(tutorial(key).filled(epsilon))


def tutorial_notebook(key: str, epsilon: float) -> str:
    """A tutorial as a Jupyter notebook."""
    chosen = tutorial(key)
    intro = (
        f"# {chosen.title}\n\n{chosen.about}\n\nRun it from the folder that holds `dpcore`, with "
        "its `requirements.txt` installed."
    )
    return notebook([(TEXT, intro), *chosen.filled(epsilon)])


def tutorial(key: str) -> Tutorial:
    """The tutorial of this name.

    Raises
    ------
    ParameterError
        Naming the known ones.
    """
    if key not in TUTORIALS:
        raise ParameterError("tutorial", f"one of {', '.join(TUTORIALS)}", key)
    return TUTORIALS[key]


def _read(key: str) -> Tutorial:
    source = (files(__name__) / f"{key}.py").read_text(encoding="utf-8")
    head, *parts = _CELL.split(source)
    title, _, about = ast.literal_eval(head.strip()).partition("\n\n")
    cells = tuple(map(_cell, parts[::2], parts[1::2]))
    return Tutorial(key, title.removesuffix("."), about.replace("\n", " ").strip(), cells)


def _cell(marker: str, source: str) -> tuple[str, str]:
    if "[markdown]" not in marker:
        return CODE, source.strip()
    lines = (line.removeprefix("#").strip() for line in source.strip().splitlines())
    return TEXT, " ".join(lines)


TUTORIALS: dict[str, Tutorial] = {key: _read(key) for key in _NAMES}
