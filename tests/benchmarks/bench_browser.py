"""What a person waits for, against a trivial slider-and-chart app in the same run.

    python tests/benchmarks/bench_browser.py [--moves 16] [--rounds 3]

Prints the time from an arrow key on the epsilon slider to the first frame that shows another chart
(all protocols' dots, every one of them computed), and from starting the server to the first chart,
each with its ratio to the trivial app; then the server's memory, idle and with MNIST where the data
home has it. The slider goes back and forth, so that both settings never seen before and settings
seen a moment ago are among the moves; each kind is printed.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page, sync_playwright
from servers import resident_mb, running_app

ROOT = Path(__file__).parents[2]
TRIVIAL_APP = """\
import plotly.graph_objects as go
import streamlit as st

epsilon = st.select_slider("ε", [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0], value=1.0)
figure = go.Figure()
figure.add_scatter(x=[0.1, 1, 10], y=[epsilon, 2 * epsilon, 3 * epsilon])
figure.update_layout(title=f"at ε = {epsilon:g}")
st.plotly_chart(figure, key="dots")
"""
# Listens in the page itself, so that the time is the browser's own and no message is in it: from
# the key going down to the first frame whose chart is another one.
_WATCH = """
() => {
  const look = () => {
    const chart = document.querySelector('.st-key-dots .js-plotly-plot');
    return chart ? [...chart.querySelectorAll('.plot path, text')]
      .map(e => (e.getAttribute('d') || '') + (e.getAttribute('transform') || '') + e.textContent)
      .join('|') : '';
  };
  window.answered = null;
  document.addEventListener('keydown', () => {
    const before = look(), started = performance.now();
    const check = () => {
      if (look() !== before) window.answered = performance.now() - started;
      else requestAnimationFrame(check);
    };
    requestAnimationFrame(check);
  }, { capture: true, once: true });
}
"""
_QUIET = "[data-testid=stApp][data-test-script-state=notRunning]"
# A flat line has no height, which counts as not visible.
_DRAWN = ".js-plotly-plot .scatterlayer path"


def slider_latencies(page: Page, moves: int) -> tuple[list[float], list[float]]:
    """Seconds from key to another chart: on the way out, and on the way back."""
    thumb = page.locator("[data-testid=stSlider] input[type=range]").first
    ways: tuple[list[float], list[float]] = ([], [])
    for way, key in zip(ways, ("ArrowRight", "ArrowLeft"), strict=True):
        for _ in range(moves // 2):
            thumb.focus()
            page.evaluate(_WATCH)
            page.keyboard.press(key)
            page.wait_for_function("window.answered !== null", timeout=20_000)
            way.append(page.evaluate("window.answered") / 1000)
            page.wait_for_timeout(700)
    return ways


def measure(browser: Browser, script: Path, moves: int) -> tuple[float, list[float], list[float]]:
    """(seconds from starting the server to the first chart, latencies out, latencies back)."""
    started = time.perf_counter()
    with running_app(script) as (address, _):
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(address)
        page.locator(_DRAWN).first.wait_for(state="attached", timeout=60_000)
        cold = time.perf_counter() - started
        page.wait_for_timeout(4000)
        page.locator(_QUIET).wait_for(timeout=60_000)
        out, back = slider_latencies(page, moves)
        page.close()
    return cold, out, back


def memory_mb(browser: Browser) -> tuple[float, float]:
    """Resident memory before anybody came, and with MNIST shown."""
    with running_app(ROOT / "app.py") as (address, process):
        idle = resident_mb(process)
        page = browser.new_page()
        page.goto(f"{address}/?dataset=mnist")
        page.locator(_DRAWN).first.wait_for(state="attached", timeout=120_000)
        page.wait_for_timeout(10_000)
        page.close()
        return idle, resident_mb(process)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--moves", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    ours = ROOT / "app.py"
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        trivial = Path(folder) / "trivial.py"
        trivial.write_text(TRIVIAL_APP)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        found: dict[Path, list] = {trivial: [], ours: []}
        for _ in range(arguments.rounds):
            for script, measured in found.items():
                measured.append(measure(browser, script, arguments.moves))
        names = ("server start to first chart", "slider to chart, new", "slider to chart, seen")
        for number, name in enumerate(names):
            base, mine = (
                median(
                    value
                    for measured in found[script]
                    for value in (measured[number] if number else [measured[number]])
                )
                for script in (trivial, ours)
            )
            print(f"{name}: {mine:.3f} s, trivial app {base:.3f} s, ratio {mine / base:.2f}")
        idle, loaded = memory_mb(browser)
        print(f"server memory: idle {idle:.0f} MB, with MNIST shown {loaded:.0f} MB")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
