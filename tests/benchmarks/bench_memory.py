"""Memory of the server before, during and after visits to random addresses.

    python -m tests.benchmarks.bench_memory [--addresses 300] [--visitors 4] [--seed 3]

Print the resident memory after the first page; idle, that is 30 seconds after one visit of each
page with one repetition on digits, when all libraries are loaded; the mean of every minute of the
visits and the largest; then the memory 30 seconds after the last visit and its ratio to idle. Each
visitor opens a page with a random data set, ε, number of sites and seed, reads it to the end of the
run and leaves.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import fmean

from pages.navigation import ENTRIES
from tests.benchmarks.servers import resident_mb, running_app
from tests.benchmarks.visitors import visitor

ROOT = Path(__file__).parents[2]
DATASETS = ("digits", "mnist-small", "breast-cancer", "synthetic-2012")
_SMALLEST = "dataset=digits&repetitions=1"
_REST_SECONDS = 30.0
_SAMPLE_SECONDS = 0.5
_PRINT_SECONDS = 60.0


def random_addresses(n: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yield pages and the settings in their addresses."""
    rng = random.Random(seed)
    for _ in range(n):
        settings = {
            "dataset": rng.choice(DATASETS),
            "epsilon": rng.choice((0.01, 0.1, 0.5, 1.0, 5.0)),
            "sites": rng.randint(1, 30),
            "components": rng.randint(1, 10),
            "repetitions": 1,
            "seed": rng.randint(0, 500),
        }
        query = "&".join(f"{name}={value}" for name, value in settings.items())
        yield rng.choice(ENTRIES).address, query


async def visit(server: str, addresses: Iterable[tuple[str, str]], visitors: int) -> int:
    """Open all addresses, several at the same time, and return the number of errors."""
    remaining, n_errors = iter(addresses), 0

    async def open_next() -> None:
        nonlocal n_errors
        for page, query in remaining:
            async with visitor(server, page) as tab:
                shown = await tab.run(query)
            n_errors += "exception" in shown.kinds

    await asyncio.gather(*(open_next() for _ in range(visitors)))
    return n_errors


async def watch_memory(process: subprocess.Popen) -> float:
    """Print the mean of each minute until the task is cancelled, and return the largest."""
    started = printed = time.monotonic()
    peak, samples = 0.0, []
    try:
        while True:
            samples.append(resident_mb(process))
            if time.monotonic() - printed >= _PRINT_SECONDS:
                printed = time.monotonic()
                print(f"  {printed - started:5.0f} s: {fmean(samples):.0f} MB", flush=True)
                peak, samples = max([peak, *samples]), []
            await asyncio.sleep(_SAMPLE_SECONDS)
    except asyncio.CancelledError:
        return max([peak, *samples])


async def measure(server: str, process: subprocess.Popen, n: int, visitors: int, seed: int) -> None:
    """Visit the server and print its memory."""
    await visit(server, [("", _SMALLEST)], 1)
    print(f"after the first page: {resident_mb(process):.0f} MB", flush=True)
    await visit(server, [(entry.address, _SMALLEST) for entry in ENTRIES], 1)
    await asyncio.sleep(_REST_SECONDS)
    idle = resident_mb(process)
    print(f"idle after one visit of each page: {idle:.0f} MB", flush=True)
    watching = asyncio.create_task(watch_memory(process))
    started = time.monotonic()
    n_errors = await visit(server, random_addresses(n, seed), visitors)
    seconds = time.monotonic() - started
    watching.cancel()
    peak = await watching
    print(f"{n} addresses in {seconds:.0f} s, {n_errors} errors: peak {peak:.0f} MB", flush=True)
    await asyncio.sleep(_REST_SECONDS)
    after = resident_mb(process)
    print(f"after 30 s: {after:.0f} MB, {after / idle:.2f} of idle")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--addresses", type=int, default=300)
    parser.add_argument("--visitors", type=int, default=4)
    parser.add_argument("--seed", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # Without official data files and finished rows, as after an installation.
        environment = {"DPCORE_DATA": folder, "DPCORE_CACHE": f"{folder}/cache"}
        environment |= {"OPENBLAS_NUM_THREADS": "1"}
        with running_app(ROOT / "app.py", **environment) as (server, process):
            asyncio.run(
                measure(server, process, arguments.addresses, arguments.visitors, arguments.seed)
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
