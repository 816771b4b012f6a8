"""Certified releases of a real table: dictionary, integer noise, ledger, certificate."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpcore.release.dictionary import Column, Dictionary
    from dpcore.release.dictionary_file import dictionary_from, read_dictionary
    from dpcore.release.encoding import Reading
    from dpcore.release.inspection import Inspection, inspect_table
    from dpcore.release.normal_sampler import rounded_normal
    from dpcore.release.planning import Plan, look_alike, plan
    from dpcore.release.project import Charged, Project, Total
    from dpcore.release.publication import release
    from dpcore.release.released_pca import ReleasedPCA, load_release
    from dpcore.release.scales import Scales, calibrated
    from dpcore.release.table_file import TableFile
    from dpcore.release.tables import Table

# The process that reads one uploaded file imports a few of these modules only.
_NAMES = {
    "dictionary": ("Column", "Dictionary"),
    "dictionary_file": ("dictionary_from", "read_dictionary"),
    "encoding": ("Reading",),
    "inspection": ("Inspection", "inspect_table"),
    "normal_sampler": ("rounded_normal",),
    "planning": ("Plan", "look_alike", "plan"),
    "project": ("Charged", "Project", "Total"),
    "publication": ("release",),
    "released_pca": ("ReleasedPCA", "load_release"),
    "scales": ("Scales", "calibrated"),
    "table_file": ("TableFile",),
    "tables": ("Table",),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

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
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
