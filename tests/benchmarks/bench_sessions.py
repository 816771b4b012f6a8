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
import time
from pathlib import Path

import websockets
from servers import resident_mb, running_app
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

ROOT = Path(__file__).parents[2]
EPSILONS = ("0.1", "0.2", "0.5", "2", "5", "10", "20", "50")
_LONGEST_RUN = 60.0
# A person who looks at the answer for a second before moving on is a hurried one.
_PAUSE = 1.0


async def run_script(socket, query: str) -> float:
    """Ask for one run of the script under this query; seconds until it has finished."""
    message = BackMsg()
    message.rerun_script.query_string = query
    started = time.perf_counter()
    await socket.send(message.SerializeToString())
    while True:
        data = await asyncio.wait_for(socket.recv(), _LONGEST_RUN)
        forward = ForwardMsg()
        forward.ParseFromString(data)
        kind = forward.WhichOneof("type")
        if kind == "delta" and forward.delta.new_element.WhichOneof("type") == "exception":
            raise RuntimeError(forward.delta.new_element.exception.message)
        if kind == "script_finished":
            return time.perf_counter() - started


async def session(address: str, moves: int, ready: asyncio.Barrier, number: int) -> list[float]:
    """One visitor: the first page alone, then moves together with everybody else."""
    uri = address.replace("http", "ws") + "/_stcore/stream"
    protocols = ["streamlit", "PLACEHOLDER_AUTH_TOKEN"]
    async with websockets.connect(uri, subprotocols=protocols, max_size=None) as socket:
        await run_script(socket, "")
        await ready.wait()
        latencies = []
        for move in range(moves):
            epsilon = EPSILONS[(number + move) % len(EPSILONS)]
            latencies.append(await run_script(socket, f"epsilon={epsilon}"))
            await asyncio.sleep(_PAUSE)
        return latencies


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
