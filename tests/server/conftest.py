"""A real server of this checkout."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.benchmarks.servers import running_app

APP = Path(__file__).parents[2] / "app.py"


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("home")
    environment = {"DPCORE_DATA": str(home), "DPCORE_CACHE": str(home / "cache")}
    with running_app(APP, **environment) as (address, _):
        yield address
