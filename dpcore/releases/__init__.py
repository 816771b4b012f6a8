"""From a table to components one may publish: dictionary, exact noise, ledger, certificate."""

from dpcore.releases.calibration import Scales, calibrated
from dpcore.releases.dictionary import Column, Dictionary, dictionary_from, read_dictionary
from dpcore.releases.encoding import Reading
from dpcore.releases.exact.rounded_normal import rounded_normal
from dpcore.releases.planning import Plan, look_alike, plan
from dpcore.releases.project import Charged, Project, Total
from dpcore.releases.released_pca import ReleasedPCA, load_release
from dpcore.releases.releasing import release
from dpcore.releases.tables import Table

__all__ = [
    "Charged",
    "Column",
    "Dictionary",
    "Plan",
    "Project",
    "Reading",
    "ReleasedPCA",
    "Scales",
    "Table",
    "Total",
    "calibrated",
    "dictionary_from",
    "load_release",
    "look_alike",
    "plan",
    "read_dictionary",
    "release",
    "rounded_normal",
]
