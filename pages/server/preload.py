"""Everything the first page needs, imported before anybody asks for it."""

import gc
from importlib import import_module

from dpcore.data import load_dataset
from pages.explore.play import page as play  # noqa: F401
from pages.server import caches
from pages.shell import (
    address,  # noqa: F401
    story_card,  # noqa: F401
)
from pages.shell.parameters import DEFAULTS
from pages.widgets import (
    session_ledger,  # noqa: F401
)

caches.one_blas_thread()
load_dataset(DEFAULTS["dataset"])
# Every other page needs it, and waits for it.
import_module("pandas")
# What has been imported stays: collections need not look at it again.
gc.freeze()
