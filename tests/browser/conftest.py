"""Real server and real Chromium; errors of every visited page are recorded."""

from __future__ import annotations

import functools
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Without a graphics card drawing by a pretended one takes as long as all the rest. Letters are as
# wide as in a browser with windows.
QUIET = (
    "--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-gpu",
    "--font-render-hinting=none",
)  # fmt: skip

# The first is the same engine without windows: a page takes a quarter less of the processor.
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.slow)


@dataclass
class Watched:
    """Errors of a visited page."""

    console: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def assert_quiet(self) -> None:
        assert self.foreign == []
        assert self.missing == []
        assert self.console == []


def _unavailable(reason: str) -> None:
    if os.environ.get("DPCORE_REQUIRE_BROWSER"):
        pytest.fail(f"a browser is required here: {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    with api.sync_playwright() as playwright:
        try:
            chromium = playwright.chromium.launch(executable_path=executable, args=list(QUIET))
        except api.Error as error:
            _unavailable(f"Chromium could not be started: {str(error).splitlines()[0]}")
        yield chromium
        chromium.close()


# When the browser last asked the server for something and has heard nothing since.
UNANSWERED = """(() => {
    const send = WebSocket.prototype.send;
    WebSocket.prototype.send = function (data) {
        globalThis.askedAt ??= globalThis.sentAt = performance.now();
        if (!this.isWatched) this.addEventListener("message", () => { globalThis.askedAt = null });
        this.isWatched = true;
        return send.call(this, data);
    };
})()"""
# A new tab finds nothing of another's, such as a sidebar that was folded away.
AFRESH = """if (!sessionStorage.begun) { sessionStorage.begun = true; localStorage.clear() }"""
# Some messages have no answer, such as one for a part of the page that is no longer there.
WAITS = "globalThis.askedAt != null && performance.now() - globalThis.askedAt < 10_000"
# A job without a bar has a button that ends it.
UNFINISHED = (
    "[data-testid=stProgress], [data-testid=stSkeleton], .explorer .count:not(:empty), "
    "[data-testid=stMain] button:has(:text-is('Stop'))"
)


@contextmanager
def running_server(data_home: Path, port: int = 0) -> Iterator[str]:
    """Yield the address of a new server with `data_home` for its data sets.

    port: Any free one, if none is given.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true"]
    command += ["--server.address", "127.0.0.1", "--server.port", str(port)]
    log = data_home / f"server-{port}.log"
    environment = os.environ | {
        "DPCORE_DATA": str(data_home),
        "DPCORE_CACHE": str(data_home / "cache"),
    }
    with log.open("w") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_until_healthy(address, process, log)
        yield address
        assert "Traceback" not in log.read_text()
    finally:
        process.terminate()
        process.wait(timeout=60)


def _wait_until_healthy(address: str, process: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        if process.poll() is not None:
            pytest.fail(f"the server stopped: {log.read_text()}")
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"the server did not answer within three minutes: {log.read_text()}")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_server(tmp_path_factory.mktemp("data-home")) as address:
        yield address


@pytest.fixture
def open_page(browser) -> Iterator[Callable]:
    """Return a function open_page(address, width, height, dark, ...) -> (page, watched)."""
    with pages_of(browser) as opener:
        yield opener


@contextmanager
def pages_of(browser, *, apart: bool = False) -> Iterator[Callable]:
    """Yield the function of `open_page`.

    apart: Each page has its own cookies. Otherwise all share a profile, which keeps what it has
        loaded and compiled of Streamlit's scripts: a fifth of what a page takes of the processor.
    """
    opened: list = []
    tabs: list[Tab] = []

    def open_(
        address: str,
        *,
        width: int = 1440,
        height: int = 1000,
        dark: bool = False,
        until_full: bool = True,
        new_tab: bool = False,
    ):
        if apart:
            context = _new_profile(browser)
            opened.append(context)
            tab = Tab(context.new_page())
        else:
            tab = Tab(_new_page(browser) if new_tab or not _SPARE else _SPARE.pop())
            tabs.append(tab)
        page, watched = tab.page, Watched()
        tab.on("popup", lambda popup: opened.append(popup))
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="dark" if dark else "light")
        tab.on("console", lambda message: _note_console(watched, message))
        tab.on("request", lambda request: _note_request(watched, request))
        tab.on("response", lambda response: _note_response(watched, response))
        page.goto(address)
        if not until_full:
            page.locator(".explorer:not(.empty)").wait_for(timeout=120_000)
        settle(page, until_full=until_full)
        return page, watched

    yield open_
    for page in opened:
        page.close()
    for tab in tabs:
        tab.leave()


# At most one empty tab of the shared profile for the next test: a page takes half of the processor
# time in a tab that has shown another one. Tests of layout shift open a new tab, as a visitor does.
_SPARE: list = []


class Tab:
    """A tab of the browser, and the functions that listen to it."""

    def __init__(self, page) -> None:
        self.page = page
        self._listeners: list[tuple[str, Callable]] = []

    def on(self, event: str, listener: Callable) -> None:
        self.page.on(event, listener)
        self._listeners.append((event, listener))

    def leave(self) -> None:
        """Empty the tab for the next test, or close it if there is a spare one."""
        for event, listener in self._listeners:
            self.page.remove_listener(event, listener)
        if _SPARE or not self.page.url.startswith("http"):
            self.page.close()
            return
        self.page.evaluate("sessionStorage.clear()")  # see AFRESH
        self.page.goto("about:blank")
        self.page.mouse.move(0, 0)
        _SPARE.append(self.page)


def _new_page(browser):
    return _profile(browser).new_page()


def _new_profile(browser):
    context = browser.new_context(
        viewport={"width": 1440, "height": 1000}, accept_downloads=True, reduced_motion="reduce"
    )
    context.set_default_timeout(120_000)  # for a machine with other workers
    context.add_init_script(UNANSWERED)
    context.add_init_script(AFRESH)
    return context


_profile = functools.cache(_new_profile)


def settle(page, *, until_full: bool = True) -> None:
    """Wait until the script has run and stays so.

    until_full: Wait also for the runs that are filled in one after the other, for which the default
        settings of Play take 15 s; the script does not stay so before.
    """
    page.wait_for_timeout(0 if until_full else 500)
    idle = page.locator("[data-testid=stApp][data-test-script-state=notRunning]")
    quiet_since = None
    deadline = time.monotonic() + 240  # for a machine with other workers
    unfinished = page.locator(UNFINISHED)
    while time.monotonic() < deadline:
        # Each question to the browser takes processor time, so that the later ones are left out
        # while the script runs.
        quiet = (
            idle.count() > 0
            and not page.evaluate(WAITS)
            and (not until_full or unfinished.count() == 0)
        )
        quiet_since = (quiet_since or time.monotonic()) if quiet else None
        if quiet_since and (time.monotonic() - quiet_since > 0.7 or not until_full):
            return
        page.wait_for_timeout(100)
    left = unfinished.all_inner_texts()
    pytest.fail(f"the page did not settle within four minutes: {idle.count()=} {left}")


def _note_console(watched: Watched, message) -> None:
    if message.type == "error" and not _is_search_for_server(message.location["url"]):
        watched.console.append(message.text)


def _note_request(watched: Watched, request) -> None:
    if not request.url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")):
        watched.foreign.append(request.url)


def _note_response(watched: Watched, response) -> None:
    if response.status >= 400 and not _is_search_for_server(response.url):
        watched.missing.append(f"{response.status} {response.url}")


def _is_search_for_server(url: str) -> bool:
    """Return whether a script of Streamlit looks for the server below the address of a page.

    A direct link to a page of any Streamlit app causes these two requests, which end with 404.
    """
    return url.endswith(("/_stcore/health", "/_stcore/host-config"))
