"""What no browser sends fills no log."""

from __future__ import annotations

import asyncio
import logging
import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import websockets
from servers import running_app
from streamlit.proto.BackMsg_pb2 import BackMsg

from pages.server.process import OneLine

ROOT = Path(__file__).parents[2]


def garbage(n: int) -> list[bytes | str]:
    """Bytes, texts, and messages whose parts do not fit."""
    rng = random.Random()
    odd = BackMsg()
    odd.rerun_script.widget_states.widgets.add(id="$$ID-nothing", json_value="{")
    odd.rerun_script.query_string = "%ff" * 100
    odd.rerun_script.page_name = "stories"  # which computes nothing
    empty, operation = BackMsg(), BackMsg()
    operation.file_urls_request.request_id = "x" * 1000
    kinds = (b"\xff" + rng.randbytes(200), "text\nframe", odd.SerializeToString(),
             empty.SerializeToString(), operation.SerializeToString())  # fmt: skip
    return [kinds[k % len(kinds)] for k in range(n)]


async def send_all(address: str) -> None:
    stream = address.replace("http", "ws") + "/_stcore/stream"
    for message in garbage(200):
        with suppress(websockets.WebSocketException, OSError):
            async with websockets.connect(stream, subprotocols=["streamlit"]) as socket:
                await socket.send(message)
                await asyncio.sleep(0.005)


def test_garbage_leaves_single_lines_and_not_many(tmp_path):
    """201 messages left 108 tracebacks, 121 kB."""
    log = tmp_path / "log"
    environment = {"DPCORE_DATA": str(tmp_path), "DPCORE_CACHE": str(tmp_path / "cache")}
    with (
        log.open("wb") as written,
        running_app(ROOT / "app.py", log=written, **environment) as (address, _),
        ThreadPoolExecutor(1) as pool,
    ):
        pool.submit(asyncio.run, send_all(address)).result()
    said = log.read_text()
    assert "Traceback" not in said
    assert "Error deserializing back message" in said
    assert len(said.splitlines()) < 40
    assert len(said) < 8_000


def test_errors_of_our_own_keep_their_tracebacks():
    try:
        raise TypeError("a bug")
    except TypeError as error:
        exc_info = (TypeError, error, error.__traceback__)
    record = logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, "Exception\n", (), exc_info)
    assert OneLine().filter(record)
    assert record.exc_info == exc_info


def test_after_a_minute_there_are_lines_again():
    clock = [0.0]
    one_line = OneLine(lambda: clock[0])

    def written() -> int:
        records = (
            logging.LogRecord("x", logging.WARNING, "", 0, 'No handler for "%s"', ("a\nb",), None)
            for _ in range(100)
        )
        return sum(one_line.filter(record) for record in records)

    assert (written(), written()) == (20, 0)
    clock[0] = 61.0
    assert written() == 20
