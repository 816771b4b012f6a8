"""Twenty visitors at once on digits: how long until each sees the answer to a moved slider.

    python tests/benchmarks/bench_sessions.py [--sessions 20] [--moves 10]

Speaks the app's own websocket protocol on loopback: each session opens the Playground, then moves
epsilon again and again, all at the same time. Prints latencies and the server's memory; stops by
itself. A session that meets an exception element ends the run.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from servers import resident_mb, running_app
from visitors import Visitor, visitor

ROOT = Path(__file__).parents[2]
EPSILONS = ("0.1", "0.2", "0.5", "2", "5", "10", "20", "50")
# A person who looks at the answer for a second before moving on is a hurried one.
_PAUSE = 1.0


async def session(address: str, moves: int, ready: asyncio.Barrier, number: int) -> list[float]:
    """One visitor: the first page alone, then moves together with everybody else."""
    async with visitor(address) as tab:
        await moved(tab, "")
        await ready.wait()
        latencies = []
        for move in range(moves):
            epsilon = EPSILONS[(number + move) % len(EPSILONS)]
            latencies.append(await moved(tab, f"epsilon={epsilon}"))
            await asyncio.sleep(_PAUSE)
        return latencies


async def moved(tab: Visitor, query: str) -> float:
    """Seconds until the page is there."""
    shown = await tab.run(query)
    if not shown.is_whole:
        raise RuntimeError(shown.words)
    return shown.seconds


async def load(address: str, sessions: int, moves: int) -> list[float]:
    ready = asyncio.Barrier(sessions)
    found = await asyncio.gather(
        *(session(address, moves, ready, number) for number in range(sessions))
    )
    return sorted(latency for latencies in found for latency in latencies)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--moves", type=int, default=10)
    arguments = parser.parse_args()
    with running_app(ROOT / "app.py") as (address, process):
        idle = resident_mb(process)
        for round_ in (1, 2, 3):
            latencies = asyncio.run(load(address, arguments.sessions, arguments.moves))
            p50, p95 = (latencies[int(q * (len(latencies) - 1))] for q in (0.5, 0.95))
            print(
                f"round {round_}: {len(latencies)} moves by {arguments.sessions} sessions, "
                f"median {p50:.3f} s, p95 {p95:.3f} s, worst {latencies[-1]:.3f} s, "
                f"server {resident_mb(process):.0f} MB (idle {idle:.0f} MB)"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
