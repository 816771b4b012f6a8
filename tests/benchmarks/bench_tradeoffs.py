"""Trade-offs in a real browser: from pressing Run to the first point, from Stop to its answer.

    python tests/benchmarks/bench_tradeoffs.py [--repetitions 8] [--dataset digits]

Needs playwright and Chromium. Every repetition asks for a seed of its own, so that nothing comes
from the store, whose folder is a new one. The clock is the browser's: from the click to the first
frame in which the answer is in the page. Beside it stands what the server's processor and the
whole machine did meanwhile, to tell waiting for others from work.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from servers import running_app

ROOT = Path(__file__).parents[2]
_QUIET = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"]
# A marker of a curve, as Plotly draws it; the empty axes have none.
_POINT = "document.querySelector('.scatterlayer .points path') !== null"
_CANCELLED = (
    "[...document.querySelectorAll('[data-testid=stAlert]')]"
    ".some(alert => alert.textContent.startsWith('Stopped.'))"
)
_STOPWATCH = """condition => {
    window.waited = null;
    document.addEventListener('click', () => {
        const clicked = performance.now();
        const look = () => {
            if (eval(condition)) window.waited = performance.now() - clicked;
            else requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
    }, {capture: true, once: true});
}"""
# Long enough that it is still going on when it is cancelled: thirty values, fifty draws each.
_VALUES = ",".join(f"{0.1 * number:.1f}" for number in range(1, 31))
_LONG = f"repetitions=50&tradeoffs_values_epsilon={_VALUES}"


def waited_after_click(page: Page, button: str, condition: str) -> float:
    """Milliseconds from a click on a button to the first frame in which a condition holds."""
    page.evaluate(_STOPWATCH, condition)
    page.get_by_role("button", name=button, exact=True).click()
    page.wait_for_function("window.waited !== null", timeout=120_000, polling=50)
    return page.evaluate("window.waited")


def open_tradeoffs(page: Page, address: str, query: str) -> None:
    page.goto(f"{address}/tradeoffs?{query}")
    page.get_by_role("button", name="Run", exact=True).wait_for(timeout=60_000)
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=60_000)
    page.locator(".js-plotly-plot .xtick").first.wait_for(timeout=60_000)
    time.sleep(0.5)


def processor_seconds(pid: int) -> float:
    """What a process has used of the processors, on Linux."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def busy_share(before: list[int], after: list[int]) -> float:
    spent = [b - a for a, b in zip(before, after, strict=True)]
    return 1 - (spent[3] + spent[4]) / max(1, sum(spent))


def machine_times() -> list[int]:
    return [int(field) for field in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=8)
    parser.add_argument("--dataset", default="digits")
    arguments = parser.parse_args()
    cache = tempfile.mkdtemp(prefix="dpcore-cache-")
    try:
        with (
            running_app(ROOT / "app.py", DPCORE_CACHE=cache) as (address, server),
            sync_playwright() as playwright,
        ):
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium") or shutil.which("google-chrome"),
                args=_QUIET,
            )
            page = browser.new_page(viewport={"width": 1440, "height": 1000})
            print(f"{arguments.dataset}: Run -> first point | server's processor, machine busy")
            waits = []
            for seed in range(1, arguments.repetitions + 1):
                open_tradeoffs(page, address, f"dataset={arguments.dataset}&seed={seed}")
                used, times = processor_seconds(server.pid), machine_times()
                waits.append(waited_after_click(page, "Run", _POINT))
                used = 1000 * (processor_seconds(server.pid) - used)
                busy = busy_share(times, machine_times())
                print(f"  {waits[-1]:6.0f} ms | {used:5.0f} ms, {busy:4.0%}", flush=True)
                page.get_by_text("Take it away").wait_for(timeout=120_000)
            cancels = []
            for seed in range(1, arguments.repetitions // 2 + 1):
                query = f"dataset={arguments.dataset}&seed={seed + 1000}&{_LONG}"
                open_tradeoffs(page, address, query)
                page.get_by_role("button", name="Run", exact=True).click()
                page.locator(".scatterlayer .points path").first.wait_for(timeout=120_000)
                cancels.append(waited_after_click(page, "Stop", _CANCELLED))
            browser.close()
    finally:
        shutil.rmtree(cache, ignore_errors=True)
    for name, found in (("Run -> first point", waits), ("Stop -> stopped", cancels)):
        ordered = sorted(found)
        print(
            f"{name}: first {found[0]:.0f} ms, median {ordered[len(ordered) // 2]:.0f} ms, "
            f"worst {ordered[-1]:.0f} ms of {len(found)}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
