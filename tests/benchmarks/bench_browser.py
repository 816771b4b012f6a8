"""Times that a visitor waits, compared with a trivial slider-and-chart app in the same run.

    python -m tests.benchmarks.bench_browser [--moves 8] [--rounds 3]
                                             [--only-mnist] [--only-curve]

Print the time from the release of the slider of ε to the last change on the page, after all runs of
the curve and while they are computed, from a click on the switch of versions to the last change,
and from the start of the server to the first result, each with its ratio to the trivial app; the
time from a change of a setting to every other point of the new curve, to all its points, and to all
runs; the time from a step of the dragged slider to its pixels, on digits and on MNIST; then the
server's memory, idle and with MNIST. The slider goes forth and back, so that settings are new on
the way out and seen on the way back.

MNIST is also chosen on a server that has just started, once with an empty cache and once with a
filled one, and ε is released at a value without results. `--only-mnist` prints only these,
`--only-curve` only the times of releases during the computation and of the curve. If the official
files of MNIST are missing, their names are printed and the digits are measured.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page, sync_playwright

from dpcore.data import list_datasets
from tests.benchmarks.servers import processor_seconds, resident_mb, running_app

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
# Measured in the page, so that no message of the driver is part of the time: from the release (for
# a key of Streamlit's slider, the press) to the last change before `quiet` ms without a change.
_WATCH = """
([event, quiet]) => {
  const main = document.querySelector('[data-testid=stMain]');
  window.answered = null;
  document.addEventListener(event, () => {
    const started = performance.now();
    let last = null;
    const observer = new MutationObserver(() => { last = performance.now(); });
    observer.observe(main, { attributes: true, childList: true, characterData: true,
                             subtree: true });
    const asked = setInterval(() => {
      if (last === null || performance.now() - last < quiet) return;
      clearInterval(asked);
      observer.disconnect();
      window.answered = last - started;
    }, 20);
  }, { capture: true, once: true });
}
"""
# While a job runs, the page is drawn again every 500 ms, which is no part of an answer.
_QUIET_MS, _QUIET_DURING_JOB_MS = 800, 350
# Number of values of ε with a result of the current setting, and whether runs are missing.
_PROGRESS = """
() => {
  const numbers = globalThis.dpPcaExplorer?.numbers;
  if (!numbers) return ["", 0, true];
  const lead = numbers.lines[0].id;
  const points = numbers.frames.filter(({ energies }) => energies[lead]?.length).length;
  return [numbers.setting, points, numbers.count !== ""];
}
"""
# From the moment the browser notes a step to the moment after its frame.
_WATCH_DRAG = """
(slider) => {
  window.drawn = [];
  slider.addEventListener('input', (event) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => window.drawn.push(performance.now() - event.timeStamp);
    port2.postMessage(0);
  }));
}
"""
_OURS = ".curve .control input"
_SWITCH = ".st-key-explore_improved label"
_STEPS = 14
_FRESH = ".explorer:not(.stale)"
_QUIET = "[data-testid=stApp][data-test-script-state=notRunning]"
# A flat line has no height, which counts as not visible.
_DRAWN = ".js-plotly-plot .scatterlayer path, .explorer:not(.empty) .mean"


def slider_latencies(
    page: Page, moves: int, quiet: int = _QUIET_MS
) -> tuple[list[float], list[float]]:
    """Return the seconds from each release to the last change: on the way out, and back."""
    ways: tuple[list[float], list[float]] = ([], [])
    for way, direction in zip(ways, (1, -1), strict=True):
        for _ in range(moves // 2):
            (move_ours if page.locator(_OURS).count() else press_key)(page, direction, quiet)
            page.wait_for_function("window.answered !== null", timeout=20_000)
            way.append(page.evaluate("window.answered") / 1000)
            page.wait_for_timeout(700)
    return ways


def press_key(page: Page, direction: int, quiet: int) -> None:
    """Move Streamlit's slider by one step."""
    page.locator("[data-testid=stSlider] input[type=range]").first.focus()
    page.evaluate(_WATCH, ["keydown", quiet])
    page.keyboard.press("ArrowRight" if direction > 0 else "ArrowLeft")


def move_ours(page: Page, direction: int, quiet: int = _QUIET_MS) -> None:
    """Drag the explorer's slider by one step."""
    step = int(page.locator(_OURS).input_value())
    page.mouse.move(*place_of(page, step))
    page.mouse.down()
    page.mouse.move(*place_of(page, step + direction))
    page.evaluate(_WATCH, ["pointerup", quiet])
    page.mouse.up()


def place_of(page: Page, step: float) -> tuple[float, float]:
    """Return the position of the explorer's thumb at a step."""
    box = page.locator(_OURS).bounding_box()
    return box["x"] + 8 + (box["width"] - 16) * step / _STEPS, box["y"] + box["height"] / 2


