"""Malformed messages do not fill the log."""

from __future__ import annotations

import asyncio
import logging
import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg

from pages.server_log import MalformedMessages
from tests.benchmarks.servers import running_app
from tests.server.conftest import APP


def malformed_messages(n: int) -> list[bytes | str]:
    """Return bytes, texts, and messages whose parts do not fit."""
    rng = random.Random()
    odd, operation = BackMsg(), BackMsg()
    odd.rerun_script.widget_states.widgets.add(id="$$ID-nothing", json_value="{")
    odd.rerun_script.query_string = "%ff" * 100
    operation.file_urls_request.request_id = "x" * 1000
    kinds = (b"\xff" + rng.randbytes(200), "text\nframe", odd.SerializeToString(), b"",
             operation.SerializeToString())  # fmt: skip
    return [kinds[k % len(kinds)] for k in range(n)]


async def send_all(address: str) -> None:
    stream = address.replace("http", "ws") + "/_stcore/stream"
    for message in malformed_messages(200):
        with suppress(websockets.WebSocketException, OSError):
            async with websockets.connect(stream, subprotocols=["streamlit"]) as socket:
                await socket.send(message)
                await asyncio.sleep(0.005)


def test_a_flood_leaves_few_lines_and_no_traceback(tmp_path):
    log = tmp_path / "log"
    environment = {"DPCORE_DATA": str(tmp_path), "DPCORE_CACHE": str(tmp_path / "cache")}
    with (
        log.open("wb") as written,
        running_app(APP, log=written, **environment) as (address, _),
        ThreadPoolExecutor(1) as pool,
    ):
        pool.submit(asyncio.run, send_all(address)).result()
    text = log.read_text()
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
