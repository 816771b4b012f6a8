"""Latency of slider changes on the start page with many concurrent visitors.

    python -m tests.benchmarks.bench_sessions [--sessions 20] [--moves 10] [--every 0] [--unseen]
                                              [--servers 1] [--rounds 3]

Speaks the app's own websocket protocol on loopback, as a browser does: each session opens the
start page, then releases the slider at one epsilon after another, all at the same time; parts
of the page that ask to be drawn again are. A session waits a second after each answer, or moves
every `--every` seconds, whether or not it was answered. With `--unseen` each session has a seed
without results, and visits each epsilon once. `--servers` starts this number of processes; each
session stays on one of them, as behind a proxy with a sticky cookie (docs/teaching.md). Prints
latencies, and the servers' memory and processor time; stops by itself. A session that meets an
exception element, or another setting's answer, ends the run.

    python -m tests.benchmarks.bench_sessions --class-of 30

Joins so many phones to one room instead. Prints the seconds from each action of the teacher to the
last phone that shows it, and from a message to its receipt, with the load of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tests.benchmarks.servers import processor_seconds, resident_mb, running_app
from tests.benchmarks.visitors import Shown, Visitor, visitor

ROOT = Path(__file__).parents[2]
# Of the slider's steps, all but the one that it stands at as the page is opened.
EPSILONS = (0.1, 0.2, 0.5, 2.0, 5.0, 10.0, 20.0, 50.0, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
# Seeds that no earlier session of this or another round had.
SEEDS = count(1_000)
# A person who looks at the answer for a second before moving on is a hurried one.
_PAUSE = 1.0


@dataclass(frozen=True)
class Moves:
    """Slider moves of a session."""

    n: int
    every: float
    unseen: bool


async def session(address: str, moves: Moves, ready: asyncio.Barrier, number: int) -> list[float]:
    """One visitor: the first page alone, then moves together with everybody else."""
    rng = random.Random()
    async with visitor(address) as tab:
        await tab.run(f"seed={next(SEEDS)}" if moves.unseen else "")
        await ready.wait()
        # Forty hands do not let go in the same instant.
        await asyncio.sleep(rng.random() * moves.every)
        latencies = []
        for move in range(moves.n):
            let_go = time.monotonic()
            epsilon = EPSILONS[(number + move) % len(EPSILONS)]
            shown = await tab.release(f"{epsilon:g}")
            latencies.append(shown.seconds)
            pause = let_go + moves.every - time.monotonic() if moves.every else _PAUSE
            await look(tab, pause)
        return latencies


async def look(tab: Visitor, seconds: float) -> None:
    """Stay on a page as a browser does, which draws parts anew where they ask for it."""
    until = time.monotonic() + seconds
    while tab.parts and time.monotonic() + min(tab.parts.values()) < until:
        await asyncio.sleep(min(tab.parts.values()))
        for part in list(tab.parts):
            await tab.run(fragment=part)
    await asyncio.sleep(max(until - time.monotonic(), 0))


async def load(addresses: Sequence[str], sessions: int, moves: Moves) -> list[float]:
    ready = asyncio.Barrier(sessions)
    answers = await asyncio.gather(
        *(
            session(addresses[number % len(addresses)], moves, ready, number)
            for number in range(sessions)
        )
    )
    return sorted(latency for latencies in answers for latency in latencies)


# ---- a class


async def lesson(address: str, n_phones: int) -> dict[str, list[float]]:
    """Play one round of the hospitals; return the seconds of each phone after each action."""
    async with AsyncExitStack() as stack:
        tabs = [
            await stack.enter_async_context(visitor(address, "classroom"))
            for _ in range(n_phones + 1)
        ]
        desk, phones = tabs[0], tabs[1:]
        opened = await desk.run(press=(await desk.run()).buttons["Open a room"])
        code = re.search(r"Room (\d{3})\s(\d{3})", opened.words)
        query = f"room={code[1]}{code[2]}"
        await asyncio.gather(*(join(phone, query) for phone in phones))

        async def act(label: str, sign: str) -> tuple[list[float], list[Shown]]:
            """Press a button of the teacher; return when each phone shows the sign, and pages."""
            waiting = [asyncio.create_task(until(phone, query, sign)) for phone in phones]
            console = await desk.run(query)
            started = time.monotonic()
            await desk.run(query, press=console.buttons[label])
            answers = await asyncio.gather(*waiting)
            return [at - started for at, _ in answers], [shown for _, shown in answers]

        seconds = {}
        seconds["Start"], pages = await act("Start", "Send at")
        sends = (
            phone.run(query, press=page.buttons["Send at ε = 1"])
            for phone, page in zip(phones, pages, strict=True)
        )
        seconds["Send (all at once)"] = [shown.seconds for shown in await asyncio.gather(*sends)]
        seconds["Reveal"], _ = await act("Reveal", "As published:")
        seconds["Improved"], _ = await act("Improved, at ε = 1", "Improved:")
        return seconds


async def join(phone: Visitor, query: str) -> None:
    form = await phone.run(query)
    await phone.run(query, press=form.buttons["Join"])


async def until(phone: Visitor, query: str, sign: str) -> tuple[float, Shown]:
    """Poll as a browser does until the page has a sign; return the time and the page."""
    await asyncio.sleep(random.random())
    while True:
        for part in list(phone.parts):
            shown = await phone.run(query, fragment=part)
            if sign in shown.words:
                return time.monotonic(), shown
        await asyncio.sleep(min(phone.parts.values(), default=1.0))


def teach(n_phones: int, rounds: int) -> None:
    with running_app(ROOT / "app.py") as (address, _):
        for _ in range(rounds):
            load_before = os.getloadavg()[0]
            for action, seconds in asyncio.run(lesson(address, n_phones)).items():
                ordered = sorted(seconds)
                median = ordered[len(ordered) // 2]
                print(
                    f"{action}: {n_phones} phones, median {median:.2f} s, last {ordered[-1]:.2f} s "
                    f"(load {load_before:.1f} before, {os.getloadavg()[0]:.1f} now)",
                    flush=True,
                )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--moves", type=int, default=10)
    parser.add_argument("--every", type=float, default=0.0)
    parser.add_argument("--unseen", action="store_true")
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--class-of", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.class_of:
        teach(arguments.class_of, arguments.rounds)
        return 0
    moves = Moves(arguments.moves, arguments.every, arguments.unseen)
    with ExitStack() as stack:
        running = [
            stack.enter_context(running_app(ROOT / "app.py")) for _ in range(arguments.servers)
        ]
        addresses, processes = zip(*running, strict=True)
        idle = sum(map(resident_mb, processes))
        for round_ in range(1, arguments.rounds + 1):
            before = sum(map(processor_seconds, processes))
            latencies = asyncio.run(load(addresses, arguments.sessions, moves))
            took = 1000 * (sum(map(processor_seconds, processes)) - before) / len(latencies)
            p50, p95 = (latencies[int(q * (len(latencies) - 1))] for q in (0.5, 0.95))
            print(
                f"round {round_}: {len(latencies)} moves by {arguments.sessions} sessions, "
                f"median {p50:.3f} s, p95 {p95:.3f} s, worst {latencies[-1]:.3f} s, "
                f"{took:.0f} ms of processor a move, servers "
                f"{sum(map(resident_mb, processes)):.0f} MB (idle {idle:.0f} MB)",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
