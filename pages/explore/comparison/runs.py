"""Runs of the compared algorithms: cached computations, and which algorithms can run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpcore.data import DatasetStatus
from dpcore.experiments import central
from dpcore.experiments.central import VARIANTS, Batch, CentralSpec
from dpcore.experiments.engine.fields import ProblemKey
from dpcore.experiments.engine.grid import Points
from dpcore.experiments.engine.spec import Row
from dpcore.experiments.pca.problem import Problem
from dpcore.figures.central import variant_dots
from dpcore.pca.protocols.register import PROTOCOLS
from pages import cached
from pages.components import charts

# Algorithms of the documents, in their order on the page; the variant of Analyze Gauss follows.
_OF_DOCUMENTS = ("ppca", "modsulq", "sulq")
_BEYOND = ("wishart",)
# Chains of many coordinates take seconds a draw; four are the fewest that can be diagnosed.
_LARGE, _FEW_DRAWS = 10_000, 4


@cached.cached(4, megabytes=64, message="Reading the data set")
def problem_of(key: ProblemKey) -> Problem:
    """Return the data of the runs."""
    return central.central_problem(key, cached.problems.prepared(*key.data))


@cached.cached(36, message="Running the algorithms")
def batch_of(spec: CentralSpec) -> Batch:
    """Return the rows of all runs, and the first subspace."""
    batch = central.run_batch(spec, problem_of(spec.problem_key()))
    return replace(batch, subspaces=batch.subspaces[:1])


def rows_of(spec: CentralSpec) -> Sequence[Row]:
    """Return the rows of all runs of one algorithm."""
    problem_of(spec.problem_key())
    return central.central_rows(spec, batch_of(spec))


def feasible_variants(
    spec: CentralSpec, dataset: DatasetStatus, *, with_wishart: bool = False
) -> dict[str, CentralSpec]:
    """Return the specification of each algorithm that can run with these settings.

    with_wishart: Include algorithms that are not in the documents.
    """
    n_components = spec.components or dataset.default_components or 1
    is_large = n_components * dataset.n_features > _LARGE
    of_few_runs = replace(spec, repetitions=min(spec.repetitions, _FEW_DRAWS))
    others = _BEYOND if with_wishart else ()
    keys = (*_OF_DOCUMENTS, f"ag-{spec.calibration}-{spec.noise}", *others)
    specs = [VARIANTS[key].of(of_few_runs if is_large and key == "ppca" else spec) for key in keys]
    cells = Points(tuple(specs)).cells()
    return {key: cell.spec for key, cell in zip(keys, cells, strict=True) if cell.spec}


def title_of(variant: str) -> str:
    """Return the title of a variant's algorithm."""
    return PROTOCOLS[VARIANTS[variant].protocol].title


def draw_runs(rows: Sequence[Row]) -> None:
    """Draw every run as a dot, one line per algorithm."""
    charts.show_figure(
        variant_dots(rows, dark=charts.is_dark()),
        key="compare_runs",
        alt="Captured energy of each algorithm, one dot per run.",
    )
