"""What a person waits for who installs, clones or opens a link: seconds to the first number.

    python tests/benchmarks/bench_first_number.py [--rounds 3]

Builds the wheel and the sdist, and the wheel again from the sdist; installs the wheel with its pins
into an empty environment and opens it by `dp-pca-lab` in an empty folder with an empty home, in
turn with a clone opened by `streamlit run app.py` in the same environment. Prints both times from
the start of the command to the number on the page, and their ratio; the first start of each stands
by itself, as that of a clone compiles its modules. Then publishes the folder of `dpcore publish`,
and prints its size and the time from opening it off the disk to its number.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, sync_playwright
from servers import running_server

REPOSITORY = Path(__file__).resolve().parents[2]
_HEADLESS = ("--server.headless", "true", "--browser.gatherUsageStats", "false")
_NUMBER = ".explorer .number:not(:empty)"


def build(source: Path, kind: str, folder: Path) -> Path:
    """The wheel or the sdist of a source tree."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", folder],
        cwd=source, check=True, capture_output=True,
    )  # fmt: skip
    (built,) = folder.iterdir()
    return built


def built_packages(folder: Path) -> Path:
    """The wheel; prints its size, and whether the sdist builds the same."""
    for name in ("wheel", "sdist", "again", "unpacked"):
        (folder / name).mkdir()
    wheel = build(REPOSITORY, "wheel", folder / "wheel")
    sdist = build(REPOSITORY, "sdist", folder / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    again = build(unpacked, "wheel", folder / "again")
    is_same = contents_of(wheel) == contents_of(again)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB")
    print(f"the wheel from {sdist.name}: {'the same files' if is_same else 'OTHER FILES'}")
    return wheel


def contents_of(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def install(wheel: Path, folder: Path) -> Path:
    """The programs of an empty environment into which the wheel is installed."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    programs = folder / "bin"
    started = time.perf_counter()
    subprocess.run(
        [programs / "python", "-m", "pip", "install", "-q", f"{wheel}[dashboard,pins]"], check=True
    )
    print(f"pip install: {time.perf_counter() - started:.0f} s")
    return programs


def clone(folder: Path) -> Path:
    """A clone of this checkout, with what is not committed yet."""
    subprocess.run(["git", "clone", "-q", REPOSITORY, folder], check=True)
    return folder


def seconds_to_number(browser: Browser, command: list[str | Path], cwd: Path, home: Path) -> float:
    """From the start of a command to the first number of the page that it serves."""
    home.mkdir()
    started = time.perf_counter()
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    with running_server([*command, *_HEADLESS], cwd=cwd, env=environment) as (address, _):
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(address)
        page.locator(_NUMBER).first.wait_for(timeout=120_000)
        seconds = time.perf_counter() - started
        page.close()
    return seconds


def published_folder(browser: Browser, programs: Path, folder: Path) -> None:
    """Print the size of the folder, and how soon its number is there."""
    subprocess.run([programs / "dpcore", "publish", folder], check=True, capture_output=True)
    size = sum(file.stat().st_size for file in folder.iterdir())
    found = []
    for _ in range(5):
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        started = time.perf_counter()
        page.goto((folder / "index.html").as_uri(), wait_until="commit")
        page.locator("#number:not(:empty)").wait_for()
        found.append(time.perf_counter() - started)
        page.close()
    print(f"published folder: {size / 1e6:.2f} MB; first number after {median(found):.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        programs = install(built_packages(folder), folder / "environment")
        (folder / "empty").mkdir()
        ways: dict[str, tuple[list[str | Path], Path]] = {
            "pip": ([programs / "dp-pca-lab"], folder / "empty"),
            "clone": ([programs / "streamlit", "run", "app.py"], clone(folder / "clone")),
        }
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        found: dict[str, list[float]] = {way: [] for way in ways}
        for number in range(arguments.rounds + 1):
            for way, (command, cwd) in ways.items():
                home = folder / f"home-{way}-{number}"
                found[way].append(seconds_to_number(browser, command, cwd, home))
        first = ", ".join(f"{way} {seconds[0]:.2f} s" for way, seconds in found.items())
        print(f"first start: {first}")
        typical = {way: median(seconds[1:]) for way, seconds in found.items()}
        print(
            f"median of {arguments.rounds}: pip {typical['pip']:.2f} s, clone "
            f"{typical['clone']:.2f} s, ratio {typical['pip'] / typical['clone']:.2f}"
        )
        published_folder(browser, programs, folder / "published")
        browser.close()


if __name__ == "__main__":
    main()