def drag_latencies(browser: Browser, query: str) -> list[float]:
    """Return the seconds from each step of the dragged slider to its pixels."""
    with running_app(ROOT / "app.py") as (address, _):
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{address}/?repetitions=2&{query}")
        page.locator(_DRAWN).first.wait_for(state="attached", timeout=120_000)
        page.locator(".explorer .count:empty").wait_for(state="attached", timeout=120_000)
        page.wait_for_timeout(2000)
        page.locator(_OURS).evaluate(_WATCH_DRAG)
        page.mouse.move(*place_of(page, 9))
        page.mouse.down()
        for step in (*range(9, -1, -1), *range(_STEPS + 1), *range(_STEPS, -1, -1)) * 2:
            page.mouse.move(*place_of(page, step))
            page.wait_for_timeout(40)
        findings = page.evaluate("window.drawn")
        page.close()
        return sorted(seconds / 1000 for seconds in findings)


def measure(
    browser: Browser, script: Path, moves: int
) -> tuple[float, list[float], list[float], list[float]]:
    """Return seconds from the server's start to the first result, and latencies.

    The latencies are those of releases out and back, and of the switch between two versions that
    were seen. The trivial app has no switch; its releases are measured again.
    """
    started = time.perf_counter()
    with running_app(script) as (address, _):
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(address)
        page.locator(_DRAWN).first.wait_for(state="attached", timeout=60_000)
        cold = time.perf_counter() - started
        if page.locator(".explorer").count():
            # Each poll of the running job changes the page, and so does its end.
            page.locator(".explorer .count:empty").wait_for(state="attached", timeout=120_000)
        page.wait_for_timeout(4000)
        page.locator(_QUIET).wait_for(timeout=60_000)
        out, back = slider_latencies(page, moves)
        if page.locator(_SWITCH).count():
            switch_latencies(page, 2)
            page.locator(".explorer .count:empty").wait_for(state="attached", timeout=120_000)
            switched = switch_latencies(page, moves)
        else:
            switched = slider_latencies(page, moves)[1]
        page.close()
    return cold, out, back, switched


def switch_latencies(page: Page, times: int) -> list[float]:
    """Return the seconds from each click on the switch of versions to the last change."""
    latencies = []
    for _ in range(times):
        page.evaluate(_WATCH, ["pointerup", _QUIET_MS])
        page.locator(_SWITCH).click()
        page.wait_for_function("window.answered !== null", timeout=60_000)
        latencies.append(page.evaluate("window.answered") / 1000)
        page.wait_for_timeout(700)
    return latencies


def measure_during_job(
    browser: Browser, script: Path, moves: int
) -> tuple[list[float], list[float]]:
    """Return latencies out and back while the server computes the runs of the curve."""
    with running_app(script) as (address, _):
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{address}/?repetitions=50")
        page.locator(_DRAWN).first.wait_for(state="attached", timeout=60_000)
        page.wait_for_timeout(1000)
        latencies = slider_latencies(page, moves, _QUIET_DURING_JOB_MS)
        if page.locator(".explorer").count() and not page.evaluate(_PROGRESS)[2]:
            raise RuntimeError("the job ended before the last release")
        page.close()
    return latencies


def curve_times(browser: Browser, query: str) -> dict[str, tuple[float, float, float]]:
    """Return the seconds from a change to every other point, all points and all runs.

    Returns: One triple for the first curve of a started server, and one per control.
    """
    by_key = {}
    with running_app(ROOT / "app.py") as (address, _):
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        started = time.perf_counter()
        page.goto(f"{address}/?{query}")
        by_key["first"] = _progress(page, "", started)
        for name in ("sites", "intermediate", "delta"):
            slider = page.locator(f".stSidebar .st-key-{name} input[type=range]")
            slider.focus()
            setting, *_ = page.evaluate(_PROGRESS)
            started = time.perf_counter()
            # The default of delta is at the end of its slider.
            page.keyboard.press("ArrowLeft")
            by_key[name] = _progress(page, setting, started)
        page.close()
    return by_key


def _progress(page: Page, previous: str, started: float) -> tuple[float, float, float]:
    half, points = (_STEPS + 2) // 2, _STEPS + 1
    times = []
    for condition in (f"points >= {half}", f"points >= {points}", "!isPartial"):
        page.wait_for_function(
            f"""(previous) => {{
              const [setting, points, isPartial] = ({_PROGRESS})();
              return setting !== previous && points && {condition};
            }}""",
            arg=previous,
            # Asking at every frame would make Chromium draw frames while the server computes.
            polling=50,
            timeout=300_000,
        )
        times.append(time.perf_counter() - started)
    coarse, whole, runs = times
    return coarse, whole, runs


