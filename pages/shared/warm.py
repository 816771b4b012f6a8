"""Everything the first page needs, imported before anybody asks for it."""

import pandas  # noqa: F401

from dpcore.data import load_dataset
from pages.shared import (  # noqa: F401
    address,
    cards,
    disk,
    energy,
    pictures,
    runs,
    spent,
    stories,
    travelled,
)
from pages.shared.choice import DEFAULTS

runs.one_blas_thread()
load_dataset(DEFAULTS["dataset"])
