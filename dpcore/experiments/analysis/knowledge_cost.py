"""What a public subspace leaves of the energy, exactly: the most there is behind any noise."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.data import dataset_status
from dpcore.data.catalog import CATALOG, entry_of
from dpcore.experiments.pca.problem import Problem
from dpcore.experiments.pca.public_knowledge import FREQUENCIES, SHARES, Knowledge, public_basis


class KnowledgeRow(TypedDict):
    """A subspace, and the share of the exact optimum that its best K directions capture."""

    source: str
    percent: int
    energy_ratio: float


def sources_for(dataset: str) -> tuple[str, ...]:
    """Where public subspaces of pictures like these come from; nowhere for what has none."""
    shape = entry_of(dataset).image_shape
    if shape is None:
        return ()
    others = (
        name
        for name, entry in CATALOG.items()
        if name != dataset and entry.image_shape == shape and dataset_status(name).ready
    )
    return (FREQUENCIES, *others)


def knowledge_cost(problem: Problem, dataset: str, n_components: int) -> list[KnowledgeRow]:
    """Energy of the exact optimum within each subspace, over its share of the directions.

    problem: Of the data set; its reference is what is measured on.
    n_components: K; shares that leave fewer directions are left out.
    """
    optimum, reference = float(problem.optimum[n_components - 1]), problem.reference
    rows: list[KnowledgeRow] = []
    for source in sources_for(dataset):
        basis = public_basis(Knowledge(source, 100), dataset)
        within = basis @ reference @ basis.T
        for percent in (*SHARES, 80, 100):
            left = Knowledge(source, percent).n_directions(len(basis))
            if left >= n_components:
                energy = _leading(within[:left, :left], n_components)
                rows.append(
                    {"source": source, "percent": percent, "energy_ratio": energy / optimum}
                )
    return rows


def _leading(moment: FloatArray, n_components: int) -> float:
    return float(np.linalg.eigvalsh(moment)[-n_components:].sum())