def memory_mb(browser: Browser, dataset: str) -> tuple[float, float]:
    """Return the resident memory before the first visit, and with a data set shown."""
    with running_app(ROOT / "app.py") as (address, process):
        idle = resident_mb(process)
        page = browser.new_page()
        page.goto(f"{address}/?dataset={dataset}")
        page.locator(_DRAWN).first.wait_for(state="attached", timeout=120_000)
        page.wait_for_timeout(10_000)
        page.close()
        return idle, resident_mb(process)


def choose_mnist(browser: Browser, cache: str) -> None:
    """Print the times of choosing MNIST on a server that has shown the digits."""
    with running_app(ROOT / "app.py", DPCORE_CACHE=cache) as (address, process):
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(address)
        page.locator(_DRAWN).first.wait_for(state="attached", timeout=120_000)
        page.wait_for_timeout(4000)
        page.locator(_QUIET).wait_for(timeout=120_000)
        page.locator("[data-testid=stSidebar] .st-key-dataset input").click()
        option = page.get_by_role("option", name="MNIST", exact=True)
        option.wait_for()
        print("  chosen:", _answer_after(page, process, option.click))
        # No result exists at that ε yet.
        print("  released:", _answer_after(page, process, lambda: move_ours(page, -3)))
        page.close()


def _answer_after(page: Page, process: subprocess.Popen, act: Callable[[], None]) -> str:
    setting, points, _ = page.evaluate(_PROGRESS)
    started, before = time.perf_counter(), processor_seconds(process)
    act()
    # The answer can be faster than the grey state of the previous results.
    page.wait_for_function(
        f"""([previous, before]) => {{
          const [setting, points] = ({_PROGRESS})();
          return setting !== previous ? points > 0 : points > before;
        }}""",
        arg=[setting, points],
        polling=50,
        timeout=60_000,
    )
    page.locator(_FRESH).wait_for(state="attached", timeout=60_000)
    answered, took = time.perf_counter() - started, processor_seconds(process) - before
    return f"answered {answered:.2f} s, {took:.2f} s of the processor"


def print_ratios(
    names: Sequence[str],
    measure_script: Callable[[Path], Sequence[float | list[float]]],
    scripts: tuple[Path, Path],
    rounds: int,
) -> None:
    """Measure the trivial app and the dashboard in turns; print medians and their ratios."""
    by_key = {script: [] for script in scripts}
    for _ in range(rounds):
        for script, measured in by_key.items():
            measured.append(measure_script(script))
    for number, name in enumerate(names):
        base, mine = (
            median(
                value
                for move in by_key[script]
                for value in (move[number] if isinstance(move[number], list) else [move[number]])
            )
            for script in scripts
        )
        print(
            f"{name}: {mine:.3f} s, trivial app {base:.3f} s, ratio {mine / base:.2f}", flush=True
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--moves", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only-mnist", action="store_true")
    parser.add_argument("--only-curve", action="store_true")
    arguments = parser.parse_args()
    ours = ROOT / "app.py"
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        trivial = Path(folder) / "trivial.py"
        trivial.write_text(TRIVIAL_APP)
        executable = shutil.which("chromium") or shutil.which("chromium-headless-shell")
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        mnist = next(status for status in list_datasets() if status.name == "mnist")
        if not mnist.ready:
            print(f"MNIST is not measured: {mnist.how_to_get}")
        elif not arguments.only_curve:
            for start in ("MNIST on an empty cache", "MNIST at the next start"):
                print(start)
                choose_mnist(browser, str(Path(folder, "cache")))
        if arguments.only_mnist:
            return 0 if mnist.ready else 2
        if not arguments.only_curve:
            print_ratios(
                (
                    "server start to first result",
                    "release, new",
                    "release, seen",
                    "switch of versions, seen",
                ),
                lambda script: measure(browser, script, arguments.moves),
                (trivial, ours),
                arguments.rounds,
            )
        print_ratios(
            ("release during the job, out", "release during the job, back"),
            lambda script: measure_during_job(browser, script, arguments.moves),
            (trivial, ours),
            arguments.rounds,
        )
        largest = "mnist" if mnist.ready else "digits"
        for dataset in dict.fromkeys(("digits", "mnist-small", largest)):
            for name, times in curve_times(browser, f"dataset={dataset}").items():
                print(
                    f"curve of {dataset} after {name}: every other point {times[0]:.1f} s, "
                    f"all points {times[1]:.1f} s, all runs {times[2]:.1f} s"
                )
        if arguments.only_curve:
            return 0
        for query in dict.fromkeys(("dataset=digits", f"dataset={largest}")):
            drawn = drag_latencies(browser, query)
            middle, late = (1000 * drawn[int(q * (len(drawn) - 1))] for q in (0.5, 0.95))
            print(
                f"drag to pixels, {query}: median {middle:.0f} ms, p95 {late:.0f} ms, "
                f"{len(drawn)} steps"
            )
        idle, loaded = memory_mb(browser, largest)
        print(f"server memory: idle {idle:.0f} MB, with {largest} shown {loaded:.0f} MB")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
