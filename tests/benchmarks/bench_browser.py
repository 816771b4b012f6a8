"""What a person waits for, against a trivial slider-and-chart app in the same run.

    python tests/benchmarks/bench_browser.py [--moves 15]

Prints the time from an arrow key on the epsilon slider to the new sentence and a chart drawn
again, and from starting the server to the first chart, each with the ratio to the trivial app;
then the server's memory, idle and with MNIST where DPCORE_DATA has it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from playwright.sync_api import Page, sync_playwright
from servers import TRIVIAL_APP, resident_mb, running_app

ROOT = Path(__file__).parents[2]
# Resolves when the headline names the new value and the first chart has been drawn again.
_WAIT_FOR_ANSWER = """
(old) => new Promise(resolve => {
  const chart = document.querySelector('.js-plotly-plot');
  let drawn = false;
  chart.on('plotly_afterplot', () => { drawn = true; });
  const check = () => {
    const said = [...document.querySelectorAll('h4')].map(e => e.innerText).join();
    if (said !== old && drawn) resolve(performance.now()); else requestAnimationFrame(check);
  };
  check();
})
"""
_HEADLINE = "() => [...document.querySelectorAll('h4')].map(e => e.innerText).join()"


def slider_latency(page: Page, moves: int) -> list[float]:
    """Seconds from key to new sentence and chart, back and forth along the slider."""
    slider = page.locator("[data-testid=stSlider] input[type=range]").first
    latencies = []
    for move in range(moves):
        old = page.evaluate(_HEADLINE)
        slider.focus()
        answer = page.evaluate_handle(f"(old) => ({{ done: ({_WAIT_FOR_ANSWER})(old) }})", old)
        started = page.evaluate("() => performance.now()")
        slider.press("ArrowRight" if move % 4 < 2 else "ArrowLeft")
        finished = answer.evaluate("(o) => o.done")
        latencies.append((finished - started) / 1000)
        page.wait_for_timeout(300)
    return latencies


def measure(browser, script: Path, moves: int) -> tuple[float, list[float]]:
    """(seconds from starting the server to the first chart, slider latencies)."""
    started = time.perf_counter()
    with running_app(script) as (address, process):
        page = browser.new_page()
        page.goto(address)
        page.locator(".js-plotly-plot .main-svg").first.wait_for(timeout=60_000)
        cold = time.perf_counter() - started
        page.wait_for_timeout(6000)
        latencies = slider_latency(page, moves)
        print(f"  {script.name}: server {resident_mb(process):.0f} MB after this")
        page.close()
    return cold, latencies


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--moves", type=int, default=16)
    arguments = parser.parse_args()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        trivial = Path(folder) / "trivial.py"
        trivial.write_text(TRIVIAL_APP)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        colds: dict[Path, list[float]] = {}
        moves: dict[Path, list[float]] = {}
        for _ in range(3):
            for script in (trivial, ROOT / "app.py"):
                cold, latencies = measure(browser, script, arguments.moves)
                colds.setdefault(script, []).append(cold)
                moves.setdefault(script, []).extend(latencies)
        ours = ROOT / "app.py"
        for name, table in (("cold start to first chart", colds), ("slider to chart", moves)):
            base, mine = median(table[trivial]), median(table[ours])
            print(f"{name}: {mine:.3f} s, trivial app {base:.3f} s, ratio {mine / base:.2f}")
        with running_app(ours) as (address, process):
            print(f"idle: {resident_mb(process):.0f} MB")
            page = browser.new_page()
            page.goto(f"{address}/?dataset=mnist&repetitions=2")
            page.wait_for_timeout(20_000)
            print(f"with MNIST open: {resident_mb(process):.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
