"""Everything the first page needs, imported before anybody asks for it."""

# First of all: Plotly looks whether pandas is there, and must not meet it half imported by
# another thread.
import pandas  # noqa: F401

from dpcore.data import load_dataset
from pages.shared import cards, energy, pictures, runs, spent, stories, travelled  # noqa: F401
from pages.shared.choice import DEFAULTS

runs.one_blas_thread()
load_dataset(DEFAULTS["dataset"])
