"""Everything the first page needs, imported before anybody asks for it."""

import gc
from importlib import import_module

from dpcore.data import load_dataset
from pages.explore.play import answer, message_sizes  # noqa: F401
from pages.parameters.sidebar import DEFAULTS
from pages.server import result_cache
from pages.sidebar import address  # noqa: F401
from pages.stories import telling  # noqa: F401
from pages.widgets import component_images, guarantee_card, session_ledger  # noqa: F401

result_cache.one_blas_thread()
load_dataset(DEFAULTS["dataset"])
# Every other page needs it, and waits for it.
import_module("pandas")
# What has been imported stays: collections need not look at it again.
gc.freeze()
