"""Layout shifts of pages: while they load, and when ε changes.

    python -m tests.benchmarks.bench_layout_shift [page …]

Chromium's layout shift, 1440 × 900, each page in a tab of its own on a server that has drawn all of
them once. What moves within half a second of a key counts too once ε has moved: the visitor asked
for a number, not for another layout. More than .1 in either column is too much.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright import sync_api
from playwright.sync_api import Browser, Page

from pages.navigation import ENTRIES
from tests.benchmarks.servers import running_app

ROOT = Path(__file__).parents[2]
LIMIT = 0.1
RUNNING = "[data-testid=stApp]:not([data-test-script-state=notRunning])"
BUSY = "[data-testid=stProgress], [data-testid=stSkeleton], button:has(:text-is('Stop'))"
SLIDERS = ".explorer .control input, .stSidebar .st-key-epsilon input"
WATCH = """
    globalThis.shifts = []
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) {
            const moved = entry.sources.map(({ node }) => {
                const at = node?.nodeType === 1 ? node : node?.parentElement
                return at?.closest("[data-testid], [class*=st-key]")?.className
                    .match?.(/st-key-\\S+|st[A-Z]\\w+/)?.[0] ?? "?"
            })
            shifts.push({ value: entry.value, byHand: entry.hadRecentInput, moved })
        }
    }).observe({ type: "layout-shift", buffered: true })
"""


def settle(page: Page, most: int = 30_000) -> None:
    """Wait until a page has what it will show, or for so many milliseconds."""
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=60_000)
    calm = f"!document.querySelector({RUNNING!r})"
    for _ in range(3):
        page.wait_for_timeout(500)
        try:
            page.wait_for_function(calm, timeout=most)
            page.locator(BUSY).first.wait_for(state="detached", timeout=most)
        except sync_api.TimeoutError:
            return


def shift(page: Page, *, asked: bool) -> tuple[float, str]:
    """Return the layout shift since the last call, and the element that moved most."""
    findings = page.evaluate("globalThis.shifts.splice(0)")
    counted = [shift for shift in findings if asked or not shift["byHand"]]
    worst = max(counted, key=lambda shift: shift["value"], default=None)
    named = ", ".join(dict.fromkeys(worst["moved"])) if worst else ""
    return sum(shift["value"] for shift in counted), named


def measured(browser: Browser, address: str) -> tuple[tuple[float, str], ...]:
    """Return the layout shifts (load, change of ε) of one page."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script(WATCH)
    page = context.new_page()
    page.goto(address)
    settle(page)
    result = [shift(page, asked=False)]
    slider = page.locator(SLIDERS)
    if slider.count():
        slider.first.focus()
        page.keyboard.press("ArrowLeft")
        settle(page)
        result.append(shift(page, asked=True))
    context.close()
    return tuple(result)


def main(names: list[str]) -> None:
    chosen = names or [entry.address for entry in ENTRIES]
    executable = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    with (
        running_app(ROOT / "app.py") as (address, _),
        sync_api.sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=executable, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        print(f"{'page':<18} {'load':>6} {'ε moves':>8}")
        for name in chosen:
            measured(browser, f"{address}/{name}")
            load, *moved = measured(browser, f"{address}/{name}")
            marks = "; ".join(who for value, who in (load, *moved) if value > LIMIT)
            told = f"{moved[0][0]:8.3f}" if moved else f"{'–':>8}"
            print(f"{name:<18} {load[0]:6.3f} {told} {marks}", flush=True)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
