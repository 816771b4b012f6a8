"""Memory of the server, and answers to another visitor, while hostile files are uploaded.

    python -m tests.benchmarks.bench_uploads

Needs Linux and Chromium for Playwright. Ends with 1 if the server takes more than 1.2 GB with its
reading process, or stops.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.benchmarks.servers import running_app
from tests.release.test_hostile_sizes import (
    MB,
    parquet_of_few_rows,
    parquet_of_one_text,
    table_with_shared_text,
    table_with_stray_cell,
    workbook_of,
)

ROOT = Path(__file__).parents[2]
CHROMIUM = "/usr/bin/chromium-headless-shell"
MOST_MB = 1200
_IDLE = "[data-testid=stApp][data-test-script-state=notRunning]"


def hostile_files() -> dict[str, bytes]:
    uncounted = [
        "<row r='1'><c r='A1'><v>1</v></c></row>",
        "<row r='1048576'><c r='XFD1048576'><v>7</v></c></row>",
    ]
    return {
        "XFD60000.xlsx": table_with_stray_cell("XFD60000"),
        "XFD1048576.xlsx": table_with_stray_cell("XFD1048576"),
        "CV1048576.xlsx": table_with_stray_cell("CV1048576"),
        "uncounted.xlsx": workbook_of(iter(uncounted)),
        "shared.xlsx": table_with_shared_text(MB, 2000),
        "footer.parquet": parquet_of_few_rows(3000, MB),
        "one.parquet": parquet_of_one_text(1000 * MB),
    }


def resident_with_children_mb(pid: int) -> float:
    """Return the resident memory of a process and its children, in MB."""
    total = 0.0
    # Each thread has children of its own.
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    children = [child for thread in threads for child in thread.read_text().split()]
    for process in (pid, *map(int, children)):
        status = Path(f"/proc/{process}/status").read_text()
        total += next(
            (int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")), 0
        )
    return total / 1000


class Peak(threading.Thread):
    """Largest memory of a server since the last reset."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.mb = pid, 0.0
        self.start()

    def run(self) -> None:
        while True:
            with suppress(OSError):  # a process that has just ended
                self.mb = max(self.mb, resident_with_children_mb(self.pid))
            time.sleep(0.02)


def open_table(page, address: str) -> None:
    page.goto(f"{address}/own_table")
    page.get_by_role("heading", name="captured energy").wait_for(timeout=120_000)
    page.wait_for_selector(_IDLE)


def main() -> int:
    files, worst = hostile_files(), 0.0
    with (
        tempfile.TemporaryDirectory() as cache,
        running_app(ROOT / "app.py", DPCORE_CACHE=cache) as (address, process),
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        page, other = browser.new_page(), browser.new_page()
        open_table(page, address)
        peak = Peak(process.pid)
        for name, content in files.items():
            peak.mb, start = 0.0, time.monotonic()
            upload = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
            page.locator("input[type=file]").first.set_input_files(upload)
            other.goto(f"{address}/ledger")
            other.get_by_role("heading").first.wait_for(timeout=60_000)
            answered = time.monotonic() - start
            refusal = page.get_by_test_id("stAlert").filter(has_text=" must be ")
            refusal.wait_for(timeout=120_000)
            worst = max(worst, peak.mb)
            print(
                f"{name} ({len(content) / 1000:.1f} kB): another visitor's page "
                f"{answered:.1f} s, refused after {time.monotonic() - start:.1f} s, "
                f"{peak.mb:.0f} MB: {' '.join(refusal.inner_text().split())}",
                flush=True,
            )
            open_table(page, address)
        browser.close()
        is_alive = process.poll() is None
    print(f"at most {worst:.0f} MB; the server {'answers' if is_alive else 'stopped'}")
    return int(worst > MOST_MB or not is_alive)


if __name__ == "__main__":
    sys.exit(main())
