"""A server for strangers: what it refuses, to a page's visitor and to a request by hand."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from servers import running_app
from visitors import Shown, visitor

from pages.server.process import REFUSED
from pages.shell.navigation import PAGES
from tests.server.test_visitors import played

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Iterator[tuple[str, Path]]:
    """Its address, and a home that nothing may be written to."""
    home = tmp_path_factory.mktemp("home")
    environment = {
        "DPCORE_PUBLIC_DEMO": "1", "DPCORE_DATA": str(home / "data"), "HOME": str(home),
        "DPCORE_CACHE": str(home / "cache"), "DPCORE_OWN_DATA": str(home / "tables"),
        "TMPDIR": str(home),
    }  # fmt: skip
    with running_app(ROOT / "app.py", **environment) as (address, _):
        yield address, home


def shown(address: str, page: str, query: str = "", press: str = "") -> Shown:
    async def scene() -> Shown:
        async with visitor(address, page) as tab:
            opened = await tab.run(query)
            return await tab.run(query, press=opened.buttons[press]) if press else opened

    return played(scene())


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_takes_data_opens_rooms_or_writes_is_closed(demo, name):
    page = shown(demo[0], name)
    assert "This is a public demo" in page.words
    assert "file_uploader" not in page.kinds
    assert "exception" not in page.kinds


def test_all_other_pages_work_and_none_takes_a_file(demo):
    for name in PAGES.keys() - REFUSED:
        page = shown(demo[0], PAGES[name].address, "repetitions=1&dataset=digits")
        assert "exception" not in page.kinds, name
        assert "file_uploader" not in page.kinds, name
        assert "This is a public demo" not in page.words, name


def test_an_absent_data_set_is_not_fetched(demo):
    page = shown(demo[0], "tradeoffs", "dataset=mnist")
    assert "is not on this machine" in page.words
    assert not [label for label in page.buttons if label.startswith("Download")]


def test_a_finished_sweep_writes_nothing(demo):
    address, home = demo
    page = shown(address, "tradeoffs", "repetitions=1&tradeoffs_values_epsilon=0.5,1", press="Run")
    assert "exception" not in page.kinds
    assert [path for path in home.rglob("*") if path.is_file()] == []


def test_an_upload_by_hand_is_refused(demo):
    address, _ = demo
    request = urllib.request.Request(
        f"{address}/_stcore/upload_file/somebody/something", data=b"x" * 3_000_000, method="PUT"
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=10)
    refused.value.close()
    assert refused.value.code in (400, 403, 413)
