"""Six visitors on each of the largest data sets, one of whom leaves: everybody else's page whole?

    DPCORE_DATA=... python tests/benchmarks/bench_leaving.py [--rounds 20]

Twenty-six visitors a round, a quarter of a second apart on each data set; two more stay on digits
and move a slider. Every round asks for sites that nobody asked for before. Ends with 1 if any page
that was stayed on is not whole.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path

from servers import resident_mb, running_app
from visitors import Shown, visitor

ROOT = Path(__file__).parents[2]
LARGEST = ("kddcup99", "mnist", "fashion-mnist", "census")
_AT_ONCE, _APART = 6, 0.25


async def look(address: str, query: str, delay: float) -> Shown:
    await asyncio.sleep(delay)
    async with visitor(address) as tab:
        return await tab.run(query)


async def leave(address: str, query: str, after: float) -> None:
    async with visitor(address) as tab:
        await tab.ask(query)
        await asyncio.sleep(after)


async def move_sliders(address: str, n_moves: int) -> list[Shown]:
    async with visitor(address) as tab:
        return [await tab.run(f"epsilon={move % 9 + 1}") for move in range(n_moves)]


async def round_of(address: str, number: int, rng: random.Random) -> dict[str, list[Shown]]:
    """Pages by data set, without those of the visitors who left."""
    stays: dict[str, list] = {"digits": [move_sliders(address, 5) for _ in range(2)]}
    leaves = []
    for dataset in LARGEST:
        query = f"dataset={dataset}&sites={3 + number}&repetitions=2"
        leaves.append(leave(address, query, rng.uniform(0.3, 3.0)))
        stays[dataset] = [look(address, query, n * _APART) for n in range(1, _AT_ONCE)]
    flat = [page for pages in stays.values() for page in pages]
    found = await asyncio.gather(*flat, *leaves)
    shown = iter(found)
    return {dataset: [next(shown) for _ in pages] for dataset, pages in stays.items()}


async def rounds(address: str, number: int, process) -> int:
    """How many pages were not whole."""
    rng, broken = random.Random(0), 0
    for round_ in range(number):
        found = await round_of(address, round_, rng)
        found["digits"] = [page for pages in found["digits"] for page in pages]
        bad = {name: sum(not page.is_whole for page in pages) for name, pages in found.items()}
        slowest = max(page.seconds for pages in found.values() for page in pages)
        broken += sum(bad.values())
        print(
            f"round {round_ + 1}: {sum(map(len, found.values()))} pages, not whole "
            f"{ {name: n for name, n in bad.items() if n} or 'none' }, slowest {slowest:.1f} s, "
            f"server {resident_mb(process):.0f} MB",
            flush=True,
        )
    return broken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as cache,
        running_app(ROOT / "app.py", DPCORE_CACHE=cache) as (address, process),
    ):
        broken = asyncio.run(rounds(address, arguments.rounds, process))
    print("everybody's page was whole" if not broken else f"{broken} pages were not whole")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
