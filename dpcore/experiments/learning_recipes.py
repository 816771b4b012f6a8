"""A classification run or a statistic to take away, as a script or a notebook."""

from __future__ import annotations

from dataclasses import fields

from dpcore.experiments.learning import ClassificationSpec
from dpcore.experiments.recipes import notebook
from dpcore.experiments.statistic_runs import StatisticSpec

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
    return _script("Test error of a private pipeline", _classification_cells(spec))


def classification_notebook(spec: ClassificationSpec) -> str:
    """The same as a Jupyter notebook."""
    return notebook(
        [("markdown", "# Test error of a private pipeline\n\nThe same numbers as the page.")]
        + [("code", source) for source in _classification_cells(spec)]
    )


def statistic_script(spec: StatisticSpec, origin: tuple[str, int] | list[float]) -> str:
    """A Python script that makes the page's release once more.

    Parameters
    ----------
    spec : StatisticSpec
    origin : (data set, column number) or list of float
        Where the values are from, or the values.
    """
    return _script("One private statistic", _statistic_cells(spec, origin))


def statistic_notebook(spec: StatisticSpec, origin: tuple[str, int] | list[float]) -> str:
    """The same as a Jupyter notebook."""
    return notebook(
        [("markdown", "# One private statistic\n\nThe same number as the page.")]
        + [("code", source) for source in _statistic_cells(spec, origin)]
    )


def _statistic_cells(spec: StatisticSpec, origin: tuple[str, int] | list[float]) -> list[str]:
    if isinstance(origin, tuple):
        imports = "from dpcore.data import load_dataset\n"
        values = f"load_dataset({origin[0]!r}).X[:, {origin[1]}].astype(float)"
    else:
        imports, values = "", f"np.array({origin!r})"
    return [
        f"import numpy as np\n\n{imports}"
        "from dpcore.experiments.statistic_runs import StatisticSpec, release",
        f"values = {values}\nspec = {source_of(spec)}",
        "result = release(values, spec)\n"
        "print(np.round(result.value, 6), result.mechanism, result.guarantee.epsilon)",
    ]


def _script(title: str, cells: list[str]) -> str:
    return "\n\n".join([_HEAD.format(title=title), *cells]) + "\n"


def _classification_cells(spec: ClassificationSpec) -> list[str]:
    return [_CLASSIFICATION_IMPORTS, f"spec = {source_of(spec)}", _CLASSIFICATION_RUN]
