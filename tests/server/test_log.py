"""Log and handshake of the server: no message at the start, none that fills the disk."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg

from pages.server_log import MalformedMessages
from tests.benchmarks.servers import running_app
from tests.server.conftest import APP


@dataclass(frozen=True)
class LoggedServer:
    """Running server with its log, and the text of the log after the start."""

    address: str
    log: Path
    log_of_start: str


@pytest.fixture(scope="module")
def logged_server(tmp_path_factory) -> Iterator[LoggedServer]:
    home = tmp_path_factory.mktemp("home")
    log = home / "log"
    environment = {
        "DPCORE_DATA": str(home),
        "DPCORE_CACHE": str(home / "cache"),
        "STREAMLIT_LOGGER_HIDE_WELCOME_MESSAGE": "true",
    }
    with log.open("wb") as file, running_app(APP, log=file, **environment) as (address, _):
        yield LoggedServer(address, log, log.read_text())


def test_a_server_starts_without_a_message(logged_server):
    """Streamlit warned of a web server that refuses headers which are not ASCII."""
    assert logged_server.log_of_start == ""


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_forwarded_header_may_contain_any_letter(logged_server, encoding):
    """A login proxy forwards the visitor's name; the handshake failed for Céline."""
    url = urlsplit(logged_server.address)
    lines = (
        "GET /_stcore/stream HTTP/1.1", f"Host: {url.netloc}", "X-Remote-Name: Céline",
        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "", "",
    )  # fmt: skip
    with socket.create_connection((url.hostname, url.port), timeout=30) as connection:
        connection.sendall("\r\n".join(lines).encode(encoding))
        answer = connection.recv(1024)
    assert answer.startswith(b"HTTP/1.1 101 ")


def malformed_messages(n: int) -> list[bytes | str]:
    """Return bytes, texts, and messages whose parts do not fit."""
    rng = random.Random()
    odd, empty, operation = BackMsg(), BackMsg(), BackMsg()
    odd.rerun_script.widget_states.widgets.add(id="$$ID-nothing", json_value="{")
    odd.rerun_script.query_string = "%ff" * 100
    empty.rerun_script.widget_states.widgets.add(id="", int_value=3)
    operation.file_urls_request.request_id = "x" * 1000
    kinds = (b"\xff" + rng.randbytes(200), "text\nframe", odd.SerializeToString(), b"",
             operation.SerializeToString(), empty.SerializeToString())  # fmt: skip
    return [kinds[k % len(kinds)] for k in range(n)]


async def send_all(address: str) -> None:
    stream = address.replace("http", "ws") + "/_stcore/stream"
    for message in malformed_messages(200):
        with suppress(websockets.WebSocketException, OSError):
            async with websockets.connect(stream, subprotocols=["streamlit"]) as connection:
                await connection.send(message)
                await asyncio.sleep(0.005)


def test_a_flood_leaves_few_lines_and_no_traceback(logged_server):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, send_all(logged_server.address)).result()
    text = logged_server.log.read_text()
    assert "Traceback" not in text
    assert len(text.splitlines()) < 40 and len(text) < 8_000


def test_errors_of_the_app_keep_their_tracebacks():
    try:
        raise TypeError("a bug")
    except TypeError as error:
        exc_info = (TypeError, error, error.__traceback__)
    record = logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, "Exception\n", (), exc_info)
    assert MalformedMessages().filter(record)
    assert record.exc_info == exc_info


def test_the_limit_is_per_minute():
    clock = [0.0]
    message_filter = MalformedMessages(lambda: clock[0])

    def count() -> int:
        records = (
            logging.LogRecord("x", logging.WARNING, "", 0, 'No handler for "%s"', ("a\nb",), None)
            for _ in range(100)
        )
        return sum(message_filter.filter(record) for record in records)

    assert (count(), count()) == (20, 0)
    clock[0] = 61.0
    assert count() == 20


def test_a_repeated_error_of_the_app_keeps_few_tracebacks():
    message_filter = MalformedMessages(lambda: 0.0)
    error = (KeyError, KeyError("a bug"), None)
    records = [
        logging.LogRecord("x", logging.ERROR, "", 0, "Uncaught app execution", (), error)
        for _ in range(100)
    ]
    logged = [record for record in records if message_filter.filter(record)]
    assert len(logged) == 25 and sum(record.exc_info is not None for record in logged) == 5
