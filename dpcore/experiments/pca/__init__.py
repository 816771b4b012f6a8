"""PCA as a family of experiments."""

from dpcore.experiments.pca.runs import (
    VARIABLE_FIELDS,
    PcaRow,
    RunSpec,
    check_feasible,
    draw_subspaces,
    floor_of,
    is_denoised,
    random_ratio,
    reference_bytes,
    row_of,
    run,
    run_repetitions,
)

__all__ = [
    "VARIABLE_FIELDS",
    "PcaRow",
    "RunSpec",
    "check_feasible",
    "draw_subspaces",
    "floor_of",
    "is_denoised",
    "random_ratio",
    "reference_bytes",
    "row_of",
    "run",
    "run_repetitions",
]
