"""Waiting times of fifty visitors, without and with a hostile visitor among them.

    DPCORE_DATA=... python -m tests.benchmarks.bench_hostile [--minutes 10] [--sessions 50]

Most move sliders; some run sweeps and watch them to their end; some open planning pages, reload and
leave. The hostile one empties Streamlit's caches, starts large sweeps and leaves them, opens many
links at once and sends messages that no browser sends. Both halves take the minutes given. Ends
with 1 if a page fails, a run that is looked at is lost, sliders take more than twice as long beside
the hostile one (95th percentile), or memory grows by more than 5 % from the middle of the second
half to its end.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from streamlit.proto.BackMsg_pb2 import BackMsg

from tests.benchmarks.servers import resident_mb, running_app
from tests.benchmarks.visitors import visitor

ROOT = Path(__file__).parents[2]
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
_PAUSE = 1.0
_MOST_RATIO, _MOST_GROWTH = 2.0, 1.05


@dataclass
class Seen:
    """Waiting times and errors of visitors."""

    moves: list[float] = field(default_factory=list)
    runs: int = 0
    wrong: list[str] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)

    @property
    def p95(self) -> float:
        return sorted(self.moves)[int(0.95 * (len(self.moves) - 1))]

    def check(self, is_right: bool, what: str) -> None:
        if not is_right:
            self.wrong.append(what)


async def move_sliders(address: str, until: float, seen: Seen, rng: random.Random) -> None:
    async with visitor(address) as tab:
        await tab.run()
        while time.monotonic() < until:
            page = await tab.run(epsilon=rng.choice(EPSILONS), sites=rng.randint(2, 20))
            seen.moves.append(page.seconds)
            seen.check(page.is_whole, f"a moved slider: {page.words[-200:]!r}")
            await asyncio.sleep(_PAUSE)


async def run_sweeps(address: str, until: float, seen: Seen, rng: random.Random) -> None:
    """Run sweeps that take a few seconds, each in a tab of its own, and watch them to their end."""
    while time.monotonic() < until:
        query = f"repetitions=20&sites={rng.randint(2, 60)}&seed={rng.randint(0, 10**6)}"
        async with visitor(address, "") as tab:
            page = await tab.run(f"{query}&explore_tab=Rows needed")
            seen.check("exception" not in page.kinds, f"a sweep: {page.words[-200:]!r}")
            while tab.parts and time.monotonic() < until:
                await asyncio.sleep(min(tab.parts.values()))
                for part in list(tab.parts):
                    page = await tab.run(query, fragment=part)
                    seen.check("exception" not in page.kinds, f"a sweep: {page.words[-200:]!r}")
            seen.runs += 1


async def come_and_go(address: str, until: float, seen: Seen, rng: random.Random) -> None:
    """Open Decide, look for a moment, close the tab."""
    while time.monotonic() < until:
        async with visitor(address, "decide") as tab:
            page = await tab.run(f"repetitions=2&seed={rng.randint(0, 10**6)}")
            seen.check("exception" not in page.kinds, f"Decide: {page.words[-200:]!r}")
            await asyncio.sleep(_PAUSE)


async def be_hostile(address: str, until: float, rng: random.Random) -> None:
    """Start large sweeps and leave, open many links, and send messages that no browser sends."""
    clear, shutdown, git = BackMsg(), BackMsg(), BackMsg()
    clear.clear_cache = shutdown.debug_shutdown_runtime = git.load_git_info = True
    while time.monotonic() < until:
        seed = rng.randint(0, 10**6)
        async with visitor(address, "") as tab:
            huge = f"repetitions=50&dataset=synthetic&sites=40&seed={seed}"
            await tab.run(f"{huge}&explore_tab=Rows needed")
            for message in (clear, shutdown, git):
                await tab.send(message)
        async with AsyncExitStack() as tabs:
            for _ in range(12):
                tab = await tabs.enter_async_context(visitor(address, "decide"))
                await tab.ask(f"repetitions=50&seed={rng.randint(0, 10**6)}")
            await asyncio.sleep(_PAUSE)


async def measure(process, until: float, seen: Seen) -> None:
    while time.monotonic() < until:
        seen.memory.append(resident_mb(process))
        await asyncio.sleep(1.0)


async def half(address: str, process, sessions: int, seconds: float, hostile: bool) -> Seen:
    seen, until, rng = Seen(), time.monotonic() + seconds, random.Random(int(hostile))
    work = [measure(process, until, seen)]
    for number in range(sessions - hostile):
        kind = {0: run_sweeps, 1: come_and_go}.get(number % 10, move_sliders)
        work.append(kind(address, until, seen, random.Random(rng.random())))
    if hostile:
        work.append(be_hostile(address, until, rng))
    await asyncio.gather(*work)
    print(
        f"{'with' if hostile else 'without'} a hostile visitor: {len(seen.moves)} moves, median "
        f"{median(seen.moves):.3f} s, p95 {seen.p95:.3f} s, worst {max(seen.moves):.3f} s; "
        f"{seen.runs} sweeps; {len(seen.wrong)} wrong; {seen.memory[-1]:.0f} MB",
        flush=True,
    )
    return seen


async def both(address: str, process, sessions: int, seconds: float) -> list[str]:
    """Return the faults of a quiet and of a hostile half."""
    quiet = await half(address, process, sessions, seconds, hostile=False)
    beside = await half(address, process, sessions, seconds, hostile=True)
    wrong = list(dict.fromkeys(quiet.wrong + beside.wrong))
    ratio = beside.p95 / quiet.p95
    tenth = max(len(beside.memory) // 10, 1)
    middle = len(beside.memory) // 2
    growth = median(beside.memory[-tenth:]) / median(beside.memory[middle : middle + tenth])
    print(f"sliders {ratio:.2f} times as slow, memory grew {100 * (growth - 1):+.1f} %")
    if ratio > _MOST_RATIO:
        wrong.append(f"sliders took {ratio:.2f} times as long")
    if growth > _MOST_GROWTH:
        wrong.append(f"memory grew by {100 * (growth - 1):.1f} %")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--sessions", type=int, default=50)
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as cache,
        tempfile.TemporaryFile() as log,
        running_app(ROOT / "app.py", log=log, DPCORE_CACHE=cache) as (address, process),
    ):
        wrong = asyncio.run(both(address, process, arguments.sessions, 60 * arguments.minutes))
        if wrong:
            log.seek(0)
            print(log.read().decode(errors="replace")[-20_000:])
    print("nobody noticed" if not wrong else "\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
