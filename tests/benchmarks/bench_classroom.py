"""A class of fifty phones in one room: how soon each has joined, and the wall shows what one sent.

    python tests/benchmarks/bench_classroom.py [--phones 50] [--rounds 10] [--away 60]
    python tests/benchmarks/bench_classroom.py --browser FOLDER [--phones 8]

Speaks the app's own websocket protocol on loopback, as browsers do: a teacher's console, a wall,
and phones that all join within five seconds. In every round of *We are the hospitals* each phone
sends some time within ten seconds, while all of them, the console and the wall ask what is new as
often as their pages tell them to. Half way through, a fifth of the phones lose their connection in
the middle of a round that the class goes on with, and come back after `--away` seconds by the
cookie that their browser kept; who they are, and that they can send, is looked at. With `--browser`
the class is real pages of Chromium, phones of 390 x 844 and a wall of 1920 x 1080, and goes through
all games and the quiz; pictures of walls and phones are left in the folder, and a time is from a
click until the page shows its effect. Prints latencies, who was lost, and the server's memory and
processor; stops by itself. An exception
element on any page ends the run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
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


def lesson_in_browser(address: str, n_phones: int, folder: Path) -> None:
    """All games and the quiz on real pages; times, and pictures of the wall after each."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome"),
            args=["--no-sandbox", "--disable-dev-shm-usage"],
        )

        def tab(query: str = "", width: int = 390, height: int = 844):
            size = {"width": width, "height": height}
            page = browser.new_context(viewport=size).new_page()
            page.goto(f"{address}/classroom{query}")
            return page

        teacher = tab(width=1440, height=900)
        teacher.get_by_role("button", name="Open a room").click()
        teacher.get_by_text("Start an activity").wait_for()
        code = re.search(r"room=(\d{6})", teacher.url)[1]
        wall = tab(f"?room={code}&projector=true&present=true", 1920, 1080)
        wall.get_by_text("0 phones").wait_for()
        phones, joins = [], []
        for number in range(n_phones):
            phone = tab(f"?room={code}")
            phone.get_by_label("A nickname").fill(f"Phone {number + 1}")
            started = time.monotonic()
            phone.get_by_role("button", name="Join").click()
            phone.get_by_text("You are in").wait_for()
            joins.append(time.monotonic() - started)
            phones.append(phone)
        wall.get_by_text(f"{n_phones} phones").wait_for()
        wall.screenshot(path=folder / "lobby.png")
        print(said("join", joins))

        def play(title: str, turn: Callable[[Any, int], tuple[Any, str]], turns: int = 1) -> None:
            teacher.locator(".st-key-classroom_activity").get_by_text(title, exact=True).click()
            teacher.get_by_text(re.compile(r"^Plan: \d")).wait_for()
            chosen = "[aria-checked=true], [kind$=Active]"
            teacher.locator(".st-key-classroom_activity").locator(chosen).get_by_text(
                title, exact=True
            ).wait_for()
            teacher.locator(".st-key-classroom_start button").click()
            times = []
            for number in range(n_phones * turns):
                button, effect = turn(phones[number % n_phones], number)
                button.wait_for()
                is_news = not wall.get_by_text(effect).first.is_visible()
                started = time.monotonic()
                button.click()
                wall.get_by_text(effect).first.wait_for()
                if is_news:  # of the quiz, only a phone's last answer changes what is waited for
                    times.append(time.monotonic() - started)
            name = title.replace(" ", "_").lower()
            wall.screenshot(path=folder / f"{name}.png")
            teacher.get_by_role("button", name="Reveal").click()
            teacher.get_by_text(", revealed").wait_for()
            phones[0].get_by_text(_REVEALED[title]).first.wait_for()
            wall.wait_for_timeout(1000)  # for the picture alone
            wall.screenshot(path=folder / f"{name}_revealed.png")
            phones[0].screenshot(path=folder / f"{name}_phone.png")
            print(said(f"{title}: send to wall", times))

        def button(page: Any, name: str) -> Any:
            # A picture's own button is called by its alternative text, which says "with her" too.
            return page.get_by_role("button", name=re.compile(f"^{name}")).first

        def quiz(phone: Any, number: int) -> tuple[Any, str]:
            turn = number // n_phones
            phone.get_by_text(f"Question {turn + 1} of 6").wait_for()
            done = number % n_phones + 1 if turn == 5 else 0
            words = (
                f"{done} phone{'s' * (done != 1)} answered all 6" if done else "Before the lesson"
            )
            return button(phone, "I do not know"), words

        play(
            "We are the hospitals",
            lambda phone, k: (button(phone, "Send at"), f"found by {k + 1} hospital"),
        )
        play("Guess", lambda phone, k: (button(phone, "Yes" if k % 3 else "No"), f"{k + 1} answer"))
        play("Attack", lambda phone, k: (button(phone, "With her"), f"{k + 1} guess"), turns=3)
        play("Spend", lambda phone, k: (button(phone, "Ask, for"), f"{k + 1} question"))
        play("Quiz", quiz, turns=6)
        browser.close()


# What a phone shows once an activity is revealed.
_REVEALED = {
    "We are the hospitals": "of the pattern is found",
    "Guess": "The class:",
    "Attack": "The class:",
    "Spend": "The class learnt",
    "Quiz": "Thank you",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--phones", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--away", type=float, default=60.0)
    parser.add_argument("--browser", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    with running_app(ROOT / "app.py") as (address, process):
        if given.browser is not None:
            given.browser.mkdir(parents=True, exist_ok=True)
            lesson_in_browser(address, given.phones, given.browser)
            return 0
        asyncio.run(lesson(address, given.phones, given.rounds, given.away, process))
    return 0


if __name__ == "__main__":
    sys.exit(main())
