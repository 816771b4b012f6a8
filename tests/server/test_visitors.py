"""What one visitor does to a real server, and what the others see of it: nothing."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from typing import TypeVar

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from visitors import Shown, Visitor, visitor

from pages.shell.navigation import PAGES, Place

SLOW = "dataset=synthetic-2012&repetitions=2"
LONG = "repetitions=50&tradeoffs_values_epsilon=" + ",".join(str(n / 100) for n in range(1, 31))

T = TypeVar("T")


def played(scene: Coroutine[None, None, T]) -> T:
    """A scene to its end, in a thread without a loop: browser tests leave one going in theirs."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, scene).result()


@pytest.mark.parametrize("leaves", ["closes the tab", "moves a slider"])
def test_who_leaves_empties_nobody_elses_page(slow_server, leaves):
    """Five of five others had a sidebar and nothing else."""

    async def six() -> list[Shown]:
        async with AsyncExitStack() as others:
            first = visitor(slow_server.address)
            who = await first.__aenter__()
            await who.ask(SLOW)
            await who.shown(until="Reading the data set")
            tabs = [await others.enter_async_context(visitor(slow_server.address)) for _ in "12345"]
            pages = [asyncio.create_task(tab.run(SLOW)) for tab in tabs]
            await asyncio.sleep(1.0)  # for all of them to wait; on a slower machine they ask later
            if leaves == "moves a slider":
                await who.ask(f"{SLOW}&epsilon=5")
            else:
                await first.__aexit__(None, None, None)
            await asyncio.sleep(0.2)
            slow_server.go_on()
            shown = await asyncio.gather(*pages)
            if leaves == "moves a slider":
                shown.append(await who.shown())
                await first.__aexit__(None, None, None)
            return shown

    shown = played(six())
    assert [page.is_whole for page in shown] == [True] * len(shown)


def test_every_address_opens_its_page(server):
    """As a browser's first message asks for it: no page that was open before helps."""

    async def opened(place: Place) -> Shown:
        async with visitor(server, place.address) as tab:
            await tab.ask()
            return await tab.shown(until=place.title)

    for place in PAGES.values():
        assert place.title in played(opened(place)).words, place.name


async def started(tab: Visitor, query: str) -> Shown:
    """A page whose sweep has been started."""
    page = await tab.run(query)
    return await tab.run(query, press=page.buttons["Run"])


@pytest.mark.parametrize(
    "kinds",
    [
        ["clear_cache"],
        ["set_run_on_save", "stop_script", "app_heartbeat", "load_git_info"],
        ["debug_shutdown_runtime", "debug_disconnect_websocket"],
    ],
    ids=lambda kinds: kinds[0],
)
def test_no_message_of_one_visitor_takes_anothers_run_away(server, kinds):
    """After a clear_cache message the run was gone from its page."""

    async def scene() -> tuple[Shown, Shown]:
        async with visitor(server, "tradeoffs") as mine, visitor(server) as theirs:
            await theirs.run()
            before = await started(mine, LONG)
            for kind in kinds:
                await theirs.send(BackMsg(**{kind: True}))
            await asyncio.sleep(0.1)
            after = await mine.run(LONG)
            await mine.run(LONG, press=after.buttons["Stop"])
            async with visitor(server) as somebody:
                assert (await somebody.run()).is_whole
            return before, after

    before, after = played(scene())
    assert "Stop" in before.buttons and "Stop" in after.buttons


def test_after_a_reload_a_run_is_found_shown_and_cancelled(server):
    """It was invisible, could not be cancelled and went on."""

    async def scene() -> list[Shown]:
        async with visitor(server, "tradeoffs") as tab:
            first = await started(tab, LONG)
        async with visitor(server, "tradeoffs") as tab:
            second = await tab.run(LONG)
            third = await tab.run(LONG, press=second.buttons["Run"])
            await tab.run(LONG, press=third.buttons["Stop"])
            return [first, second, third]

    first, second, third = played(scene())
    assert "It is being computed already: Run shows it" in second.words
    assert "Stop" in first.buttons and "Stop" in third.buttons


def test_a_long_run_says_what_it_takes_and_asks(server):
    """A run of 2,800 minutes started without a word."""
    query = f"{LONG}&dataset=synthetic&sites=60&tradeoffs_published=true"

    async def scene() -> list[Shown]:
        async with visitor(server, "tradeoffs") as tab:
            asked = await started(tab, query)
            begun = await tab.run(query, press=asked.buttons["Start it"])
            await tab.run(query, press=begun.buttons["Stop"])
            return [asked, begun]

    asked, begun = played(scene())
    assert "This run makes 3,000 runs and takes up to about" in asked.words
    assert "Stop" not in asked.buttons and "Stop" in begun.buttons


def test_a_released_slider_draws_what_follows_it_and_not_the_rest(server):
    """Twenty controls and all links were drawn again too."""

    async def scene() -> tuple[Shown, ...]:
        async with visitor(server) as tab:
            opened = await tab.run("repetitions=1&sites=3")
            released = await tab.release(5.0)
            return opened, released, await tab.run(sites=4)

    opened, released, moved = played(scene())
    assert opened.is_whole and released.is_whole and moved.is_whole
    assert opened.kinds.count("slider") > released.kinds.count("slider") == 1
    assert len(released.kinds) < 0.6 * len(opened.kinds)
    for told in (released, moved):
        [slider] = json.loads(told.handed["energy_explorer"])
        assert slider["epsilon"] == 5.0
        [foot] = json.loads(told.handed["foot_history"])
        assert "epsilon=5" in foot["query"]
    # What the control out of sight says is what a browser sends with the next move.
    assert released.set_to == {"epsilon": "5"}
    # Paid, beside what was shown before.
    before, after = (
        int(re.search(r"(\d+) releases", told.words)[1]) for told in (opened, released)
    )
    assert after == 2 * before
    assert "ε = 5" in released.words
