"""Central algorithms as a family of experiments, and the sample sizes they need."""

from dpcore.experiments.central.runs import (
    PURE,
    VARIANTS,
    Batch,
    CentralSpec,
    central_problem,
    central_rows,
    central_spec,
    count_chains,
    nearest_basis,
    raw_second_moment,
    run_batch,
)

__all__ = [
    "PURE",
    "VARIANTS",
    "Batch",
    "CentralSpec",
    "central_problem",
    "central_rows",
    "central_spec",
    "count_chains",
    "nearest_basis",
    "raw_second_moment",
    "run_batch",
]
