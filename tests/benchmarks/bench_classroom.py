"""A class of fifty phones in one room: how soon each has joined, and the wall shows what one sent.

    python tests/benchmarks/bench_classroom.py [--phones 50] [--rounds 10] [--away 60]

Speaks the app's own websocket protocol on loopback, as browsers do: a teacher's console, a wall,
and phones that all join within five seconds. In every round of *We are the hospitals* each phone
sends some time within ten seconds, while all of them, the console and the wall ask what is new as
often as their pages tell them to. Half way through, a fifth of the phones lose their connection in
the middle of a round that the class goes on with, and come back after `--away` seconds by the
cookie that their browser kept; who they are, and that they can send, is looked at. Prints
latencies, who was lost, and the server's memory and processor; stops by itself. An exception
element on any page ends the run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sys
import time
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path

from servers import processor_seconds, resident_mb, running_app
from visitors import Shown, Visitor, visitor

ROOT = Path(__file__).parents[2]
_JOIN_WITHIN, _SEND_WITHIN = 5.0, 10.0
_ARRIVED = re.compile(r"found by (\d+) hospitals? together")
_LONGEST_WAIT = 60.0


class Page:
    """A tab that asks what is new as its page tells it to; what it shows, and its buttons."""

    def __init__(self, query: str) -> None:
        self.query, self.words, self.buttons = query, "", {}
        self.cookie: dict[str, str] = {}
        self.seen: list[tuple[float, str]] = []
        self._turn, self._stack = asyncio.Lock(), AsyncExitStack()

    async def open(self, address: str) -> None:
        self._tab: Visitor = await self._stack.enter_async_context(
            visitor(address, "classroom", **self.cookie)
        )
        await self.asked(self.query)
        self._looking = asyncio.create_task(self._look())

    async def leave(self) -> None:
        self._looking.cancel()
        await asyncio.gather(self._looking, return_exceptions=True)
        await self._stack.aclose()

    async def asked(self, query: str = "", **message: str) -> None:
        async with self._turn:
            self._note(await self._tab.run(query, **message))

    async def press(self, label: str) -> None:
        """A button, by how its label begins."""
        identity = next(self.buttons[each] for each in self.buttons if each.startswith(label))
        await self.asked(press=identity, fragment=self._parts.get(identity, ""))

    async def until(self, words: str) -> None:
        """Wait until the page says this; another may have failed meanwhile."""
        async with asyncio.timeout(_LONGEST_WAIT):
            while words not in self.words:
                if self._looking.done():
                    self._looking.result()
                await asyncio.sleep(0.02)

    def _note(self, shown: Shown) -> None:
        if "exception" in shown.kinds:
            raise RuntimeError(shown.words)
        if shown.words.strip():
            self.words, self.buttons, self._parts = shown.words, shown.buttons, shown.part_of
            self.seen.append((time.monotonic(), shown.words))
        if "classroom_kept" in shown.handed:
            kept = json.loads(shown.handed["classroom_kept"])
            self.cookie = {"cookie": f"{kept['name']}={kept['value']}"}

    async def _look(self) -> None:
        while True:
            parts = dict(self._tab.parts)
            await asyncio.sleep(min(parts.values(), default=0.1))
            for part in parts:
                await self.asked(fragment=part)


async def joined(page: Page, address: str) -> float:
    await asyncio.sleep(random.random() * _JOIN_WITHIN)
    await page.open(address)
    started = time.monotonic()
    await page.press("Join")
    await page.until("you are Number")
    return time.monotonic() - started


async def sent(page: Page) -> float:
    await page.until("How much may you tell")
    await asyncio.sleep(random.random() * _SEND_WITHIN)
    started = time.monotonic()
    await page.press("Send at")
    return started


def latencies(wall: Page, sends: list[float]) -> list[float]:
    """From each press of Send, in their order, until the wall shows so many."""
    shown = [
        (at, int(found[1]))
        for at, words in wall.seen
        if (found := _ARRIVED.search(words)) is not None
    ]
    return [
        next(at for at, count in shown if count >= number) - press
        for number, press in enumerate(sorted(sends), start=1)
    ]


async def away(page: Page, address: str, seconds: float) -> bool:
    """Lose the connection and come back; whether the room knows who it is, and takes a message."""
    was = re.search(r"you are Number \d+", page.words)
    await page.leave()
    await asyncio.sleep(seconds)
    await page.open(address)
    if was is None or was[0] not in page.words:
        return False
    await page.press("Send at")
    await page.until("never left")
    return True


def said(name: str, found: list[float]) -> str:
    found = sorted(found)
    p50, p95 = (found[int(share * (len(found) - 1))] for share in (0.5, 0.95))
    return f"{name}: median {p50:.2f} s, p95 {p95:.2f} s, worst {found[-1]:.2f} s"


async def lesson(address: str, n_phones: int, n_rounds: int, seconds_away: float, server) -> None:
    teacher = Page("")
    await teacher.open(address)
    await teacher.press("Open a room")
    code = "".join(re.search(r"Room (\d{3})\s(\d{3})", teacher.words).groups())
    wall, phones = Page(f"room={code}&projector=true"), []
    await wall.open(address)
    phones = [Page(f"room={code}") for _ in range(n_phones)]
    print(said("join", await asyncio.gather(*(joined(page, address) for page in phones))))
    told = []
    for number in range(n_rounds):
        before, started = processor_seconds(server), time.monotonic()
        wall.seen.clear()
        await teacher.press("Start")
        lost = phones[::5] if number == n_rounds // 2 else []
        going = [asyncio.create_task(away(page, address, seconds_away)) for page in lost]
        sends = await asyncio.gather(*(sent(page) for page in phones if page not in lost))
        back = await asyncio.gather(*going)
        await wall.until(f"found by {n_phones - len(back) + sum(back)} hospitals together")
        share = (processor_seconds(server) - before) / (time.monotonic() - started)
        found = "" if lost else said("send to wall", latencies(wall, sends))
        told.append(resident_mb(server))
        print(f"round {number + 1}: {found}; {100 * share:.0f} % of a processor, {told[-1]:.0f} MB")
        if back:
            after = f"{seconds_away:.0f} s without a connection"
            print(f"{sum(back)} of {len(back)} are who they were after {after}, and sent")
        await teacher.press("Close")
    growth = [f"{after - before:+.0f}" for before, after in pairwise(told)]
    print(f"memory from round to round, MB: {' '.join(growth)}")
    for page in (teacher, wall, *phones):
        await page.leave()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--phones", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--away", type=float, default=60.0)
    given = parser.parse_args()
    with running_app(ROOT / "app.py") as (address, process):
        asyncio.run(lesson(address, given.phones, given.rounds, given.away, process))
    return 0


if __name__ == "__main__":
    sys.exit(main())
