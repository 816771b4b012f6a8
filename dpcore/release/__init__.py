"""Certified releases of a real table: dictionary, integer noise, ledger, certificate."""

from typing import TYPE_CHECKING, Any

from dpcore.release.dictionary import Column, Dictionary, dictionary_from, read_dictionary
from dpcore.release.encoding import Reading
from dpcore.release.inspection import Inspection, inspect_table
from dpcore.release.normal_sampler import rounded_normal
from dpcore.release.planning import Plan, look_alike, plan
from dpcore.release.project import Charged, Project, Total
from dpcore.release.publication import release
from dpcore.release.scales import Scales, calibrated
from dpcore.release.table_file import TableFile
from dpcore.release.tables import Table

if TYPE_CHECKING:
    from dpcore.release.released_pca import ReleasedPCA, load_release

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
        from dpcore.release import released_pca

        return getattr(released_pca, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
