"""A classification run or a statistic to take away, as a script or a notebook."""

from __future__ import annotations

from collections.abc import Callable

from dpcore.data import load_dataset
from dpcore.experiments.engine.sweep import Points, collect
from dpcore.experiments.learning.classification_spec import ClassificationSpec
from dpcore.experiments.learning.statistic_runs import release
from dpcore.experiments.learning.statistic_spec import StatisticSpec
from dpcore.experiments.pca.export import imports_of, notebook, script, source_of

_CLASSIFICATION_IMPORTS = imports_of(
    "from statistics import fmean", Points, collect, ClassificationSpec
)
_CLASSIFICATION_RUN = """\
rows = collect(Points((spec,))).rows
errors = [row["test_error"] for row in rows]
print(f"test error {fmean(errors):.4f}, mean of {len(errors)} draws")"""

_RELEASE = """\
result = release(values, spec)
print(np.round(result.value, 6), result.mechanism, result.guarantee.epsilon)"""


def classification_script(spec: ClassificationSpec) -> str:
    """A Python script that runs the pipeline and prints its test error."""
    return script("Test error of a private pipeline", _classification_cells(spec))


def classification_notebook(spec: ClassificationSpec) -> str:
    """The same as a Jupyter notebook."""
    return notebook(
        [("markdown", "# Test error of a private pipeline\n\nThe same numbers as the page.")]
        + [("code", source) for source in _classification_cells(spec)]
    )


def statistic_script(spec: StatisticSpec, origin: tuple[str, int] | list[float]) -> str:
    """A Python script that makes the page's release once more.

    origin: (data set, column number) or list of float. Where the values are from, or the values.
    """
    return script("One private statistic", _statistic_cells(spec, origin))


def statistic_notebook(spec: StatisticSpec, origin: tuple[str, int] | list[float]) -> str:
    """The same as a Jupyter notebook."""
    return notebook(
        [("markdown", "# One private statistic\n\nThe same number as the page.")]
        + [("code", source) for source in _statistic_cells(spec, origin)]
    )


def _statistic_cells(spec: StatisticSpec, origin: tuple[str, int] | list[float]) -> list[str]:
    needed: list[Callable[..., object]] = [StatisticSpec, release]
    if isinstance(origin, tuple):
        needed.append(load_dataset)
        values = f"load_dataset({origin[0]!r}).X[:, {origin[1]}].astype(float)"
    else:
        values = f"np.array({origin!r})"
    return [
        imports_of("import numpy as np", *needed),
        f"values = {values}\nspec = {source_of(spec)}",
        _RELEASE,
    ]


def _classification_cells(spec: ClassificationSpec) -> list[str]:
    return [_CLASSIFICATION_IMPORTS, f"spec = {source_of(spec)}", _CLASSIFICATION_RUN]
