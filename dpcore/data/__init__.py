"""Data sets, bounds on the norms of rows, and the assignment of people to sites."""

from dpcore.data.catalog import unit_of
from dpcore.data.dataset import Dataset, DatasetStatus
from dpcore.data.loading import dataset_status, list_datasets, load_dataset
from dpcore.data.pictures import select_views
from dpcore.data.row_bounds import Prepared, prepare
from dpcore.data.splits import draw_people, split_sites
from dpcore.data.synthetic import synthetic_views
from dpcore.data.two_views import TwoViewDataset, two_views

__all__ = [
    "Dataset",
    "DatasetStatus",
    "Prepared",
    "TwoViewDataset",
    "dataset_status",
    "draw_people",
    "list_datasets",
    "load_dataset",
    "prepare",
    "select_views",
    "split_sites",
    "synthetic_views",
    "two_views",
    "unit_of",
]
