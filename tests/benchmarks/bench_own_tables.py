"""Fifty visitors, each with a table of their own: does anything of one reach another?

    python tests/benchmarks/bench_own_tables.py [--sessions 50]

Real tabs of one Chromium against one server: each uploads a table whose column names and group
names are its own mark, takes its limits from a dictionary, looks at the Playground, and releases.
Then what every tab shows is searched for the marks of others, and what the server has written (its
cache, its temporary files) for the names of rows. Prints what it found; stops by itself.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from servers import resident_mb, running_app

ROOT = Path(__file__).parents[2]
_PATIENCE = 180_000  # milliseconds
GO_THERE = (
    "path => { history.pushState({}, '', path); dispatchEvent(new PopStateEvent('popstate')) }"
)


def _files(mark: str) -> tuple[dict[str, object], dict[str, object]]:
    rows = "".join(f"{i % 7},{i % 5},{mark}{'AB'[i % 2]}\n" for i in range(60))
    table = f"{mark}one,{mark}two,{mark}group\n{rows}"
    columns = "".join(f"[columns.{mark}{name}]\nlower = 0\nupper = 9\n" for name in ("one", "two"))
    dictionary = f'[rows]\nlabel = "{mark}group"\n{columns}'
    return (
        {"name": f"{mark}.csv", "mimeType": "text/csv", "buffer": table.encode()},
        {"name": "d.toml", "mimeType": "application/toml", "buffer": dictionary.encode()},
    )


def _walk(page: Page, address: str, mark: str) -> str:
    """All that the visitor with this mark saw."""
    table, dictionary = _files(mark)
    page.set_default_timeout(_PATIENCE)
    page.goto(f"{address}/own_data")
    page.locator("input[type=file]").first.set_input_files(table)
    page.get_by_text("60 rows, 3 columns").wait_for()
    page.get_by_role("button", name="Fill in from a dictionary").click()
    page.locator("input[type=file]").last.set_input_files(dictionary)
    page.get_by_text("2 features").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Use it on every page").click()
    page.get_by_text("Every page now has").wait_for()
    page.evaluate(GO_THERE, "/release")
    page.get_by_role("button", name="Release …").click()
    page.get_by_role("button", name="Release now").click()
    page.get_by_text("verified").wait_for()
    page.get_by_text(f"{mark}one").first.wait_for(state="attached")
    released = page.content()
    page.evaluate(GO_THERE, "/")
    page.get_by_role("heading", name="Playground").wait_for()
    assert mark not in page.url
    return released + page.content()


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=50)
    n = parser.parse_args().sessions
    marks = [f"MARK{number:03d}x" for number in range(n)]
    home = Path(tempfile.mkdtemp())
    environment = {"DPCORE_DATA": str(home), "DPCORE_CACHE": str(home / "cache"),
                   "TMPDIR": str(home)}  # fmt: skip
    with running_app(ROOT / "app.py", **environment) as (address, process), sync_playwright() as p:
        executable = shutil.which("chromium") or shutil.which("google-chrome")
        chromium = p.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        pages, began = [chromium.new_context().new_page() for _ in marks], time.monotonic()
        seen = [_walk(page, address, mark) for page, mark in zip(pages, marks, strict=True)]
        print(f"{n} sessions in {time.monotonic() - began:.0f} s, {resident_mb(process):.0f} MB")
        found = [
            (mine, other)
            for shown, page, mine in zip(seen, pages, marks, strict=True)
            for other in marks
            if other != mine and other in shown + page.content()
        ]
        # What was released has the columns' names; rows are the only place of the groups' names.
        groups = [f"{mark}{group}".encode() for mark in marks for group in ("A", "B")]
        written = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
        leaks = sum(group in content for group in groups for content in written)
        print(f"marks of others on a page: {len(found)}; names of rows in {len(written)} files: "
              f"{leaks}")  # fmt: skip
        chromium.close()
    shutil.rmtree(home)
    assert not found and not leaks


if __name__ == "__main__":
    main()
