"""A real server, and a data set that is being read for as long as a test wants."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from servers import running_app

ROOT = Path(__file__).parents[2]
# Runs as the server's Python starts: whatever prepares this data set waits for a file.
SLOW = """
import os, time
import dpcore.data

prepare = dpcore.data.prepare

def prepare_slowly(dataset, **options):
    while dataset.name == "synthetic-2012" and not os.path.exists(os.environ["MAY_BE_READ"]):
        time.sleep(0.01)
    return prepare(dataset, **options)

dpcore.data.prepare = prepare_slowly
"""


@dataclass
class SlowServer:
    """A server that reads "synthetic-2012" only once `go_on` has been called."""

    address: str
    gate: Path

    def go_on(self) -> None:
        self.gate.touch()


@pytest.fixture
def slow_server(tmp_path) -> Iterator[SlowServer]:
    (tmp_path / "sitecustomize.py").write_text(SLOW)
    gate = tmp_path / "may-be-read"
    path = os.pathsep.join((str(tmp_path), str(ROOT)))
    environment = {"DPCORE_DATA": str(tmp_path), "DPCORE_CACHE": str(tmp_path / "cache"),
                   "PYTHONPATH": path, "MAY_BE_READ": str(gate)}  # fmt: skip
    with running_app(ROOT / "app.py", **environment) as (address, _):
        yield SlowServer(address, gate)


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("data-home")
    environment = {"DPCORE_DATA": str(home), "DPCORE_CACHE": str(home / "cache")}
    with (
        (home / "log").open("wb") as log,
        running_app(ROOT / "app.py", log=log, **environment) as (address, _),
    ):
        yield address
    # Whoever started the server has nothing to do with how a page sets its controls.
    assert "Session State API" not in (home / "log").read_text()
