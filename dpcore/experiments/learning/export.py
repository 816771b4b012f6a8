"""A classification run or a statistic to take away, as a script or a notebook."""

from __future__ import annotations

from collections.abc import Callable

from dpcore.data import load_dataset
from dpcore.experiments.engine.sweep import Points, collect
from dpcore.experiments.learning.classification_spec import ClassificationSpec
from dpcore.experiments.learning.statistic_runs import release
from dpcore.experiments.learning.statistic_spec import StatisticSpec
from dpcore.experiments.pca.export import Recipe, imports_of, source_of

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


def classification_recipe(spec: ClassificationSpec) -> Recipe:
    """Runs the pipeline and prints its test error."""
    cells = _CLASSIFICATION_IMPORTS, f"spec = {source_of(spec)}", _CLASSIFICATION_RUN
    return Recipe("Test error of a private pipeline", cells)


def statistic_recipe(spec: StatisticSpec, origin: tuple[str, int] | list[float]) -> Recipe:
    """Makes the page's release once more.

    origin: (data set, column number) or list of float. Where the values are from, or the values.
    """
    needed: list[Callable[..., object]] = [StatisticSpec, release]
    if isinstance(origin, tuple):
        needed.append(load_dataset)
        values = f"load_dataset({origin[0]!r}).X[:, {origin[1]}].astype(float)"
    else:
        values = f"np.array({origin!r})"
    cells = (
        imports_of("import numpy as np", *needed),
        f"values = {values}\nspec = {source_of(spec)}",
        _RELEASE,
    )
    return Recipe("One private statistic", cells)
