"""From a table to components one may publish: dictionary, exact noise, ledger, certificate."""

from typing import TYPE_CHECKING, Any

from dpcore.releases.dictionary import Column, Dictionary, dictionary_from, read_dictionary
from dpcore.releases.exact import rounded_normal
from dpcore.releases.measurement import Reading, Scales, calibrated
from dpcore.releases.project import Charged, Project, Total
from dpcore.releases.publication import release
from dpcore.releases.simulation import Inspection, Plan, inspect_table, look_alike, plan
from dpcore.releases.tables import Table, TableFile

if TYPE_CHECKING:
    from dpcore.releases.released_pca import ReleasedPCA, load_release

__all__ = [
    "Charged",
    "Column",
    "Dictionary",
    "Inspection",
    "Plan",
    "Project",
    "Reading",
    "ReleasedPCA",
    "Scales",
    "Table",
    "TableFile",
    "Total",
    "calibrated",
    "dictionary_from",
    "inspect_table",
    "load_release",
    "look_alike",
    "plan",
    "read_dictionary",
    "release",
    "rounded_normal",
]


def __getattr__(name: str) -> Any:
    # scikit-learn takes longer to import than a small release takes.
    if name in ("ReleasedPCA", "load_release"):
        from dpcore.releases import released_pca

        return getattr(released_pca, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
