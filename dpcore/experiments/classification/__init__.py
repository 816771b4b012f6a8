"""Private classifiers as a family of experiments."""

from dpcore.experiments.classification.runs import (
    ClassificationSpec,
    Outcome,
    centre_rows,
    classification_recipe,
    confusion_matrix,
    mistakes,
    run_pipeline,
)

__all__ = [
    "ClassificationSpec",
    "Outcome",
    "centre_rows",
    "classification_recipe",
    "confusion_matrix",
    "mistakes",
    "run_pipeline",
]
