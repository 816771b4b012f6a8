"""A classification run or a statistic to take away, as a script or a notebook."""

from __future__ import annotations

from dataclasses import fields

from dpcore.experiments.learning import ClassificationSpec
from dpcore.experiments.recipes import notebook

_HEAD = '''"""{title}; the same numbers as the page this came from.

Run it from the folder that holds `dpcore`, with its requirements installed.
"""'''
_CLASSIFICATION_IMPORTS = """\
from statistics import fmean

from dpcore.experiments.classification_runs import run
from dpcore.experiments.learning import ClassificationSpec"""
_CLASSIFICATION_RUN = """\
rows = list(run(spec))
errors = [row["test_error"] for row in rows]
print(f"test error {fmean(errors):.4f}, mean of {len(errors)} draws")"""


def source_of(spec: object) -> str:
    """Python source that builds a frozen spec, naming what differs from its defaults."""
    default = type(spec)()
    arguments = [
        f"    {field.name}={getattr(spec, field.name)!r},"
        for field in fields(spec)
        if getattr(spec, field.name) != getattr(default, field.name)
    ]
    if not arguments:
        return f"{type(spec).__name__}()"
    return "\n".join([f"{type(spec).__name__}(", *arguments, ")"])


def classification_script(spec: ClassificationSpec) -> str:
    """A Python script that runs the pipeline and prints its test error."""
    return script("Test error of a private pipeline", _classification_cells(spec))


def classification_notebook(spec: ClassificationSpec) -> str:
    """The same as a Jupyter notebook."""
    return notebook(
        [("markdown", "# Test error of a private pipeline\n\nThe same numbers as the page.")]
        + [("code", source) for source in _classification_cells(spec)]
    )


def script(title: str, cells: list[str]) -> str:
    """Cells as one script."""
    return "\n\n".join([_HEAD.format(title=title), *cells]) + "\n"


def _classification_cells(spec: ClassificationSpec) -> list[str]:
    return [_CLASSIFICATION_IMPORTS, f"spec = {source_of(spec)}", _CLASSIFICATION_RUN]
