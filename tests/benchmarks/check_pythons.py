"""Install the wheel with its pins under each Python and open the dashboard: a line for each.

    python tests/benchmarks/check_pythons.py python3.11 python3.12 python3.13

Each gets an empty environment, folder and home; `dpcore run` and the first page must work.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from servers import running_server
from visitors import visitor

REPOSITORY = Path(__file__).resolve().parents[2]
RUN = ("run", "--dataset", "digits", "--epsilon", "1", "--sites", "5", "--repetitions", "1")


async def first_page(address: str) -> bool:
    async with visitor(address) as tab:
        shown = await tab.run()
        return shown.is_whole and shown.is_answered


def check(python: str, wheel: Path, home: Path) -> str:
    """One line: version, seconds to install, and what worked."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    subprocess.run([python, "-m", "venv", home / "environment"], check=True)
    programs = home / "environment" / "bin"
    started = time.perf_counter()
    install = [programs / "python", "-m", "pip", "install", "-q", f"{wheel}[dashboard,pins]"]
    # pip is told by the machine's own settings where packages come from.
    subprocess.run(install, check=True)
    seconds = time.perf_counter() - started
    version = subprocess.run(
        [programs / "python", "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    subprocess.run(
        [programs / "dpcore", *RUN], cwd=home, env=environment, capture_output=True, check=True
    )
    command = [programs / "dp-pca-lab", "--server.headless", "true"]
    with running_server(command, cwd=home, env=environment) as (address, _):
        is_whole = asyncio.run(first_page(address))
    page = "the first page is whole" if is_whole else "THE FIRST PAGE IS NOT WHOLE"
    return f"{version}: installed in {seconds:.0f} s, dpcore run works, {page}"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
            cwd=REPOSITORY, check=True, capture_output=True,
        )  # fmt: skip
        (wheel,) = Path(folder).glob("*.whl")
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
        for number, python in enumerate(sys.argv[1:] or [sys.executable]):
            home = Path(folder) / str(number)
            home.mkdir()
            print(check(python, wheel, home), flush=True)


if __name__ == "__main__":
    main()
