"""Everything the first page needs, imported before anybody asks for it."""

from time import sleep

from dpcore.data import load_dataset
from pages.shared import (  # noqa: F401
    cards,
    energy,
    pictures,
    runs,
    spent,
    stories,
    travelled,
    turns,
)
from pages.shared.choice import DEFAULTS

# Long enough for the first visitor's first page.
_UNHURRIED_SECONDS = 6

runs.one_blas_thread()
load_dataset(DEFAULTS["dataset"])
sleep(_UNHURRIED_SECONDS)
# Tables need pandas. Plotly looks whether it is there, and must not meet it half imported: nobody
# else's page is being written meanwhile.
with turns.taken():
    import pandas  # noqa: F401
